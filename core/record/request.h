// What a user asks for, as one struct. Command line, window, protocol and records take their fields from it;
// request_fields.h describes each of them once. Members' initializers are the defaults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/options.h"

namespace ipex_studio {

// Data that a model is calibrated, timed or judged on.
struct DataRequest {
  std::string path;             // a file or folder; empty: none
  std::string preprocess_path;  // a TOML file; empty: none
  std::string preprocess;       // its text; empty: pixels to 0..1
  std::int64_t samples = 0;     // a subset drawn by the seed; 0: all
  std::int64_t batch = 1;
  std::string metric;  // a name, or the path of a TorchScript function; empty: by the data
};

// Options of finding ranges.
struct CalibrationRequest {
  std::string method = "auto";
  double percentile = 99.99;
  std::int64_t samples = 0;  // of the data; 0: as many as the data request says
};

// Limits of a search over precisions.
struct SearchRequest {
  double max_drop = 0.01;   // of a metric over labels
  double min_sqnr_db = 30;  // where there are no labels
  double time_budget_s = 600;
};

// Limits of a check of a model against the one that it replaces.
struct CheckRequest {
  double max_slowdown = 0.02;  // share by which it may be slower
  double time_s = 60;          // for timing, beside loading
};

// The points that curves are measured at. Empty lists: as fits the machine and the model.
struct CurvesRequest {
  std::vector<std::int64_t> threads;    // of each instance
  std::vector<std::int64_t> instances;  // answering requests side by side
  std::vector<std::int64_t> batch;      // samples of a request
  double time_s = 60;                   // for timing, beside what preparing takes
  double latency_limit_ms = 0;          // of the p99, for the best throughput within it; 0: none
  // True: in each precision that the machine computes and the model has what it takes for; false: as the request says.
  bool every_precision = true;
};

// Training a model. Texts of core/train/train_settings.h.
struct TrainRequest {
  std::string loss = "cross_entropy";
  std::string optimizer = "sgd:lr=0.01,momentum=0.9";
  std::string schedule = "constant";
  std::int64_t epochs = 1;
  std::int64_t batch = 32;      // samples per step
  std::string validation_path;  // data that each epoch is judged on; empty: the test part of the data's folder, if any
  double clip_norm = 0;         // largest norm of all gradients together; 0: any
  std::int64_t checkpoint_steps = 0;  // steps between checkpoints; 0: by time alone
  double checkpoint_s = 60;           // seconds between checkpoints
  std::int64_t profile_every = 100;   // steps from one whose layers and memory are recorded to the next; 0: none
  bool resume = false;                // goes on from the checkpoint beside the output
};

// Decoding text with a language model (core/generate).
struct GenerateRequest {
  std::vector<std::int64_t> prompt;  // token ids; empty: those of prompt_path
  std::string prompt_path;           // .npy or .pt
  std::int64_t max_new = 32;         // tokens
  std::vector<std::int64_t> eos;     // tokens that end a text
  std::int64_t beams = 1;            // 1: no beam search
  double length_penalty = 1;         // a text's log-probability is divided by its length to the power of this
  double temperature = 0;            // of sampling; 0: the likeliest token is taken
  std::int64_t top_k = 0;            // sampling draws from so many of the likeliest tokens; 0: from all
  double top_p = 1;                  // … from the likeliest whose probabilities reach this sum
  std::vector<std::string> roles;    // "ARGUMENT=ROLE" where its name does not tell
  bool compare = false;              // times the original, too
};

// Form of weights in a weight-only recipe. group: number of successive weights that share a scale; 0: a whole row; -1:
// the default for the bits (8: 0, 4: 32). levels: what 4 bits stand for, even or nf4.
struct WeightForm {
  std::int32_t bits = 8;
  std::string levels = "even";
  std::int64_t group = -1;
};

// Jobs that make a model faster than the first optimization.
enum class TuneGoal {
  kCalibrate,  // see which values occur in data: a recipe for INT8
  kQuantize,   // a recipe, then optimize, judge and measure in INT8
  kSearch,     // the fastest precision of each operation within a budget
  kKernels,    // measure kernels and layouts at length
};

struct Request {
  std::vector<std::string> inputs;     // one text per argument of forward
  std::string inputs_path;             // a file of arguments; empty: none
  std::string method;                  // an exported method that is optimized in the place of forward; empty: none
  std::vector<std::string> libraries;  // shared libraries that define operators of the model
  bool evaluation = false;             // operators that were recorded in training mode evaluate
  std::string reset_method;            // brings a model with state back to its beginning; empty: none
  OptimizeOptions optimize;
  // Measured beside optimize.device and optimize.precision: each device in each precision, in an engine of its own.
  std::vector<Precision> also;
  std::vector<std::string> also_devices;
  MeasureOptions measure;
  DataRequest data;
  std::string recipe;       // a file, "dynamic" or "weight-only"; empty: none, or found by calibrating
  WeightForm weights;       // of the recipe "weight-only"
  std::string save_recipe;  // where the recipe that is found is written; empty: nowhere
  CalibrationRequest calibration;
  SearchRequest search;
  CheckRequest check;
  CurvesRequest curves;
  TrainRequest train;
  GenerateRequest generate;
  bool restart = false;  // an interrupted calibration or search begins anew
  ExportForm form = ExportForm::kCompiled;
  std::string only_ops_path;          // the operators that a target has, one a line; empty: all
  std::vector<std::string> only_ops;  // those of the file
  bool prepared = false;              // beside a compiled export its weights as this machine's kernels read them
  bool force_precision = false;       // also where this machine emulates it
  bool trust = false;                 // no sandbox
  double silence_s = 600;             // an engine that says nothing for so long is given up
};

}  // namespace ipex_studio
