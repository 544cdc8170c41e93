// Sessions in this process, on a real engine, that measure no longer than a test needs.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "studio/session/session.h"
#include "tests/studio/cli/program.h"
#include "tests/studio/session/quick_request.h"

namespace ipex_studio::testing {

inline SessionOptions quickOptions(const std::string& file, const Sandpit& pit) {
  SessionOptions options;
  options.file = file;
  options.database_path = pit.path("studio.db");
  options.request = quickRequest();
  return options;
}

inline bool rests(const StudioSnapshot& snapshot) { return snapshot.status.state != JobState::kWorking; }

// Waits until `done` holds and the session is idle; returns that snapshot.
inline SnapshotPtr waitUntil(Session& session, const std::function<bool(const StudioSnapshot&)>& done,
                             std::chrono::seconds longest = std::chrono::minutes(2)) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (std::chrono::steady_clock::now() < end) {
    const SnapshotPtr snapshot = session.latest();
    if (session.idle() && done(*snapshot)) return snapshot;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ADD_FAILURE() << "waited for too long; " << session.latest()->status.message;
  return session.latest();
}

}  // namespace ipex_studio::testing
