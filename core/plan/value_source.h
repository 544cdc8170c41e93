// ValueSource: the interface of objects that run plans and can show their values.
#pragma once

#include "core/plan/plan.h"

namespace ipex_studio {

class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // Makes each further run show its values (Plan::Instance::runObserved); an empty hook ends that. Must not be called
  // during a run.
  virtual void setValueHook(ValueHook hook) = 0;
  // The spec that numbers the values.
  virtual const PlanSpec& planSpec() const = 0;
};

}  // namespace ipex_studio
