// Which batch sizes the model takes, with the inputs of each.
#include <algorithm>
#include <iterator>

#include "core/record/input_text.h"
#include "core/record/records_json.h"
#include "core/verify/batch_sizes.h"
#include "studio/engine/job_inputs.h"
#include "studio/engine/job_verify.h"
#include "studio/engine/jobs.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kUsualSizes[] = {1, 2, 4, 8, 16};

std::vector<std::int64_t> sizesToTry(const EngineJob& job, std::int64_t given) {
  std::vector<std::int64_t> sizes = job.curves.batch;
  if (sizes.empty()) {
    sizes.assign(std::begin(kUsualSizes), std::end(kUsualSizes));
    sizes.push_back(given);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

nlohmann::json sizeJson(const BatchSize& size, bool as_given) {
  nlohmann::json texts = nlohmann::json::array();
  if (!as_given) {
    for (const InputSpec& spec : size.specs) {
      const InputRecord record = describeSpec(spec);
      texts.push_back(inputText(record.name, record.description));
    }
  }
  return {{"size", size.size}, {"problem", size.problem}, {"inputs", texts}};
}

}  // namespace

void runBatchSizesJob(const EngineJob& job, Channel& channel) {
  channel.progress("load", 0);
  Model model = Model::load(kEngineModelPath, job.method);
  for (const std::string& note : model.notes()) channel.log(note);
  const JobInputs inputs(model, job);
  channel.progress("try batch sizes", 0.3);
  ModelRecord record;
  record.inputs = inputs.records();
  nlohmann::json sizes = nlohmann::json::array();
  std::string remark;
  if (job.inputs_path.empty()) {
    const std::int64_t given = givenBatch(inputs.specs());
    for (const BatchSize& size :
         findBatchSizes(model.module(), inputs.specs(), sizesToTry(job, given), job.measure.seed).sizes)
      sizes.push_back(sizeJson(size, false));
  } else {
    remark = "Inputs come from a file, so they are measured as they are.";
    sizes.push_back(sizeJson({1, {}, ""}, true));
  }
  channel.send({{"type", "result"},
                {"record", toJson(record)},
                {"stateful", keepsState(model.module())},
                {"remark", remark},
                {"sizes", sizes}});
}

}  // namespace ipex_studio
