// A training as text.
#pragma once

#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/database.h"

namespace ipex_studio {

// One line for the end of an epoch: "epoch 2 of 10: loss 0.4127, top-1 88.20 %, 21.3 s".
std::string epochLine(const TrainingRecord& training, const TrainingEpoch& epoch);

// "training to step 1171, top-1 88.20 %"; "training to step 40, loss 0.4127" where nothing was judged.
std::string trainingName(const TrainingSummary& training);

// What is trained and how, as one line: "net.pt · 2970 parameters · …". The job has a training.
std::string trainingLine(const JobRecord& job);
// Where the time of a step goes, as one line; empty without steps.
std::string stepLine(const TrainingRecord& training);

// The rows of the last step that was profiled.
std::vector<TrainingLayer> lastLayers(const TrainingRecord& training);
std::vector<TrainingMemory> lastMemory(const TrainingRecord& training);
// One row, with the sums of several and the norm of all their gradients, under the name "3 others".
TrainingLayer othersOf(const TrainingLayer* first, std::size_t count);
// The row with the most memory; null without rows.
const TrainingMemory* peakOf(const std::vector<TrainingMemory>& memory);
// Layers and memory of that step as lines that end with a newline: the longest layers, and the sum of the others. Empty
// if no step was profiled.
std::string profileText(const TrainingRecord& training);

// Mean times of a step, and what they are for.
struct StepShares {
  double data_ns = 0, forward_ns = 0, backward_ns = 0, update_ns = 0;
  double total_ns() const { return data_ns + forward_ns + backward_ns + update_ns; }
};
// Over all steps but the first row, which also warms up; zeros without steps.
StepShares stepShares(const TrainingRecord& training);

}  // namespace ipex_studio
