// Small TorchScript files written by hand, as torch.jit.save lays them out, and descriptors to read them from.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/file/pt_file.h"
#include "tests/core/file/zip_writer.h"

namespace ipex_studio::testing {

// An anonymous file with given bytes; closed at the end of its scope.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(::memfd_create("pt", MFD_CLOEXEC)) { assign(bytes); }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  void assign(const std::string& bytes) {
    const bool ok =
        ::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    IPEX_CHECK(ok, "the memory file takes its bytes");
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

inline std::string binUnicode(const std::string& text) { return "X" + littleEndian(text.size(), 4) + text; }
inline std::string binInt(std::int64_t value) { return "J" + littleEndian(static_cast<std::uint64_t>(value), 4); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string pickled(const std::string& body) { return "\x80\x02" + body + "."; }

inline std::string intTuple(const std::vector<std::int64_t>& values) {
  std::string text = "(";
  for (std::int64_t value : values) text += binInt(value);
  return text + "t";
}

inline std::string tensorOf(const std::string& key, std::int64_t storage_elements, std::int64_t offset,
                            const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                            const std::string& storage = "FloatStorage", const std::string& device = "cpu") {
  return global("torch._utils", "_rebuild_tensor_v2") + "((" + binUnicode("storage") + global("torch", storage) +
         binUnicode(key) + binUnicode(device) + binInt(storage_elements) + "tQ" + binInt(offset) + intTuple(sizes) +
         intTuple(strides) + "\x89" + global("collections", "OrderedDict") + ")RtR";
}

// Pickles a module of class `name` with a weight, a buffer and a list; `more` extends its state entries.
inline std::string modulePickle(const std::string& weight, const std::string& more = "") {
  return pickled(global("__torch__", "Net") + ")\x81}(" + binUnicode("weight") + weight + binUnicode("scale") +
                 tensorOf("1", 1, 0, {}, {}) + binUnicode("training") + "\x89" + binUnicode("sizes") +
                 global("torch.jit._pickle", "build_intlist") +
                 "(](K\x01K\x02"
                 "etR" +
                 more + "ub");
}

inline const char* netCode() {
  return "class Net(Module):\n"
         "  __parameters__ = [\"weight\", ]\n"
         "  __buffers__ = [\"scale\", ]\n"
         "  weight : Tensor\n"
         "  scale : Tensor\n"
         "  training : bool\n"
         "  sizes : List[int]\n"
         "  def forward(self: __torch__.Net,\n"
         "    x: Tensor) -> Tensor:\n"
         "    weight = self.weight\n"
         "    _0 = torch.relu(torch.matmul(x, weight))\n"
         "    return torch.mul(_0, ops.prim.NumToTensor(2))\n";
}

// The parts of a file; tests change one and write the file.
struct Net {
  std::string data_pkl = modulePickle(tensorOf("0", 6, 0, {2, 3}, {3, 1}));
  std::string code = netCode();
  std::string constants_pkl = pickled(")");
  std::string version = "3\n";
  std::vector<std::pair<std::string, std::string>> more;  // further members, named without the folder

  ZipWriter write() const {
    ZipWriter zip;
    std::string weights(24, '\0');
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<char>(i * 37 + 11);
    zip.add("net/data/0", weights);
    zip.add("net/data/1", std::string("\0\0\x80\x3f", 4));
    zip.add("net/data.pkl", data_pkl);
    zip.add("net/code/__torch__.py", code, true);
    zip.add("net/constants.pkl", constants_pkl);
    for (const auto& [name, data] : more) zip.add("net/" + name, data);
    zip.add("net/version", version);
    return zip;
  }
  std::string bytes() const { return write().finish(); }
};

inline PtFileReport inspectBytes(const std::string& bytes) {
  const MemoryFile file(bytes);
  InspectOptions options;
  options.sha256 = false;
  return inspectPtFile(file.fd(), "net.pt", options);
}

// The sentence of the refusal; "accepted" if there is none.
inline std::string refusalOf(const std::string& bytes) {
  try {
    inspectBytes(bytes);
  } catch (const Error& error) {
    return error.code() == ExitCode::kBadModel ? error.what() : "wrong exit code";
  }
  return "accepted";
}

}  // namespace ipex_studio::testing
