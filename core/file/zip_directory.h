// The directory of a ZIP archive, cross-checked with every member's local header. Private to zip_reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file/zip_reader.h"

namespace ipex_studio {

constexpr std::uint16_t kZipStored = 0, kZipDeflated = 8;  // ZipMember::method

// Returns all members by position in the file; together they fill it without gap or overlap up to the directory. Stores
// the name that the directory lists first in `first_listed`. Throws Error(kBadModel).
std::vector<ZipMember> readZipDirectory(int fd, const std::string& path, std::uint64_t file_bytes,
                                        const ZipLimits& limits, std::string* first_listed);

// Reads `bytes` bytes from `offset` on. Throws Error(kBadModel) if the file ends before.
void readZipBytes(int fd, const std::string& path, std::uint64_t offset, char* dst, std::size_t bytes);

}  // namespace ipex_studio
