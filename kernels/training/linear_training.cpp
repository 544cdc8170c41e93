#include "kernels/training/linear_training.h"

#include <unordered_map>

#include "kernels/common/parallel.h"
#include "kernels/onednn/onednn_op.h"
#include "kernels/training/working_memory.h"

namespace ipex_studio {
namespace {

using onednn::Md;
using onednn::Pd;
using Type = dnnl::memory::data_type;

// Threads for the gradient of weights: where it has few numbers for each, the library shares the rows that it sums over
// among threads, and bits would depend on how many those are.
std::int32_t gradientThreads(const LinearProblem& problem) {
  constexpr std::int64_t kMinNumbers = 128 * 128;
  return problem.outputs * problem.inputs < kMinNumbers * problem.threads ? 1 : problem.threads;
}

Md matrixMd(std::int64_t rows, std::int64_t columns, Type type) {
  return Md({rows, columns}, type, dnnl::memory::format_tag::ab);
}

}  // namespace

struct LinearTraining::Parts {
  struct Pass {
    Pd pd;
    dnnl::primitive primitive;
    std::int32_t threads = 1;

    bool isQuick() const { return !onednn::isEmpty(pd) && !onednn::isReference(pd); }
  };
  using Places = std::initializer_list<std::pair<int, const void*>>;

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Pass forward, biased, source, weights, weights_and_bias;

  void prepare(const Pd& pd, std::int32_t threads, Pass* pass) const {
    pass->threads = threads;
    if (onednn::isEmpty(pd) || onednn::isReference(pd)) return;
    pass->pd = pd;
    pass->primitive = dnnl::primitive(pd.get());
  }

  void run(const Pass& pass, const Places& places) const {
    const ThreadCountScope scope(pass.threads);
    const Md scratchpad = pass.pd.scratchpad_desc();
    std::unordered_map<int, dnnl::memory> arguments;
    for (const auto& [argument, place] : places) {
      if (place == nullptr) continue;
      const Md md = pass.pd.query_md(dnnl::query::exec_arg_md, argument);
      arguments.insert({argument, dnnl::memory(md, engine, const_cast<void*>(place))});
    }
    arguments.insert({DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad, engine, workingMemory(scratchpad.get_size()))});
    dnnl::stream stream(engine);
    pass.primitive.execute(stream, arguments);
    stream.wait();
  }
};

LinearTraining::LinearTraining(const LinearProblem& problem) {
  auto parts = std::make_unique<Parts>();
  const Type type = problem.bf16 ? Type::bf16 : Type::f32;
  const Md x = matrixMd(problem.rows, problem.inputs, type), w = matrixMd(problem.outputs, problem.inputs, type);
  const Md y = matrixMd(problem.rows, problem.outputs, type);
  const Md dw = matrixMd(problem.outputs, problem.inputs, Type::f32);
  const Md bias({problem.outputs}, Type::f32, dnnl::memory::format_tag::a);
  const dnnl::primitive_attr attributes = onednn::attributes({});
  const auto pds = [&](const Md& added) {
    return onednn::linearTrainingPds(parts->engine, x, w, dw, added, y, attributes);
  };
  {
    const ThreadCountScope scope(problem.threads);
    const onednn::LinearPds plain = pds(Md());
    parts->prepare(plain.forward, problem.threads, &parts->forward);
    parts->prepare(plain.source, problem.threads, &parts->source);
    parts->prepare(pds(bias).forward, problem.threads, &parts->biased);
  }
  const std::int32_t threads = gradientThreads(problem);
  const ThreadCountScope scope(threads);
  parts->prepare(pds(Md()).weights, threads, &parts->weights);
  parts->prepare(pds(bias).weights, threads, &parts->weights_and_bias);
  parts_ = std::move(parts);
}

LinearTraining::~LinearTraining() = default;

bool LinearTraining::isQuick() const {
  return parts_->forward.isQuick() && parts_->biased.isQuick() && parts_->source.isQuick() &&
         parts_->weights.isQuick() && parts_->weights_and_bias.isQuick();
}

void LinearTraining::forward(const void* x, const void* w, const float* bias, void* y) const {
  parts_->run(bias != nullptr ? parts_->biased : parts_->forward,
              {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, y}});
}

void LinearTraining::sourceGradient(const void* w, const void* dy, void* dx) const {
  parts_->run(parts_->source, {{DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}});
}

void LinearTraining::weightGradient(const void* x, const void* dy, float* dw, float* db) const {
  parts_->run(db != nullptr ? parts_->weights_and_bias : parts_->weights,
              {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, dw}, {DNNL_ARG_DIFF_BIAS, db}});
}

bool hasWideProducts() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (isa & wide) == wide;
}

}  // namespace ipex_studio
