#include "studio/flags/flags.h"

#include <map>
#include <sstream>

namespace ipex_studio {
namespace {

const std::map<std::string, Hint> kHints{{"latency", Hint::kLatency}, {"throughput", Hint::kThroughput}};

// "fp32" or "fp32,bf16,fp16,int8".
std::string checkPrecisions(const std::string& text) {
  std::istringstream names(text);
  std::string name;
  bool any = false;
  while (std::getline(names, name, ',')) {
    any = true;
    if (name != "fp32" && name != "bf16" && name != "fp16" && name != "int8")
      return name + " is no precision; use fp32, bf16, fp16 or int8";
  }
  return any ? "" : "use fp32, bf16, fp16, int8, or several with commas between";
}

}  // namespace

void addModelFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--input", line.inputs,
                 "One argument of forward: NAME:1x3x224x224[:dtype], NAME:SHAPE:int64[lo,hi] for ids, a range "
                 "x:1..32x3x224x224 that is verified at several sizes, or NAME=VALUE for numbers, booleans and None. "
                 "Once per argument, in order; what is missing is guessed, and the guess is said.")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->group(kSharedGroup);
  app.add_option("--inputs", line.inputs_path,
                 "Take arguments from a file: .pt (list, dict or tuple of tensors), a recorded .io.pt, .npy or .npz. "
                 "--input gives those that are not in it.")
      ->type_name("FILE")
      ->group(kSharedGroup);
  app.add_option("--preserve", line.preserved, "Methods and attributes that freezing must keep.")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kSharedGroup);
  app.add_option("--reset", line.reset_method, "Method that brings a model with state back to its beginning.")
      ->type_name("METHOD")
      ->group(kSharedGroup);
  app.add_flag("--trust", line.trust, "Run the model without the sandbox. Only for files you would run as a program.")
      ->group(kSharedGroup);
  app.add_option("--timeout", line.timeout_s, "Give up when the engine says nothing for so long.")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kSharedGroup);
}

void addRewriteFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--device", line.device, "Where to run: cpu, or xpu[:N] for an Intel GPU.")
      ->type_name("DEVICE")
      ->capture_default_str()
      ->group(kRewriteGroup);
  app.add_option("--precision", line.precision,
                 "fp32, bf16, fp16 or int8; run and bench set several side by side: fp32,bf16,int8.")
      ->check(CLI::Validator(checkPrecisions, ""))
      ->capture_default_str()
      ->group(kRewriteGroup);
  app.add_flag("--force-precision", line.force_precision, "Compute so even where this CPU has to emulate it.")
      ->group(kRewriteGroup);
  app.add_option("--disable", line.disabled, "Passes to leave out; `ipex-studio passes` lists them.")
      ->type_name("PASS,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(kRewriteGroup);
  app.add_option("--tune", line.tune,
                 "How long kernels and layouts are measured before the fastest are taken: off, quick (some seconds) or "
                 "full (a minute). What was measured is remembered in the database.")
      ->check(CLI::IsMember({"off", "quick", "full"}))
      ->capture_default_str()
      ->group(kRewriteGroup);
  app.add_flag("--no-winograd", line.no_winograd, "Take no convolution algorithm that rounds differently.")
      ->group(kRewriteGroup);
  app.add_option("--batch-buckets", line.batch_buckets,
                 "For batches of many sizes: one between two of these runs on the kernels prepared for the larger, "
                 "where samples "
                 "are proven independent. The export keeps it.")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 65536))
      ->group(kRewriteGroup);
  app.add_option("--limit", line.limit, "Stop rewriting after N rewrites: halve N until the culprit is found.")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->group(kRewriteGroup);
  app.add_option("--dump", line.dump_directory, "Write the graph after every changing pass as numbered files to DIR.")
      ->type_name("DIR")
      ->group(kRewriteGroup);
}

void addDataFlags(CLI::App& app, CommandLine& line, bool required) {
  auto* data = app.add_option("--data", line.data,
                              "Samples to calibrate and judge on: a folder of class folders of images, CIFAR-10 or "
                              "MNIST files, .npy, .npz, "
                              ".pt tensors, or a recorded .io.pt.")
                   ->type_name("PATH")
                   ->group(kDataGroup);
  if (required) data->required();
  app.add_option("--preprocess", line.preprocess,
                 "How images become tensors: a TOML file with resize, crop, mean, std …")
      ->type_name("FILE")
      ->group(kDataGroup);
  app.add_option("--samples", line.samples, "Use so many of them, drawn by --seed; 0: all.")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->group(kDataGroup);
  app.add_option("--batch", line.batch, "Samples per forward.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->group(kDataGroup);
}

void addMetricFlag(CLI::App& app, CommandLine& line) {
  app.add_option("--metric", line.metric,
                 "What results are judged by: top-1, top-5, mse, cosine, sqnr, or a TorchScript file with "
                 "metric(outputs, targets). Without it "
                 "top-1 where the data has labels, else SQNR against FP32.")
      ->type_name("NAME")
      ->group(kDataGroup);
}

void addCalibrationFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--method", line.method,
                 "How ranges are found: min-max, percentile, kl, mse, or auto: mse, but min-max for what linear layers "
                 "and sums read.")
      ->check(CLI::IsMember({"auto", "min-max", "percentile", "kl", "mse"}))
      ->capture_default_str()
      ->group(kDataGroup);
  app.add_option("--percentile", line.percentile, "With --method percentile: this share of the values lies inside.")
      ->type_name("PERCENT")
      ->check(CLI::Range(50.0, 100.0))
      ->capture_default_str()
      ->group(kDataGroup);
  app.add_flag("--equalize", line.equalize,
               "Level the ranges of channels between layers first: where a few channels reach much further than the "
               "others, these keep more levels.")
      ->group(kDataGroup);
  app.add_flag("--restart", line.restart, "Do not go on with what was interrupted.")->group(kDataGroup);
}

void addRecipeFlag(CLI::App& app, CommandLine& line) {
  app.add_option("--recipe", line.recipe,
                 "For INT8: what calibrate wrote, or an int8_conf.json of Intel Extension for PyTorch; dynamic or "
                 "weight-only: linear layers "
                 "and tables of embeddings alone, without calibration.")
      ->type_name("FILE")
      ->group(kDataGroup);
  app.add_option("--bits", line.weight_bits, "With --recipe weight-only: bits of each weight, 8 or 4.")
      ->type_name("N")
      ->check(CLI::IsMember({8, 4}))
      ->capture_default_str()
      ->group(kDataGroup);
  app.add_option("--group", line.group,
                 "With --recipe weight-only: so many weights of a row share a scale; 0: the whole row. Without it 0 "
                 "for 8 bits, 32 for 4.")
      ->type_name("N")
      ->check(CLI::IsMember({0, 32, 64, 128, 256}))
      ->group(kDataGroup);
  app.add_option("--calibration-samples", line.calibration_samples,
                 "Without a recipe: calibrate on so many samples of the data.")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kDataGroup);
}

void addExportFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--form", line.form, "compiled: fastest, needs our library. portable: plain PyTorch operators.")
      ->check(CLI::IsMember({"compiled", "portable"}))
      ->capture_default_str();
  app.add_flag("--prepared", line.prepared,
               "Also write OUTPUT.weights: the weights as the kernels of this machine read them. Programs that load "
               "the compiled form from beside "
               "it map them instead of packing their own, start sooner and share them.");
}

void addCosineFlag(CLI::App& app, CommandLine& line) {
  app.add_option("--min-cosine", line.min_cosine,
                 "Below fp32 results pass, and are exported, from this cosine with the model's own results on; without "
                 "it 0.99 for int8, 0.999 for bf16, 0.9999 for fp16.")
      ->type_name("X")
      ->check(CLI::Range(1e-6, 1.0))
      ->group(kDataGroup);
}

void addMeasureFlags(CLI::App& app, CommandLine& line) {
  MeasureOptions& measure = line.measure;
  auto* threads = app.add_option("--threads", measure.threads,
                                 "Threads of each instance; 0: all usable cores, shared by the instances.")
                      ->type_name("N")
                      ->check(CLI::Range(0, 4096))
                      ->capture_default_str()
                      ->group(kMeasureGroup);
  auto* instances = app.add_option("--instances", measure.instances,
                                   "Answer so many requests at the same time, each on cores of its own.")
                        ->type_name("N")
                        ->check(CLI::Range(1, 1024))
                        ->capture_default_str()
                        ->group(kMeasureGroup);
  app.add_option("--hint", measure.hint,
                 "Choose instances and threads by measuring a few splits of the cores, for the least time per request "
                 "(latency) or the most requests per second (throughput).")
      ->transform(CLI::CheckedTransformer(kHints).description(""))
      ->type_name("GOAL")
      ->excludes(threads)
      ->excludes(instances)
      ->group(kMeasureGroup);
  app.add_option("--warmup", measure.warmup_s, "Run so long before measuring.")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str()
      ->group(kMeasureGroup);
  app.add_option("--duration", measure.duration_s, "Measure each variant for so long.")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str()
      ->group(kMeasureGroup);
  app.add_option("--iterations", measure.iterations,
                 "Measure exactly N forwards of each variant; --duration is ignored.")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->group(kMeasureGroup);
  app.add_option("--seed", measure.seed, "Seed of the made-up inputs.")
      ->type_name("N")
      ->capture_default_str()
      ->group(kMeasureGroup);
}

}  // namespace ipex_studio
