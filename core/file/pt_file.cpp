// Inspection of a TorchScript file: archive, members, pickles and code, one after the other.
#include "core/file/pt_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "core/base/string_util.h"
#include "core/file/pickle_scan.h"
#include "core/file/pt_file_code.h"
#include "core/file/pt_file_foreign.h"
#include "core/file/pt_file_tensors.h"
#include "core/file/zip_reader.h"

namespace ipex_studio {
namespace {

constexpr std::uint64_t kMaxPickleBytes = 64u << 20;
constexpr std::uint64_t kMaxCodeBytes = 64u << 20;
constexpr std::uint64_t kMaxNoteBytes = 4096;
constexpr int kNewestFormat = 10;

// "code/__torch__/torch/nn.py" -> "__torch__.torch.nn"
std::string moduleOf(std::string_view inner) {
  std::string module(inner.substr(5, inner.size() - 8));
  std::replace(module.begin(), module.end(), '/', '.');
  return module;
}

class Inspector {
 public:
  Inspector(const ZipReader& zip, const std::string& path, const InspectOptions& options, PtFileReport* report)
      : zip_(zip), path_(path), options_(options), report_(report) {}

  void run() {
    refuseForeignArchive(zip_, path_);
    findFolder();
    for (const ZipMember& member : zip_.members()) readMember(member);
    if (report_->format_version == 0) fail("it has no format version");
    addPickledClasses();
    listTensors(*data_.scan, *report_, &tensors_);
    listConstants(*constants_.scan, &tensors_);
    summarize();
    noteTraining();
    std::sort(report_->classes.begin(), report_->classes.end(),
              [](const CodeClass& a, const CodeClass& b) { return a.name < b.name; });
    tellProducer();
  }

 private:
  // A pickle's bytes stay as long as the values that point into them.
  struct Pickle {
    std::unique_ptr<std::string> bytes;
    std::unique_ptr<PickleScan> scan;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(
        ExitCode::kBadModel,
        fmt::format("'{}' is not a sound TorchScript model: {}; export it again with torch.jit.save.", path_, what));
  }

  std::string where(const ZipMember& member) const { return fmt::format("'{}', member '{}'", path_, member.name); }

  // libtorch looks only into the folder of the first member.
  void findFolder() {
    const std::string& first = zip_.firstListed();
    folder_ = first.substr(0, first.find('/') + 1);
    for (const ZipMember& member : zip_.members()) {
      if (!startsWith(member.name, folder_))
        fail(fmt::format("member '{}' lies outside of '{}'", member.name, folder_));
    }
    report_->archive_name = folder_.substr(0, folder_.empty() ? 0 : folder_.size() - 1);
    if (zip_.find(folder_ + "data.pkl") == nullptr || zip_.find(folder_ + "constants.pkl") == nullptr) {
      fail("data.pkl or constants.pkl lies in the wrong folder");
    }
  }

  // libtorch ignores case when it looks for a member, so a name in another case would be read there and not here.
  void checkCase(const std::string& name, std::string_view inner) const {
    std::string folded(inner);
    for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    bool differs = false;
    for (const char* folder : {"code/", "data/", "constants/", "extra/", ".data/"}) {
      differs |= startsWith(folded, folder) && !startsWith(inner, folder);
    }
    for (const char* end : {".py", ".pkl", ".debug_pkl"}) differs |= endsWith(folded, end) && !endsWith(inner, end);
    for (const char* note : {"version", "byteorder"}) differs |= folded == note && inner != note;
    if (differs) fail(fmt::format("member '{}' is named in upper case, which hides what it is", name));
  }

  void readMember(const ZipMember& member) {
    report_->members.push_back(
        {member.name, static_cast<std::int64_t>(member.bytes), static_cast<std::int64_t>(member.compressed_bytes)});
    const std::string_view inner = std::string_view(member.name).substr(folder_.size());
    if (startsWith(inner, "extra/")) return zip_.verify(member);
    checkCase(member.name, inner);
    if (endsWith(inner, ".pkl") || endsWith(inner, ".debug_pkl")) return readPickle(member, inner);
    if (startsWith(inner, "code/") && endsWith(inner, ".py")) {
      return readCode(zip_.read(member, kMaxCodeBytes), member.name, moduleOf(inner), where(member), report_);
    }
    if (inner == "version" || inner == ".data/version") return readVersion(member);
    if (inner == "byteorder" && zip_.read(member, kMaxNoteBytes) != "little") {
      fail("it was written on a machine of another byte order");
    }
    zip_.verify(member);
  }

  void readVersion(const ZipMember& member) {
    std::string text = zip_.read(member, kMaxNoteBytes);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (text.empty() || text.size() > 4 || !digits) fail("its format version is no number");
    report_->format_version = std::stoi(text);
    if (report_->format_version < 1) fail("its format version is 0");
    if (report_->format_version > kNewestFormat) {
      report_->findings.push_back({"newer-format", member.name,
                                   fmt::format("Format version {} is newer than the {} known here; libtorch may refuse "
                                               "it.",
                                               report_->format_version, kNewestFormat),
                                   false});
    }
  }

  void readPickle(const ZipMember& member, std::string_view inner) {
    Pickle pickle;
    pickle.bytes = std::make_unique<std::string>(zip_.read(member, kMaxPickleBytes));
    const std::string stem = folder_ + std::string(inner.substr(0, inner.rfind('.'))) + "/";
    PickleScanOptions options;
    options.where = where(member);
    options.storages_may_be_empty = inner == "traced_inputs.pkl";
    options.storage_bytes = [&](const std::string& key) -> std::optional<std::uint64_t> {
      const ZipMember* data = zip_.find(stem + key);
      // Mobile byte code shares the constants of the module.
      if (data == nullptr && inner == "bytecode.pkl") data = zip_.find(folder_ + "constants/" + key);
      return data == nullptr ? std::nullopt : std::optional<std::uint64_t>(data->bytes);
    };
    pickle.scan = std::make_unique<PickleScan>(scanPickle(*pickle.bytes, options));
    judgePickle(member, *pickle.scan);
    if (inner == "data.pkl") {
      data_ = std::move(pickle);
    } else if (inner == "constants.pkl") {
      constants_ = std::move(pickle);
    }
  }

  void judgePickle(const ZipMember& member, const PickleScan& scan) {
    const bool sparse = std::any_of(scan.tensors.begin(), scan.tensors.end(), [](const auto& t) { return t.sparse; });
    if (sparse) {
      report_->findings.push_back({"sparse-tensor", member.name,
                                   "Holds sparse tensors, whose indices PyTorch does not check on loading.", true});
    }
    constexpr std::string_view kRegistered = "__torch__.torch.classes.";
    for (const PickleGlobalUse& global : scan.globals) {
      if (!startsWith(global.name, kRegistered)) continue;
      std::string name = global.name.substr(kRegistered.size());
      if (const std::size_t dot = name.find('.'); dot != std::string::npos) name.replace(dot, 1, "::");
      if (auto finding = classFinding(name)) {
        finding->member = member.name;
        pickled_classes_.push_back(std::move(*finding));
      }
    }
  }

  // Code need not name the class of an object that it never touches; loading makes the object all the same.
  void addPickledClasses() {
    for (Finding& finding : pickled_classes_) {
      const bool told = std::any_of(report_->findings.begin(), report_->findings.end(),
                                    [&](const Finding& known) { return known.text == finding.text; });
      if (!told) report_->findings.push_back(std::move(finding));
    }
  }

  void summarize() {
    std::set<std::string> counted;
    const auto addStorages = [&](const PickleScan& scan, const std::string& folder) {
      for (const PickleStorage& storage : scan.storages) {
        if (!counted.insert(folder + storage.key).second) continue;
        report_->tensor_bytes[storage.dtype] += storage.elements * storage.element_bytes;
      }
    };
    addStorages(*data_.scan, "data/");
    addStorages(*constants_.scan, "constants/");
    const PickleValue& root = data_.scan->values[data_.scan->root];
    if (root.kind != PickleKind::kObject) fail("its data is not a module");
    report_->root_class = data_.scan->globals[static_cast<std::size_t>(root.integer)].name;
    const bool known = std::any_of(report_->classes.begin(), report_->classes.end(),
                                   [&](const CodeClass& c) { return c.name == report_->root_class; });
    if (!known) fail(fmt::format("its code lacks class '{}'", report_->root_class));
    listMethods();
    for (const ListedTensor& tensor : tensors_) {
      if (tensor.repeats) continue;
      const bool parameter = tensor.entry.role == TensorRole::kParameter;
      if (!parameter && tensor.entry.role != TensorRole::kBuffer) continue;
      ++(parameter ? report_->parameter_tensors : report_->buffer_tensors);
      (parameter ? report_->parameter_elements : report_->buffer_elements) += tensor.entry.elements;
    }
    if (!options_.list_tensors) return;
    for (ListedTensor& tensor : tensors_) report_->tensors.push_back(std::move(tensor.entry));
  }

  void listMethods() {
    for (const CodeClass& of : report_->classes) {
      if (of.name != report_->root_class) continue;
      for (const std::string& method : of.methods) {
        if (method != "forward" && !startsWith(method, "_")) report_->methods.push_back(method);
      }
    }
  }

  // Looks at the model itself: what it sets for its parts differs only in rare models.
  void noteTraining() {
    const PickleScan& scan = *data_.scan;
    const PickleValue& root = scan.values[scan.root];
    if (root.count == 0 || scan.item(root, 0).kind != PickleKind::kDict) return;
    const PickleValue& state = scan.item(root, 0);
    for (std::uint32_t i = 0; i + 1 < state.count; i += 2) {
      const PickleValue& value = scan.item(state, i + 1);
      if (scan.item(state, i).text != "training" || value.kind != PickleKind::kBool || value.integer == 0) continue;
      report_->findings.push_back({"training-mode", folder_ + "data.pkl",
                                   "Was saved in training mode; it runs in evaluation mode here.", false});
    }
  }

  // PyTorch does not write its version; the features of the file tell the oldest version that could have written it.
  void tellProducer() {
    const auto has = [&](const char* name) { return zip_.find(folder_ + name) != nullptr; };
    report_->producer = has(".format_version") || has(".storage_alignment") ? "PyTorch 2.7 or later"
                        : has("byteorder") || has(".data/serialization_id") ? "PyTorch 2.1 or later"
                        : report_->format_version >= 7                      ? "PyTorch 1.11 – 2.0"
                                                                            : "PyTorch 1.4 – 2.0";
  }

  const ZipReader& zip_;
  const std::string& path_;
  const InspectOptions& options_;
  PtFileReport* report_;
  std::string folder_;  // "net/"
  Pickle data_, constants_;
  std::vector<Finding> pickled_classes_;
  std::vector<ListedTensor> tensors_;
};

}  // namespace

bool PtFileReport::dangerous() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.dangerous; });
}

void refuseLostWeights(const PtFileReport& report, const std::string& path) {
  for (const Finding& finding : report.findings) {
    if (finding.kind != "lost-weights") continue;
    throw Error(ExitCode::kBadModel, fmt::format("'{}' cannot be run: {}", path, finding.text));
  }
}

void addOutsideTarget(const std::vector<std::string>& only, PtFileReport* report) {
  const std::set<std::string> allowed(only.begin(), only.end());
  for (const auto& [name, count] : report->operators) {
    if (allowed.count(name) != 0) continue;
    report->findings.push_back(
        {"outside-target", "",
         fmt::format("Calls {} {} {}, which the target's list lacks.", name, count, count == 1 ? "time" : "times"),
         false});
  }
}

int openModelFile(const std::string& path) {
  // Non-blocking, so that opening a pipe does not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) throw Error(ExitCode::kBadModel, fmt::format("There is no file '{}'.", path));
  if (fd < 0) throw Error(ExitCode::kBadModel, fmt::format("Cannot open '{}': {}.", path, std::strerror(errno)));
  try {
    refuseForeignFile(fd, path);
  } catch (const Error&) {
    ::close(fd);
    throw;
  }
  return fd;
}

PtFileReport inspectPtFile(int fd, const std::string& path, const InspectOptions& options) {
  refuseForeignFile(fd, path);
  // The digest of the whole file and the CRCs of its members are taken at the same time on two cores.
  std::future<std::string> digest;
  if (options.sha256) digest = std::async(std::launch::async, [fd] { return sha256HexOfFile(fd); });
  PtFileReport report;
  report.path = path;
  const ZipReader zip(fd, path);
  report.file_bytes = static_cast<std::int64_t>(zip.fileBytes());
  Inspector(zip, path, options, &report).run();
  if (digest.valid()) report.sha256 = digest.get();
  return report;
}

}  // namespace ipex_studio
