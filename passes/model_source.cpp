// See model_source.h.
#include "passes/model_source.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/graph/origins.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Source;
using torch::jit::SourceRange;

constexpr std::size_t kTextBytes = std::size_t{4} << 20;  // of all files together
constexpr std::size_t kLineBytes = 1000;
constexpr std::size_t kPlaces = std::size_t{1} << 19;
constexpr std::size_t kNameBytes = 1000;

// One call of a Python stack, as a trace keeps it.
struct Frame {
  std::string file;
  std::int32_t line = 0;
};

// "net.py(12): forward"; nullopt for any other text.
std::optional<Frame> readFrame(std::string_view text) {
  const std::size_t end = text.rfind("): ");
  const std::size_t open = end == std::string_view::npos ? end : text.rfind('(', end);
  if (open == std::string_view::npos || open == 0 || open > kNameBytes) return std::nullopt;
  Frame frame{std::string(text.substr(0, open)), 0};
  const auto [rest, problem] = std::from_chars(text.data() + open + 1, text.data() + end, frame.line);
  if (problem != std::errc() || rest != text.data() + end || frame.line <= 0) return std::nullopt;
  return frame;
}

// The calls of a Python stack, innermost first, without those of PyTorch's own tracer; empty if `text` is no stack.
std::vector<Frame> readStack(std::string_view text) {
  std::vector<Frame> frames;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    std::optional<Frame> frame = readFrame(line);
    if (!frame) return {};
    if (frame->file.find("/torch/jit/") != std::string::npos) return frames;  // outside of it is who called the tracer
    const std::string_view dispatcher = "/torch/nn/modules/module.py";
    const bool dispatches =
        frame->file.size() >= dispatcher.size() &&
        frame->file.compare(frame->file.size() - dispatcher.size(), std::string::npos, dispatcher.data()) == 0;
    if (!dispatches) frames.push_back(std::move(*frame));
  }
  return frames;
}

// The text with long lines cut, at most `most` bytes of it; `cut` tells if anything is missing.
std::string boundedText(const std::string& text, std::size_t most, bool* cut) {
  std::string bounded;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t length = std::min(end - at, kLineBytes);
    if (bounded.size() + length + 1 > most) {
      *cut = true;
      break;
    }
    *cut = *cut || length < end - at;
    bounded.append(text, at, length);
    if (length < end - at) bounded += "…";
    bounded += '\n';
    at = end + 1;
  }
  return bounded;
}

class Recorder {
 public:
  explicit Recorder(bool python) : python_is_broken_(!python) {}

  void node(OriginId origin, const Node* node) {
    if (const auto calls = node->callstack()) {
      for (const auto& call : (*calls)->vec()) add(origin, std::get<1>(call), true);
    }
    add(origin, node->sourceRange(), false);
  }

  SourceRecord take() { return std::move(record_); }

 private:
  void add(OriginId origin, const SourceRange& range, bool call) {
    if (!range.source()) return;
    place(origin, range, false, call);
    if (const auto written = writtenAs(range)) python(origin, *written, call);
  }

  // The Python that the range was made of. Files say so in a pickle of their own, which may hold anything.
  std::optional<SourceRange> writtenAs(const SourceRange& range) {
    if (python_is_broken_) return std::nullopt;
    try {
      const auto found = range.findSourceRangeThatGenerated();
      if (found && found->source()) return *found;
    } catch (const std::exception&) {
      python_is_broken_ = true;
    }
    return std::nullopt;
  }

  void python(OriginId origin, const SourceRange& range, bool call) {
    auto stack = stacks_.find(range.source().get());
    if (stack == stacks_.end()) {
      kept_.push_back(range);
      const std::string text = range.source()->size() <= kTextBytes ? range.source()->text_str().str() : "";
      stack = stacks_.emplace(range.source().get(), readStack(text)).first;
    }
    const std::vector<Frame>& frames = stack->second;
    if (frames.empty()) return place(origin, range, true, call);
    // A trace keeps the whole stack with each node, so its calls need no places of their own.
    if (call) return;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
      push({origin, fileOf({frame->file, true, 0, "", false}), frame->line, std::next(frame) != frames.rend()});
  }

  void place(OriginId origin, const SourceRange& range, bool python, bool call) {
    const auto place = range.file_line_col();
    if (!place || std::get<0>(*place).empty()) return;
    const auto known = sources_.find(range.source().get());
    std::int32_t file = known == sources_.end() ? -1 : known->second;
    if (file < 0) {
      kept_.push_back(range);
      const std::size_t first = std::get<1>(*SourceRange(range.source(), 0, 0).file_line_col());
      SourceFile made{std::get<0>(*place).substr(0, kNameBytes), python, number(first), "", false};
      if (range.source()->size() > 16 * kTextBytes) made.cut = true;
      if (!made.cut) made.text = boundedText(range.source()->text_str().str(), kTextBytes, &made.cut);
      file = fileOf(std::move(made));
      sources_.emplace(range.source().get(), file);
    }
    push({origin, file, number(std::get<1>(*place)), call});
  }

  static std::int32_t number(std::size_t line) {
    return static_cast<std::int32_t>(std::min<std::size_t>(line, std::numeric_limits<std::int32_t>::max() / 2));
  }

  // The index of the file; one that is there already is not added again.
  std::int32_t fileOf(SourceFile file) {
    const auto [known, is_new] = files_.try_emplace({file.name, file.python, file.first_line, file.text.size()},
                                                    static_cast<std::int32_t>(record_.files.size()));
    if (!is_new) return known->second;
    if (bytes_ + file.text.size() > kTextBytes) file.text = boundedText(file.text, kTextBytes - bytes_, &file.cut);
    bytes_ += file.text.size();
    record_.files.push_back(std::move(file));
    return known->second;
  }

  void push(const SourcePlace& place) {
    if (record_.places.size() >= kPlaces) return;
    const auto& last = record_.places;
    for (auto before = last.rbegin(); before != last.rend() && before->origin == place.origin; ++before) {
      if (before->file == place.file && before->line == place.line && before->call == place.call) return;
    }
    record_.places.push_back(place);
  }

  SourceRecord record_;
  std::size_t bytes_ = 0;
  std::map<std::tuple<std::string, bool, std::int32_t, std::size_t>, std::int32_t> files_;
  std::map<const Source*, std::int32_t> sources_;
  std::map<const Source*, std::vector<Frame>> stacks_;
  std::vector<SourceRange> kept_;  // keep alive what the maps know by address
  bool python_is_broken_;
};

}  // namespace

SourceRecord modelSource(const torch::jit::Module& module, bool python) {
  const auto graph = module.get_method("forward").graph();
  OriginTable origins;
  origins.assign(*graph);
  Recorder recorder(python);
  for (const Node* node : allNodes(*graph)) {
    const std::vector<OriginId> ids = origins.of(node);
    if (!ids.empty()) recorder.node(ids.front(), node);
  }
  return recorder.take();
}

}  // namespace ipex_studio
