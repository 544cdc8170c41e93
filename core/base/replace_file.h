// Files that are replaced whole or not at all.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace ipex_studio {

// Calls `fill` with a new file beside `target`, syncs it and renames it over `target`, which afterwards is either
// unchanged or the whole new file. `mode` is cut by the umask. Throws Error(kFailure) if that fails.
void replaceFile(const std::string& target, const std::function<void(int fd)>& fill, mode_t mode = 0666);

// Writes `text` to `path` in this way.
void writeFileAtomically(const std::string& path, const std::string& text);

// Writes all bytes to an open file. `target` names it in the sentence of the Error(kFailure).
void writeAll(int fd, const char* bytes, std::size_t count, const std::string& target);

// Throws Error(kFailure): `path` cannot be written, for this errno.
[[noreturn]] void cannotWrite(const std::string& path, int code);

// The folder around a path: "." for a name alone.
std::string folderOf(const std::string& path);

}  // namespace ipex_studio
