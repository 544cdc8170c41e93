// The commands end to end: their output, their files, their exit codes, their speed. One fixture, therefore one file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/runtime/machine_facts.h"
#include "profiler/database.h"
#include "studio/cli/commands.h"
#include "studio/cli/progress.h"
#include "studio/flags/command_line.h"
#include "tests/goal.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/cli/samples.h"

namespace ipex_studio::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

void expectNumbers(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    EXPECT_TRUE(object.contains(name) && object[name].is_number()) << name << " in " << object;
}

void expectRunSchema(const json& result) {
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["model"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_TRUE(result["model"]["path"].is_string());
  expectNumbers(result["model"], {"nodes"});
  for (const char* name : {"cpu", "isa", "libtorch", "onednn"})
    EXPECT_TRUE(result["machine"][name].is_string()) << name;
  expectNumbers(result["machine"], {"cores", "threads"});
  ASSERT_EQ(result["runs"].size(), 2u);
  EXPECT_EQ(result["runs"][0]["variant"], "baseline");
  EXPECT_EQ(result["runs"][1]["variant"], "optimized");
  for (const json& run : result["runs"]) {
    EXPECT_EQ(run["device"], "cpu");
    EXPECT_EQ(run["precision"], "fp32");
    expectNumbers(run,
                  {"threads", "instances", "throughput_per_s", "compile_ms", "tune_ms", "first_run_ms", "peak_rss_mb"});
    expectNumbers(run["latency_ms"], {"min", "mean", "p50", "p90", "p95", "p99", "max"});
    expectNumbers(run["coverage"], {"nodes", "time"});
    EXPECT_GT(run["peak_rss_mb"].get<double>(), 50);
    EXPECT_LE(run["latency_ms"]["min"], run["latency_ms"]["p50"]);
    EXPECT_LE(run["latency_ms"]["p99"], run["latency_ms"]["max"]);
  }
  const json& accuracy = result["runs"][1]["accuracy"];
  expectNumbers(accuracy, {"max_abs", "max_rel", "sqnr_db", "cosine"});
  EXPECT_EQ(accuracy["pass"], true);
  EXPECT_TRUE(result["runs"][0]["accuracy"].is_null()) << "the baseline was compared with nothing";
  EXPECT_GT(result["speedup_p50"].get<double>(), 0);
  ASSERT_EQ(result["speedup_ci95"].size(), 2u);
  EXPECT_LE(result["speedup_ci95"][0], result["speedup_ci95"][1]);
}

// Keeps every CPU busy while it lives.
class Load {
 public:
  Load() {
    for (unsigned cpu = 0; cpu < std::max(1U, std::thread::hardware_concurrency()); ++cpu)
      threads_.emplace_back([this] {
        while (!ends_) {
        }
      });
  }
  ~Load() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

TEST(Run, SaysThatTheMachineWasBusy) {
  const Sandpit pit;
  const std::vector<std::string> command{"run", modelFile("small.pt"), "--threads", "1",      "--warmup",
                                         "0.1", "--duration",          "1",         "--tune", "off"};
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const Load load;
  const Outcome run = pit.run(as_json);
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["noise"]["level"], "busy") << result["noise"];
  EXPECT_THAT(result["noise"]["text"].get<std::string>(), HasSubstr("measure again when quiet"));
  EXPECT_EQ(result["runs"].size(), 2U);
  EXPECT_TRUE(result["runs"][0].contains("noise"));
  const std::string path = pit.path("data/ipex-studio/profile.db");
  const Outcome compared = pit.run({"compare", path, "1", "2"});
  EXPECT_THAT(compared.out, HasSubstr("● busy: ")) << compared.err;
  ASSERT_EQ(pit.run({"report", path, "-o", pit.path("page.html")}).code, 0);
  EXPECT_THAT(readText(pit.path("page.html")), HasSubstr("● busy: "));
  EXPECT_THAT(pit.run(command).out, HasSubstr("● busy: "));
}

TEST(Run, PrintsRecordsAndExports) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const Outcome run = pit.run(
      {"run", model, "--iterations", "30", "--threads", "1", "--warmup", "0", "--json", "-o", pit.path("fast.pt")});
  ASSERT_EQ(run.code, 0) << run.err;
  expectRunSchema(json::parse(run.out));
  EXPECT_EQ(json::parse(run.out)["machine"]["threads"], 1);
  EXPECT_THAT(run.err, HasSubstr("Inputs are a guess: --input x:1x3x"));
  EXPECT_THAT(run.err, Not(HasSubstr("\r"))) << "progress does not belong into a pipe";
  EXPECT_TRUE(fs::is_empty(pit.path("tmp")));

  // The default database holds the job, and the inputs are remembered.
  const auto database = Database::open(pit.path("data/ipex-studio/profile.db"), OpenMode::kReadOnly);
  ASSERT_EQ(database.jobs().size(), 1u);
  const JobRecord job = database.job(database.jobs().front().id);
  EXPECT_EQ(job.command, "run");
  ASSERT_EQ(job.runs.size(), 2u);
  EXPECT_EQ(job.runs[0].latency_ns.size(), 30u);
  EXPECT_EQ(job.runs[1].latency_ns.size(), 30u);
  EXPECT_FALSE(job.passes.empty());
  EXPECT_TRUE(job.frozen != nullptr);
  const Outcome source = pit.run({pit.path("data/ipex-studio/profile.db"), "--panel", "source", "--json"});
  ASSERT_EQ(source.code, 0) << source.err;
  EXPECT_THAT(source.out, HasSubstr("torch._convolution("));

  const Outcome inspect = pit.run({"inspect", pit.path("fast.pt"), "--json"});
  EXPECT_EQ(inspect.code, 0) << inspect.err;
  const Outcome verify = pit.run({"verify", model, pit.path("fast.pt"), "--json"});
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_EQ(json::parse(verify.out)["pass"], true);

  const Outcome again = pit.run({"bench", model, "--iterations", "10", "--threads", "1", "--warmup", "0"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("Inputs as in the last run: --input x:1x3x"));
  EXPECT_THAT(again.err, HasSubstr("(runs 3, 4)"));
  EXPECT_THAT(again.out, HasSubstr("baseline"));

  const std::string path = pit.path("data/ipex-studio/profile.db");
  const Outcome compare = pit.run({"compare", path, "1", "2", "--json"});
  EXPECT_EQ(compare.code, 0) << compare.err;
  EXPECT_EQ(json::parse(compare.out)["schema"], 1);
  for (const auto& [name, begin] : {std::pair{"report.html", "<!DOCTYPE html>"},
                                    {"steps.csv", "run,"},
                                    {"run.json", "{\""},
                                    {"run.trace.json", "{\""}}) {
    const Outcome report = pit.run({"report", path, "--job", "1", "-o", pit.path(name)});
    EXPECT_EQ(report.code, 0) << report.err;
    EXPECT_THAT(readText(pit.path(name)), ::testing::StartsWith(begin));
  }
  expectRunSchema(json::parse(readText(pit.path("run.json"))));
  EXPECT_TRUE(json::parse(readText(pit.path("run.trace.json")))["traceEvents"].is_array());
  const Outcome list = pit.run({"db", "list", "--db", path});
  EXPECT_THAT(list.out, HasSubstr("optimized fp32"));
  const json listed = json::parse(pit.run({"db", "list", "--db", path, "--newest", "1", "--json"}).out);
  ASSERT_EQ(listed["jobs"].size(), 1u);
  for (const json& run : listed["jobs"][0]["runs"])
    EXPECT_EQ(pit.run({"compare", path, std::to_string(run["run"].get<int>()), "1"}).code, 0);
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"name", "1", "before the fix"}, "Job 1 of small.pt is called before the fix now."},
           {{"name", "small.pt", "Small"}, "The model small.pt is called Small now."},
           {{"pin", "Small"}, "is pinned: db prune leaves it."},
           {{"unpin", "Small"}, "is not pinned any more."},
           {{"pin", "1"}, "Job 1 of small.pt is pinned"}}) {
    std::vector<std::string> command = {"db"};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--db", path});
    const Outcome done = pit.run(command);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr(said));
  }
  const Outcome named = pit.run({"db", "list", "--db", path, "--find", "BEFORE fix"});
  EXPECT_THAT(named.out, HasSubstr("Small (small.pt)"));
  EXPECT_THAT(named.out, HasSubstr("before the fix"));
  EXPECT_EQ(json::parse(pit.run({"db", "list", "--db", path, "--find", "before", "--json"}).out)["jobs"].size(), 1u);
  const Outcome nothing = pit.run({"db", "list", "--db", path, "--find", "no such words"});
  EXPECT_EQ(nothing.out, "");
  EXPECT_EQ(nothing.err, "No job has all of these words.\n");
  const Outcome asked = pit.run({"db", "forget", "2", "--db", path});
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("Job 2 of small.pt would be removed for good; --force does it."));
  EXPECT_EQ(pit.run({"db", "name", "nothing", "x", "--db", path}).code, 2);
  EXPECT_EQ(pit.run({"db", "pin", "1", "--db", pit.path("none.db")}).code, 6);
  const Outcome import = pit.run({"db", "import", path, "--db", pit.path("other.db")});
  EXPECT_THAT(import.err, HasSubstr("Took over 2 jobs"));
  const Outcome prune = pit.run({"db", "prune", "--keep", "1", "--db", pit.path("other.db")});
  EXPECT_THAT(prune.err, HasSubstr("Removed 0 jobs")) << "one is pinned, and one is kept";
  EXPECT_EQ(pit.run({"db", "forget", "2", "--force", "--db", path}).code, 0);
  EXPECT_EQ(json::parse(pit.run({"db", "list", "--db", path, "--json"}).out)["jobs"].size(), 1u);
}

// Expects results in `precision`, whatever this CPU has for it, verified again from the written file.
void expectComputesIn(const std::string& precision, double most_sqnr_db) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const std::string out = pit.path("fast.pt");
  const Outcome run = pit.run({"run", model, "--precision", precision, "--force-precision", "--iterations", "5",
                               "--threads", "1", "--warmup", "0", "--json", "-o", out});
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["runs"][0]["precision"], "fp32");
  EXPECT_EQ(result["runs"][1]["precision"], precision);
  const json& accuracy = result["runs"][1]["accuracy"];
  EXPECT_EQ(accuracy["pass"], true);
  EXPECT_LT(accuracy["sqnr_db"].get<double>(), most_sqnr_db) << "nothing was rounded to " << precision;
  const Outcome verify = pit.run({"verify", model, out, "--precision", precision, "--json"});
  EXPECT_EQ(verify.code, 0) << verify.err;
}

TEST(Run, ComputesInBf16) { expectComputesIn("bf16", 80); }

TEST(Run, ComputesInFp16) { expectComputesIn("fp16", 98); }

TEST(Run, PortableFilesBelowFp32HoldStockOperators) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt"), data = writeSamples(pit.path("data.npy"), 16);
  const auto written = [&](const std::string& precision, std::vector<std::string> words) {
    const std::string out = pit.path(precision + ".pt");
    words.insert(words.end(), {"--form", "portable", "--threads", "1", "-o", out});
    const Outcome made = pit.run(words);
    ASSERT_EQ(made.code, 0) << made.err;
    const Outcome verified = pit.run({"verify", model, out, "--precision", precision, "--json"});
    EXPECT_EQ(verified.code, 0) << verified.err;
    const Outcome inspected = pit.run({"inspect", out});
    EXPECT_THAT(inspected.out, ::testing::Not(HasSubstr("ipex_studio::"))) << precision;
  };
  written("bf16", {"run", model, "--precision", "bf16", "--force-precision", "--iterations", "5", "--warmup", "0"});
  written("int8", {"quantize", model, "--data", data});
}

TEST(Convert, WritesTheModelAsItIs) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt"), out = pit.path("plain.pt");
  const Outcome made = pit.run({"convert", model, "-o", out});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("Written to " + out + ", in operators of PyTorch."));
  EXPECT_EQ(pit.run({"verify", model, out}).code, 0);
  const json before = json::parse(pit.run({"inspect", model, "--json"}).out);
  const json after = json::parse(pit.run({"inspect", out, "--json"}).out);
  EXPECT_EQ(before["operators"]["aten::relu"], after["operators"]["aten::relu"]);
  EXPECT_EQ(pit.run({"convert", model, "-o", out}).code, 2);  // it is there already
}

TEST(Run, ExportsFitATarget) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt"), out = pit.path("fast.pt"), list = pit.path("ops.txt");
  const auto run = [&](const std::vector<std::string>& only, const char* form) {
    std::ofstream(list) << "# a target\n" << fmt::format("{}\n", fmt::join(only, "\n"));
    return pit.run({"run", model, "--threads", "1", "--iterations", "2", "--warmup", "0", "--tune", "off", "--form",
                    form, "--force", "-o", out, "--only-ops", list});
  };
  const auto outside = [&](const std::string& file) {
    const Outcome inspected = pit.run({"inspect", file, "--json", "--only-ops", list});
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    std::string texts;
    const json report = json::parse(inspected.out);
    for (const json& finding : report["findings"]) {
      if (finding["kind"] == "outside-target") texts += finding["text"].get<std::string>() + "\n";
    }
    return texts;
  };
  const Outcome none = run({"aten::cos"}, "portable");
  EXPECT_EQ(none.code, 5) << none.err;
  EXPECT_THAT(none.err, HasSubstr("--only-ops: the target lacks aten::"));
  EXPECT_FALSE(fs::exists(out));
  EXPECT_THAT(outside(model), HasSubstr(", which the target's list lacks.\n"));
  const Outcome compiled = run({"aten::cos"}, "compiled");
  EXPECT_EQ(compiled.code, 5) << compiled.err;
  EXPECT_THAT(compiled.err, HasSubstr("use --form portable"));

  // All that the plain portable form has, but for convolutions under their general name.
  const Outcome plain = pit.run({"run", model, "--threads", "1", "--iterations", "2", "--warmup", "0", "--tune", "off",
                                 "--form", "portable", "--force", "-o", out});
  ASSERT_EQ(plain.code, 0) << plain.err;
  std::vector<std::string> only = {"aten::conv2d"};
  const json report = json::parse(pit.run({"inspect", out, "--json"}).out);
  for (const auto& [name, count] : report["operators"].items()) {
    if (name != "aten::convolution") only.push_back(name);
  }
  const Outcome fitted = run(only, "portable");
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  EXPECT_EQ(outside(out), "");
  EXPECT_EQ(pit.run({"verify", model, out}).code, 0);
}

// A precision that this CPU lacks is refused even beside one that it has.
TEST(Run, EmulatesNoPrecisionUnasked) {
  const std::string isa = machineFacts().isa;
  for (const std::string precision : {"bf16", "fp16"}) {
    if (precision == "bf16" ? hasBf16(isa) : hasFp16(isa)) continue;
    const Sandpit pit;
    const Outcome run = pit.run({"run", modelFile("small.pt"), "--precision", "fp32," + precision});
    EXPECT_EQ(run.code, 5);
    EXPECT_THAT(
        run.err,
        HasSubstr(
            "--precision " + precision + ": this CPU has no " + (precision == "bf16" ? "BF16" : "FP16") +
            " instructions and would emulate them, slower than FP32; use --precision fp32, or add --force-precision"));
  }
}

TEST(Run, OneThreadUsesOneCore) {
  const Sandpit pit;
  const Outcome run = pit.run({"run", modelFile("small.pt"), "--threads", "1", "--warmup", "0", "--input",
                               "x:8x3x64x64", "--duration", "0.5", "--db", pit.path("one.db")});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto database = Database::open(pit.path("one.db"), OpenMode::kReadOnly);
  for (const RunRecord& record : database.job(1).runs) EXPECT_LE(record.cpu_per_wall, 1.05) << record.variant;
}

// Direct children of a process.
std::vector<pid_t> childrenOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

// Clock ticks of CPU time that a process has used.
long ticksOf(pid_t pid) {
  const std::string stat = readText("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  long user = 0;
  fields >> user;
  return user;
}

// Waits until a run of endless.pt computes: an engine needs less than a second of CPU time to load.
std::vector<pid_t> waitForEndlessEngines(pid_t pid) {
  for (int i = 0; i < 3000; ++i) {
    const auto engines = childrenOf(pid);
    if (engines.size() == 2 &&
        (ticksOf(engines[0]) > ::sysconf(_SC_CLK_TCK) || ticksOf(engines[1]) > ::sysconf(_SC_CLK_TCK)))
      return engines;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the engines never computed";
  return {};
}

TEST(Run, CtrlCEndsAtOnceAndLeavesNothing) {
  const Sandpit pit;
  const pid_t pid = pit.start({"run", modelFile("endless.pt"), "--input", "x:4x4"});
  waitForEndlessEngines(pid);
  const auto begin = std::chrono::steady_clock::now();
  ::kill(pid, SIGINT);
  EXPECT_EQ(waitFor(pid), 130) << readText(pit.path("err"));
  expectWithin("end by Ctrl-C", secondsSince(begin), 1, "s");
  EXPECT_TRUE(fs::is_empty(pit.path("tmp")));
  EXPECT_EQ(Database::open(pit.path("data/ipex-studio/profile.db"), OpenMode::kReadOnly).check(), "ok");
}

TEST(Run, KilledEngineIsOneSentence) {
  const Sandpit pit;
  const pid_t pid = pit.start({"run", modelFile("endless.pt"), "--input", "x:4x4"});
  const auto engines = waitForEndlessEngines(pid);
  ASSERT_EQ(engines.size(), 2u);
  ::kill(engines.front(), SIGKILL);
  EXPECT_EQ(waitFor(pid), 128 + SIGKILL);
  EXPECT_THAT(readText(pit.path("err")), HasSubstr("ipex-studio: The engine was killed"));
  EXPECT_LT(::kill(engines.back(), 0), 0) << "the other engine lives on";
}

TEST(Run, HungModelIsEndedByTheTimeout) {
  const Sandpit pit;
  const Outcome run = pit.run({"run", modelFile("endless.pt"), "--input", "x:4x4", "--timeout", "1"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("gave no sign of life for 1 s"));
}

TEST(Show, PrintsEveryFormat) {
  const Sandpit pit;
  const std::string model = modelFile("small.pt");
  const Outcome frozen = pit.run({"show", model, "--after", "frozen"});
  EXPECT_EQ(frozen.code, 0) << frozen.err;
  EXPECT_THAT(frozen.out, HasSubstr("aten::batch_norm"));
  const Outcome folded = pit.run({"show", model, "--after", "fold-batch-norm"});
  EXPECT_THAT(folded.out, Not(HasSubstr("aten::batch_norm")));
  const Outcome before = pit.run({"show", model, "--before", "fold-batch-norm"});
  EXPECT_THAT(before.out, HasSubstr("batch_norm"));
  EXPECT_THAT(pit.run({"show", model, "--format", "dot"}).out, ::testing::StartsWith("digraph model {"));
  EXPECT_THAT(pit.run({"show", model, "--format", "svg"}).out, ::testing::StartsWith("<svg "));
  EXPECT_TRUE(json::parse(pit.run({"show", model, "--format", "json"}).out)["nodes"].is_array());
}

TEST(Show, DumpsTheGraphAfterEveryChangingPass) {
  const Sandpit pit;
  const Outcome show = pit.run({"show", modelFile("small.pt"), "--dump", pit.path("dumps")});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_FALSE(fs::is_empty(pit.path("dumps")));
}

TEST(Show, BelievesNothingThatAFileSaysOfItsPython) {
  const Sandpit pit;
  const Outcome shown = pit.run({"show", modelFile("broken_debug.pt")});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("aten::"));
}

TEST(Show, ReplacesDumpedGraphsOnlyIfAsked) {
  const Sandpit pit;
  fs::create_directory(pit.path("dumps"));
  std::ofstream(pit.path("dumps") + "/0000_mine.ir") << "mine";
  for (const char* command : {"show", "run", "bench"}) {
    const Outcome refused = pit.run({command, modelFile("small.pt"), "--dump", pit.path("dumps")});
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("holds dumped graphs already")) << command;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(pit.path("dumps")), fs::directory_iterator()), 1);
  const Outcome forced = pit.run({"show", modelFile("small.pt"), "--dump", pit.path("dumps"), "--force"});
  EXPECT_EQ(forced.code, 0) << forced.err;
}

TEST(Passes, AreListedWithSummaries) {
  const Sandpit pit;
  const Outcome passes = pit.run({"passes", "--json"});
  ASSERT_EQ(passes.code, 0) << passes.err;
  const json list = json::parse(passes.out)["passes"];
  EXPECT_TRUE(
      std::any_of(list.begin(), list.end(), [](const json& pass) { return pass["name"] == "fold-batch-norm"; }));
}

TEST(Program, LinksNeitherLibtorchNorOnednn) {
  const Sandpit pit;
  const Outcome libraries = pit.runProgram({"ldd", programPath()});
  ASSERT_EQ(libraries.code, 0);
  for (const char* library : {"libtorch", "libc10", "dnnl", "openblas"})
    EXPECT_THAT(libraries.out, Not(HasSubstr(library)));
}

TEST(Help, NamesEveryCommandAndExamples) {
  const Sandpit pit;
  const Outcome help = pit.run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word :
       {"run", "bench", "show", "passes", "inspect", "verify", "compare", "report", "db", "Examples:"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  const Outcome run_help = pit.run({"run", "--help"});
  for (const char* flag : {"--input", "--inputs", "--preserve", "--reset", "--threads", "--instances", "--warmup",
                           "--duration", "--iterations", "--device", "--precision", "--seed", "--json", "--disable",
                           "--limit", "--dump", "--form", "--db", "-o"}) {
    EXPECT_THAT(run_help.out, HasSubstr(flag));
  }
}

TEST(Completion, KnowsCommandsAndFlags) {
  const Sandpit pit;
  for (const char* shell : {"bash", "zsh"}) {
    const Outcome script = pit.run({"completion", shell});
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, HasSubstr("--precision"));
    EXPECT_THAT(script.out, HasSubstr("inspect"));
  }
  std::ofstream(pit.path("completion.bash")) << pit.run({"completion", "bash"}).out;
  const Outcome words = pit.runProgram(
      {"bash", "-c",
       "cd '" + pit.path(".") + "' && source '" + pit.path("completion.bash") +
           "'; COMP_WORDS=(ipex-studio run --form); COMP_CWORD=2; _ipex_studio; echo \"${COMPREPLY[@]}\"; "
           "COMP_WORDS=(ipex-studio ins); COMP_CWORD=1; _ipex_studio; echo \"${COMPREPLY[@]}\""});
  EXPECT_EQ(words.out, "--form\ninspect\n") << words.err;
}

TEST(Manual, NamesEveryCommandAndFlag) {
  const std::string page = readText(IPEX_SOURCE_DIR "/studio/man/ipex-studio.1");
  CommandLine line;
  const auto app = makeApp(line);
  const std::function<void(const CLI::App&)> check = [&](const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        std::string escaped;
        for (const char c : "--" + name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
        EXPECT_THAT(page, HasSubstr(escaped)) << "in the manual page";
      }
    }
    for (const CLI::App* child : command.get_subcommands({})) {
      EXPECT_THAT(page, HasSubstr(child->get_name()));
      check(*child);
    }
  };
  check(*app);
}

TEST(Progress, LineFitsAndSaysWhatItKnows) {
  EXPECT_EQ(progressLine("measure", 0.5, 3.2, false, 80), "[############------------]  50%  measure  4 s left");
  EXPECT_EQ(progressLine("measure", 2, -1, false, 80), "[########################] 100%  measure");
  EXPECT_EQ(progressLine("measure", 0.5, 300.5, false, 80), "[############------------]  50%  measure  6 min left");
  EXPECT_EQ(progressLine("measure", 0.5, 9000, false, 80), "[############------------]  50%  measure  2.5 h left");
  EXPECT_EQ(progressLine("epoch 10/20, loss 0.4127, 87.3 % right, 1240 samples/s", 0.5, 3, false, 80),
            "[###---]  50%  epoch 10/20, loss 0.4127, 87.3 % right, 1240 samples/s  3 s left");
  EXPECT_LE(progressLine(std::string(200, 'x'), 0.5, 3, false, 60).size(), 60u);
  EXPECT_THAT(progressLine("a\x1b[2Jb", 0.5, 3, false, 80), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace ipex_studio::testing
