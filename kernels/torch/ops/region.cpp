// ipex_studio::region: runs a region, a static part of a graph (kernels/torch/plans/region.h), and
// ipex_studio::region_loop, which runs one for all rounds of a loop; with the class and that of the tuning its regions
// share. The class comes before the schemas that name it, so all stand in this file.
#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/script.h>

#include "kernels/torch/plans/prepared_files.h"
#include "kernels/torch/plans/region.h"
#include "kernels/torch/plans/region_loop.h"

namespace ipex_studio {
namespace {

template <typename Results>
void returnList(torch::jit::Stack* stack, std::size_t arguments, Results& results) {
  c10::List<at::Tensor> list;
  list.reserve(results.size());
  for (at::Tensor& result : results) list.push_back(std::move(result));
  torch::jit::drop(*stack, arguments);
  stack->emplace_back(std::move(list));
}

// Works on the interpreter's stack: the lists are read where they are instead of being copied into vectors.
void runRegion(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  const c10::intrusive_ptr<Region> region = arguments[0].toCustomClass<Region>();
  c10::SmallVector<const at::Tensor*, 16> tensors;
  c10::SmallVector<std::int64_t, 16> sizes;
  for (const c10::IValue& tensor : arguments[1].toListRef()) tensors.push_back(&tensor.toTensor());
  for (const c10::IValue& size : arguments[2].toListRef()) sizes.push_back(size.toInt());
  c10::SmallVector<at::Tensor, 8> results(region->plans().spec().outputs.size());
  region->run(tensors, sizes, results.data());
  returnList(stack, 3, results);
}

void runLoop(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 5);
  const c10::intrusive_ptr<Region> region = arguments[0].toCustomClass<Region>();
  c10::SmallVector<std::int64_t, 64> numbers;
  c10::SmallVector<const at::Tensor*, 16> tensors;
  c10::SmallVector<std::int64_t, 16> sizes;
  for (const c10::IValue& number : arguments[1].toListRef()) numbers.push_back(number.toInt());
  for (const c10::IValue& tensor : arguments[3].toListRef()) tensors.push_back(&tensor.toTensor());
  for (const c10::IValue& size : arguments[4].toListRef()) sizes.push_back(size.toInt());
  std::vector<at::Tensor> results = runRegionLoop(*region, numbers, arguments[2].toInt(), tensors, sizes);
  returnList(stack, 5, results);
}

}  // namespace

TORCH_LIBRARY(ipex_studio, m) {
  m.class_<Tuning>("Tuning")
      .def(torch::init<const std::string&, bool, const std::string&>())
      .def("record", &Tuning::record)
      .def("set_budget", &Tuning::setBudget)
      .def("progress", &Tuning::progress)
      .def("verdict", &Tuning::verdict)
      .def("put_verdict", &Tuning::putVerdict);
  m.class_<Region>("Region")
      .def(torch::init<const std::string&, std::vector<at::Tensor>>())
      .def("set_tuning", &Region::setTuning)
      .def("set_batch_buckets", &Region::setBatchBuckets)
      .def("set_length_buckets", &Region::setLengthBuckets)
      .def("set_new_sizes", &Region::setNewSizes)
      .def("set_original_code", &Region::setOriginalCode)
      .def("packed", &Region::packed)
      .def("start_profile", &Region::startProfile)
      .def("stop_profile", &Region::stopProfile)
      .def_pickle([](const c10::intrusive_ptr<Region>& region) { return region->state(); },
                  [](c10::IValue saved) {
                    Region::State state = Region::stateFrom(saved);
                    auto region = c10::make_intrusive<Region>(std::get<0>(state), std::move(std::get<1>(state)));
                    region->readTuning(std::get<3>(state));
                    region->setBatchBuckets(std::move(std::get<4>(state)));
                    if (!std::get<8>(state).empty()) region->setLengthBuckets(std::move(std::get<8>(state)));
                    region->setOriginalCode(std::get<5>(state), std::move(std::get<6>(state)));
                    region->setNewSizes(std::get<7>(state), /*from_now_on=*/true);
                    region->setPrepared(preparedBesideOpenFiles());
                    return region;
                  });
  m.def("region(__torch__.torch.classes.ipex_studio.Region region, Tensor[] tensors, int[] sizes) -> Tensor[]",
        torch::CppFunction::makeFromBoxedFunction<&runRegion>());
  m.def(
      "region_loop(__torch__.torch.classes.ipex_studio.Region region, int[] form, int rounds, Tensor[] tensors, "
      "int[] sizes) -> Tensor[]",
      torch::CppFunction::makeFromBoxedFunction<&runLoop>());
}

}  // namespace ipex_studio
