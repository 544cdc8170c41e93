// A tokenizer of TorchScript code that recognizes definitions, operators and harmful names.
#include "core/file/pt_file_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr int kMaxNesting = 300;
constexpr std::size_t kMaxFindings = 200;

// Operator namespaces that a stock CPU build of PyTorch knows.
const std::set<std::string>& stockNamespaces() {
  static const std::set<std::string> names = {"aten",
                                              "prim",
                                              "prims",
                                              "quantized",
                                              "_quantized",
                                              "quantized_decomposed",
                                              "sparse",
                                              "mkldnn",
                                              "mkldnn_prepacked",
                                              "prepacked",
                                              "xnnpack",
                                              "_xnnpack",
                                              "profiler",
                                              "inductor",
                                              "c10d",
                                              "rngprims",
                                              "static_runtime",
                                              "tensorexpr",
                                              "_caffe2",
                                              "_nnapi",
                                              "onednn",
                                              "mkl",
                                              "ao",
                                              "cuda",
                                              "torch"};
  return names;
}

bool isNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isNamePart(char c) { return isNameStart(c) || (c >= '0' && c <= '9'); }
bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\'; }

class CodeReader {
 public:
  CodeReader(std::string_view text, const std::string& member, const std::string& module, const std::string& where,
             PtFileReport* report)
      : text_(text), member_(member), module_(module), where_(where), report_(report) {}

  void run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        startLine();
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        skipString();
      } else if (isNameStart(c)) {
        word();
      } else {
        nest(c);
        ++at_;
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kBadModel,
                fmt::format("{}: the code {}; torch.jit.save does not write such files.", where_, what));
  }

  void find(const std::string& kind, const std::string& text, bool dangerous) {
    if (report_->findings.size() >= kMaxFindings) return;
    for (const Finding& known : report_->findings) {
      if (known.kind == kind && known.member == member_ && known.text == text) return;
    }
    report_->findings.push_back({kind, member_, text, dangerous});
  }

  void nest(char c) {
    if (static_cast<unsigned char>(c) < 0x20 && !isBlank(c)) fail("holds control characters");
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    if (depth_ > kMaxNesting) fail(fmt::format("nests brackets deeper than {} levels", kMaxNesting));
    // Prefix operators are parsed by recursion too, so their number is bounded.
    prefixes_ = c == '-' || c == '~' ? prefixes_ + 1 : isBlank(c) ? prefixes_ : 0;
    if (prefixes_ > kMaxNesting) fail(fmt::format("chains more than {} signs", kMaxNesting));
  }

  void startLine() {
    indent_ = 0;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_, ++indent_;
    if (indent_ > 2 * kMaxNesting) fail(fmt::format("nests blocks deeper than {} levels", kMaxNesting));
  }

  void skipString() {
    const char quote = text_[at_];
    const bool triple = text_.substr(at_, 3) == std::string(3, quote);
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\') {
        at_ += 2;
      } else if (triple ? text_.substr(at_, 3) == std::string(3, quote) : text_[at_] == quote) {
        at_ += triple ? 3 : 1;
        return;
      } else {
        ++at_;
      }
    }
    fail("has a text without an end");
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && isNamePart(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Reads a.b.c, with blanks allowed around the dots, into its parts.
  std::vector<std::string> dottedName() {
    std::vector<std::string> parts = {name()};
    for (;;) {
      std::size_t next = at_;
      while (next < text_.size() && isBlank(text_[next])) ++next;
      if (next >= text_.size() || text_[next] != '.') return parts;
      ++next;
      while (next < text_.size() && isBlank(text_[next])) ++next;
      if (next >= text_.size() || !isNameStart(text_[next])) return parts;
      at_ = next;
      parts.push_back(name());
    }
  }

  void word() {
    const bool after_dot = previousIsDot();
    const bool line_start = lineBegin() + indent_ == at_;
    prefixes_ = 0;
    const std::vector<std::string> parts = dottedName();
    if (line_start && parts.size() == 1 && (parts[0] == "class" || parts[0] == "def")) return definition(parts[0]);
    if (line_start && parts.size() == 1 && (parts[0] == "__parameters__" || parts[0] == "__buffers__")) {
      return declaredNames(parts[0]);
    }
    for (const std::string& part : parts) judge(part, parts);
    if (!after_dot) reference(parts);
  }

  std::size_t lineBegin() const {
    const std::size_t newline = text_.rfind('\n', at_ - 1);
    return at_ == 0 || newline == std::string_view::npos ? 0 : newline + 1;
  }

  bool previousIsDot() const {
    std::size_t before = at_;
    while (before > 0 && isBlank(text_[before - 1])) --before;
    return before > 0 && text_[before - 1] == '.';
  }

  void definition(const std::string& keyword) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::string defined = name();
    if (keyword == "class") {
      report_->classes.push_back({module_ + "." + defined, {}, {}, {}});
      in_class_ = true;
    } else if (indent_ == 0) {
      report_->functions.push_back(module_ + "." + defined);
      in_class_ = false;
    } else if (in_class_ && indent_ == 2) {
      report_->classes.back().methods.push_back(defined);
    }
    if (defined == "__setstate__") {
      find("runs-on-load",
           fmt::format("{} defines __setstate__: its code runs as soon as the file is loaded.",
                       in_class_ ? report_->classes.back().name : module_),
           true);
    }
  }

  // Reads a declaration such as __parameters__ = ["weight", "bias", ].
  void declaredNames(const std::string& keyword) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    if (!in_class_) return;
    auto& names = keyword == "__parameters__" ? report_->classes.back().parameters : report_->classes.back().buffers;
    while (at_ < end) {
      const std::size_t open = text_.find('"', at_);
      if (open >= end) break;
      const std::size_t close = text_.find('"', open + 1);
      if (close >= end) break;
      names.emplace_back(text_.substr(open + 1, close - open - 1));
      at_ = close + 1;
    }
    at_ = end;
  }

  // Names that mean harm wherever they stand after a dot.
  void judge(const std::string& part, const std::vector<std::string>& parts) {
    if (part == "from_file") {
      find("maps-files", "Calls aten::from_file: reads any file it names, and can overwrite it.", true);
    }
    if (part == "save" && (parts.front() == "torch" || parts.front() == "ops")) {
      find("writes-files", "Calls aten::save: writes any file it names.", true);
    }
  }

  void reference(const std::vector<std::string>& parts) {
    const bool annotation = parts.size() == 1 && text_.substr(at_, 2) == " :";  // an attribute of that name
    if (annotation) return;
    if (parts[0] == "torch" && parts.size() == 2) {
      if (parts[1] == "device" && text_.substr(at_, 6) == "(\"cuda") noteGpu();
      if (parts[1] == "cuda") noteGpu();
      if (parts[1] != "device") ++report_->operators["aten::" + parts[1]];  // torch.device("cpu") is a constant
    } else if (parts[0] == "ops" && parts.size() >= 3) {
      ++report_->operators[parts[1] + "::" + parts[2]];
      if (parts[1] == "prim" && parts[2] == "ConstantMKLDNNTensor") {
        find("lost-weights",
             "torch.jit.optimize_for_inference moved its weights into a form that files cannot hold, so they are lost; "
             "save the model before it is called, which is not needed here.",
             false);
      }
      if (stockNamespaces().count(parts[1]) == 0 && parts[1] != "ipex_studio") {
        find("foreign-operators",
             fmt::format("Needs operators of '{}' ({}::{}), which stock PyTorch lacks.", parts[1], parts[1], parts[2]),
             false);
      }
    } else if (parts[0] == "torch" || parts[0] == "ops") {
      find("hidden-calls", "Uses operators in a way torch.jit.save does not write, so their names may be hidden.",
           true);
    } else if (parts[0] == "fork" && parts.size() == 1) {
      find("starts-threads", "Uses fork: parts of the model run on other threads.", false);
    }
    const bool registered =
        parts.size() >= 5 && parts[0] == "__torch__" && parts[1] == "torch" && parts[2] == "classes";
    if (registered && parts[3] != "ipex_studio") {
      const bool stock = stockNamespaces().count(parts[3]) != 0 || parts[3] == "rnn";
      find("custom-class",
           fmt::format(
               "Uses class {}::{}{}.", parts[3], parts[4],
               stock ? ", which stock PyTorch brings along" : " of another library, which must be loaded with it"),
           !stock);
    }
  }

  void noteGpu() { find("names-gpu", "Names a GPU, as models traced on one do; the CPU is taken instead.", false); }

  std::string_view text_;
  const std::string& member_;
  const std::string& module_;
  const std::string& where_;
  PtFileReport* report_;
  std::size_t at_ = 0;
  std::size_t indent_ = 0;
  int depth_ = 0;
  int prefixes_ = 0;
  bool in_class_ = false;
};

bool isUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : -1;
    if (lead == 0 || more < 0 || text.size() - i <= static_cast<std::size_t>(more)) return false;
    for (int k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += 1 + more;
  }
  return true;
}

}  // namespace

void readCode(std::string_view text, const std::string& member, const std::string& module, const std::string& where,
              PtFileReport* report) {
  if (!isUtf8(text)) {
    throw Error(ExitCode::kBadModel, fmt::format("{}: the code is not UTF-8 text; the file is damaged.", where));
  }
  CodeReader(text, member, module, where, report).run();
}

}  // namespace ipex_studio
