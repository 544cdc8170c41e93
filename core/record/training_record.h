// Records of a training. Plain structs, free of libtorch, as in records.h, which includes this file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

// A step of a training, or several successive ones where a long training is thinned: then the means over them.
struct TrainingStep {
  std::int64_t step = 0;        // number of the step from 1; of several the last one
  std::int64_t steps = 1;       // steps that stand behind the row
  double loss = 0;              // mean over the batch
  double learning_rate = 0;     // that the step took
  double gradient_norm = 0;     // of all gradients together, before clipping
  double accuracy = 0;          // share of the batch's labels with the greatest score; NaN: there are no labels
  std::int64_t data_ns = 0;     // reading and preparing the batch
  std::int64_t forward_ns = 0;  // the loss included
  std::int64_t backward_ns = 0;
  std::int64_t update_ns = 0;  // the optimizer, norm and clipping included
};

// The end of an epoch.
struct TrainingEpoch {
  std::int64_t epoch = 0;       // from 1
  std::int64_t step = 0;        // the last step in it
  double loss = 0;              // mean over its steps that were run
  double metric = 0;            // TrainingRecord::metric on the data kept for validation; NaN: there are none
  std::int64_t elapsed_ns = 0;  // its steps and its validation
};

// A layer of a step that was profiled: the operations of one module that stands in the code of forward, or of one kind
// where no module is known.
struct TrainingLayer {
  std::int64_t step = 0;
  std::string layer;  // "layer1.0.conv1", or "aten::relu"
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t update_ns = 0;   // its share of the optimizer's time, by what its parameters took on all threads
  std::int64_t parameters = 0;  // numbers of it that are trained
  double gradient_norm = 0;     // of its parameters; NaN: none of them has a gradient
  std::int64_t kept_bytes = 0;  // what its forward left allocated, for the backward or for layers behind it

  std::int64_t wholeNs() const { return forward_ns + backward_ns + update_ns; }
};

// The memory of tensors behind one operation of a step that was profiled; that of before the step is not in it.
struct TrainingMemory {
  std::int64_t step = 0;
  std::int64_t at_ns = 0;  // since the forward began
  std::string phase;       // "forward" or "backward"
  std::string layer;       // as TrainingLayer has it; empty: none is known
  std::int64_t activation_bytes = 0;
  std::int64_t gradient_bytes = 0;  // of parameters
  std::int64_t peak_bytes = 0;      // the most of both at once since the operation before
};

// One training: its settings, steps and epochs.
struct TrainingRecord {
  std::string loss;       // "cross_entropy"
  std::string optimizer;  // "sgd:lr=0.01,momentum=0.9"
  std::string schedule;   // "cosine:warmup=100"
  std::string precision = "fp32";
  std::string metric;            // "top-1"; empty: nothing was judged
  bool higher_is_better = true;  // of the metric
  std::int64_t epochs = 0;       // that were asked for
  std::int64_t steps_per_epoch = 0;
  std::int64_t batch = 0;       // samples per step
  std::int64_t samples = 0;     // of the data
  std::int64_t parameters = 0;  // numbers that are trained
  std::int32_t threads = 1;
  std::int64_t resumed_at = 0;  // step of the checkpoint that it went on from; 0: it began anew
  bool finished = false;        // false: interrupted, or failed
  std::vector<TrainingStep> steps;
  std::vector<TrainingEpoch> ends;  // of epochs
  std::string fault;  // what ended it with NaN or infinity: "step 3: aten::log of head (net.py:12)"; empty: nothing did
  std::vector<TrainingLayer> layers;   // by step, the longest first
  std::vector<TrainingMemory> memory;  // by step and time
};

}  // namespace ipex_studio
