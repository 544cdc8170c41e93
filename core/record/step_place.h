// The place where a step of a record ran.
#pragma once

#include "core/record/device_copy_name.h"
#include "core/record/records.h"

namespace ipex_studio {

enum class StepPlace { kHost, kDevice, kCopies };  // kCopies: between the host and the device

inline StepPlace placeOf(const StepRecord& step) {
  if (step.kernel == kDeviceCopyName) return StepPlace::kCopies;
  return step.device == "cpu" ? StepPlace::kHost : StepPlace::kDevice;
}

}  // namespace ipex_studio
