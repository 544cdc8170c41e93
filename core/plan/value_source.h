// The interface of objects that run plans and can show their values.
#pragma once

#include "core/plan/plan.h"

namespace ipex_studio {

class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // From now on each run shows its values (Plan::Instance::runObserved); an empty hook ends it. Not while runs are under way.
  virtual void setValueHook(ValueHook hook) = 0;
  // The spec that defines the value numbers.
  virtual const PlanSpec& planSpec() const = 0;
};

}  // namespace ipex_studio
