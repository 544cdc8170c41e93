// See checkpoint.h.
#include "core/train/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/error.h"
#include "core/file/zip_reader.h"

namespace ipex_studio {
namespace {

using nlohmann::json;

constexpr char kFormat[] = "ipex-studio-training";
constexpr std::uint64_t kMaxDescription = 256u << 20;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::string stateFile(std::size_t index) { return fmt::format("state/{}", index); }

[[noreturn]] void damaged(const std::string& name) {
  throw Error(ExitCode::kBadModel,
              fmt::format("{} is no checkpoint of a training, or a damaged one; begin anew without --resume.", name));
}

at::Tensor stateTensor(const json& description, const std::string& bytes) {
  const auto sizes = description.at("sizes").get<std::vector<std::int64_t>>();
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0 || (size > 0 && elements > kMaxElements / size)) throw std::invalid_argument("sizes");
    elements *= size;
  }
  if (bytes.size() != static_cast<std::size_t>(elements) * sizeof(float)) throw std::invalid_argument("bytes");
  at::Tensor tensor = at::empty(sizes, at::kFloat);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

using Named = std::map<std::string, at::Tensor>;

Named tensorsOf(const torch::jit::Module& module) {
  Named named;
  for (const auto& parameter : module.named_parameters()) named.emplace(parameter.name, parameter.value);
  for (const auto& buffer : module.named_buffers()) named.emplace(buffer.name, buffer.value);
  return named;
}

}  // namespace

void writeCheckpoint(const torch::jit::Module& module, const TrainingState& state, std::ostream& stream) {
  torch::jit::ExtraFilesMap extra;
  json states = json::array();
  for (const TrainingOptimizer::State& kept : state.states) {
    const at::Tensor dense = kept.value.contiguous();
    extra[stateFile(states.size())] = std::string(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
    states.push_back({{"name", kept.name}, {"parameter", kept.parameter}, {"sizes", dense.sizes().vec()}});
  }
  const json description = {
      {"format", kFormat},  {"version", 1},       {"step", state.step},           {"judged", state.judged},
      {"data", state.data}, {"seed", state.seed}, {"optimizer", state.optimizer}, {"updates", state.updates},
      {"states", states}};
  extra["training.json"] = description.dump(-1, ' ', false, json::error_handler_t::replace);
  module.save(stream, extra);
}

TrainingState readTrainingState(int fd, const std::string& name) {
  const ZipReader zip(fd, name);
  const std::string folder = zip.firstListed().substr(0, zip.firstListed().find('/') + 1) + "extra/";
  const ZipMember* member = zip.find(folder + "training.json");
  if (member == nullptr) damaged(name);
  try {
    const json description = json::parse(zip.read(*member, kMaxDescription));
    if (description.at("format") != kFormat || description.at("version") != 1) damaged(name);
    TrainingState state;
    state.step = description.at("step").get<std::int64_t>();
    state.judged = description.at("judged").get<std::int64_t>();
    state.data = description.at("data").get<std::string>();
    state.seed = description.at("seed").get<std::uint64_t>();
    state.optimizer = description.at("optimizer").get<std::string>();
    state.updates = description.at("updates").get<std::vector<std::int64_t>>();
    if (state.step < 0 || state.judged < 0) damaged(name);
    for (const json& kept : description.at("states")) {
      const ZipMember* numbers = zip.find(folder + stateFile(state.states.size()));
      if (numbers == nullptr) damaged(name);
      state.states.push_back({kept.at("name").get<std::string>(), kept.at("parameter").get<std::size_t>(),
                              stateTensor(kept, zip.read(*numbers, numbers->bytes))});
    }
    return state;
  } catch (const json::exception&) {
    damaged(name);
  } catch (const std::invalid_argument&) {
    damaged(name);
  }
}

void requireSameNetwork(const torch::jit::Module& model, const torch::jit::Module& checkpoint,
                        const std::string& name) {
  const Named wanted = tensorsOf(model), found = tensorsOf(checkpoint);
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::kBadModel,
                fmt::format("{} is the checkpoint of another network: {}; give the model that was trained, or begin "
                            "anew without --resume.",
                            name, why));
  };
  for (const auto& [key, tensor] : wanted) {
    const auto other = found.find(key);
    if (other == found.end()) refuse(fmt::format("it lacks {}", key));
    if (!other->second.sizes().equals(tensor.sizes()))
      refuse(fmt::format("its {} has the sizes {} and not {}", key, fmt::join(other->second.sizes(), " x "),
                         fmt::join(tensor.sizes(), " x ")));
  }
  for (const auto& [key, tensor] : found) {
    if (wanted.count(key) == 0) refuse(fmt::format("it has {}, which the model lacks", key));
  }
}

}  // namespace ipex_studio
