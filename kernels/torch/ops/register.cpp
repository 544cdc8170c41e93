// The only place where operators and classes are registered with TorchScript.
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/torch/ops/fused_ops.h"
#include "kernels/torch/plans/prepared_files.h"
#include "kernels/torch/plans/region.h"

namespace ipex_studio {
namespace {

using MaybeTensor = c10::optional<at::Tensor>;

FusedOperand input(const at::Tensor& tensor) { return {tensor, false}; }
FusedOperand weight(const at::Tensor& tensor) { return {tensor, true}; }
FusedOperand maybeWeight(const MaybeTensor& tensor) {
  return tensor && tensor->defined() ? FusedOperand{*tensor, true} : FusedOperand{};
}
FusedOperand maybeInput(const MaybeTensor& tensor) {
  return tensor && tensor->defined() ? FusedOperand{*tensor, false} : FusedOperand{};
}

at::Tensor withPostArgs(std::vector<FusedOperand> operands, const std::vector<at::Tensor>& post_args,
                        const std::string& spec) {
  for (const at::Tensor& post : post_args) operands.push_back(input(post));
  return runFusedOp(spec, operands)[0];
}

// convolution, deconvolution, linear
at::Tensor weighted(const at::Tensor& x, const at::Tensor& w, const MaybeTensor& b,
                    const std::vector<at::Tensor>& post_args, const std::string& spec) {
  return withPostArgs({input(x), weight(w), maybeWeight(b)}, post_args, spec);
}

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, const std::vector<at::Tensor>& post_args,
                  const std::string& spec) {
  return withPostArgs({input(a), input(b)}, post_args, spec);
}

at::Tensor pointwise(const at::Tensor& x, const std::vector<at::Tensor>& post_args, const std::string& spec) {
  return withPostArgs({input(x)}, post_args, spec);
}

at::Tensor squeezeExcite(const at::Tensor& x, const at::Tensor& reduce, const MaybeTensor& reduce_bias,
                         const at::Tensor& expand, const MaybeTensor& expand_bias,
                         const std::vector<at::Tensor>& post_args, const std::string& spec) {
  return withPostArgs({input(x), weight(reduce), maybeWeight(reduce_bias), weight(expand), maybeWeight(expand_bias)},
                      post_args, spec);
}

at::Tensor softmax(const at::Tensor& x, const MaybeTensor& mask, const std::string& spec) {
  return runFusedOp(spec, {input(x), maybeInput(mask)})[0];
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const MaybeTensor& mask,
                     const std::string& spec) {
  return runFusedOp(spec, {input(q), input(k), input(v), maybeInput(mask)})[0];
}

at::Tensor layerNorm(const at::Tensor& x, const MaybeTensor& gamma, const MaybeTensor& beta,
                     const MaybeTensor& residual, const std::string& spec) {
  return runFusedOp(spec, {input(x), maybeWeight(gamma), maybeWeight(beta), maybeInput(residual)})[0];
}

std::tuple<at::Tensor, at::Tensor> addLayerNorm(const at::Tensor& x, const MaybeTensor& gamma, const MaybeTensor& beta,
                                                const at::Tensor& residual, const std::string& spec) {
  const std::vector<at::Tensor> results =
      runFusedOp(spec, {input(x), maybeWeight(gamma), maybeWeight(beta), input(residual)});
  TORCH_CHECK(results.size() == 2, "ipex_studio::add_layer_norm needs a spec with sum_output=1");
  return {results[0], results[1]};
}

at::Tensor embedding(const at::Tensor& ids, const at::Tensor& table, const std::string& spec) {
  return runFusedOp(spec, {input(ids), weight(table)})[0];
}

at::Tensor embeddingBag(const at::Tensor& ids, const at::Tensor& offsets, const at::Tensor& table,
                        const std::string& spec) {
  return runFusedOp(spec, {input(ids), input(offsets), weight(table)})[0];
}

// region(Region region, Tensor[] tensors, int[] sizes) -> Tensor[], straight on the interpreter's stack: the lists are
// read where they are instead of being copied into vectors.
void runRegion(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  const c10::intrusive_ptr<Region> region = arguments[0].toCustomClass<Region>();
  PlanCache& plans = region->plans();
  c10::SmallVector<const at::Tensor*, 16> tensors;
  c10::SmallVector<std::int64_t, 16> sizes;
  for (const c10::IValue& tensor : arguments[1].toListRef()) tensors.push_back(&tensor.toTensor());
  for (const c10::IValue& size : arguments[2].toListRef()) sizes.push_back(size.toInt());
  c10::SmallVector<at::Tensor, 8> results(plans.spec().outputs.size());
  plans.run(tensors, sizes, results.data());
  c10::List<at::Tensor> list;
  list.reserve(results.size());
  for (at::Tensor& result : results) list.push_back(std::move(result));
  torch::jit::drop(*stack, 3);
  stack->emplace_back(std::move(list));
}

}  // namespace

TORCH_LIBRARY(ipex_studio, m) {
  m.class_<Tuning>("Tuning")
      .def(torch::init<const std::string&, bool, const std::string&>())
      .def("record", &Tuning::record)
      .def("set_budget", &Tuning::setBudget)
      .def("progress", &Tuning::progress);
  m.class_<Region>("Region")
      .def(torch::init<const std::string&, std::vector<at::Tensor>>())
      .def("set_tuning", &Region::setTuning)
      .def("set_batch_buckets", &Region::setBatchBuckets)
      .def("packed", &Region::packed)
      .def("start_profile", &Region::startProfile)
      .def("stop_profile", &Region::stopProfile)
      .def_pickle([](const c10::intrusive_ptr<Region>& region) { return region->state(); },
                  [](c10::IValue saved) {
                    Region::State state = Region::stateFrom(saved);
                    auto region = c10::make_intrusive<Region>(std::get<0>(state), std::move(std::get<1>(state)));
                    region->readTuning(std::get<3>(state));
                    region->setBatchBuckets(std::move(std::get<4>(state)));
                    region->setPrepared(preparedBesideOpenFiles());
                    return region;
                  });
  m.def("region(__torch__.torch.classes.ipex_studio.Region region, Tensor[] tensors, int[] sizes) -> Tensor[]",
        torch::CppFunction::makeFromBoxedFunction<&runRegion>());
  m.def("convolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor", weighted);
  m.def("deconvolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor", weighted);
  m.def("linear(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor", weighted);
  m.def("matmul(Tensor a, Tensor b, Tensor[] post_args, str spec) -> Tensor", matmul);
  m.def("pointwise(Tensor x, Tensor[] post_args, str spec) -> Tensor", pointwise);
  m.def(
      "squeeze_excite(Tensor x, Tensor reduce, Tensor? b, Tensor expand, Tensor? c, Tensor[] post_args, str spec) -> "
      "Tensor",
      squeezeExcite);
  m.def("softmax(Tensor x, Tensor? mask, str spec) -> Tensor", softmax);
  m.def("attention(Tensor q, Tensor k, Tensor v, Tensor? mask, str spec) -> Tensor", attention);
  m.def("embedding(Tensor ids, Tensor table, str spec) -> Tensor", embedding);
  m.def("embedding_bag(Tensor ids, Tensor offsets, Tensor table, str spec) -> Tensor", embeddingBag);
  m.def("layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor? residual, str spec) -> Tensor", layerNorm);
  m.def("add_layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor residual, str spec) -> (Tensor, Tensor)",
        addLayerNorm);
}

}  // namespace ipex_studio
