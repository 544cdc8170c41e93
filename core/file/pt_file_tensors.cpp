// Walks the object tree and the constants of a scanned module.
#include "core/file/pt_file_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxTensors = 200000;
constexpr std::size_t kMaxNameBytes = 500;

TensorEntry entryOf(const PickleScan& scan, const PickleValue& value, std::string name, TensorRole role) {
  const PickleTensor& tensor = scan.tensors[static_cast<std::size_t>(value.integer)];
  return {std::move(name), role, scan.storages[tensor.storage].dtype, tensor.dims, tensor.elements};
}

class Walker {
 public:
  Walker(const PickleScan& scan, const PtFileReport& report, std::vector<ListedTensor>* tensors)
      : scan_(scan), tensors_(tensors), seen_(scan.values.size(), false) {
    for (const CodeClass& code_class : report.classes) classes_[code_class.name] = &code_class;
  }

  void walk() {
    todo_.push_back({scan_.root, "", TensorRole::kAttribute});
    while (!todo_.empty() && tensors_->size() < kMaxTensors) {
      const Visit visit = std::move(todo_.back());
      todo_.pop_back();
      enter(visit);
    }
  }

 private:
  struct Visit {
    std::uint32_t value;
    std::string name;
    TensorRole role;
  };

  void enter(const Visit& visit) {
    const PickleValue& value = scan_.values[visit.value];
    if (value.kind == PickleKind::kTensor) return list(value, visit);
    if (value.count == 0 || seen_[visit.value]) return;
    seen_[visit.value] = true;
    const std::size_t before = todo_.size();
    if (value.kind == PickleKind::kObject) {
      const PickleValue& state = scan_.item(value, 0);
      if (state.kind == PickleKind::kDict) {
        members(state, visit.name, scan_.globals[static_cast<std::size_t>(value.integer)].name);
      } else {
        todo_.push_back({scan_.items[value.first], visit.name, TensorRole::kAttribute});
      }
    } else if (value.kind == PickleKind::kDict) {
      for (std::uint32_t i = 0; i + 1 < value.count; i += 2) {
        const PickleValue& key = scan_.item(value, i);
        const std::string shown = key.kind == PickleKind::kString ? std::string(key.text.substr(0, kMaxNameBytes))
                                                                  : fmt::format("{}", key.integer);
        push(scan_.items[value.first + i + 1], fmt::format("{}[{}]", visit.name, shown));
      }
    } else if (value.kind == PickleKind::kList || value.kind == PickleKind::kTuple) {
      for (std::uint32_t i = 0; i < value.count; ++i) {
        push(scan_.items[value.first + i], fmt::format("{}[{}]", visit.name, i));
      }
    }
    std::reverse(todo_.begin() + static_cast<std::ptrdiff_t>(before), todo_.end());
  }

  void members(const PickleValue& state, const std::string& prefix, const std::string& class_name) {
    const auto found = classes_.find(class_name);
    const CodeClass* code_class = found == classes_.end() ? nullptr : found->second;
    for (std::uint32_t i = 0; i + 1 < state.count; i += 2) {
      const PickleValue& key = scan_.item(state, i);
      if (key.kind != PickleKind::kString) continue;
      const std::string name(key.text.substr(0, kMaxNameBytes));
      const auto declared = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      const TensorRole role = code_class == nullptr              ? TensorRole::kAttribute
                              : declared(code_class->parameters) ? TensorRole::kParameter
                              : declared(code_class->buffers)    ? TensorRole::kBuffer
                                                                 : TensorRole::kAttribute;
      push(scan_.items[state.first + i + 1], prefix.empty() ? name : prefix + "." + name, role);
    }
  }

  // Skips leaves that hold no tensor, and everything beyond the limit.
  void push(std::uint32_t value, std::string name, TensorRole role = TensorRole::kAttribute) {
    const PickleValue& target = scan_.values[value];
    if ((target.kind != PickleKind::kTensor && target.count == 0) || todo_.size() >= kMaxTensors) return;
    if (name.size() > kMaxNameBytes) name.resize(kMaxNameBytes);
    todo_.push_back({value, std::move(name), role});
  }

  void list(const PickleValue& value, const Visit& visit) {
    const PickleTensor& tensor = scan_.tensors[static_cast<std::size_t>(value.integer)];
    const bool first = listed_.insert({scan_.storages[tensor.storage].key, tensor.offset, tensor.elements}).second ||
                       tensor.elements == 0;
    tensors_->push_back({entryOf(scan_, value, visit.name, visit.role), !first});
  }

  const PickleScan& scan_;
  std::vector<ListedTensor>* tensors_;
  std::vector<bool> seen_;
  std::vector<Visit> todo_;
  std::map<std::string, const CodeClass*> classes_;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> listed_;
};

}  // namespace

void listTensors(const PickleScan& scan, const PtFileReport& report, std::vector<ListedTensor>* tensors) {
  Walker(scan, report, tensors).walk();
}

void listConstants(const PickleScan& scan, std::vector<ListedTensor>* tensors) {
  const PickleValue& root = scan.values[scan.root];
  if (root.kind != PickleKind::kTuple) return;
  for (std::uint32_t i = 0; i < root.count && tensors->size() < kMaxTensors; ++i) {
    const PickleValue& value = scan.item(root, i);
    if (value.kind != PickleKind::kTensor) continue;
    tensors->push_back({entryOf(scan, value, fmt::format("CONSTANTS.c{}", i), TensorRole::kConstant), false});
  }
}

}  // namespace ipex_studio
