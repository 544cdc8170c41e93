// See source_lines.h.
#include "studio/snapshot/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ipex_studio {
namespace {

void addLines(const SourceRecord& source, std::int32_t f, std::vector<SourceLine>* lines) {
  const SourceFile& file = source.files[static_cast<std::size_t>(f)];
  lines->push_back({f});
  std::int32_t number = file.first_line;
  for (std::size_t at = 0; at < file.text.size(); ++number) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    lines->push_back({f, number, std::string_view(file.text).substr(at, end - at)});
    at = end + 1;
  }
}

void sortUnique(std::vector<OriginId>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

bool isInstalled(const std::string& file) {
  return file.find("/site-packages/") != std::string::npos || file.find("/dist-packages/") != std::string::npos;
}

double timeOf(const RunIndex& run, const std::vector<OriginId>& origins) {
  if (run.run == nullptr || origins.empty()) return 0;
  double time_ns = 0;
  for (const std::int32_t row : rowsOf(run, origins)) time_ns += run.rows[static_cast<std::size_t>(row)].time.p50_ns;
  return time_ns;
}

}  // namespace

bool hasSource(const SourceRecord& source, bool python) {
  return std::any_of(source.files.begin(), source.files.end(),
                     [&](const SourceFile& file) { return file.python == python && !file.text.empty(); });
}

std::vector<SourceLine> sourceLines(const SourceRecord& source, const JobIndex& index, bool python) {
  std::vector<SourceLine> lines;
  std::vector<std::size_t> begins(source.files.size(), 0);  // of each file's lines; its head before them
  for (std::size_t f = 0; f < source.files.size(); ++f) {
    const SourceFile& file = source.files[f];
    begins[f] = lines.size();
    if (file.python == python && !file.text.empty()) addLines(source, static_cast<std::int32_t>(f), &lines);
  }
  for (const SourcePlace& place : source.places) {
    const SourceFile& file = source.files[static_cast<std::size_t>(place.file)];
    // A file may tell of lines that it does not have.
    const std::int64_t at = std::int64_t{place.line} - file.first_line + 1;
    const auto line = static_cast<std::int64_t>(begins[static_cast<std::size_t>(place.file)]) + at;
    if (at < 1 || line >= static_cast<std::int64_t>(lines.size())) continue;
    SourceLine& found = lines[static_cast<std::size_t>(line)];
    if (found.file != place.file || found.number != place.line) continue;
    (place.call ? found.led : found.made).push_back(place.origin);
  }
  for (SourceLine& line : lines) {
    sortUnique(&line.made);
    sortUnique(&line.led);
    std::set_union(line.made.begin(), line.made.end(), line.led.begin(), line.led.end(),
                   std::back_inserter(line.nodes));
    line.time_ns = timeOf(index.optimized, line.nodes);
  }
  return lines;
}

int lineToShow(const SourceRecord& source, const std::vector<SourceLine>& lines, OriginId origin) {
  int innermost = -1, own = -1;  // own: the last one that is the author's
  for (const SourcePlace& place : source.places) {
    if (place.origin != origin) continue;
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const SourceLine& line) {
      return line.file == place.file && line.number == place.line;
    });
    if (found == lines.end()) continue;
    innermost = static_cast<int>(found - lines.begin());
    if (!isInstalled(source.files[static_cast<std::size_t>(place.file)].name)) own = innermost;
  }
  return own >= 0 ? own : innermost;
}

std::string sourcePlace(const SourceRecord& source, OriginId origin) {
  constexpr std::size_t kMaxCalls = 8;
  std::vector<std::string> calls;
  for (const SourcePlace& place : source.places) {
    const SourceFile& file = source.files[static_cast<std::size_t>(place.file)];
    if (place.origin != origin || !file.python) continue;
    calls.push_back(fmt::format("{}:{}", displayText(file.name.substr(file.name.rfind('/') + 1), 60), place.line));
  }
  if (calls.size() > kMaxCalls) calls.erase(calls.begin(), calls.end() - kMaxCalls);
  std::string text;
  for (const std::string& call : calls) text += (text.empty() ? "" : " → ") + call;
  return text;
}

}  // namespace ipex_studio
