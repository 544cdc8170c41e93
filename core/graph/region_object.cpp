#include "core/graph/region_object.h"

#include <torch/custom_class.h>

#include "core/plan/error.h"

namespace ipex_studio {

using torch::jit::IValue;

c10::ClassTypePtr regionType() {
  const c10::ClassTypePtr type = torch::getCustomClass("__torch__.torch.classes.ipex_studio.Region");
  IPEX_CHECK(type != nullptr, "libipex_studio_ops is linked");
  return type;
}

IValue makeRegionObject(const std::string& plan_text, const std::vector<at::Tensor>& constants) {
  const c10::ClassTypePtr type = regionType();
  IValue object(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1));
  torch::jit::Stack stack{object, plan_text, constants};
  type->getMethod("__init__").run(stack);
  return object;
}

std::vector<IValue> regionObjects(const torch::jit::Module& module) {
  std::vector<IValue> regions;
  for (std::size_t index = 0; module.hasattr("region_" + std::to_string(index)); ++index) {
    IValue region = module.attr("region_" + std::to_string(index));
    if (!region.isObject() || region.toObject()->type() != regionType()) break;
    regions.push_back(std::move(region));
  }
  return regions;
}

IValue callRegion(const IValue& region, const std::string& method) {
  torch::jit::Stack stack{region};
  region.toObject()->type()->getMethod(method).run(stack);
  return stack.empty() ? IValue() : stack.back();
}

}  // namespace ipex_studio
