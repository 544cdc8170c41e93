#include "kernels/optim/update.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "kernels/common/parallel.h"
#include "kernels/optim/update_chunk.h"

namespace ipex_studio {
namespace {

// Elements of a chunk: a few pages of each stream, and enough to be worth a switch of tensors.
constexpr std::int64_t kChunk = 4096;
// Operations an element, loads and stores counted.
constexpr std::int64_t kOpsPerElement = 16;

// The chunks of all tensors in one count.
class ChunkList {
 public:
  explicit ChunkList(const std::vector<OptimizerTensor>& tensors) : tensors_(tensors) {
    first_.reserve(tensors.size() + 1);
    first_.push_back(0);
    std::int64_t elements = 0;
    for (const OptimizerTensor& tensor : tensors) {
      elements += tensor.count;
      first_.push_back(first_.back() + (tensor.count + kChunk - 1) / kChunk);
    }
    grain_ = grainFor(kOpsPerElement * elements / std::max<std::int64_t>(1, size()));
  }

  std::int64_t size() const { return first_.back(); }
  std::int64_t firstOf(std::size_t tensor) const { return first_[tensor]; }

  // Calls fn(tensor, chunk, number of the chunk) for all chunks, on several threads.
  template <typename Fn>
  void forEach(std::int32_t threads, const Fn& fn) const {
    parallelFor(size(), grain_, threads, [&](std::int64_t begin, std::int64_t end, int) {
      std::size_t tensor =
          static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), begin) - first_.begin()) - 1;
      for (std::int64_t number = begin; number < end; ++number) {
        while (number >= first_[tensor + 1]) ++tensor;
        fn(tensor, chunkAt(tensors_[tensor], (number - first_[tensor]) * kChunk), number);
      }
    });
  }

 private:
  static UpdateChunk chunkAt(const OptimizerTensor& tensor, std::int64_t offset) {
    const UpdateChunk whole{tensor.parameter, tensor.half,           tensor.lower,  tensor.form,
                            tensor.gradient,  tensor.gradient_dtype, tensor.states, 0};
    return partOf(whole, static_cast<std::size_t>(offset),
                  static_cast<std::size_t>(std::min(kChunk, tensor.count - offset)));
  }

  const std::vector<OptimizerTensor>& tensors_;
  std::vector<std::int64_t> first_;  // number of the first chunk of each tensor, and the count
  std::int64_t grain_ = 1;
};

double gradientNorm(const ChunkList& chunks, const UpdateFunctions& run, const UpdateOptions& options) {
  std::vector<double> squares(static_cast<std::size_t>(chunks.size()));
  const float scale = static_cast<float>(options.gradient_scale);
  chunks.forEach(options.threads, [&](std::size_t, const UpdateChunk& chunk, std::int64_t number) {
    squares[static_cast<std::size_t>(number)] = run.squares(scale, chunk);
  });
  double sum = 0;
  for (const double part : squares) sum += part;
  return std::sqrt(sum);
}

// NaN if the norm is, as clip_grad_norm_ has it.
double clipFactor(double norm, const UpdateOptions& options) {
  const double factor = options.max_norm / (norm + options.clip_epsilon);
  return factor > 1 ? 1 : factor;
}

// The scalars of each tensor. Neighbours of one group and step share them.
std::vector<UpdateScalars> scalarsOf(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
                                     const std::vector<OptimizerTensor>& tensors, float clip,
                                     const UpdateOptions& options) {
  std::vector<UpdateScalars> all;
  all.reserve(tensors.size());
  const OptimizerTensor* before = nullptr;
  for (const OptimizerTensor& tensor : tensors) {
    const std::vector<double>& own = settings.at(static_cast<std::size_t>(tensor.group));
    if (before && before->group == tensor.group && before->step == tensor.step && optimizer != Optimizer::kNadam) {
      all.push_back(all.back());
      continue;
    }
    all.push_back(updateScalars(optimizer, own.data(), tensor.step, tensor.states[2], options));
    all.back().clip = clip;
    all.back().scaled |= clip != 1;
    before = &tensor;
  }
  return all;
}

// The first pass of lamb and lars: norms of each tensor, and the step sizes that follow.
void runBefore(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
               const std::vector<OptimizerTensor>& tensors, const ChunkList& chunks, const UpdateFunctions& run,
               std::int32_t threads, std::vector<UpdateScalars>* scalars) {
  std::vector<std::array<double, 2>> parts(static_cast<std::size_t>(chunks.size()));
  chunks.forEach(threads, [&](std::size_t tensor, const UpdateChunk& chunk, std::int64_t number) {
    std::array<double, 2>& squares = parts[static_cast<std::size_t>(number)];
    squares = {0, 0};
    if ((*scalars)[tensor].before != UpdateRule::kNone) run.before((*scalars)[tensor], chunk, squares.data());
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if ((*scalars)[i].before == UpdateRule::kNone) continue;
    double squares[2] = {0, 0};
    for (std::int64_t number = chunks.firstOf(i); number < chunks.firstOf(i + 1); ++number) {
      squares[0] += parts[static_cast<std::size_t>(number)][0];
      squares[1] += parts[static_cast<std::size_t>(number)][1];
    }
    applyNorms(optimizer, settings[static_cast<std::size_t>(tensors[i].group)].data(), squares, &(*scalars)[i]);
  }
}

// The last pass, with the time of each tensor.
void updateTimed(const std::vector<OptimizerTensor>& tensors, const ChunkList& chunks, const UpdateFunctions& run,
                 const std::vector<UpdateScalars>& scalars, const UpdateOptions& options) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(chunks.size()));
  chunks.forEach(options.threads, [&](std::size_t tensor, const UpdateChunk& chunk, std::int64_t number) {
    const std::int64_t begin = nowNs();
    run.update(scalars[tensor], chunk);
    taken[static_cast<std::size_t>(number)] = nowNs() - begin;
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto first = taken.begin() + chunks.firstOf(i), last = taken.begin() + chunks.firstOf(i + 1);
    options.update_ns[i] = std::accumulate(first, last, std::int64_t{0});
  }
}

}  // namespace

double updateParameters(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
                        const std::vector<OptimizerTensor>& tensors, const UpdateOptions& options) {
  for (const std::vector<double>& group : settings) {
    IPEX_CHECK(static_cast<int>(group.size()) == settingCount(optimizer), "settings of another optimizer");
  }
  const UpdateFunctions run = updateFunctions(options.isa);
  const ChunkList chunks(tensors);
  double norm = 0, clip = 1;
  if (options.max_norm > 0 || options.skip_infinite) norm = gradientNorm(chunks, run, options);
  if (options.skip_infinite && !std::isfinite(norm)) return norm;
  if (options.max_norm > 0) clip = clipFactor(norm, options);
  std::vector<UpdateScalars> scalars = scalarsOf(optimizer, settings, tensors, static_cast<float>(clip), options);
  const bool two_passes = optimizer == Optimizer::kLamb || optimizer == Optimizer::kLars;
  if (two_passes) runBefore(optimizer, settings, tensors, chunks, run, options.threads, &scalars);
  if (options.update_ns != nullptr) {
    updateTimed(tensors, chunks, run, scalars, options);
    return norm;
  }
  chunks.forEach(options.threads, [&](std::size_t tensor, const UpdateChunk& chunk, std::int64_t) {
    run.update(scalars[tensor], chunk);
  });
  return norm;
}

}  // namespace ipex_studio
