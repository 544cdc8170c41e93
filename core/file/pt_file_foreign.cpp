// Signatures of foreign file formats and archives.
#include "core/file/pt_file_foreign.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/string_util.h"
#include "core/file/pt_file.h"

namespace ipex_studio {
namespace {

constexpr std::uint64_t kMaxSniffedPickle = 64 << 20;

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ExitCode::kBadModel, sentence); }

// A name beside the user's own file, which the advice must not have them write over.
std::string exportHint(const char* what, const std::string& path) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  const std::string stem = dot == std::string::npos || dot <= name ? path : path.substr(0, dot);
  return fmt::format("export {} with torch.jit.save(torch.jit.script(model), '{}.torchscript.pt')", what, stem);
}

[[noreturn]] void refuseAs(const std::string& path, const std::string& what) {
  refuse(fmt::format("'{}' is {}, not a TorchScript model; {}.", path, what, exportHint("it", path)));
}

// True for a protobuf message whose field 1 is a small number (ir_version) and that has a graph (field 7). Walks the
// top-level fields as far as the sniffed bytes go.
bool looksLikeOnnx(std::string_view head, std::uint64_t file_bytes) {
  std::size_t at = 0;
  const auto varint = [&](std::uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && at < head.size(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(head[at++]);
      *value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  bool version = false;
  while (at < head.size()) {
    std::uint64_t tag = 0, value = 0;
    if (!varint(&tag) || !varint(&value)) return false;
    const std::uint64_t field = tag >> 3;
    if ((tag & 7) == 0) {
      version = version || (field == 1 && value >= 1 && value <= 64);
      continue;
    }
    if ((tag & 7) != 2 || field == 0 || field > 32 || value > file_bytes - at) return false;
    if (field == 7 && version) return true;
    at += static_cast<std::size_t>(value);
  }
  return false;
}

// True if the text begins with `prefix` behind white space and a byte order mark, in letters of any case.
bool beginsWith(std::string_view head, std::string_view prefix) {
  if (startsWith(head, "\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head.size() - begin < prefix.size()) return false;
  return std::equal(prefix.begin(), prefix.end(), head.begin() + static_cast<std::ptrdiff_t>(begin),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// Refuses what stands in the place of a model when a download or a check-out went wrong.
void refuseTransfer(std::string_view head, const std::string& path) {
  if (startsWith(head, "version https://git-lfs.github.com/spec/")) {
    refuse(
        fmt::format("'{}' is a Git LFS pointer, which stands for a model that is not here; run `git lfs pull` in its "
                    "repository, or download the file itself.",
                    path));
  }
  const auto page = [&](const char* what) {
    refuse(
        fmt::format("'{}' is {}, not a model: the download got a page or a message of the server instead; open the "
                    "address in a browser and take the link of the file itself.",
                    path, what));
  };
  for (const char* begin : {"<!doctype html", "<html", "<head", "<!--"}) {
    if (beginsWith(head, begin)) page("a web page (HTML)");
  }
  if (beginsWith(head, "<?xml")) page("an XML document");
  if (beginsWith(head, "{\"") || beginsWith(head, "{\n")) page("a JSON text");
  for (const auto& [begin, what] : {std::pair<std::string_view, const char*>{"\x1f\x8b", "gzip"},
                                    {"BZh", "bzip2"},
                                    {std::string_view("\xfd"
                                                      "7zXZ",
                                                      5),
                                     "xz"},
                                    {std::string_view("\x28\xb5\x2f\xfd", 4), "zstd"},
                                    {std::string_view("7z\xbc\xaf", 4), "7z"},
                                    {"Rar!", "rar"}}) {
    if (startsWith(head, begin))
      refuse(fmt::format("'{}' is packed with {}; unpack it and name the model inside.", path, what));
  }
}

}  // namespace

void refuseForeignFile(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) refuse(fmt::format("Cannot read '{}': {}.", path, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) {
    refuse(fmt::format("'{}' is a directory; name the TorchScript .pt file inside it.", path));
  }
  if (!S_ISREG(status.st_mode)) refuse(fmt::format("'{}' is not a regular file; copy the model to disk first.", path));
  if (status.st_size == 0) refuse(fmt::format("'{}' is empty; copy or export the model again.", path));

  char buffer[512];
  const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
  if (got < 0) refuse(fmt::format("Cannot read '{}': {}.", path, std::strerror(errno)));
  const std::string_view head(buffer, static_cast<std::size_t>(got));
  if (startsWith(head, "PK\x03\x04") || startsWith(head, "PK\x05\x06")) return;
  // PyTorch before 1.6 wrote its magic number as the first pickle.
  if (startsWith(head, std::string_view("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14))) {
    refuseAs(path, "a pickled checkpoint in the format before PyTorch 1.6");
  }
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) refuseAs(path, "a Python pickle");
  if (looksLikeOnnx(head, static_cast<std::uint64_t>(status.st_size))) {
    refuse(fmt::format("'{}' is an ONNX model, not a TorchScript model; {}.", path,
                       exportHint("the PyTorch model it came from", path)));
  }
  if (head.size() > 9 && head[8] == '{' && head[9] == '"') refuseAs(path, "a safetensors file of weights alone");
  if (startsWith(head, "GGUF")) refuseAs(path, "a GGUF file of weights");
  if (startsWith(head, "\x89HDF")) refuseAs(path, "an HDF5 file");
  if (startsWith(head.substr(std::min<std::size_t>(4, head.size())), "PTMF")) {
    refuseAs(path, "a mobile model in flatbuffer form");
  }
  refuseTransfer(head, path);
  refuseAs(path, "no ZIP archive");
}

void refuseForeignArchive(const ZipReader& zip, const std::string& path) {
  bool data = false, constants = false, code = false, legacy = false, exported = false, package = false, mobile = false;
  const ZipMember* pickle = nullptr;
  for (const ZipMember& member : zip.members()) {
    const std::size_t slash = member.name.find('/');
    const std::string_view name = std::string_view(member.name).substr(slash == std::string::npos ? 0 : slash + 1);
    if (name == "data.pkl") pickle = &member;
    data = data || name == "data.pkl";
    constants = constants || name == "constants.pkl";
    code = code || startsWith(name, "code/");
    legacy = legacy || name == "model.json";
    mobile = mobile || name == "bytecode.pkl";
    exported = exported || name == "archive_format" || startsWith(name, "serialized_exported_program");
    package = package || startsWith(name, ".data/extern_modules") || startsWith(name, ".data/ts_code/");
  }
  if (data && constants && code) return;
  if (legacy) {
    refuse(
        fmt::format("'{}' was written by PyTorch 1.0 or 1.1; load it with PyTorch 1.4 – 1.13 and save it again with "
                    "torch.jit.save.",
                    path));
  }
  if (exported) refuseAs(path, "an archive of torch.export");
  if (package) refuseAs(path, "an archive of torch.package");
  if (mobile) refuseAs(path, "a mobile model without its TorchScript code");
  if (pickle != nullptr && !constants) {
    const std::string bytes = zip.read(*pickle, kMaxSniffedPickle);
    const bool module =
        bytes.find("torch.nn.modules") != std::string::npos || bytes.find("c__main__") != std::string::npos;
    refuseAs(path, module ? "a pickled Python module" : "a pickled state dict");
  }
  refuseAs(path, "a ZIP archive of something else");
}

}  // namespace ipex_studio
