#include "kernels/torch/region.h"

#include "core/plan/plan_spec.h"

namespace ipex_studio {

Region::Region(const std::string& plan_text, std::vector<at::Tensor> constants)
    : plans_(planSpecFromText(plan_text), std::move(constants)) {}

Region::State Region::state() const {
  return {planSpecToText(plans_.spec()), plans_.constants(), IPEX_STUDIO_VERSION};
}

}  // namespace ipex_studio
