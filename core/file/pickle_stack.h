// PickleStack: the bytes, values, stack, marks and memo of a pickle that is being scanned. Private to pickle_scan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/pickle_scan.h"

namespace ipex_studio {

// The value stack of a pickle: applies each opcode after checking it. Throws Error(kBadModel). Values 0 to 258 are
// None, False, True, 0 to 255.
class PickleStack {
 public:
  PickleStack(std::string_view bytes, const PickleScanOptions& options);

 protected:
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void unknownOpcode(std::uint8_t opcode) const;

  // Bytes.
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) failShort(count);
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint64_t little(std::size_t count);
  double bigEndianDouble();
  std::string_view line();
  std::int64_t longInt();
  bool atEnd() const { return at_ == bytes_.size(); }

  // Values.
  PickleValue& at(std::uint32_t index) { return scan_.values[index]; }
  const PickleValue& expect(const PickleValue& of, std::uint32_t index, PickleKind kind, const char* what) const;
  void push(PickleValue value);
  void pushInt(std::int64_t value);
  void pushReal(double value);
  void pushIndexed(PickleKind kind, std::size_t index);
  void pushText(PickleKind kind, std::string_view text);
  std::uint32_t pop();
  void memoize(std::uint64_t id);
  void recall(std::uint64_t id);

  // Containers.
  void mark();
  std::size_t popMark();
  // Moves the stack's values from `begin` on into `value` as its items.
  void fill(PickleValue* value, std::size_t begin);
  void pushTuple(std::size_t begin);
  void pushTupleOf(std::size_t count);
  // Fills the list or dict under the last mark with the values above it.
  void fillContainer(PickleKind kind);
  // Fills a container as Python's opcodes for single items do, from the last `count` values.
  void fillWithLast(PickleKind kind, std::size_t count, std::uint8_t opcode);

  const PickleScanOptions& options_;
  PickleScan scan_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;

 private:
  [[noreturn]] void failShort(std::uint64_t count) const;

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> memo_;
};

}  // namespace ipex_studio
