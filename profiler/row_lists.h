// Lists that rows hold as JSON arrays of numbers, and the message about rows whose lists cannot be read. Private to
// profiler/.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "profiler/sqlite.h"

namespace ipex_studio {

[[noreturn]] inline void malformed(const Connection& connection, const std::string& what) {
  throw Error(ExitCode::kDatabase,
              fmt::format("The profile database {} holds a malformed record: {}.", connection.path(), what));
}

template <class Integer>
std::vector<Integer> parseArray(const Connection& connection, std::string_view text) {
  const auto fail = [&] { malformed(connection, "a list of numbers was expected"); };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail();
  std::vector<Integer> numbers;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  const auto skipSpaces = [&] {
    while (at != end && *at == ' ') ++at;
  };
  skipSpaces();
  while (at != end) {
    Integer number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc()) fail();
    numbers.push_back(number);
    at = parsed.ptr;
    skipSpaces();
    if (at == end) break;
    if (*at++ != ',') fail();
    skipSpaces();
  }
  return numbers;
}

}  // namespace ipex_studio
