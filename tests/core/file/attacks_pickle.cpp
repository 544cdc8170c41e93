// Attacks by the pickles of a file: calls of Python, tensors beyond their data, and streams that exhaust a reader.
#include <utility>

#include "tests/core/file/attacks.h"
#include "tests/core/file/attacks_packing.h"

namespace ipex_studio::testing {
namespace {

std::string number8(std::uint64_t value) { return "\x8a\x08" + littleEndian(value, 8); }

// A module whose state holds `body` beside what is usual, in data.pkl or in constants.pkl.
std::string withPickled(Random& random, const std::string& body) {
  Net net;
  std::string value = body;
  for (std::int64_t n = random.between(0, 4); n > 0; --n)
    value = random.chance(50) ? value + "\x85" : "](" + value + "e";
  if (random.chance(30)) {
    net.constants_pkl = pickled(value + "\x85");
  } else if (random.chance(20)) {
    net.more.push_back({random.chance(50) ? "bytecode.pkl" : "code/__torch__.py.debug_pkl", pickled(value)});
  } else {
    net.data_pkl = modulePickle(tensorOf("0", 6, 0, {2, 3}, {3, 1}),
                                binUnicode("e" + std::to_string(random.between(0, 99))) + value);
  }
  return packed(random, net);
}

std::string foreignGlobal(Random& random) {
  static const std::pair<const char*, const char*> kGlobals[] = {{"os", "system"},
                                                                 {"posix", "system"},
                                                                 {"nt", "system"},
                                                                 {"builtins", "eval"},
                                                                 {"builtins", "exec"},
                                                                 {"builtins", "getattr"},
                                                                 {"__builtin__", "eval"},
                                                                 {"subprocess", "Popen"},
                                                                 {"runpy", "_run_code"},
                                                                 {"torch", "load"},
                                                                 {"torch.hub", "load"},
                                                                 {"torch.storage", "_load_from_bytes"},
                                                                 {"torch._utils", "_rebuild_device_tensor_from_numpy"},
                                                                 {"numpy", "load"},
                                                                 {"torch.serialization", "load"},
                                                                 {"socket", "create_connection"},
                                                                 {"importlib", "import_module"},
                                                                 {"pickle", "loads"},
                                                                 {"operator", "attrgetter"},
                                                                 {"torch.jit._pickle", "build_tensor_from_id"},
                                                                 {"__torch__x", "Net"},
                                                                 {"__torch__", "Net;x"},
                                                                 {"torch", "FloatStorage.from_file"},
                                                                 {"collections", "defaultdict"},
                                                                 {"functools", "partial"},
                                                                 {"bdb", "Bdb"}};
  const auto& [module, name] = kGlobals[random.index(std::size(kGlobals))];
  const std::string argument = binUnicode("touch /tmp/" + std::to_string(random.between(0, 999)));
  return withPickled(random, global(module, name) + (random.chance(50) ? argument + "\x85R" : ")\x81"));
}

std::string foreignOpcode(Random& random) {
  static const char kOpcodes[] = {'i',    'o',    '\x93', '\x82', '\x83', '\x84', '2',    '0',    'p',
                                  'P',    '\x8b', '\x95', '\x8c', '\x8d', '\x8e', '\x90', '\x91', '\x92',
                                  '\x94', '\x96', '\x97', '\x98', 'S',    'T',    'U',    'V',    'I',
                                  'L',    'F',    'l',    'd',    'B',    'C'};
  return withPickled(random, "N" + std::string(1, kOpcodes[random.index(std::size(kOpcodes))]) + "os\nsystem\n");
}

std::string call(Random& random) {
  const std::string bodies[] = {
      "K\x01)R",
      global("torch", "FloatStorage") + ")R",
      global("collections", "OrderedDict") + ")\x81",
      global("__torch__", "Net") + "K\x01\x85\x81",
      global("torch", "device") + "K\x01R",
      global("torch._utils", "_rebuild_tensor_v2") + ")R",
      "Nb",
      global("torch.jit._pickle", "restore_type_tag") + "K\x01" + binUnicode("int") + "\x86R"};
  return withPickled(random, bodies[random.index(std::size(bodies))]);
}

std::string storage(Random& random) {
  const std::int64_t lies[] = {7, 5, -1, 2000000000, 1 << 20, 0};
  const std::string keys[] = {"../data/0", "/etc/passwd", "9", "0/", "..", "data\\0", "0\n", ""};
  if (random.chance(50)) return withPickled(random, tensorOf("0", lies[random.index(std::size(lies))], 0, {1}, {1}));
  return withPickled(random, tensorOf(keys[random.index(std::size(keys))], 6, 0, {1}, {1}));
}

// Sizes, strides and offsets that end beyond the 6 elements of the storage.
std::string reach(Random& random) {
  const std::int64_t far = random.between(6, 2000000000);
  const std::string bodies[] = {tensorOf("0", 6, 0, {far + 1}, {1}),
                                tensorOf("0", 6, 0, {2}, {far}),
                                tensorOf("0", 6, far, {1}, {1}),
                                tensorOf("0", 6, -far, {1}, {1}),
                                tensorOf("0", 6, 0, {2, 3}, {3, 1 + far}),
                                tensorOf("0", 6, 0, {-far}, {1}),
                                tensorOf("0", 6, 5, {2}, {-1}),
                                tensorOf("0", 6, 0, {2}, {1, 1}),
                                tensorOf("0", 6, 0, {2000000000, 2000000000, 2000000000}, {0, 0, 0}),
                                tensorOf("0", 6, 0, {2, 2, 2}, {1, 2, 2 + far % 1000}),
                                tensorOf("0", 3, 0, {2}, {1}, "DoubleStorage")};
  const std::size_t last = std::size(bodies) - (random.chance(90) ? 1 : 0);
  const std::size_t at = random.index(last);
  // Three doubles fit the data, and two of them are in it: its lie is the size.
  return at == 10 ? withPickled(random, tensorOf("0", 6, 0, {2}, {1}, "DoubleStorage"))
                  : withPickled(random, bodies[at]);
}

std::string exhaustion(Random& random) {
  const auto many = static_cast<std::size_t>(random.between(2000, 60000));
  std::string tag;
  for (int i = 0; i < 100; ++i) tag += "List[";
  const std::string bodies[] = {std::string(many, '('),
                                "N" + std::string(many, '\x85'),
                                "Nr" + littleEndian(0xfffffff0u, 4),
                                "X" + littleEndian(0xfffffff0u, 4) + "abc",
                                number8(1).substr(0, 1) + "\xff",
                                "]q" + std::string(1, '\0') + "(h" + std::string(1, '\0') + "e",
                                "]q" + std::string(1, '\0') + "\x85q\x01h" + std::string(1, '\0') + "(h\x01" + "e\x86",
                                global("torch.jit._pickle", "restore_type_tag") + "]" + binUnicode(tag) + "\x86R",
                                "j" + littleEndian(0x7fffffffu, 4),
                                "h\x63"};
  return withPickled(random, bodies[random.index(std::size(bodies))]);
}

std::string broken(Random& random) {
  const std::string bodies[] = {"t", "e", "u", "R", "b", "\x81", "Q", "(N", "}(Nu", "N(Ne", "."};
  Net net;
  net.data_pkl = pickled(bodies[random.index(std::size(bodies))]) + (random.chance(50) ? "x" : "");
  if (random.chance(30)) net.data_pkl = modulePickle(tensorOf("0", 6, 0, {2, 3}, {3, 1})) + "cos\nsystem\n.";
  if (random.chance(20)) net.data_pkl[1] = static_cast<char>(random.between(3, 5));
  return packed(random, net);
}

std::string sparse(Random& random) {
  const std::string body = global("torch._utils", "_rebuild_sparse_tensor") + "(K\x01" + intTuple({2, 2}) + "\x89" +
                           tensorOf("0", 6, 0, {1}, {1}) + tensorOf("0", 6, 0, {1}, {1}) + "tR";
  return withPickled(random, body);
}

// Loading makes the object, whether code names its class or not.
std::string pickledClass(Random& random) {
  const char* const kNames[] = {"evil.Engine", "quantized.Evil", "_nnapi.Compilation", "xnnpack.Other",
                                "ipex_studio.Evil"};
  const std::string name = kNames[random.index(std::size(kNames))];
  const std::size_t dot = name.find('.');
  return withPickled(random,
                     global("__torch__.torch.classes." + name.substr(0, dot), name.substr(dot + 1)) + ")\x81Nb");
}

}  // namespace

std::string harmlessPickles(Random& random) {
  const std::string bodies[] = {"N", "K\x07", binUnicode("os.system"),
                                "](K\x01"
                                "e"};
  return withPickled(random, bodies[random.index(std::size(bodies))]);
}

std::vector<Attack> pickleAttacks() {
  return {{"globals of Python", "", foreignGlobal},
          {"opcodes that libtorch does not write", "", foreignOpcode},
          {"calls of what is no function", "", call},
          {"storages that lie about their data", "", storage},
          {"tensors that reach beyond their data", "", reach},
          {"pickles that exhaust a reader", "", exhaustion},
          {"broken pickles, and two in one", "", broken},
          {"sparse tensors", "sparse-tensor", sparse},
          {"objects of other libraries", "custom-class", pickledClass}};
}

}  // namespace ipex_studio::testing
