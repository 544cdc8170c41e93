// Commands, their flags and their help texts: the tree of the command line, one concept and therefore one file.
#include "studio/flags/command_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "core/base/error.h"
#include "studio/flags/flags.h"

namespace ipex_studio {
namespace {

constexpr char kMainExamples[] = R"(
Examples:
  ipex-studio model.pt                               open the studio on a model
  ipex-studio run model.pt -o fast.pt                optimize, verify, measure, export
  ipex-studio run model.pt --input x:8x3x224x224     with a batch of 8
  ipex-studio run model.pt --precision fp32,bf16,int8 --data images/
  ipex-studio run bert.pt --input ids:1x128:int64[0,30521] --input mask:1x128:int64[1,1]
  ipex-studio show model.pt --after fold-batch-norm  the graph after one pass
  ipex-studio inspect model.pt                       what is in a file, without running it
  ipex-studio compare profile.db 1 2                 two recorded runs side by side

Exit codes: 0 ok, 1 failure, 2 usage, 3 bad or refused model, 4 accuracy below the bar,
5 unsupported here, 6 database, 7 slower than before, 128+n the engine was ended by signal n.

Each command explains itself: ipex-studio run --help
)";

constexpr char kRunExamples[] = R"(
Examples:
  ipex-studio run resnet50.pt -o fast.pt                     export in `compiled` form
  ipex-studio run resnet50.pt -o fast.pt --form portable     for stock PyTorch, no library of ours
  ipex-studio run vad.pt --input x:1x512 --input sr=16000 --preserve reset_states
  ipex-studio run net.pt --input x:1..32x3x224x224           verified at batch 1, 16 and 32
  ipex-studio run net.pt --inputs samples.npz --json > result.json

Baseline and optimized run in two processes that take turns, so that both see the same noise.
An export is written only when the results are right.
)";

constexpr char kTuneExamples[] = R"(
Examples:
  ipex-studio tune net.pt --data images/ --max-drop 0.005 -o fast.pt
  ipex-studio tune bert.pt --data sentences.npz --min-sqnr 35 -o fast.pt   without labels

What is tried: every operation alone in INT8, then whole assignments that are fastest for what they disturb, casts and
reorders included. Each is timed and judged on the data. What is slower here in INT8 stays as it is. Interrupted searches
go on where they were.
)";

constexpr char kCheckExamples[] = R"(
Examples:
  ipex-studio check old.pt new.pt --junit check.xml           in a pipeline: exit 0, or 7 slower, 4 less accurate
  ipex-studio check old.pt new.pt --data images/ --max-drop 0.002 --max-slowdown 0.05

Both run as they are and take turns, and the old one runs twice: what differs between its two processes is noise. Slower is
what is so against both, by the ratio and its interval, and again in new processes.
)";

constexpr char kCurvesExamples[] = R"(
Examples:
  ipex-studio curves model.pt                                     splits of the cores and batch sizes that fit
  ipex-studio curves model.pt --batch 1,8 --threads 1,2 --instances 1,2 --precision fp32,bf16 --latency-limit 20
  ipex-studio curves model.pt --json --seconds 20 > curves.json

Without --precision it is measured in FP32 and what else this CPU computes natively; INT8 needs --recipe. One engine for each
precision and batch size is prepared, then all points are measured by turns, so that they share the machine's state. Marked
are the most samples per second, the least time of a request and, with --latency-limit, the most within it. Ctrl-C keeps
the rounds until then (exit code 130). Results that fail the rule of `run` are shown and never marked.
)";

constexpr char kValuesExamples[] = R"(
Examples:
  ipex-studio values model.pt --node layer1.0                 what the module gives, before and after
  ipex-studio values model.pt --node "conv3 relu" --json --precision bf16

The models run node by node up to the value, once each. Where the optimized model computes several nodes at once, what
they give together is shown, and said.
)";

constexpr char kGenerateExamples[] = R"(
Examples:
  ipex-studio generate gpt2.pt --prompt 464,3290 --max-new 64 --compare
  ipex-studio generate gpt2.pt --prompt-file ids.npy --beams 4 --eos 50256 --json
  ipex-studio generate llama.pt --prompt 1,450 --temperature 0.8 --top-p 0.95 --seed 7
  ipex-studio generate stacked.pt --prompt 1,450 --input past:12x2x1x12x1x64

forward takes token ids, and a cache in any nesting of tuples, lists and tensors, which it returns behind the logits; masks
and positions are made for it. Without a cache it gets the whole text at each step. The sizes of a cache are found in the
model, or read off an example (--input) of any length. Printed are the new tokens of the optimized model. The original gets
the same text token by token, and its log-probabilities have to agree (exit code 4 if not); where it would choose otherwise
they are nearly equal, and that is said.
)";

constexpr char kBisectExamples[] = R"(
Examples:
  ipex-studio bisect model.pt --precision bf16                where the optimized model goes wrong
  ipex-studio bisect model.pt --data images/ --disable fuse-activation
  ipex-studio bisect model.pt exported.pt --json              where another file differs

Both sides run node by node on the same inputs, without keeping their values. Printed are the first node whose value is
over the tolerance, the element where it is worst, what it reads, and what is to blame: a rewrite or a kernel by its name
for --disable, a precision, or what was changed in the other file. Without that, and nothing else, results are compared
again. Exit codes: 0 nothing is over the tolerance, 4 something is, others as for run.
)";

constexpr char kConvertExamples[] = R"(
Examples:
  ipex-studio convert old.pt -o plain.pt

Files of Intel Extension for PyTorch name its packed layers and fused operators, and load with it alone. Here they become
operators of PyTorch with weights in its own layout, checked on inputs. What is not known is refused with its name (exit
code 3). `run` opens such files as they are.
)";

constexpr char kTrainExamples[] = R"(
Examples:
  ipex-studio train net.pt -o trained.pt --data fashion_mnist/ --epochs 5
  ipex-studio train net.pt -o trained.pt --data train/ --validation val/ --preprocess p.toml --batch 64 \
      --optimizer adamw:lr=1e-3,weight_decay=0.05 --schedule cosine:warmup=500
  ipex-studio train net.pt -o trained.pt --data train/ --epochs 10 --resume       after Ctrl-C, a crash, or for more epochs

MODEL is a file of torch.jit.script, not frozen; parameters that ask for gradients are trained. The result is the same
module with trained parameters and buffers, which every other command takes. OUTPUT.checkpoint keeps all that --resume
needs; the continuation has the same bits as an uninterrupted run with as many threads. Ctrl-C writes both files (exit
code 130). Exit code 4: the loss or a gradient is not finite.
)";

constexpr char kShowExamples[] = R"(
Examples:
  ipex-studio show model.pt                          after all passes
  ipex-studio show model.pt --before fold-batch-norm
  ipex-studio show model.pt --format svg > graph.svg
)";

void addModel(CLI::App& app, CommandLine& line, const char* text = "A TorchScript file.") {
  app.add_option("MODEL", line.model, text)->required()->type_name("FILE");
}

void addDatabase(CLI::App& app, CommandLine& line) {
  app.add_option("--db", line.database,
                 "Where to record; else $XDG_DATA_HOME/ipex-studio/profile.db (~/.local/share when that is not set).")
      ->type_name("FILE");
}

void addForce(CLI::App& app, CommandLine& line) {
  app.add_flag("--force", line.force, "Replace files that exist already; never one that is read.");
}

void addJson(CLI::App& app, CommandLine& line) {
  app.add_flag("--json", line.json, "One JSON object on stdout; messages go to stderr.");
}

CLI::App* addCommand(CLI::App& app, CommandLine& line, CommandKind kind, const char* name, const char* text) {
  CLI::App* command = app.add_subcommand(name, text);
  command->callback([&line, kind] { line.kind = kind; });
  return command;
}

void addWorkerFlag(CLI::App& app, CommandLine& line, const char* group) {
  app.add_option("--worker", line.worker,
                 "Run the model by this command, which starts an ipex-studio elsewhere: \"ssh host ipex-studio\". The "
                 "paths of model, inputs, "
                 "data and metric are that machine's, all others this one's. No shell reads the words.")
      ->type_name("COMMAND")
      ->group(group);
}

void addMeasuringCommands(CLI::App& app, CommandLine& line) {
  CLI::App* run = addCommand(app, line, CommandKind::kRun, "run",
                             "Optimize, verify, measure against the baseline, record and export a model");
  addModel(*run, line, "A TorchScript file, or ssh://host/path/model.pt on another machine.");
  run->add_option("-o,--output", line.output, "Write the optimized model there; without it no file is written.")
      ->type_name("FILE");
  addForce(*run, line);
  addFlags(*run, line, {FlagSet::kExport});
  run->footer(kRunExamples);
  CLI::App* bench =
      addCommand(app, line, CommandKind::kBench, "bench", "Measure a model, baseline against optimized, and record it");
  addModel(*bench, line);
  addForce(*bench, line);
  for (CLI::App* command : {run, bench}) {
    addDatabase(*command, line);
    addJson(*command, line);
    addFlags(*command, line,
             {FlagSet::kModel, FlagSet::kMeasure, FlagSet::kRewrite, FlagSet::kData, FlagSet::kRecipe,
              FlagSet::kCalibration, FlagSet::kMetric, FlagSet::kCosine});
    addWorkerFlag(*command, line, kSharedGroup);
  }
}

void addConvertCommand(CLI::App& app, CommandLine& line) {
  CLI::App* convert = addCommand(app, line, CommandKind::kConvert, "convert",
                                 "Write a model in the operators of stock PyTorch, not optimized");
  addModel(*convert, line);
  convert->add_option("-o,--output", line.output, "Write the model there.")->required()->type_name("FILE");
  addForce(*convert, line);
  addFlags(*convert, line, {FlagSet::kModel});
  convert->footer(kConvertExamples);
}

void addTrain(CLI::App& app, CommandLine& line) {
  CLI::App* train = addCommand(app, line, CommandKind::kTrain, "train", "Train a scripted model on data");
  addModel(*train, line, "A file of torch.jit.script that is not frozen.");
  train->add_option("-o,--output", line.output, "Write the trained model there, and OUTPUT.checkpoint beside it.")
      ->required()
      ->type_name("FILE");
  addForce(*train, line);
  addFlags(*train, line, {FlagSet::kTrain});
  train->get_option("--data")->required();
  addDatabase(*train, line);
  addJson(*train, line);
  train->footer(kTrainExamples);
}

void addPrecisionCommands(CLI::App& app, CommandLine& line) {
  CLI::App* calibrate = addCommand(app, line, CommandKind::kCalibrate, "calibrate",
                                   "Run data through a model and write a recipe for INT8");
  addModel(*calibrate, line);
  calibrate->add_option("-o,--output", line.output, "Write the recipe there.")->required()->type_name("FILE.json");
  addFlags(*calibrate, line, {FlagSet::kData});

  CLI::App* quantize =
      addCommand(app, line, CommandKind::kQuantize, "quantize", "Write a model in INT8, from a recipe or from data");
  addModel(*quantize, line);
  quantize->add_option("-o,--output", line.output, "Write the model there.")->required()->type_name("FILE");
  addFlags(*quantize, line, {FlagSet::kData, FlagSet::kRecipe, FlagSet::kMetric});

  CLI::App* tune = addCommand(app, line, CommandKind::kTune, "tune",
                              "Find the fastest precision of each operation within a budget of accuracy");
  addModel(*tune, line);
  addFlags(*tune, line, {FlagSet::kSearchPrecision});
  tune->add_option("-o,--output", line.output, "Write the model there.")->required()->type_name("FILE");
  addFlags(*tune, line, {FlagSet::kSearch, FlagSet::kData, FlagSet::kRecipe, FlagSet::kMetric});
  tune->footer(kTuneExamples);
  for (CLI::App* command : {quantize, tune}) addFlags(*command, line, {FlagSet::kCosine, FlagSet::kExport});
  for (CLI::App* command : {calibrate, tune}) command->get_option("--data")->required();
  for (CLI::App* command : {calibrate, quantize, tune}) {
    addForce(*command, line);
    addFlags(*command, line, {FlagSet::kCalibration, FlagSet::kModel});
    addDatabase(*command, line);
    addFlags(*command, line, {FlagSet::kDraw});
    addJson(*command, line);
    addWorkerFlag(*command, line, kSharedGroup);
  }
}

void addLookingCommands(CLI::App& app, CommandLine& line) {
  CLI::App* show = addCommand(app, line, CommandKind::kShow, "show", "Print the graph before or after a pass");
  addModel(*show, line);
  auto* after =
      show->add_option("--after", line.after, "The graph after this pass; else after all.")->type_name("PASS");
  show->add_option("--before", line.before, "The graph before this pass.")->type_name("PASS")->excludes(after);
  show->add_option("--format", line.format, "txt, dot, svg or json.")
      ->check(CLI::IsMember({"txt", "dot", "svg", "json"}))
      ->capture_default_str();
  addForce(*show, line);
  addFlags(*show, line, {FlagSet::kModel, FlagSet::kRewrite});
  show->footer(kShowExamples);

  CLI::App* passes = addCommand(app, line, CommandKind::kPasses, "passes", "List all passes in their order");
  addJson(*passes, line);

  CLI::App* devices = addCommand(app, line, CommandKind::kDevices, "devices",
                                 "List the devices of this machine and how to ask for them by --device");
  addJson(*devices, line);

  CLI::App* inspect = addCommand(app, line, CommandKind::kInspect, "inspect",
                                 "Say what is in a model file, without running anything from it");
  addModel(*inspect, line);
  addJson(*inspect, line);
  addFlags(*inspect, line, {FlagSet::kTarget});

  CLI::App* verify = addCommand(app, line, CommandKind::kVerify, "verify",
                                "Compare the results of an optimized model with those of its original");
  addModel(*verify, line, "The original.");
  verify->add_option("OPTIMIZED", line.other, "The file to be checked against it.")->required()->type_name("FILE");
  addJson(*verify, line);
  addFlags(*verify, line, {FlagSet::kModel, FlagSet::kJudgedPrecision, FlagSet::kCosine, FlagSet::kCompare});
}

void addCheck(CLI::App& app, CommandLine& line) {
  CLI::App* check = addCommand(app, line, CommandKind::kCheck, "check",
                               "Fail if a model is slower or less accurate than the one that it replaces");
  check->add_option("OLD", line.model, "The model in use.")->required()->type_name("FILE");
  check->add_option("NEW", line.other, "The model that replaces it.")->required()->type_name("FILE");
  addFlags(*check, line, {FlagSet::kGate});
  check->add_option("--junit", line.junit, "Write the result there as JUnit's XML.")->type_name("FILE");
  check->add_option("--markdown", line.markdown, "Write the result there as a page of Markdown.")->type_name("FILE");
  addForce(*check, line);
  addJson(*check, line);
  addFlags(*check, line,
           {FlagSet::kModel, FlagSet::kCompare, FlagSet::kJudgedPrecision, FlagSet::kData, FlagSet::kMetric,
            FlagSet::kCosine});
  check->footer(kCheckExamples);
}

void addBisect(CLI::App& app, CommandLine& line) {
  CLI::App* bisect =
      addCommand(app, line, CommandKind::kBisect, "bisect",
                 "Find the first node at which an optimized model, or another file, goes wrong, and why");
  addModel(*bisect, line, "The original.");
  bisect->add_option("OTHER", line.other, "A file that should give the same; without it the model as optimized.")
      ->type_name("FILE");
  addDatabase(*bisect, line);
  addJson(*bisect, line);
  addFlags(*bisect, line,
           {FlagSet::kModel, FlagSet::kCompare, FlagSet::kRewrite, FlagSet::kData, FlagSet::kRecipe, FlagSet::kCosine});
  bisect->footer(kBisectExamples);
}

void addCurves(CLI::App& app, CommandLine& line) {
  CLI::App* curves =
      addCommand(app, line, CommandKind::kCurves, "curves",
                 "Measure a model over threads, instances, batch sizes and precisions, and name the best split");
  addModel(*curves, line);
  addFlags(*curves, line, {FlagSet::kCurves});
  addDatabase(*curves, line);
  addJson(*curves, line);
  addFlags(*curves, line, {FlagSet::kModel, FlagSet::kRewrite, FlagSet::kRecipe, FlagSet::kCosine});
  curves->callback([&line, curves] {
    line.kind = CommandKind::kCurves;
    line.curves.every_precision = curves->count("--precision") == 0;
  });
  curves->footer(kCurvesExamples);
}

void addValues(CLI::App& app, CommandLine& line) {
  CLI::App* values = addCommand(app, line, CommandKind::kValues, "values",
                                "Show what one value holds: range, mean, NaN, histogram; original, optimized, FP64");
  addModel(*values, line);
  values
      ->add_option("--node", line.node,
                   "The node that gives the value: a module (layer1.0), its full name, words of that, or #17.")
      ->type_name("NAME")
      ->required();
  addJson(*values, line);
  addFlags(*values, line, {FlagSet::kModel, FlagSet::kCompare, FlagSet::kRewrite, FlagSet::kData, FlagSet::kRecipe});
  values->footer(kValuesExamples);
}

void addGenerate(CLI::App& app, CommandLine& line) {
  CLI::App* generate = addCommand(app, line, CommandKind::kGenerate, "generate",
                                  "Write text with a language model: greedy, beam search or sampling");
  addModel(*generate, line);
  addFlags(*generate, line, {FlagSet::kGenerate});
  addJson(*generate, line);
  addFlags(*generate, line, {FlagSet::kModel, FlagSet::kRewrite, FlagSet::kRecipe, FlagSet::kCosine});
  generate->footer(kGenerateExamples);
}

void addItem(CLI::App& command, CommandLine& line) {
  command
      .add_option("WHAT", line.item,
                  "The number of a job; or of a model its path, its file's name, the name that it was given, or the "
                  "first digits of its SHA-256.")
      ->required()
      ->type_name("WHAT");
}

void addLibraryCommands(CLI::App& db, CommandLine& line) {
  CLI::App* name = addCommand(db, line, CommandKind::kName, "name", "Name a job or a model");
  addItem(*name, line);
  name->add_option("NAME", line.name, "The name; without one it has none any more.")->type_name("NAME");
  addDatabase(*name, line);
  CLI::App* pin = addCommand(db, line, CommandKind::kPin, "pin", "Pin a job or a model: prune never removes it");
  addItem(*pin, line);
  addDatabase(*pin, line);
  CLI::App* unpin = addCommand(db, line, CommandKind::kUnpin, "unpin", "Let a pinned job or model loose again");
  addItem(*unpin, line);
  addDatabase(*unpin, line);
  CLI::App* forget = addCommand(db, line, CommandKind::kForget, "forget", "Remove a job, or a model with all its jobs");
  addItem(*forget, line);
  forget->add_flag("--force", line.force, "Remove it; without this flag it is only said what would go.");
  addDatabase(*forget, line);
}

void addDatabaseCommands(CLI::App& app, CommandLine& line) {
  CLI::App* compare = addCommand(app, line, CommandKind::kCompare, "compare", "Set two recorded runs side by side");
  compare->add_option("DB", line.database, "A profile.db.")->required()->type_name("FILE");
  compare->add_option("RUN", line.runs, "The numbers of two runs.")->required()->expected(2)->type_name("N N");
  addJson(*compare, line);

  CLI::App* report = addCommand(app, line, CommandKind::kReport, "report",
                                "Write a recorded job as one file: HTML, CSV, JSON or a Chrome trace");
  report->add_option("DB", line.database, "A profile.db.")->required()->type_name("FILE");
  report
      ->add_option("-o,--output", line.output,
                   "Its end says what it is: .html a report with charts, .csv the steps, .json "
                   "the numbers as run --json prints them, .trace.json for Perfetto or chrome://tracing.")
      ->required()
      ->type_name("FILE");
  addForce(*report, line);
  report->add_option("--job", line.job, "The number of a job; else the newest.")
      ->type_name("N")
      ->check(CLI::PositiveNumber);

  CLI::App* db =
      app.add_subcommand("db", "List recorded runs, name and pin them, bring them together, or throw old ones away");
  db->require_subcommand(1);
  CLI::App* list =
      addCommand(*db, line, CommandKind::kList, "list", "List the runs, with the numbers that compare takes");
  list->add_option("--newest", line.newest, "So many of the newest jobs.")
      ->type_name("N=20")
      ->check(CLI::PositiveNumber);
  list->add_option("--find", line.find, "Only jobs whose names, file, command or precision have all these words.")
      ->type_name("WORDS");
  addDatabase(*list, line);
  addJson(*list, line);
  addLibraryCommands(*db, line);
  CLI::App* import = addCommand(*db, line, CommandKind::kImport, "import", "Take over the runs of another database");
  import->add_option("FROM", line.other, "The database to read.")->required()->type_name("FILE");
  addDatabase(*import, line);
  CLI::App* times =
      addCommand(*db, line, CommandKind::kKernelTimes, "kernels",
                 "Print the times of kernels that are remembered for this kind of CPU, as JSON, or add some");
  times
      ->add_option("FROM", line.other,
                   "What the command printed elsewhere; -: standard input. Its times are added to the database.")
      ->type_name("FILE");
  addDatabase(*times, line);
  CLI::App* prune = addCommand(*db, line, CommandKind::kPrune, "prune", "Remove the oldest jobs");
  prune->add_option("--keep", line.keep_jobs, "Keep so many of the newest jobs.")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  prune->add_option("--keep-mb", line.keep_mb, "Keep as many as fit into a file of so many MB.")
      ->type_name("MB")
      ->check(CLI::NonNegativeNumber);
  addDatabase(*prune, line);

  CLI::App* completion = addCommand(app, line, CommandKind::kCompletion, "completion",
                                    "Print the completion script for a shell: source <(ipex-studio completion bash)");
  addCommand(app, line, CommandKind::kWorker, "worker",
             "Serve one model over standard input and output; what --worker and ssh:// start");
  completion->add_option("SHELL", line.shell, "bash or zsh.")->required()->check(CLI::IsMember({"bash", "zsh"}));
}

// True if an empty window may open: there is a display, and no table is asked for.
bool canWelcome(const CommandLine& line) {
  const bool display = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  return display && !line.json && !line.csv;
}

void addStudio(CLI::App& app, CommandLine& line) {
  app.add_option("FILE", line.model,
                 "A model to open in the studio, also as ssh://host/path/model.pt, or a profile.db of recorded runs.");
  app.add_option("--screenshot", line.screenshot, "Do not stay open: write what the window shows as PNG.")
      ->type_name("FILE.png")
      ->group(kWindowGroup);
  app.add_option("--report", line.report, "Do not stay open: write what the window shows as one HTML file.")
      ->type_name("FILE.html")
      ->group(kWindowGroup);
  app.add_flag("--force", line.force, "Replace files that exist already; never one that is read.")->group(kWindowGroup);
  app.add_option("--script", line.script, "Do not stay open: do what this file says, step by step.")
      ->type_name("FILE")
      ->group(kWindowGroup);
  app.add_option("--panel", line.panel, "Show this panel alone.")->type_name("NAME")->group(kWindowGroup);
  auto* json = app.add_flag("--json", line.json, "No window: print what the panel shows (else operations) as JSON.")
                   ->group(kWindowGroup);
  app.add_flag("--csv", line.csv, "No window: print what the panel shows (else operations) as CSV.")
      ->excludes(json)
      ->group(kWindowGroup);
  app.add_option("--size", line.size, "Size of the window in pixels.")
      ->type_name("WxH")
      ->capture_default_str()
      ->group(kWindowGroup);
  app.add_option("--scale", line.scale, "How large everything is drawn, 0.5 to 4; without it as the display asks.")
      ->type_name("FACTOR")
      ->check(CLI::Range(0.5, 4.0))
      ->group(kWindowGroup);
  app.add_option("--theme", line.theme, "dark, light or contrast; without it the one chosen last.")
      ->check(CLI::IsMember({"dark", "light", "contrast"}))
      ->group(kWindowGroup);
  addWorkerFlag(app, line, kSharedGroup);
  addDatabase(app, line);
  addFlags(app, line, {FlagSet::kModel, FlagSet::kMeasure, FlagSet::kRewrite});
}

}  // namespace

std::unique_ptr<CLI::App> makeApp(CommandLine& line) {
  auto app = std::make_unique<CLI::App>(
      "Open a TorchScript model, see pass by pass what an optimizer does to it, make it measurably faster on this CPU "
      "without losing accuracy, and take the result away.",
      "ipex-studio");
  app->set_version_flag("--version", "ipex-studio " IPEX_STUDIO_VERSION);
  app->require_subcommand(0, 1);
  app->footer(kMainExamples);
  addStudio(*app, line);
  addMeasuringCommands(*app, line);
  addConvertCommand(*app, line);
  addPrecisionCommands(*app, line);
  addTrain(*app, line);
  addLookingCommands(*app, line);
  addCheck(*app, line);
  addBisect(*app, line);
  addCurves(*app, line);
  addValues(*app, line);
  addGenerate(*app, line);
  addDatabaseCommands(*app, line);
  return app;
}

std::optional<int> parseCommandLine(int argc, char** argv, CommandLine& line) {
  const auto app = makeApp(line);
  try {
    app->parse(argc, argv);
    if (line.kind == CommandKind::kStudio && line.model.empty() && !canWelcome(line)) {
      std::cerr << "ipex-studio: which file? Give a model (.pt) or a profile.db, or one of the commands of --help.\n";
      return static_cast<int>(ExitCode::kUsage);
    }
    return std::nullopt;
  } catch (const CLI::Success& success) {
    return app->exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "ipex-studio: " << error.what()
              << (std::string(error.what()).find('.') == std::string::npos ? "." : "") << " Try --help.\n";
    return static_cast<int>(ExitCode::kUsage);
  }
}

}  // namespace ipex_studio
