// TorchScript files: reports of sound ones, refusals of damaged and hostile ones.
#include "core/file/pt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "core/base/sha256.h"
#include "core/file/zip_reader.h"
#include "tests/core/file/pt_file_fixture.h"
#include "tests/goal.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Finding* findingOf(const PtFileReport& report, const std::string& kind) {
  for (const Finding& finding : report.findings) {
    if (finding.kind == kind) return &finding;
  }
  return nullptr;
}

TEST(PtFile, SaysWhatIsInASoundFile) {
  const std::string bytes = Net().bytes();
  const MemoryFile file(bytes);
  const PtFileReport report = inspectPtFile(file.fd(), "net.pt");
  EXPECT_EQ(report.file_bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(report.sha256, sha256Hex(bytes));
  EXPECT_EQ(report.archive_name, "net");
  EXPECT_EQ(report.format_version, 3);
  EXPECT_EQ(report.root_class, "__torch__.Net");
  EXPECT_EQ(report.members.size(), 6u);
  EXPECT_EQ(report.parameter_tensors, 1);
  EXPECT_EQ(report.parameter_elements, 6);
  EXPECT_EQ(report.buffer_elements, 1);
  EXPECT_EQ(report.tensor_bytes, (std::map<std::string, std::int64_t>{{"float32", 28}}));
  EXPECT_EQ(report.operators, (std::map<std::string, std::int32_t>{
                                  {"aten::matmul", 1}, {"aten::mul", 1}, {"aten::relu", 1}, {"prim::NumToTensor", 1}}));
  ASSERT_EQ(report.classes.size(), 1u);
  EXPECT_THAT(report.classes[0].methods, ElementsAre("forward"));
  ASSERT_EQ(report.tensors.size(), 2u);
  EXPECT_EQ(report.tensors[0].name, "weight");
  EXPECT_EQ(report.tensors[0].role, TensorRole::kParameter);
  EXPECT_THAT(report.tensors[0].dims, ElementsAre(2, 3));
  EXPECT_EQ(report.tensors[1].role, TensorRole::kBuffer);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.dangerous());
}

TEST(PtFile, PrintsForPeopleAndPrograms) {
  const PtFileReport report = inspectBytes(Net().bytes());
  EXPECT_THAT(describe(report), HasSubstr("parameters  6  in 1 tensors\n"));
  EXPECT_THAT(describe(report), HasSubstr("findings    none"));
  const nlohmann::json json = toJson(report);
  EXPECT_EQ(json["operators"]["aten::relu"], 1);
  EXPECT_EQ(json["tensors"][0]["shape"], nlohmann::json({2, 3}));
  EXPECT_EQ(json["dangerous"], false);
  PtFileReport hostile = report;
  hostile.root_class = "__torch__.\x1b[31mNet\xc2\x9b";
  EXPECT_THAT(describe(hostile), HasSubstr("model       ?[31mNet??\n"));
}

TEST(PtFile, RefusesEverySingleFlippedBitThatMatters) {
  ZipWriter zip = Net().write();
  const std::string good = zip.finish();
  const nlohmann::json expected = toJson(inspectBytes(good));
  MemoryFile file(good);
  InspectOptions options;
  options.sha256 = false;
  std::size_t accepted = 0, equivalent = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    file.assign(bad);
    try {
      const PtFileReport report = inspectPtFile(file.fd(), "net.pt", options);
      ++accepted;
      ASSERT_EQ(toJson(report), expected) << "bit " << bit % 8 << " of byte " << bit / 8;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::kBadModel);
      continue;
    }
    for (const ZipWriter::Place& place : zip.places) {
      const bool inside = bit / 8 >= place.data && bit / 8 < place.data_end;
      // DEFLATE can encode the same contents in two ways, so the contents must be the same.
      if (inside && place.name == "net/code/__torch__.py") {
        const ZipReader reader(file.fd(), "net.pt");
        ASSERT_EQ(reader.read(*reader.find(place.name), 1 << 20), netCode());
        ++equivalent;
        continue;
      }
      ASSERT_FALSE(inside) << "accepted a flip in the data of " << place.name;
      // In the local header only the padding may change unnoticed.
      ASSERT_FALSE(bit / 8 >= place.header && bit / 8 < place.header + 30) << "accepted a flip in a header";
      // Unused in the directory entry: the writer's version (2 bytes), internal and external attributes (6).
      const std::size_t in_entry = bit / 8 - place.central;
      const bool unused = in_entry == 4 || in_entry == 5 || (in_entry >= 36 && in_entry < 42);
      ASSERT_TRUE(bit / 8 < place.central || in_entry >= 46 || unused) << "accepted a flip in the directory";
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LE(equivalent, 4u);
}

TEST(PtFile, SurvivesRandomDamage) {
  const std::string good = Net().bytes();
  std::mt19937 random(20240607);
  int refused = 0;
  const int rounds = std::getenv("IPEX_CAMPAIGN") != nullptr ? 10000 : 300;
  for (int round = 0; round < rounds; ++round) {
    std::string bad = good;
    for (unsigned k = 0; k <= random() % 6; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    refused += refusalOf(bad) != "accepted";
  }
  EXPECT_GT(refused, rounds * 5 / 6);
}

// The archive stays sound, so the damage reaches the pickle and code readers.
TEST(PtFile, SurvivesRandomDamageInsideMembers) {
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    Net net;
    std::string& victim = round % 3 == 0 ? net.code : round % 3 == 1 ? net.data_pkl : net.constants_pkl;
    for (unsigned k = 0; k <= random() % 4; ++k) victim[random() % victim.size()] = static_cast<char>(random());
    if (random() % 8 == 0) victim.resize(random() % victim.size());
    const std::string refusal = refusalOf(net.bytes());
    refused += refusal != "accepted";
  }
  EXPECT_GT(refused, 300);
}

TEST(PtFile, NamesWhatAFileCanDo) {
  Net net;
  net.code +=
      "  def __setstate__(self: __torch__.Net,\n    state: Tensor) -> NoneType:\n"
      "    torch.save(state, \"/tmp/x\")\n    return None\n";
  PtFileReport report = inspectBytes(net.bytes());
  ASSERT_NE(findingOf(report, "runs-on-load"), nullptr);
  EXPECT_EQ(findingOf(report, "runs-on-load")->text,
            "__torch__.Net defines __setstate__: its code runs as soon as the file is loaded.");
  EXPECT_EQ(findingOf(report, "runs-on-load")->member, "net/code/__torch__.py");
  ASSERT_NE(findingOf(report, "writes-files"), nullptr);
  EXPECT_TRUE(report.dangerous());
  EXPECT_THAT(describe(report), HasSubstr("DANGER      runs-on-load: "));

  for (const char* call :
       {"torch.from_file(\"x\", True, 8)", "torch . from_file(\"x\")", "ops.aten.from_file(\"x\")"}) {
    net.code = netCode() + std::string("    t = ") + call + "\n";
    report = inspectBytes(net.bytes());
    EXPECT_NE(findingOf(report, "maps-files"), nullptr) << call;
    EXPECT_TRUE(report.dangerous());
  }
  for (const char* call : {"(torch).add(x)", "t = ops", "getattr(torch, \"add\")(x)"}) {
    net.code = netCode() + std::string("    ") + call + "\n";
    EXPECT_NE(findingOf(inspectBytes(net.bytes()), "hidden-calls"), nullptr) << call;
  }
}

TEST(PtFile, DoesNotSuspectHarmlessNames) {
  Net net;
  net.code = netCode() + std::string(
                             "    t = (self).save(x)  # torch.from_file\n    u = \"torch.from_file(ops)\"\n"
                             "    v = '\\'ops.evil.run(1)'\n    w = self.ops\n    d = torch.device(\"cpu\")\n");
  const PtFileReport report = inspectBytes(net.bytes());
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].text;
  EXPECT_EQ(report.operators.count("aten::device"), 0u);
}

TEST(PtFile, ListsExportedMethods) {
  Net net;
  EXPECT_TRUE(inspectBytes(net.bytes()).methods.empty());
  for (const char* name : {"step", "_helper", "reset"}) {
    net.code += std::string("  def ") + name + "(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n";
  }
  net.code += "class Other(Module):\n  def turn(self: __torch__.Other) -> NoneType:\n    return None\n";
  const PtFileReport report = inspectBytes(net.bytes());
  EXPECT_EQ(report.methods, (std::vector<std::string>{"step", "reset"}));
  EXPECT_THAT(describe(report), HasSubstr("methods     step, reset  (besides forward; --method NAME optimizes one)\n"));
  EXPECT_EQ(toJson(report)["methods"].size(), 2u);
}

TEST(PtFile, NamesTrainingModeGpusAndLostWeights) {
  Net net;
  EXPECT_TRUE(inspectBytes(net.bytes()).findings.empty());
  net.data_pkl.replace(net.data_pkl.find(binUnicode("training")) + binUnicode("training").size(), 1, "\x88");
  PtFileReport report = inspectBytes(net.bytes());
  ASSERT_NE(findingOf(report, "training-mode"), nullptr);
  EXPECT_FALSE(report.dangerous());
  EXPECT_THAT(describe(report),
              HasSubstr("training-mode: Was saved in training mode; it runs in evaluation mode here."));

  for (const char* code : {"    d = torch.device(\"cuda:0\")\n", "    d = torch.cuda(x)\n"}) {
    net.code = netCode() + std::string(code);
    EXPECT_NE(findingOf(inspectBytes(net.bytes()), "names-gpu"), nullptr) << code;
  }
  net.code = netCode() + std::string("    w = ops.prim.ConstantMKLDNNTensor()\n");
  report = inspectBytes(net.bytes());
  ASSERT_NE(findingOf(report, "lost-weights"), nullptr);
  try {
    refuseLostWeights(report, "net.pt");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadModel);
    EXPECT_THAT(error.what(), HasSubstr("'net.pt' cannot be run: torch.jit.optimize_for_inference moved its weights"));
  }
}

TEST(PtFile, NamesForeignOperatorsAndClasses) {
  Net net;
  net.code +=
      "    _1 = ops.torchvision.nms(x, x, 0.5)\n    _2 = ops.quantized.add(x, x, 1., 0)\n"
      "    _3 = ops.ipex_studio.linear(x)\n";
  net.code.insert(net.code.find("  def forward"),
                  "  a : __torch__.torch.classes.evil.Engine\n"
                  "  b : __torch__.torch.classes.ipex_studio.Region\n"
                  "  c : __torch__.torch.classes.quantized.LinearPackedParamsBase\n");
  const PtFileReport report = inspectBytes(net.bytes());
  ASSERT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(report.findings[0].text, "Uses class evil::Engine of another library, which must be loaded with it.");
  EXPECT_TRUE(report.findings[0].dangerous);
  EXPECT_FALSE(report.findings[1].dangerous);
  EXPECT_EQ(report.findings[2].text, "Calls torchvision::nms, which ipex-studio computes without torchvision.");
}

TEST(PtFile, RefusesForeignGlobals) {
  Net net;
  net.data_pkl = pickled(global("os", "system") + binUnicode("true") + "\x85R");
  EXPECT_EQ(
      refusalOf(net.bytes()),
      "'net.pt', member 'net/data.pkl': refused, it calls for 'os.system', which TorchScript files have no use for; "
      "it may be a Python pickle or an attack.");
  net.data_pkl = Net().data_pkl;
  net.constants_pkl = pickled(global("torch", "load") + ")R");
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("it calls for 'torch.load'"));
}

TEST(PtFile, RefusesCodeThatWouldExhaustTheParsersStack) {
  Net net;
  net.code = netCode() + std::string("    t = ") + std::string(5000, '(') + "\n";
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("nests brackets deeper than 300 levels"));
  net.code = netCode() + std::string("    t = ") + std::string(5000, '-') + "1\n";
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("chains more than 1000 operators"));
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const auto refusalOfLine = [&](const std::string& line) {
    net.code = netCode() + std::string("    ") + line + "\n";
    return refusalOf(net.bytes());
  };
  for (const char* link : {"not ", "x if True else ", "2 ** ", "1 + ", "True and ", "1 < ", "1 + \\\n ", "x is "}) {
    EXPECT_THAT(refusalOfLine("t = " + repeated(link, 1001) + "x"), HasSubstr("chains more than 1000")) << link;
    EXPECT_EQ(refusalOfLine("t = " + repeated(link, 400) + "x"), "accepted") << link;
  }
  for (const char* link : {".T", "[0]", "()", " . T", ".#\n T"}) {
    EXPECT_THAT(refusalOfLine("t = torch.relu(x" + repeated(link, 1001) + ")"), HasSubstr("chains more than 1000"))
        << link;
  }
  EXPECT_THAT(refusalOfLine("if x:\n      pass\n" + repeated("    elif x:\n      pass\n", 301)),
              HasSubstr("chains more than 300 branches"));
  EXPECT_EQ(refusalOfLine("t = [" + repeated("-1.5e-05, ", 5000) + "]"), "accepted");
}

TEST(PtFile, RefusesWhatIsNoModule) {
  Net net;
  net.version = "x\n";
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("its format version is no number"));
  net.version = "3\n";
  net.more = {{"byteorder", "big"}};
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("another byte order"));
  net.more = {};
  net.data_pkl = pickled("K\x01");
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("its data is not a module"));
  net.data_pkl = pickled(global("__torch__", "Other") + ")\x81}b");
  EXPECT_THAT(refusalOf(net.bytes()), HasSubstr("its code lacks class '__torch__.Other'"));
  ZipWriter stray = Net().write();
  stray.add("elsewhere/data.pkl", "x");
  EXPECT_THAT(refusalOf(stray.finish()), HasSubstr("member 'elsewhere/data.pkl' lies outside of 'net/'"));
}

TEST(PtFile, ReportsALaterFormat) {
  Net net;
  net.version = "12\n";
  EXPECT_NE(findingOf(inspectBytes(net.bytes()), "newer-format"), nullptr);
}

TEST(PtFile, ReadsAFileOfManyMembersQuickly) {
  ZipWriter zip = Net().write();
  const std::string megabyte(1 << 20, 'w');
  for (int i = 0; i < 20; ++i) zip.add("net/extra/" + std::to_string(i), megabyte);
  const MemoryFile file(zip.finish());
  const double begin = cpuMs();
  EXPECT_EQ(inspectPtFile(file.fd(), "net.pt").members.size(), 26u);
  expectWithin("inspection of 20 MB", cpuMs() - begin, 16);
}

}  // namespace
}  // namespace ipex_studio
