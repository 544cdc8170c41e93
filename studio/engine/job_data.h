// The data of a job, which --data names, as arguments of forward.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data/data_set.h"
#include "core/data/metrics.h"
#include "core/model/read_inputs.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

class JobInputs;

// The preprocessing that the job names, else the one in the model's file (extra/preprocess.toml), as TOML text; empty
// without either.
std::string jobPreprocess(const EngineJob& job);

// How data for this model is read: its preprocessing, batch and seed. Throws Error(kUsage).
DataSetOptions jobDataOptions(Model& model, const EngineJob& job);

// Opens the data set that the job names; null if it names none. Without a preprocessing, images get the channels that
// the model's first argument is guessed to have. Throws Error(kUsage).
std::unique_ptr<DataSet> openJobData(Model& model, const EngineJob& job);

// One batch as named values, as a file of inputs would give them.
NamedInputs namedInputs(const DataSet& data, const DataBatch& batch);

// The metric of --metric, else one that fits the data: top-1 where there are labels, cosine against recorded results,
// SQNR against the model itself in FP32 otherwise. Throws Error(kUsage) when the data cannot answer it.
Metric jobMetric(const DataRequest& request, const DataSet& data);

// Judges `module` on all of the data: first by `metric`; then, with a reference, by SQNR and cosine on the first
// `compared` batches. `reference`: computes expected results where the data holds none; may be null if the metric needs
// none. Sends progress as `stage`.
std::vector<MetricRecord> evaluate(torch::jit::Module& module, torch::jit::Module* reference, const DataSet& data,
                                   const JobInputs& inputs, Metric metric, std::int64_t compared,
                                   const std::string& stage, Channel& channel);

}  // namespace ipex_studio
