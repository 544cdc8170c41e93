// The message of an expected Error.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/base/error.h"

namespace ipex_studio::testing {

// Returns the message, or "accepted" if `action` throws no Error; its exit code must be `code`.
inline std::string refusal(ExitCode code, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "accepted";
}

}  // namespace ipex_studio::testing
