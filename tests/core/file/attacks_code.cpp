// Attacks by the code of a file: what runs on loading, operators that reach files and memory, and names that hide.
#include <utility>

#include "tests/core/file/attacks.h"
#include "tests/core/file/attacks_packing.h"

namespace ipex_studio::testing {
namespace {

std::string oneOf(Random& random, const std::vector<std::string>& texts) { return texts[random.index(texts.size())]; }

// Lines of a block, indented by `depth` blanks, with noise that a reader must skip.
std::string block(Random& random, const std::string& statement, std::size_t depth) {
  const std::string indent(depth, ' ');
  std::string lines;
  for (std::int64_t n = random.between(0, 3); n > 0; --n) {
    lines += indent +
             oneOf(random, {"# torch.relu(x)", "_s = \"ops.aten.relu (\"", "_t = torch.relu(x)", "_u = '\\'#'"}) + "\n";
  }
  if (random.chance(5)) {  // notes must not keep a danger out
    for (int n = 0; n < 250; ++n) {
      lines += indent + "_n = torch.as_strided(x, [" + std::to_string(n) + "], [1])\n";
    }
  }
  return lines + indent + statement + "\n";
}

std::string method(Random& random, const std::string& name, const std::string& owner, const std::string& statement) {
  return "  def " + name + "(self: " + owner + ",\n    x: Tensor) -> Tensor:\n" + block(random, statement, 4) +
         "    return x\n";
}

// A file whose code holds `statement` somewhere: in forward, a branch, a loop, a submodule, a function, an interface's
// implementation, a class of its own, an exported method.
std::string placed(Random& random, const std::string& statement) {
  Net net;
  const std::string name = "m" + std::to_string(random.between(0, 999));
  switch (random.between(0, 8)) {
    case 0:
      net.code += block(random, statement, 4);
      break;
    case 1:
      net.code += "    if torch.gt(torch.len([1]), 0):\n" + block(random, statement, 6) + "    else:\n      pass\n";
      break;
    case 2:
      net.code +=
          "    for _9 in range(2):\n      for _8 in range(3):\n        if bool(_8):\n" + block(random, statement, 10);
      break;
    case 3:
      net.more.push_back({"code/__torch__/models/" + name + ".py",
                          "class Sub(Module):\n  __parameters__ = []\n  __buffers__ = []\n" +
                              method(random, "forward", "__torch__.models." + name + ".Sub", statement)});
      break;
    case 4:
      net.code += "def " + name + "(x: Tensor) -> Tensor:\n" + block(random, statement, 2) + "  return x\n";
      break;
    case 5:
      net.code +=
          "class Runner(Interface):\n  def run(self,\n    x: Tensor) -> Tensor:\n    pass\nclass Impl(Module):\n" +
          method(random, "run", "__torch__.Impl", statement);
      break;
    case 6:
      net.code += "class Helper(NamedTuple):\n  a : Tensor\nclass Tool:\n" +
                  method(random, "__init__", "__torch__.Tool", statement);
      break;
    case 7:
      net.code += method(random, name, "__torch__.Net", statement);
      break;
    default:
      net.code = "from " + name + " import x\n" + net.code + "    while True:\n" + block(random, statement, 6);
  }
  return packed(random, net);
}

// A call of the operator in one of the ways that the parser of libtorch takes; `method` for operators of a tensor.
std::string spelled(Random& random, const std::string& space, const std::string& name, bool takes_tensor) {
  const std::string blank = oneOf(random, {"", "", " ", "  ", "\t", " \\\n  "});
  const std::string half = name.substr(0, name.size() / 2), rest = name.substr(name.size() / 2);
  std::vector<std::string> calls = {"ops." + space + "." + name + "(x, [9], [1])",
                                    "ops" + blank + "." + blank + space + blank + "." + blank + name + blank + "(x)",
                                    "_1 = torch.relu(ops." + space + "." + name + "(x))",
                                    "_1 = [x, ops." + space + "." + name + "(x)][0]",
                                    "_1 = getattr(ops." + space + ", \"" + name + "\")(x)",
                                    "(ops)." + space + "." + name + "(x)"};
  if (space == "aten") {
    calls.insert(calls.end(), {"torch." + name + "(x, [9], [1])", "torch" + blank + "." + blank + name + blank + "(x)",
                               "_1 = torch." + name, "(torch)." + name + "(x)", "getattr(torch, \"" + name + "\")(x)",
                               "_1 = torch", "__parameters__ = torch." + name + "(x)", "__buffers__ = torch." + name,
                               "torch.# c\n          " + name + "(x)"});
    if (takes_tensor) {
      calls.insert(
          calls.end(),
          {"x." + name + "([9], [1])", "_1 = x" + blank + "." + blank + name, "(torch.relu(x))." + name + "([9])",
           "getattr(x, \"" + name + "\")([9], [1])", "getattr(x, '" + half + "' '" + rest + "')([9])",
           "getattr" + blank + "(torch.relu(x), \"" + half + "\" # c\n   \"" + rest + "\")([9])",
           "(getattr(x, \"\\x" + std::string("61") + name + "\"))([9])", "x.# c\n        " + name + "([9])"});
    }
  }
  return oneOf(random, calls);
}

std::string setState(Random& random) {
  const std::string blank = oneOf(random, {" ", "  ", "\t", "\\\n ", " \t "});
  Net net;
  const std::string name = "m" + std::to_string(random.between(0, 999));
  std::string code = "class Sub(Module):\n  __parameters__ = []\n  training : bool\n  def" + blank + "__setstate__" +
                     oneOf(random, {"", " ", "\t"}) + "(self: __torch__." + name +
                     ".Sub,\n    state: Tensor) -> NoneType:\n" + block(random, "self.training = True", 4) +
                     "    return None\n";
  if (random.chance(30)) {
    for (std::size_t at = 0; (at = code.find("  ", at)) != std::string::npos;) code.replace(at, 2, "\t");
  }
  if (random.chance(50)) {
    net.more.push_back({"code/__torch__/" + name + ".py", code});
  } else {
    net.code += code;
  }
  return packed(random, net);
}

template <const char* kSpace, const char* kName, bool kMethod>
std::string call(Random& random) {
  return placed(random, spelled(random, kSpace, kName, kMethod));
}

constexpr char kAten[] = "aten";
constexpr char kPrim[] = "prim";
constexpr char kInductor[] = "inductor";
constexpr char kC10d[] = "c10d";
constexpr char kMkl[] = "mkl";
constexpr char kImage[] = "image";
constexpr char kFromFile[] = "from_file";
constexpr char kSave[] = "save";
constexpr char kReinterpret[] = "_reinterpret_tensor";
constexpr char kPool[] = "_alloc_from_pool";
constexpr char kAlias[] = "_reshape_alias";
constexpr char kNested[] = "_nested_view_from_buffer";
constexpr char kSparse[] = "_sparse_coo_tensor_unsafe";
constexpr char kRpc[] = "rpc_async";
constexpr char kSend[] = "send";
constexpr char kMklLinear[] = "_mkl_linear";
constexpr char kWriteFile[] = "write_file";
constexpr char kReadFile[] = "read_file";

std::string unknownOperator(Random& random) {
  return placed(random, spelled(random, oneOf(random, {"aten", "prim", "quantized", "inductor", "mkldnn"}),
                                "_zz" + std::to_string(random.between(0, 1 << 20)), false));
}

std::string foreignClass(Random& random) {
  return placed(random,
                "_1 = annotate(__torch__.torch.classes." +
                    oneOf(random, {"evil.Engine", "quantized.Evil", "_nnapi.Compilation", "aten.Tool", "c10d.Store"}) +
                    oneOf(random, {", x)", ", None)"}));
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Code that would exhaust the parser's stack, or is no text.
std::string hostileText(Random& random) {
  const auto many = static_cast<std::size_t>(random.between(1100, 20000));
  return placed(random,
                oneOf(random, {"_1 = " + std::string(many, '('), "_1 = " + std::string(many, '[') + "1",
                               "_1 = " + std::string(many, '-') + "1", "_1 = " + std::string(many, '~') + "x",
                               "_1 = x" + repeated(".T", many), "_1 = x" + repeated("[0]", many),
                               "_1 = " + repeated("1 + ", many) + "1", "_1 = " + repeated("not ", many) + "x",
                               "_1 = " + repeated("x if x else ", many) + "x", std::string(many + 300, ' ') + "_1 = 1",
                               "_1 = \"\xff\xfe\"", "_1 = 1\x01", "_1 = \"open", "_1 = '''open"}));
}

}  // namespace

std::vector<Attack> codeAttacks() {
  return {{"code in __setstate__", "runs-on-load", setState},
          {"aten::from_file", "maps-files", call<kAten, kFromFile, false>},
          {"aten::save", "writes-files", call<kAten, kSave, false>},
          {"image::write_file", "writes-files", call<kImage, kWriteFile, false>},
          {"image::read_file", "reads-files", call<kImage, kReadFile, false>},
          {"inductor::_reinterpret_tensor", "reaches-memory", call<kInductor, kReinterpret, false>},
          {"inductor::_alloc_from_pool", "reaches-memory", call<kInductor, kPool, false>},
          {"aten::_reshape_alias", "reaches-memory", call<kAten, kAlias, true>},
          {"aten::_nested_view_from_buffer", "reaches-memory", call<kAten, kNested, true>},
          {"aten::_sparse_coo_tensor_unsafe", "reaches-memory", call<kAten, kSparse, false>},
          {"mkl::_mkl_linear", "reaches-memory", call<kMkl, kMklLinear, false>},
          {"prim::rpc_async", "network", call<kPrim, kRpc, false>},
          {"c10d::send", "network", call<kC10d, kSend, false>},
          {"operators that nobody knows", "unknown-operators", unknownOperator},
          {"classes of other libraries", "custom-class", foreignClass},
          {"text that ends the parser", "", hostileText}};
}

std::string harmlessFile(Random& random) { return placed(random, "_1 = torch.relu(x)"); }

}  // namespace ipex_studio::testing
