// Static inspection of TorchScript `.pt` files: lists what a file holds and refuses damaged or foreign files, without
// loading libtorch and without running anything from the file. Every loader inspects a model first, through the very
// descriptor that it then loads from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ipex_studio {

// Packed layers and operators of Intel Extension for PyTorch that become operators of PyTorch.
constexpr char kExtensionFinding[] = "intel-extension";
// Operators of other libraries that are computed here without them.
constexpr char kOwnOperatorFinding[] = "own-operators";

// An ability or a content of the file that its user should know of.
struct Finding {
  // "runs-on-load", "hidden-calls", "custom-class", "foreign-operators", "unknown-operators", "sparse-tensor",
  // "starts-threads", "newer-format", "lost-weights", "training-mode", "names-gpu", "outside-target",
  // kExtensionFinding, kOwnOperatorFinding, or a kind of core/file/operators.txt: "writes-files", "reaches-memory",
  // "reaches-storage" …
  std::string kind;
  std::string member;      // "net/code/__torch__.py"; empty when it concerns the whole file
  std::string text;        // one sentence
  bool dangerous = false;  // can touch files or run code of others; needs trust or a sandbox
};

enum class TensorRole { kParameter, kBuffer, kAttribute, kConstant };

struct TensorEntry {
  std::string name;  // "layer1.0.conv1.weight"; constants: "CONSTANTS.c0"
  TensorRole role = TensorRole::kAttribute;
  std::string dtype;  // "float32", as PyTorch names them
  std::vector<std::int64_t> dims;
  std::int64_t elements = 0;
};

struct CodeClass {
  std::string name;  // "__torch__.torch.nn.modules.conv.Conv2d"
  std::vector<std::string> methods;
  std::vector<std::string> parameters, buffers;  // attribute names it declares as such
};

struct MemberEntry {
  std::string name;        // with the archive's folder
  std::int64_t bytes = 0;  // once inflated
  std::int64_t stored_bytes = 0;
};

struct PtFileReport {
  std::string path;
  std::int64_t file_bytes = 0;
  std::string sha256;                                          // lower-case hex; empty when not asked for
  std::string archive_name;                                    // folder all members lie in
  std::int32_t format_version = 0;                             // of PyTorch's archive format, 3 … 10 so far
  std::string producer;                                        // "PyTorch 2.1 or later", told from what it wrote
  std::string root_class;                                      // "__torch__.Net"
  std::vector<MemberEntry> members;                            // in file order
  std::vector<TensorEntry> tensors;                            // in the order of the file; empty when not asked for
  std::int64_t parameter_tensors = 0, parameter_elements = 0;  // TensorRole::kParameter only
  std::int64_t buffer_tensors = 0, buffer_elements = 0;
  std::map<std::string, std::int64_t> tensor_bytes;  // by dtype; shared storages count once, constants included
  std::map<std::string, std::int32_t> operators;     // "aten::conv2d" -> how often the code names it
  std::vector<std::string> methods;                  // of the root class that users call besides forward
  std::vector<CodeClass> classes;                    // sorted by name
  std::vector<std::string> functions;                // free functions of the code
  std::vector<Finding> findings;

  bool dangerous() const;
};

struct InspectOptions {
  bool sha256 = true;
  bool list_tensors = true;
};

// Opens read-only and close-on-exec; the caller closes. Throws Error(kBadModel) with one sentence for a missing or
// unreadable file, a directory, anything else that is no regular file, and an empty file.
int openModelFile(const std::string& path);

// Reads the whole file behind `fd` (its position stays) and checks all of it: ZIP structure, CRC of every member,
// pickles, code. Throws Error(kBadModel) with one sentence on anything damaged, foreign or hostile in form; well-formed
// contents that can do harm become findings. `path` is only used in texts. Thread-safe. Cost: below 0.8 ms per MB plus
// some ms.
PtFileReport inspectPtFile(int fd, const std::string& path, const InspectOptions& options = {});

// Throws Error(kBadModel) with one sentence if weights of the model did not get into the file ("lost-weights").
void refuseLostWeights(const PtFileReport& report, const std::string& path);
// Adds a finding for every operator that the code names and a target lacks: `only` lists what the target has
// ("aten::relu").
void addOutsideTarget(const std::vector<std::string>& only, PtFileReport* report);

const char* tensorRoleName(TensorRole role);  // "parameter", "buffer", "attribute", "constant"

nlohmann::json toJson(const PtFileReport& report);
// Describes the report for people: some dozen aligned lines, ending in a newline. Control characters in names from the
// file are replaced.
std::string describe(const PtFileReport& report);

}  // namespace ipex_studio
