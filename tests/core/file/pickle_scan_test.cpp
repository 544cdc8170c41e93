// Pickles of libtorch and Python are scanned, and hostile ones refused.
#include "core/file/pickle_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/core/file/pt_file_fixture.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PickleScanOptions options() {
  PickleScanOptions made;
  made.where = "'net.pt', member 'net/data.pkl'";
  made.storage_bytes = [](const std::string& key) -> std::optional<std::uint64_t> {
    if (key == "0") return 24;
    return std::nullopt;
  };
  return made;
}

std::string scanRefusal(const std::string& bytes) {
  try {
    scanPickle(bytes, options());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PickleScan, ReadsValues) {
  const std::string bytes = pickled("(N\x88\x89K\x07M\x01\x02" + binInt(-3) + "\x8a\x08" + littleEndian(1ull << 40, 8) +
                                    "G" + std::string("\x3f\xf8\0\0\0\0\0\0", 8) + binUnicode("text") +
                                    "](K\x01"
                                    "e}(" +
                                    binUnicode("k") + "K\x02ut");
  const PickleScan scan = scanPickle(bytes, options());
  const PickleValue& root = scan.values[scan.root];
  ASSERT_EQ(root.kind, PickleKind::kTuple);
  ASSERT_EQ(root.count, 11u);
  EXPECT_EQ(scan.item(root, 0).kind, PickleKind::kNone);
  EXPECT_EQ(scan.item(root, 1).integer, 1);
  EXPECT_EQ(scan.item(root, 2).integer, 0);
  EXPECT_EQ(scan.item(root, 3).integer, 7);
  EXPECT_EQ(scan.item(root, 4).integer, 0x201);
  EXPECT_EQ(scan.item(root, 5).integer, -3);
  EXPECT_EQ(scan.item(root, 6).integer, 1ll << 40);
  EXPECT_EQ(scan.item(root, 7).real, 1.5);
  EXPECT_EQ(scan.item(root, 8).text, "text");
  EXPECT_EQ(scan.item(root, 9).kind, PickleKind::kList);
  EXPECT_EQ(scan.item(root, 10).count, 2u);
}

TEST(PickleScan, ReadsTensorsAndObjects) {
  const std::string bytes = modulePickle(tensorOf("0", 6, 1, {2, 2}, {3, 1}));
  PickleScanOptions all = options();
  all.storage_bytes = [](const std::string& key) -> std::optional<std::uint64_t> { return key == "0" ? 24 : 4; };
  const PickleScan scan = scanPickle(bytes, all);
  EXPECT_EQ(scan.values[scan.root].kind, PickleKind::kObject);
  ASSERT_EQ(scan.tensors.size(), 2u);
  EXPECT_THAT(scan.tensors[0].dims, ElementsAre(2, 2));
  EXPECT_EQ(scan.tensors[0].offset, 1);
  EXPECT_EQ(scan.storages[0].dtype, "float32");
}

TEST(PickleScan, ReadsWhatElseLibtorchWrites) {
  const std::string enumeration = pickled(global("__torch__", "Color") + "K\x01R");
  EXPECT_EQ(scanRefusal(enumeration), "accepted");
  EXPECT_EQ(scanRefusal(pickled(global("torch", "device") + binUnicode("cpu") + "\x85R")), "accepted");
  const std::string number = "G" + std::string(8, '\0');
  EXPECT_EQ(scanRefusal(pickled(global("builtins", "complex") + number + number + "\x86R")), "accepted");
  EXPECT_EQ(scanRefusal(pickled(global("torch.jit._pickle", "restore_type_tag") + "}" + binUnicode("Dict[str, int]") +
                                "\x86R")),
            "accepted");
  const std::string storage = "((" + binUnicode("storage") + global("torch", "QInt8Storage") + binUnicode("0") +
                              binUnicode("cpu") + binInt(24) + "tQ" + binInt(0) + intTuple({24}) + intTuple({1}) + "(" +
                              global("torch", "per_tensor_affine") + number + binInt(0) + "t\x89" +
                              global("collections", "OrderedDict") + ")RtR";
  EXPECT_EQ(scanRefusal(pickled(global("torch._utils", "_rebuild_qtensor") + storage)), "accepted");
}

TEST(PickleScan, RefusesTensorsThatReachBeyondTheirData) {
  EXPECT_EQ(scanRefusal(pickled(tensorOf("0", 6, 0, {2, 3}, {3, 1}))), "accepted");
  EXPECT_EQ(scanRefusal(pickled(tensorOf("0", 6, 5, {100}, {0}))), "accepted");
  EXPECT_EQ(scanRefusal(pickled(tensorOf("0", 6, 6, {0}, {1}))), "accepted");
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, 1, {2, 3}, {3, 1}))), HasSubstr("reaches beyond its data '0'"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, 0, {7}, {1}))), HasSubstr("reaches beyond"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, 0, {2}, {2000000000}))), HasSubstr("reaches beyond"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, -1, {2}, {1}))), HasSubstr("begins outside"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, 0, {-2}, {1}))), HasSubstr("negative"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 6, 0, {2000000000, 2000000000}, {0, 0}))),
              HasSubstr("too many elements"));
}

TEST(PickleScan, RefusesStoragesThatDoNotFitTheirMember) {
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 550000000, 0, {1}, {1}))),
              HasSubstr("declares 550000000 float32 elements of tensor data '0', which has 24 bytes"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", 5, 0, {1}, {1}))), HasSubstr("declares 5"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("0", -1, 0, {1}, {1}))), HasSubstr("declares -1"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("9", 1, 0, {1}, {1}))), HasSubstr("which the file lacks"));
  EXPECT_THAT(scanRefusal(pickled(tensorOf("../x", 1, 0, {1}, {1}))), HasSubstr("broken key"));
}

TEST(PickleScan, RefusesAllocationsWithoutData) {
  // A memo number for which libtorch would make room for four billion entries.
  EXPECT_THAT(scanRefusal(pickled("Nr" + littleEndian(0xfffffff0u, 4))),
              HasSubstr("uses memo number 4294967280 after 0"));
  EXPECT_THAT(scanRefusal("\x80\x02X" + littleEndian(0xfffffff0u, 4) + "abc"),
              HasSubstr("needs 4294967280 bytes where 3 are left"));
  EXPECT_THAT(scanRefusal("\x80\x02"), HasSubstr("needs 1 bytes where 0 are left"));
  EXPECT_NE(scanRefusal(""), "accepted");
}

TEST(PickleScan, RefusesDeepNesting) {
  EXPECT_THAT(scanRefusal(pickled(std::string(1000000, '('))), HasSubstr("opens more than 1000 containers"));
  EXPECT_THAT(scanRefusal(pickled("N" + std::string(1000000, '\x85'))), HasSubstr("nests deeper than 400 levels"));
  std::string lists = "]";
  for (int i = 0; i < 500; ++i) lists = "](" + lists + "e";
  EXPECT_THAT(scanRefusal(pickled(lists)), HasSubstr("nests deeper than 400 levels"));
}

TEST(PickleScan, RefusesCyclesAndLateChanges) {
  EXPECT_THAT(scanRefusal(pickled("]q" + std::string(1, '\0') + "(h" + std::string(1, '\0') + "e")),
              HasSubstr("puts a container into itself"));
  const std::string zero(1, '\0');
  // A list inside a tuple that is then put into the list.
  EXPECT_THAT(scanRefusal(pickled("]q" + zero +
                                  "\x85q\x01"
                                  "0h" +
                                  zero +
                                  "(h\x01"
                                  "e\x86")),
              HasSubstr("opcode 0x30"));
  EXPECT_THAT(scanRefusal(pickled("]q" + zero + "\x85q\x01h" + zero +
                                  "(h\x01"
                                  "e\x86")),
              HasSubstr("after its use"));
}

TEST(PickleScan, RefusesBrokenStacks) {
  for (const std::string& body :
       {std::string("t"), std::string("e"), std::string("u"), std::string("R"), std::string("NR"), std::string("b"),
        std::string("\x81"), std::string("Q"), std::string("q\0", 2), std::string("h\0", 2), std::string("NN"),
        std::string("(N"), std::string("N(\x86"), std::string("}(Nu"), std::string("N(Ne"), std::string("(NNe"),
        std::string()}) {
    EXPECT_NE(scanRefusal(pickled(body)), "accepted") << body;
  }
  EXPECT_THAT(scanRefusal(pickled("N") + "x"), HasSubstr("goes on after its end"));
  EXPECT_THAT(scanRefusal("\x80\x04N."), HasSubstr("protocol 2"));
}

TEST(PickleScan, RefusesCallsOfWhatIsNoFunction) {
  EXPECT_THAT(scanRefusal(pickled("K\x01)R")), HasSubstr("calls something that is not a function"));
  EXPECT_THAT(scanRefusal(pickled(global("torch", "FloatStorage") + ")R")), HasSubstr("no function"));
  EXPECT_THAT(scanRefusal(pickled(global("collections", "OrderedDict") + ")\x81")), HasSubstr("no class"));
}

TEST(PickleScan, RefusesGlobalsAndOpcodesThatLibtorchDoesNotWrite) {
  for (const auto& [module, name] : std::map<std::string, std::string>{{"os", "system"},
                                                                       {"builtins", "eval"},
                                                                       {"torch", "load"},
                                                                       {"torch.storage", "_load_from_bytes"},
                                                                       {"__main__", "Net"},
                                                                       {"__torch__x", "Net"},
                                                                       {"torch.jit._pickle", "build_tensor_from_id"},
                                                                       {"__torch__", "Net;x"}}) {
    EXPECT_THAT(scanRefusal(pickled(global(module, name))), HasSubstr("refused, it calls for"))
        << module << "." << name;
  }
  // INST, OBJ, STACK_GLOBAL, EXT1, DUP, POP, PUT, PERSID, LONG4, FRAME
  for (const char* opcode : {"i", "o", "\x93", "\x82", "2", "0", "p", "P", "\x8b", "\x95"}) {
    EXPECT_THAT(scanRefusal(pickled("N" + std::string(opcode) + "os\nsystem\n")),
                HasSubstr("which TorchScript files do not use"));
  }
}

}  // namespace
}  // namespace ipex_studio
