// The parts of the pickle machine that do not depend on TorchScript: values, containers and the memo.
#include "core/file/pickle_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::uint32_t kShared = 3 + 256;  // values 0 … kShared-1: None, False, True, 0 … 255

}  // namespace

PickleStack::PickleStack(std::string_view bytes, const PickleScanOptions& options) : options_(options), bytes_(bytes) {
  scan_.values.resize(kShared);
  for (std::uint32_t i = 1; i < kShared; ++i) {
    scan_.values[i].kind = i < 3 ? PickleKind::kBool : PickleKind::kInt;
    scan_.values[i].integer = i < 3 ? i - 1 : i - 3;
  }
}

void PickleStack::fail(const std::string& what) const {
  throw Error(ExitCode::kBadModel,
              fmt::format("{}: the pickle {} (byte {}); the file is damaged or was not written by torch.jit.save.",
                          options_.where, what, at_));
}

std::uint64_t PickleStack::little(std::size_t count) {
  const std::string_view part = take(count);
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(part[i]);
  return value;
}

double PickleStack::bigEndianDouble() {
  std::uint64_t bits = 0;
  for (char c : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(c);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::string_view PickleStack::line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos || end - at_ > 4096) fail("has a global without an end");
  const std::string_view text = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

void PickleStack::push(PickleValue value) {
  if (scan_.values.size() >= options_.max_values) fail(fmt::format("has more than {} values", options_.max_values));
  if (value.depth > options_.max_depth) fail(fmt::format("nests deeper than {} levels", options_.max_depth));
  scan_.values.push_back(value);
  stack_.push_back(static_cast<std::uint32_t>(scan_.values.size() - 1));
}

void PickleStack::pushInt(std::int64_t value) {
  if (value >= 0 && value < 256) {
    stack_.push_back(static_cast<std::uint32_t>(3 + value));
    return;
  }
  PickleValue made;
  made.kind = PickleKind::kInt;
  made.integer = value;
  push(made);
}

void PickleStack::pushIndexed(PickleKind kind, std::size_t index) {
  PickleValue made;
  made.kind = kind;
  made.integer = static_cast<std::int64_t>(index);
  push(made);
}

void PickleStack::pushText(PickleKind kind, std::string_view text) {
  PickleValue made;
  made.kind = kind;
  made.text = text;
  push(made);
}

std::uint32_t PickleStack::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
  const std::uint32_t top = stack_.back();
  stack_.pop_back();
  return top;
}

const PickleValue& PickleStack::expect(const PickleValue& of, std::uint32_t index, PickleKind kind,
                                       const char* what) const {
  if (index >= of.count || scan_.item(of, index).kind != kind) fail(fmt::format("has {}", what));
  return scan_.item(of, index);
}

void PickleStack::fill(PickleValue* value, std::size_t begin) {
  value->first = static_cast<std::uint32_t>(scan_.items.size());
  value->count = static_cast<std::uint32_t>(stack_.size() - begin);
  for (std::size_t i = begin; i < stack_.size(); ++i) {
    PickleValue& item = at(stack_[i]);
    item.held = true;
    value->depth = std::max<std::uint16_t>(value->depth, item.depth + 1);
    scan_.items.push_back(stack_[i]);
  }
  stack_.resize(begin);
}

void PickleStack::pushTuple(std::size_t begin) {
  PickleValue made;
  made.kind = PickleKind::kTuple;
  fill(&made, begin);
  push(made);
}

void PickleStack::pushTupleOf(std::size_t count) {
  if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
  pushTuple(stack_.size() - count);
}

std::size_t PickleStack::popMark() {
  if (marks_.empty()) fail("closes what it did not open");
  const std::size_t begin = marks_.back();
  marks_.pop_back();
  return begin;
}

void PickleStack::fillContainer(PickleKind kind) {
  const std::size_t begin = popMark();
  if (begin == 0 || begin <= (marks_.empty() ? 0 : marks_.back())) fail("fills a container that is not there");
  const std::uint32_t target = stack_[begin - 1];
  if (at(target).kind != kind || at(target).held || at(target).count > 0) {
    fail("fills a container of another kind, twice, or after its use");
  }
  if (kind == PickleKind::kDict && (stack_.size() - begin) % 2 != 0) fail("has a key without a value");
  if (std::find(stack_.begin() + begin, stack_.end(), target) != stack_.end()) fail("puts a container into itself");
  PickleValue filled = at(target);
  fill(&filled, begin);
  if (filled.depth > options_.max_depth) fail(fmt::format("nests deeper than {} levels", options_.max_depth));
  at(target) = filled;
}

void PickleStack::fillWithLast(PickleKind kind, std::size_t count, std::uint8_t opcode) {
  if (!options_.python_writer) unknownOpcode(opcode);
  if (stack_.size() < count + (marks_.empty() ? 0 : marks_.back())) fail("takes a value where none is");
  marks_.push_back(stack_.size() - count);
  fillContainer(kind);
}

void PickleStack::unknownOpcode(std::uint8_t opcode) const {
  fail(fmt::format("has opcode 0x{:02x}, which TorchScript files do not use", opcode));
}

// Little-endian two's complement; libtorch writes 8 bytes, Python as few as it takes.
std::int64_t PickleStack::longInt() {
  const std::uint8_t width = byte();
  if (width != 8 && !(options_.python_writer && width >= 1 && width < 8))
    fail("has a whole number that is not 64 bits wide");
  const std::uint64_t bits = little(width) << (64 - 8 * width);
  return static_cast<std::int64_t>(bits) >> (64 - 8 * width);
}

void PickleStack::memoize(std::uint64_t id) {
  if (stack_.empty()) fail("remembers a value where none is");
  // The pickler numbers memo entries consecutively; libtorch would allocate room for any number.
  if (id > memo_.size()) fail(fmt::format("uses memo number {} after {}", id, memo_.size()));
  if (id == memo_.size()) memo_.push_back(0);
  memo_[id] = stack_.back();
}

void PickleStack::recall(std::uint64_t id) {
  if (id >= memo_.size()) fail(fmt::format("recalls memo number {}, which was never set", id));
  stack_.push_back(memo_[id]);
}

void PickleStack::failShort(std::uint64_t count) const {
  fail(fmt::format("needs {} bytes where {} are left", count, bytes_.size() - at_));
}

void PickleStack::pushReal(double value) {
  PickleValue made;
  made.kind = PickleKind::kFloat;
  made.real = value;
  push(made);
}

void PickleStack::mark() {
  if (marks_.size() >= options_.max_marks) fail(fmt::format("opens more than {} containers", options_.max_marks));
  marks_.push_back(stack_.size());
}

}  // namespace ipex_studio
