// Every field of a request, once: how it travels, its flags and its line in the window's dialog for jobs on data.
//
// A row is v(JsonField("measure.threads", 0, 1 << 16), r.measure.threads, Flag(…).between(0, 4096), Form(…)), or begins
// with StudioOnly() where no engine needs the field. Three readers: studio/protocol makes JSON of rows, studio/flags
// the command line, core/record/request_form.h the dialog. The order of rows is that of --help, of completions and of
// the script's words. One table, therefore one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/record/request.h"

namespace ipex_studio {

// Place of a field in the JSON of a job, and what a reader accepts there. Integers of JSON have limits of their own: a
// program may ask for more than a person can type.
struct JsonField {
  const char* path;  // "rewrite_limit", or "optimize.rewrite_limit" inside an object
  std::int64_t low;
  std::int64_t high;
  std::size_t max_bytes = 1 << 20;

  explicit JsonField(const char* at, std::int64_t least = 0,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max())
      : path(at), low(least), high(most) {}
  JsonField atMost(std::size_t bytes) const {
    JsonField json = *this;
    json.max_bytes = bytes;
    return json;
  }
};

// In place of JsonField: the field never reaches an engine.
struct StudioOnly {};

// Longest text of a recipe, a tuning record or a state.
constexpr std::size_t kMaxDocumentBytes = std::size_t{256} << 20;

// Flags that a command takes together.
enum class FlagSet {
  kModel,
  kMeasure,
  kDraw,     // for commands that read samples and time nothing by themselves
  kCompare,  // for `verify`
  kRewrite,
  kSearchPrecision,
  kJudgedPrecision,
  kData,
  kRecipe,
  kCalibration,
  kMetric,
  kCosine,
  kSearch,
  kExport,
  kTarget,  // for `inspect`
  kGate,    // for `check`
  kCurves,
  kTrain,
  kGenerate,
};

// A flag of the command line for the field. `kind` is what --help calls its value; empty: the name of the type.
struct Flag {
  enum class Limit { kNone, kBetween, kPositive, kNotNegative, kOneOf };

  FlagSet set;
  const char* name;
  const char* kind;
  const char* help;
  Limit limit = Limit::kNone;
  double low = 0, high = 0;           // kBetween
  std::vector<const char*> words;     // kOneOf; numbers for a field that is a number
  std::vector<const char*> excluded;  // flags that cannot be given with this one
  bool shows_default = false;         // in --help
  bool commas = false;                // several values in one word
  bool turns_off = false;             // sets a bool to false

  Flag(FlagSet of, const char* flag, const char* value, const char* text)
      : set(of), name(flag), kind(value), help(text) {}
  Flag between(double least, double most) && {
    limit = Limit::kBetween;
    low = least;
    high = most;
    return std::move(*this);
  }
  Flag positive() && {
    limit = Limit::kPositive;
    return std::move(*this);
  }
  Flag notNegative() && {
    limit = Limit::kNotNegative;
    return std::move(*this);
  }
  // Of an enumeration: these values alone, and --help lists them in its text; without it all, and --help adds them.
  Flag oneOf(std::vector<const char*> names) && {
    limit = Limit::kOneOf;
    words = std::move(names);
    return std::move(*this);
  }
  Flag showingDefault() && {
    shows_default = true;
    return std::move(*this);
  }
  Flag withCommas() && {
    commas = true;
    return std::move(*this);
  }
  Flag turningOff() && {
    turns_off = true;
    return std::move(*this);
  }
  Flag excluding(std::vector<const char*> flags) && {
    excluded = std::move(flags);
    return std::move(*this);
  }
};

// The field in the window's dialog for jobs on data, and in scripts ("tune search drop=0.02").
struct Form {
  enum class Kind {
    kHidden,  // for scripts alone
    kData,    // a file or folder where the model runs
    kFile,    // a file to read
    kSave,    // a file to write
    kNumber,
    kChoice,
  };

  const char* key;   // in scripts
  unsigned goals;    // bits of the jobs that take it: goalBit()
  int line;          // place in the dialog
  const char* name;  // what stands before it
  const char* hint;  // inside an empty path, behind a number, for an empty choice
  Kind kind = Kind::kHidden;
  std::vector<const char*> choices;  // kChoice
  double low = 0, high = 0;          // kNumber
  const char* wrong = nullptr;       // kNumber: the sentence for a text that is none between them
  bool may_be_empty = false;         // kNumber: then the default

  Form(const char* word, unsigned for_goals, int place, const char* label, const char* text)
      : key(word), goals(for_goals), line(place), name(label), hint(text) {}
  Form path(Kind of) && {
    kind = of;
    return std::move(*this);
  }
  Form number(double least, double most, const char* sentence) && {
    kind = Kind::kNumber;
    low = least;
    high = most;
    wrong = sentence;
    return std::move(*this);
  }
  Form orEmpty() && {
    may_be_empty = true;
    return std::move(*this);
  }
  Form choice(std::vector<const char*> names) && {
    kind = Kind::kChoice;
    choices = std::move(names);
    return std::move(*this);
  }
};

constexpr unsigned goalBit(TuneGoal goal) { return 1U << static_cast<unsigned>(goal); }
constexpr unsigned kForCalibrate = goalBit(TuneGoal::kCalibrate), kForQuantize = goalBit(TuneGoal::kQuantize),
                   kForSearch = goalBit(TuneGoal::kSearch), kForData = kForCalibrate | kForQuantize | kForSearch;

// --precision and --device as typed, "fp32,bf16,int8": the last is what is exported, the others are measured beside it.
template <class T>
struct ListField {
  T* last;
  std::vector<T>* others;
};
using PrecisionList = ListField<Precision>;
using DeviceChoices = ListField<std::string>;

template <class V>
void describe(V& v, Request& r) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  OptimizeOptions& optimize = r.optimize;
  MeasureOptions& measure = r.measure;

  // Model and inputs
  v(JsonField("inputs"), r.inputs,
    Flag(
        FlagSet::kModel, "--input", "SPEC",
        "One argument of forward: NAME:1x3x224x224[:dtype], NAME:SHAPE:int64[lo,hi] for ids, a range "
        "x:1..32x3x224x224 that is verified at several sizes, or NAME=VALUE for numbers, booleans, None, texts and any "
        "nesting of [lists], (tuples) and {key: value}, with tensors in them as 2x3:float32. "
        "Once per argument, in order; what is missing is guessed, and the guess is said."),
    Flag(FlagSet::kTrain, "--input", "SPEC",
         "An argument of forward that the data does not bring, as `run` takes it."));
  v(JsonField("inputs_path"), r.inputs_path,
    Flag(FlagSet::kModel, "--inputs", "FILE",
         "Take arguments from a file: .pt (list, dict or tuple of any nesting), a recorded .io.pt, .npy or .npz. "
         "--input gives those that are not in it."),
    Flag(FlagSet::kTrain, "--inputs", "FILE",
         "Arguments that the data does not bring, from a file as `run` takes it."));
  v(JsonField("method").atMost(1000), r.method,
    Flag(FlagSet::kModel, "--method", "NAME",
         "Optimize this exported method instead of forward, which the export keeps as it is. `inspect` lists them."));
  v(JsonField("evaluation"), r.evaluation,
    Flag(FlagSet::kModel, "--evaluation", "",
         "Run dropout and norms that were traced in training mode as in evaluation mode; the export does so, too."));
  v(JsonField("libraries"), r.libraries,
    Flag(FlagSet::kModel, "--library", "FILE",
         "Load a shared library that defines operators or classes of the model; may be given several times. Its code "
         "runs as you, inside of the sandbox: only for libraries that you would run as a program."),
    Flag(FlagSet::kTrain, "--library", "FILE",
         "Load a shared library that defines operators or classes of the model; may be given several times."));
  v(JsonField("optimize.preserved_methods"), optimize.preserved_methods,
    Flag(FlagSet::kModel, "--preserve", "NAME,...",
         "Attributes and methods that freezing must keep beside the exported methods.")
        .withCommas());
  v(JsonField("reset_method"), r.reset_method,
    Flag(FlagSet::kModel, "--reset", "METHOD", "Method that brings a model with state back to its beginning."));
  v(StudioOnly(), r.trust,
    Flag(FlagSet::kModel, "--trust", "",
         "Run the model without the sandbox. Only for files you would run as a program."),
    Flag(FlagSet::kTrain, "--trust", "", "Train without the sandbox. Only for files you would run as a program."));
  v(StudioOnly(), r.silence_s,
    Flag(FlagSet::kModel, "--timeout", "SECONDS", "Give up when the engine says nothing for so long.")
        .positive()
        .showingDefault(),
    Flag(FlagSet::kTrain, "--timeout", "SECONDS", "Give up when the engine says nothing for so long.")
        .positive()
        .showingDefault());

  // Measuring
  v(JsonField("measure.threads", 0, 1 << 16), measure.threads,
    Flag(FlagSet::kMeasure, "--threads", "N", "Threads of each instance; 0: all usable cores, shared by the instances.")
        .between(0, 4096)
        .showingDefault(),
    Flag(FlagSet::kDraw, "--threads", "", "0: all usable cores.").between(0, 4096),
    Flag(FlagSet::kCompare, "--threads", "", "0: all usable cores.").between(0, 4096),
    Flag(FlagSet::kTrain, "--threads", "N", "Threads; 0: all usable cores.").between(0, 4096).showingDefault(),
    Flag(FlagSet::kGenerate, "--threads", "N", "Threads; 0: all usable cores.").between(0, 4096).showingDefault());
  v(JsonField("measure.instances", 1, 1 << 16), measure.instances,
    Flag(FlagSet::kMeasure, "--instances", "N", "Answer so many requests at the same time, each on cores of its own.")
        .between(1, 1024)
        .showingDefault());
  v(JsonField("measure.hint").atMost(20), measure.hint,
    Flag(FlagSet::kMeasure, "--hint", "GOAL",
         "Choose instances and threads by measuring a few splits of the cores, for the least time per request "
         "(latency) or the most requests per second (throughput).")
        .oneOf({"latency", "throughput"})
        .excluding({"--threads", "--instances"}));
  v(JsonField("measure.warmup_s"), measure.warmup_s,
    Flag(FlagSet::kMeasure, "--warmup", "SECONDS", "Run so long before measuring.").between(0, 86400).showingDefault());
  v(JsonField("measure.duration_s"), measure.duration_s,
    Flag(FlagSet::kMeasure, "--duration", "SECONDS", "Measure each variant for so long.")
        .between(0.001, 86400)
        .showingDefault());
  v(JsonField("measure.iterations"), measure.iterations,
    Flag(FlagSet::kMeasure, "--iterations", "N", "Measure exactly N forwards of each variant; --duration is ignored.")
        .between(1, static_cast<double>(std::int64_t{1} << 40)));
  v(JsonField("measure.seed"), measure.seed,
    Flag(FlagSet::kMeasure, "--seed", "N", "Seed of the made-up inputs.").showingDefault(),
    Flag(FlagSet::kDraw, "--seed", "", "Which samples are drawn."),
    Flag(FlagSet::kCompare, "--seed", "", "Seed of the made-up inputs."),
    Flag(FlagSet::kTrain, "--seed", "N", "Seed of the order of samples, of augmentation and of dropout.")
        .showingDefault(),
    Flag(FlagSet::kGenerate, "--seed", "N", "Seed of sampling: the same seed gives the same text.").showingDefault());

  // Rewriting
  v(JsonField("optimize.device"), optimize.device);
  v(StudioOnly(), DeviceChoices{&optimize.device, &r.also_devices},
    Flag(FlagSet::kRewrite, "--device", "DEVICE",
         "Where to run: cpu, xpu[:N] for an Intel GPU, or opencl[:N], which `ipex-studio devices` lists; run and bench "
         "set several side by side, node by node: cpu,xpu.")
        .showingDefault());
  v(JsonField("optimize.precision"), optimize.precision);
  v(StudioOnly(), PrecisionList{&optimize.precision, &r.also},
    Flag(FlagSet::kRewrite, "--precision", "",
         "fp32, bf16, fp16 or int8; run and bench set several side by side: fp32,bf16,int8.")
        .showingDefault(),
    Flag(FlagSet::kSearchPrecision, "--precision", "", "auto.").oneOf({"auto"}),
    Flag(FlagSet::kJudgedPrecision, "--precision", "",
         "What the second file computes in: below fp32 its cosine is judged.")
        .oneOf({"fp32", "bf16", "fp16", "int8"})
        .showingDefault(),
    Flag(FlagSet::kTrain, "--precision", "",
         "fp32, or bf16: convolutions and matrix products in BF16; parameters, gradients of parameters, norms and the "
         "loss in FP32.")
        .oneOf({"fp32", "bf16"})
        .showingDefault());
  v(StudioOnly(), r.force_precision,
    Flag(FlagSet::kRewrite, "--force-precision", "", "Compute so even where this CPU has to emulate it."),
    Flag(FlagSet::kTrain, "--force-precision", "", "Compute so even where this CPU has to emulate it."));
  v(JsonField("optimize.disabled_passes"), optimize.disabled_passes,
    Flag(FlagSet::kRewrite, "--disable", "PASS,...",
         "Passes to leave out, which `ipex-studio passes` lists; PASS#NODES leaves one rewrite of a pass out, or "
         "one planned operation, as `ipex-studio bisect` names them.")
        .withCommas());
  v(JsonField("optimize.tune"), optimize.tune,
    Flag(FlagSet::kRewrite, "--tune", "",
         "How long kernels and layouts are measured before the fastest are taken: off, quick (some seconds) or "
         "full (a minute). What was measured is remembered in the database.")
        .showingDefault());
  v(JsonField("optimize.allow_winograd"), optimize.allow_winograd,
    Flag(FlagSet::kRewrite, "--no-winograd", "", "Take no convolution algorithm that rounds differently.")
        .turningOff());
  v(JsonField("optimize.batch_buckets"), optimize.batch_buckets,
    Flag(FlagSet::kRewrite, "--batch-buckets", "N,...",
         "For batches of many sizes: one between two of these runs on the kernels prepared for the larger, "
         "where samples are proven independent. The export keeps it.")
        .between(1, 65536)
        .withCommas());
  v(JsonField("optimize.length_buckets"), optimize.length_buckets,
    Flag(
        FlagSet::kRewrite, "--length-buckets", "N,...",
        "For sequences of many lengths (axis 1): one between two of these runs on the kernels prepared for the longer, "
        "where no position is proven to depend on later ones. The export keeps it.")
        .between(1, 65536)
        .withCommas());
  v(JsonField("optimize.new_sizes"), optimize.new_sizes,
    Flag(FlagSet::kRewrite, "--new-sizes", "",
         "What the export does at sizes it has not seen: prepare kernels at-once, prepare for returning sizes as soon "
         "as it is worth it and run the original code until then, or do that in the background.")
        .showingDefault());
  v(JsonField("optimize.rewrite_limit", -1, kMax), optimize.rewrite_limit,
    Flag(FlagSet::kRewrite, "--limit", "N", "Stop rewriting after N rewrites: halve N until the culprit is found.")
        .notNegative());
  v(JsonField("optimize.dump_directory"), optimize.dump_directory,
    Flag(FlagSet::kRewrite, "--dump", "DIR", "Write the graph after every changing pass as numbered files to DIR."));
  v(JsonField("optimize.verify_passes"), optimize.verify_passes);
  v(JsonField("optimize.plan_regions"), optimize.plan_regions);
  v(JsonField("optimize.precision_overrides"), optimize.precision_overrides,
    Flag(FlagSet::kRewrite, "--decide", "WHAT=PRECISION,...",
         "Compute a module (layer1.0.conv3=fp32), a kind of operation (kind:linear=fp32) or all (*=fp32) in another "
         "precision than the rest; the last that fits counts. kind:double=fp32: in FP32 what the model computes in "
         "FP64.")
        .withCommas());
  v(JsonField("optimize.tuning_record").atMost(kMaxDocumentBytes), optimize.tuning_record);
  v(JsonField("optimize.quantization_recipe").atMost(kMaxDocumentBytes), optimize.quantization_recipe);

  // Data, recipes, precisions
  v(JsonField("data.path"), r.data.path,
    Flag(FlagSet::kData, "--data", "PATH",
         "Samples to calibrate and judge on: a folder of class folders of images, CIFAR-10 or MNIST files, .npy, .npz, "
         ".pt tensors, or a recorded .io.pt."),
    Flag(FlagSet::kTrain, "--data", "PATH",
         "Samples to train on: a folder of class folders of images, a folder of CIFAR-10 or MNIST files, .npy, .npz, "
         ".pt tensors with labels or targets, or a recorded .io.pt."),
    Form("data", kForData, 1, "data", "images in folders by class, .npy, .npz, .pt, CIFAR-10, MNIST")
        .path(Form::Kind::kData));
  v(StudioOnly(), r.data.preprocess_path,
    Flag(FlagSet::kData, "--preprocess", "FILE",
         "How images become tensors: a TOML file with resize, crop, mean, std …"),
    Flag(
        FlagSet::kTrain, "--preprocess", "FILE",
        "How images become tensors: a TOML file with resize, crop, mean, std …, and how they vary from epoch to epoch: "
        "flip, shift."),
    Form("preprocess", kForData, 2, "preprocessing", "a TOML file with resize, crop, mean, std; empty: pixels to 0..1")
        .path(Form::Kind::kFile));
  v(JsonField("data.preprocess"), r.data.preprocess);
  v(StudioOnly(), r.recipe,
    Flag(FlagSet::kRecipe, "--recipe", "FILE",
         "For INT8: what calibrate wrote, or an int8_conf.json of Intel Extension for PyTorch; dynamic or "
         "weight-only: linear layers and tables of embeddings alone, without calibration."),
    Form("recipe", kForQuantize, 6, "recipe", "empty: calibrate now; or a recipe, or an int8_conf.json")
        .path(Form::Kind::kFile));
  v(StudioOnly(), r.weights.bits,
    Flag(FlagSet::kRecipe, "--bits", "N", "With --recipe weight-only: bits of each weight, 8 or 4.")
        .oneOf({"8", "4"})
        .showingDefault());
  v(StudioOnly(), r.weights.levels,
    Flag(FlagSet::kRecipe, "--levels", "NAME",
         "With --bits 4: what the bits stand for: even steps, or nf4, levels that lie closer where most weights are.")
        .oneOf({"even", "nf4"})
        .showingDefault());
  v(StudioOnly(), r.weights.group,
    Flag(FlagSet::kRecipe, "--group", "N",
         "With --recipe weight-only: so many weights of a row share a scale; 0: the whole row. Without it 0 "
         "for 8 bits, 32 for 4.")
        .oneOf({"0", "32", "64", "128", "256"}));
  v(StudioOnly(), r.save_recipe,
    Flag(FlagSet::kSearch, "--save-recipe", "FILE.json", "Write the recipe with all decisions there."),
    Form("save", kForData, 7, "save recipe as", "empty: kept while the studio is open").path(Form::Kind::kSave));
  v(JsonField("data.metric"), r.data.metric,
    Flag(FlagSet::kMetric, "--metric", "NAME",
         "What results are judged by: top-1, top-5, mse, cosine, sqnr, or a TorchScript file with "
         "metric(outputs, targets). Without it top-1 where the data has labels, else SQNR against FP32."),
    Flag(FlagSet::kTrain, "--metric", "NAME",
         "What each epoch is judged by on the data of --validation: top-1, top-5, mse, cosine, or a TorchScript file "
         "with metric(outputs, targets). Without it top-1 where there are labels, else the loss."),
    Form("metric", kForQuantize | kForSearch, 5, "judged by", "by the data")
        .choice({"", "top-1", "top-5", "mse", "cosine", "sqnr"}));
  v(JsonField("calibration.method").atMost(40), r.calibration.method,
    Flag(FlagSet::kCalibration, "--ranges", "METHOD",
         "How ranges are found: min-max, percentile, kl, mse, or auto: mse, but min-max for what linear layers "
         "and sums read.")
        .oneOf({"auto", "min-max", "percentile", "kl", "mse"})
        .showingDefault(),
    Form("method", kForData, 4, "ranges", "").choice({"auto", "min-max", "percentile", "kl", "mse"}));
  v(JsonField("calibration.percentile"), r.calibration.percentile,
    Flag(FlagSet::kCalibration, "--percentile", "PERCENT",
         "With --ranges percentile: this share of the values lies inside.")
        .between(50, 100)
        .showingDefault());
  v(JsonField("optimize.equalize"), optimize.equalize,
    Flag(FlagSet::kCalibration, "--equalize", "",
         "Level the ranges of channels between layers first: where a few channels reach much further than the "
         "others, these keep more levels."));
  v(JsonField("data.samples"), r.data.samples,
    Flag(FlagSet::kData, "--samples", "N", "Use so many of them, drawn by --seed; 0: all.").notNegative(),
    Flag(FlagSet::kTrain, "--samples", "N", "Train on so many of them, drawn by --seed; 0: all.").notNegative(),
    Form("samples", kForData, 3, "samples", "empty: 1000 to calibrate on, all to judge on")
        .number(0, 1e12, "Samples are a whole number; leave it empty for as many as is usual.")
        .orEmpty());
  v(JsonField("data.batch", 1, 1 << 20), r.data.batch,
    Flag(FlagSet::kData, "--batch", "N", "Samples per forward.").between(1, 1 << 20).showingDefault());
  v(JsonField("calibration.samples"), r.calibration.samples,
    Flag(FlagSet::kRecipe, "--calibration-samples", "N", "Without a recipe: calibrate on so many samples of the data.")
        .positive()
        .showingDefault());
  v(JsonField("search.max_drop"), r.search.max_drop,
    Flag(FlagSet::kSearch, "--max-drop", "SHARE",
         "How much of the metric may be lost: 0.01 is one percent of the samples.")
        .between(0, 1)
        .showingDefault(),
    Flag(FlagSet::kGate, "--max-drop", "SHARE",
         "With --data: how much of the metric may be lost: 0.01 is one percent of the samples.")
        .between(0, 1)
        .showingDefault(),
    Form("drop", kForSearch, 8, "may be lost", "of the metric: 0.01 is one percent of the samples")
        .number(0, 1, "The most that may be lost is a share: 0.01 is one percent of the samples."));
  v(JsonField("search.min_sqnr_db"), r.search.min_sqnr_db,
    Flag(FlagSet::kSearch, "--min-sqnr", "DB",
         "Where the data has no labels: the least SQNR of the results against FP32.")
        .between(0, 200)
        .showingDefault(),
    Form("sqnr", kForSearch, 9, "least SQNR", "dB, where the data has no labels")
        .number(0, 200, "The least SQNR is in decibels, 0 to 200."));
  v(JsonField("search.time_budget_s"), r.search.time_budget_s,
    Flag(FlagSet::kSearch, "--time-budget", "SECONDS", "Search no longer than about so long.")
        .positive()
        .showingDefault(),
    Form("budget", kForSearch, 10, "time", "s, about").number(1, 1e7, "The time is in seconds."));
  v(StudioOnly(), r.check.max_slowdown,
    Flag(FlagSet::kGate, "--max-slowdown", "SHARE", "How much slower the new model may be: 0.02 is two percent.")
        .between(0.001, 10)
        .showingDefault());
  v(StudioOnly(), r.check.time_s,
    Flag(FlagSet::kGate, "--within", "SECONDS", "Measure no longer than about so long.").positive().showingDefault());
  v(StudioOnly(), r.curves.threads,
    Flag(FlagSet::kCurves, "--threads", "N,...",
         "Threads of each instance; without it powers of two up to all usable cores.")
        .between(1, 4096)
        .withCommas());
  v(StudioOnly(), r.curves.instances,
    Flag(
        FlagSet::kCurves, "--instances", "N,...",
        "Requests answered side by side; without it one, and as many as the cores have room for. What needs more cores "
        "than there are is left out.")
        .between(1, 1024)
        .withCommas());
  v(JsonField("curves.batch"), r.curves.batch,
    Flag(
        FlagSet::kCurves, "--batch", "N,...",
        "Samples of a request; without it 1,2,4,8,16. Only sizes that the model takes, sample for sample with the same "
        "results, are measured.")
        .between(1, 65536)
        .withCommas());
  v(StudioOnly(), r.curves.time_s,
    Flag(FlagSet::kCurves, "--seconds", "N", "Measure for about so long, beside what preparing takes.")
        .between(0.1, 86400)
        .showingDefault());
  v(StudioOnly(), r.curves.latency_limit_ms,
    Flag(FlagSet::kCurves, "--latency-limit", "MS", "Also name the most samples per second whose p99 stays within it.")
        .between(0.001, 1e7));
  v(StudioOnly(), r.restart, Flag(FlagSet::kCalibration, "--restart", "", "Do not go on with what was interrupted."),
    Form("restart", kForData, 11, "", ""));
  v(JsonField("optimize.min_cosine"), optimize.min_cosine,
    Flag(FlagSet::kCosine, "--min-cosine", "X",
         "Below fp32 results pass, and are exported, from this cosine with the model's own results on; without "
         "it 0.99 for int8, 0.999 for bf16, 0.9999 for fp16.")
        .between(1e-6, 1));

  // Training
  v(JsonField("train.validation_path"), r.train.validation_path,
    Flag(
        FlagSet::kTrain, "--validation", "PATH",
        "Samples that each epoch is judged on; without it the test files of CIFAR-10 or MNIST in the folder of --data, "
        "else none."));
  v(JsonField("train.loss").atMost(1000), r.train.loss,
    Flag(FlagSet::kTrain, "--loss", "LOSS",
         "cross_entropy[:smoothing=X], nll, bce, bce_logits, mse, l1, smooth_l1[:beta=X], huber[:delta=X] or kl_div; "
         "the mean over the batch.")
        .showingDefault());
  v(JsonField("train.optimizer").atMost(1000), r.train.optimizer,
    Flag(FlagSet::kTrain, "--optimizer", "OPTIMIZER",
         "A name and what differs from PyTorch's defaults: sgd:lr=0.01,momentum=0.9,nesterov, "
         "adam, adamw:lr=1e-3,weight_decay=0.01, adagrad, rmsprop, nadam, radam, adamax, lion, lamb or lars.")
        .showingDefault());
  v(JsonField("train.schedule").atMost(1000), r.train.schedule,
    Flag(FlagSet::kTrain, "--schedule", "SCHEDULE",
         "How the learning rate changes: constant, step:every=30,gamma=0.1, multistep:at=30/60,gamma=0.1 (epochs), "
         "cosine[:end=X], linear[:end=X] or one_cycle[:warmup=0.3,start=25,end=1e4]; warmup=N of the others rises over "
         "the first N steps.")
        .showingDefault());
  v(JsonField("train.epochs", 1, 1 << 20), r.train.epochs,
    Flag(FlagSet::kTrain, "--epochs", "N", "Go through the samples so often.").between(1, 1 << 20).showingDefault());
  v(JsonField("train.batch", 1, 1 << 20), r.train.batch,
    Flag(FlagSet::kTrain, "--batch", "N",
         "Samples per step; those left over at the end of an epoch are not used in it.")
        .between(1, 1 << 20)
        .showingDefault());
  v(JsonField("train.clip_norm"), r.train.clip_norm,
    Flag(FlagSet::kTrain, "--clip-norm", "X", "Scale gradients down to this norm of all together; 0: never.")
        .notNegative());
  v(JsonField("train.checkpoint_steps"), r.train.checkpoint_steps,
    Flag(FlagSet::kTrain, "--checkpoint-steps", "N", "Write a checkpoint every N steps, too; 0: by time alone.")
        .notNegative());
  v(JsonField("train.checkpoint_s"), r.train.checkpoint_s,
    Flag(FlagSet::kTrain, "--checkpoint-every", "SECONDS", "Write a checkpoint, OUTPUT.checkpoint, so often.")
        .positive()
        .showingDefault());
  v(JsonField("train.profile_every"), r.train.profile_every,
    Flag(FlagSet::kTrain, "--profile-every", "N",
         "Record layers and memory of every Nth step, from the third on; 1: of all, 0: of none.")
        .notNegative()
        .showingDefault());
  v(JsonField("train.resume"), r.train.resume,
    Flag(FlagSet::kTrain, "--resume", "", "Go on from OUTPUT.checkpoint, also for more epochs than before."));

  // Decoding
  v(JsonField("generate.prompt"), r.generate.prompt,
    Flag(FlagSet::kGenerate, "--prompt", "ID,...", "Token ids that the text begins with.")
        .between(0, static_cast<double>(std::int64_t{1} << 40))
        .withCommas());
  v(JsonField("generate.prompt_path"), r.generate.prompt_path,
    Flag(FlagSet::kGenerate, "--prompt-file", "FILE", "Take these ids from a tensor of integers, .npy or .pt.")
        .excluding({"--prompt"}));
  v(JsonField("generate.max_new", 1, 1 << 20), r.generate.max_new,
    Flag(FlagSet::kGenerate, "--max-new", "N", "Write at most so many tokens.").between(1, 1 << 20).showingDefault());
  v(JsonField("generate.eos"), r.generate.eos,
    Flag(FlagSet::kGenerate, "--eos", "ID,...", "Tokens that end the text.")
        .between(0, static_cast<double>(std::int64_t{1} << 40))
        .withCommas());
  v(JsonField("generate.beams", 1, 1024), r.generate.beams,
    Flag(FlagSet::kGenerate, "--beams", "N", "Beam search: go on with the N likeliest texts side by side.")
        .between(1, 1024)
        .showingDefault());
  v(JsonField("generate.length_penalty"), r.generate.length_penalty,
    Flag(FlagSet::kGenerate, "--length-penalty", "X",
         "With --beams: texts compare by their log-probability over their length to the power of X; 0: as they are.")
        .between(-100, 100)
        .showingDefault());
  v(JsonField("generate.temperature"), r.generate.temperature,
    Flag(FlagSet::kGenerate, "--temperature", "X",
         "Draw each token, from logits divided by X; 0: take the likeliest token.")
        .between(0, 1e6)
        .showingDefault());
  v(JsonField("generate.top_k"), r.generate.top_k,
    Flag(FlagSet::kGenerate, "--top-k", "N", "With --temperature: draw from the N likeliest tokens; 0: from all.")
        .notNegative());
  v(JsonField("generate.top_p"), r.generate.top_p,
    Flag(FlagSet::kGenerate, "--top-p", "P",
         "With --temperature: draw from the likeliest tokens whose probabilities reach P together.")
        .between(1e-9, 1)
        .showingDefault());
  v(JsonField("generate.roles"), r.generate.roles,
    Flag(FlagSet::kGenerate, "--role", "ARGUMENT=ROLE",
         "What an argument of forward is for where its name does not tell: ids, cache, mask, positions, "
         "cache-positions or other. Once per argument."));
  v(JsonField("generate.compare"), r.generate.compare,
    Flag(FlagSet::kGenerate, "--compare", "", "Time the original, too, by turns."));

  // Export
  v(StudioOnly(), r.form,
    Flag(FlagSet::kExport, "--form", "", "compiled: fastest, needs our library. portable: plain PyTorch operators.")
        .showingDefault());
  v(StudioOnly(), r.only_ops_path,
    Flag(FlagSet::kExport, "--only-ops", "FILE",
         "Export for a target that has only these operators, one a line (aten::relu); '#' begins a comment. What it "
         "lacks is written out in what it has; where that cannot be, nothing is exported, and the nodes are named."),
    Flag(FlagSet::kTarget, "--only-ops", "FILE",
         "Name the operators that a target lacks which has only these, one a line (aten::relu); '#' begins a "
         "comment."));
  v(JsonField("only_ops"), r.only_ops);
  v(StudioOnly(), r.prepared,
    Flag(FlagSet::kExport, "--prepared", "",
         "Also write OUTPUT.weights: the weights as the kernels of this machine read them. Programs that load "
         "the compiled form from beside it map them instead of packing their own, start sooner and share them."));
}

}  // namespace ipex_studio
