// OptionText: a name with settings, "sgd:lr=0.01,momentum=0.9,nesterov", as --loss, --optimizer and --schedule take it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ipex_studio {

// Readers ask for the keys they know and end with finish(). All errors are Error(kUsage) in one sentence that begins
// with the flag and the text. Not thread-safe.
class OptionText {
 public:
  // `flag`: "--optimizer". Throws if the text has another form.
  OptionText(std::string flag, std::string text);

  const std::string& name() const { return name_; }
  // The number behind "key="; `otherwise` without it. Throws if it is none between `low` and `high`.
  double number(const char* key, double otherwise, double low, double high);
  // The same for whole numbers.
  double whole(const char* key, double otherwise, double low, double high);
  // True for "key", "key=true" and "key=1"; `otherwise` without it.
  bool flag(const char* key, bool otherwise);
  // The numbers of "key=30/60", each between `low` and `high`; empty without it.
  std::vector<double> numbers(const char* key, double low, double high);
  // Throws if there is a setting that nobody asked for.
  void finish() const;
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  // The value behind the key; null if it is not there. Notes that the key is known.
  const std::string* find(const char* key);

  std::string flag_, text_, name_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::vector<std::string> known_;
};

}  // namespace ipex_studio
