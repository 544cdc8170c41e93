// Options of callers, as plain structs passed by value. There are no singletons and no environment switches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ipex_studio {

enum class Precision { kFp32, kBf16, kFp16, kInt8 };
enum class ExportForm { kCompiled, kPortable };
// Time spent measuring kernels before one is chosen: none, a few seconds, a minute.
enum class TuneMode { kOff, kQuick, kFull };

// When plans are prepared for sizes that inputs have for the first time: in that run; once it is worth it, the original
// code running until then; or then, but on another thread.
enum class NewSizesMode { kAtOnce, kReturning, kBackground };

// Native abilities of a device that rewriting a graph depends on.
struct Capabilities {
  bool bf16 = false;  // multiplies BF16
  bool vnni = false;  // sums products of u8 and s8 exactly
};

// Options of rewriting a graph.
struct OptimizeOptions {
  Precision precision = Precision::kFp32;
  std::string device = "cpu";  // "cpu", "xpu", "xpu:1"
  // Abilities of the device that runs the result; optimizeModel() takes this machine's if they are not given.
  std::optional<Capabilities> capabilities;
  std::vector<std::string> disabled_passes;
  std::int64_t rewrite_limit = -1;             // number of rewrites to stop after (bisection); -1: no limit
  std::string dump_directory;                  // numbered IR dumps of every changing pass; empty: none
  std::vector<std::string> preserved_methods;  // methods and attributes that freezing must keep
  bool verify_passes = true;                   // lint after each pass and compare the hash with the pass's answer
  bool plan_regions = true;                    // false: leave fused operators to the interpreter
  TuneMode tune = TuneMode::kOff;
  bool allow_winograd = true;  // false: no convolution whose algorithm rounds differently
  // Batch sizes, ascending: a batch between two runs on the plan of the larger where that is proven right. Empty: each
  // on its own plan.
  std::vector<std::int64_t> batch_buckets;
  // The same for lengths of sequences (axis 1), in the place of batches.
  std::vector<std::int64_t> length_buckets;
  NewSizesMode new_sizes = NewSizesMode::kReturning;  // for exports and optimize(); measurements prepare at once
  // "layer1.0.conv3=fp32" (a module and all in it), "kind:linear=bf16", "*=fp32": the last that fits an operation wins.
  std::vector<std::string> precision_overrides;
  std::string tuning_record;        // earlier measurements (MemoryTuningStore's text); empty: none
  bool calibrate = false;           // prepare for core/quantization/calibrate.h; only with precision kFp32
  std::string quantization_recipe;  // core/quantization/recipe.h's text; kInt8 needs one
  bool equalize = false;            // with calibrate: level the ranges of channels between layers first
  double min_cosine = 0;         // least cosine at which results below FP32 pass; 0: the rule of core/verify/verify.h
  std::int32_t weight_bits = 0;  // bits of INT8 weights: 8, 7, or 0: 8 where the device has VNNI, else 7
};

// The aim of choosing a split of the cores into instances and threads by measuring.
enum class Hint { kNone, kLatency, kThroughput };

// Options of timing.
struct MeasureOptions {
  std::int32_t threads = 0;  // 0: all usable cores
  std::int32_t instances = 1;
  Hint hint = Hint::kNone;  // other than kNone: threads and instances are chosen
  double warmup_s = 0.5;
  double duration_s = 3.0;
  std::int64_t iterations = 0;  // > 0: exactly so many timed iterations, duration is ignored
  std::uint64_t seed = 0;
};

}  // namespace ipex_studio
