// A file is a line that says what it is, the checksum of key and bytes, and the bytes.
#include "kernels/xpu/program_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "core/base/sha256.h"
#include "core/base/string_util.h"

namespace ipex_studio {
namespace {

constexpr char kHead[] = "ipex-studio compiled program 1\n";

// The key is in it, so that a file under a wrong name is damaged too.
std::string checksum(std::string_view key, std::string_view bytes) {
  Sha256 digest;
  digest.update(key.data(), key.size());
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

}  // namespace

std::string ProgramCache::pathOf(std::string_view key) const {
  return fmt::format("{}/{}.bin", folder_, sha256Hex(key));
}

std::optional<std::string> ProgramCache::read(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(pathOf(key), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t head = sizeof kHead - 1, digits = 64;
  if (text.size() < head + digits || !startsWith(text, kHead)) return std::nullopt;
  std::string bytes = text.substr(head + digits);
  if (text.compare(head, digits, checksum(key, bytes)) != 0) return std::nullopt;
  return bytes;
}

bool ProgramCache::write(std::string_view key, std::string_view bytes) const {
  if (folder_.empty()) return false;
  try {
    std::filesystem::create_directories(folder_);
    writeFileAtomically(pathOf(key), fmt::format("{}{}{}", kHead, checksum(key, bytes), bytes));
    return true;
  } catch (const Error&) {
    return false;
  } catch (const std::filesystem::filesystem_error&) {
    return false;
  }
}

}  // namespace ipex_studio
