// See debug_info.h. A pickle holds a mark, a table of texts, and rows of offset, range and tag; a range is a source
// with its begin and end, a source the texts that it is joined from, the text that is its name, and its first line.
#include "studio/engine/debug_info.h"

#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <algorithm>
#include <string>

#include "core/file/zip_reader.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;

constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{64} << 20;

bool isIndex(const IValue& value, std::size_t size) {
  return value.isInt() && value.toInt() >= 0 && static_cast<std::uint64_t>(value.toInt()) < size;
}

bool isTupleOf(const IValue& value, std::size_t size) {
  return value.isTuple() && value.toTupleRef().elements().size() == size;
}

bool isSource(const IValue& value, std::size_t texts) {
  if (!isTupleOf(value, 3)) return false;
  const auto& parts = value.toTupleRef().elements();
  if (!parts[0].isIntList() || !isIndex(parts[1], texts) || !parts[2].isInt()) return false;
  const auto joined = parts[0].toIntVector();
  return std::all_of(joined.begin(), joined.end(), [&](std::int64_t text) { return isIndex(text, texts); });
}

bool isRow(const IValue& value, std::size_t texts) {
  if (!isTupleOf(value, 3) || !value.toTupleRef().elements()[0].isInt()) return false;
  const IValue& range = value.toTupleRef().elements()[1];
  if (!isTupleOf(range, 3)) return false;
  const auto& parts = range.toTupleRef().elements();
  return isSource(parts[0], texts) && parts[1].isInt() && parts[2].isInt();
}

bool isSound(const std::string& pickle) {
  const IValue all = torch::jit::unpickle(pickle.data(), pickle.size());
  if (!isTupleOf(all, 3)) return false;
  const auto& parts = all.toTupleRef().elements();
  if (!parts[0].isString() || parts[0].toStringRef() != "FORMAT_WITH_STRING_TABLE") return false;
  if (!parts[1].isTuple() || !parts[2].isTuple()) return false;
  const auto& texts = parts[1].toTupleRef().elements();
  const auto& rows = parts[2].toTupleRef().elements();
  return std::all_of(texts.begin(), texts.end(), [](const IValue& text) { return text.isString(); }) &&
         std::all_of(rows.begin(), rows.end(), [&](const IValue& row) { return isRow(row, texts.size()); });
}

}  // namespace

bool debugInfoIsSound(int fd) {
  constexpr char kEnd[] = ".debug_pkl";
  constexpr std::size_t kEndBytes = sizeof kEnd - 1;
  try {
    const ZipReader zip(fd, "the model");
    return std::all_of(zip.members().begin(), zip.members().end(), [&](const ZipMember& member) {
      const std::string& name = member.name;
      const bool is_debug = name.size() > kEndBytes && name.compare(name.size() - kEndBytes, kEndBytes, kEnd) == 0;
      return !is_debug || isSound(zip.read(member, kMaxPickleBytes));
    });
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace ipex_studio
