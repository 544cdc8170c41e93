// A tokenizer of TorchScript code that recognizes definitions, operators and harmful names.
#include "core/file/pt_file_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/string_util.h"
#include "core/file/code_nesting.h"
#include "core/file/operator_table.h"
#include "core/file/strided_call.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxFindings = 200;

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
        const bool continued = at_ > 0 && text_[at_ - 1] == '\\';
        ++at_;
        if (!continued) startLine();
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        skipString();
      } else if (isNameStart(c)) {
        word();
        last_ = 'a';
      } else {
        nest(c);
        if (!isBlank(c)) last_ = c;
        ++at_;
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kBadModel,
                fmt::format("{}: the code {}; torch.jit.save does not write such files.", where_, what));
  }

  // Notes and dangers are bounded apart, so that many notes cannot keep a danger out.
  void find(const std::string& kind, const std::string& text, bool dangerous) {
    std::size_t alike = 0;
    for (const Finding& known : report_->findings) {
      if (known.kind == kind && known.member == member_ && known.text == text) return;
      alike += known.dangerous == dangerous;
    }
    if (alike < kMaxFindings) report_->findings.push_back({kind, member_, text, dangerous});
  }

  void nest(char c) {
    if (static_cast<unsigned char>(c) < 0x20 && !isBlank(c)) fail("holds control characters");
    check(nesting_.punctuation(c, last_));
    if (c == ')' || c == ']' || c == '}') {
      while (!getattrs_.empty() && nesting_.depth() < getattrs_.back().depth) getattrs_.pop_back();
    }
  }

  void check(const std::string& complaint) const {
    if (!complaint.empty()) fail(complaint);
  }

  void startLine() {
    indent_ = 0;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_, ++indent_;
    check(nesting_.line(indent_));
  }

  void skipString() {
    const char quote = text_[at_];
    const bool triple = text_.substr(at_, 3) == std::string(3, quote);
    at_ += triple ? 3 : 1;
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\') {
        at_ += 2;
      } else if (triple ? text_.substr(at_, 3) == std::string(3, quote) : text_[at_] == quote) {
        judgeText(text_.substr(begin, at_ - begin));
        at_ += triple ? 3 : 1;
        last_ = quote;
        return;
      } else {
        ++at_;
      }
    }
    fail("has a text without an end");
  }

  // A text inside of getattr(…) names a member; texts that follow each other are one.
  void judgeText(std::string_view text) {
    if (getattrs_.empty()) return;
    getattrs_.back().text += text;
    if (text.find('\\') != std::string_view::npos) return hiddenCall();
    judgeMember(std::string(text), false);
    judgeMember(getattrs_.back().text, false);
  }

  void hiddenCall() {
    find("hidden-calls", "Uses operators in a way torch.jit.save does not write, so their names may be hidden.", true);
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
    const bool after_dot = last_ == '.';
    const bool line_start = lineBegin() + indent_ == at_;
    const std::vector<std::string> parts = dottedName();
    for (std::size_t i = 0; i < parts.size(); ++i)
      check(i == 0 ? nesting_.word(parts[0]) : nesting_.punctuation('.', 'a'));
    const bool keyword = parts.size() == 1 && !after_dot;
    if (keyword && (parts[0] == "class" || parts[0] == "def")) return definition(parts[0]);
    if (keyword && line_start && (parts[0] == "__parameters__" || parts[0] == "__buffers__")) declaredNames(parts[0]);
    if (keyword && parts[0] == "getattr") getattrs_.push_back({nesting_.depth() + 1, ""});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == "__setstate__") runsOnLoad("Names __setstate__ outside of a definition");
      const bool global = !after_dot && (parts[0] == "torch" || parts[0] == "ops");
      if ((after_dot || i > 0) && !global) judgeMember(parts[i], i + 1 == parts.size());
    }
    if (!after_dot) reference(parts);
  }

  std::size_t lineBegin() const {
    const std::size_t newline = text_.rfind('\n', at_ - 1);
    return at_ == 0 || newline == std::string_view::npos ? 0 : newline + 1;
  }

  void definition(const std::string& keyword) {
    while (at_ < text_.size() && isBlank(text_[at_])) ++at_;
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
      runsOnLoad(fmt::format("{} defines __setstate__", in_class_ ? report_->classes.back().name : module_));
    }
  }

  void runsOnLoad(const std::string& what) {
    find("runs-on-load", what + ": its code runs as soon as the file is loaded.", true);
  }

  // Reads a declaration such as __parameters__ = ["weight", "bias", ]. run() reads the line, too: in a method it may be
  // anything.
  void declaredNames(const std::string& keyword) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    if (!in_class_) return;
    auto& names = keyword == "__parameters__" ? report_->classes.back().parameters : report_->classes.back().buffers;
    for (std::size_t at = at_; at < end;) {
      const std::size_t open = text_.find('"', at);
      if (open >= end) break;
      const std::size_t close = text_.find('"', open + 1);
      if (close >= end) break;
      names.emplace_back(text_.substr(open + 1, close - open - 1));
      at = close + 1;
    }
  }

  // A name after a dot may be an operator that is called as a method of a tensor; harmless ones need no word.
  void judgeMember(const std::string& name, bool arguments_follow) {
    const OperatorRisk* risk = operatorRisk("aten::" + name);
    // An operator that takes no tensor is no method, and its name is common.
    if (risk != nullptr && !risk->kind.empty() && name != "save" && (risk->dangerous || !isOwnMethod(name))) {
      findRisk("aten::" + name, *risk, arguments_follow, true);
    }
  }

  // True for a call (self).NAME of a method that a class of this file defines.
  bool isOwnMethod(const std::string& name) const {
    constexpr std::string_view kReceiver = "(self).";
    const std::size_t begin = at_ - name.size();
    const bool of_self =
        begin >= kReceiver.size() && text_.substr(begin - kReceiver.size(), kReceiver.size()) == kReceiver;
    return in_class_ && of_self && text_.find("\n  def " + name + "(self:") != std::string_view::npos;
  }

  void findRisk(const std::string& name, const OperatorRisk& risk, bool arguments_follow, bool method) {
    std::string text = risk.sentence;
    if (const std::size_t place = text.find("{}"); place != std::string::npos) text.replace(place, 2, name);
    if (arguments_follow && startsWith(name, "aten::as_strided")) text += reachOf(name, method);
    find(risk.kind, text, risk.dangerous);
  }

  // The arguments behind the name are read here, and again by run().
  std::string reachOf(const std::string& name, bool method) const {
    if (name == "aten::as_strided_scatter") return "";
    constexpr std::size_t kLongest = 4096;
    const std::size_t begin = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    const auto last = lastElementReached(text_.substr(begin, kLongest), method);
    if (!last) return " Its sizes and strides are computed.";
    return *last < 0 ? " Its sizes are constants and hold no element."
                     : fmt::format(" Its sizes and strides are constants and end at element {}.", *last);
  }

  void reference(const std::vector<std::string>& parts) {
    const bool annotation = parts.size() == 1 && text_.substr(at_, 2) == " :";  // an attribute of that name
    if (annotation) return;
    if (parts[0] == "torch" && parts.size() == 2) {
      if (parts[1] == "device" && text_.substr(at_, 6) == "(\"cuda") noteGpu();
      if (parts[1] == "cuda") noteGpu();
      if (parts[1] != "device") calls("aten", parts[1]);  // torch.device("cpu") is a constant
    } else if (parts[0] == "ops" && parts.size() >= 3) {
      if (parts[1] == "prim" && parts[2] == "ConstantMKLDNNTensor") {
        find("lost-weights",
             "torch.jit.optimize_for_inference moved its weights into a form that files cannot hold, so they are lost; "
             "save the model before it is called, which is not needed here.",
             false);
      }
      calls(parts[1], parts[2]);
    } else if (parts[0] == "torch" || parts[0] == "ops") {
      hiddenCall();
    } else if (parts[0] == "fork" && parts.size() == 1) {
      find("starts-threads", "Uses fork: parts of the model run on other threads.", false);
    }
    const bool registered =
        parts.size() >= 5 && parts[0] == "__torch__" && parts[1] == "torch" && parts[2] == "classes";
    if (!registered) return;
    if (const auto finding = classFinding(parts[3] + "::" + parts[4]))
      find(finding->kind, finding->text, finding->dangerous);
  }

  void calls(const std::string& space, const std::string& operator_name) {
    const std::string full = space + "::" + operator_name;
    ++report_->operators[full];
    const OperatorRisk* risk = operatorRisk(full);
    if (risk != nullptr && !risk->kind.empty()) findRisk(full, *risk, true, false);
    if (isExtensionNamespace(space)) {
      find(kExtensionFinding,
           fmt::format("Calls {} of Intel Extension for PyTorch, which becomes operators of PyTorch when the file is "
                       "loaded.",
                       full),
           false);
    } else if (ownOperators().count(full) != 0) {
      find(kOwnOperatorFinding, fmt::format("Calls {}, which ipex-studio computes without {}.", full, space), false);
    } else if (!isStockNamespace(space) && space != "ipex_studio") {
      find("foreign-operators", fmt::format("Needs operators of '{}' ({}), which stock PyTorch lacks.", space, full),
           false);
    } else if (risk == nullptr) {
      find("unknown-operators",
           fmt::format("Calls {}, which is none of the operators known here; what it can reach is not known.", full),
           true);
    }
  }

  void noteGpu() { find("names-gpu", "Names a GPU, as models traced on one do; the CPU is taken instead.", false); }

  // A call of getattr that is open: the depth of its arguments, and the texts in it so far.
  struct Getattr {
    int depth;
    std::string text;
  };

  std::string_view text_;
  const std::string& member_;
  const std::string& module_;
  const std::string& where_;
  PtFileReport* report_;
  std::size_t at_ = 0;
  std::size_t indent_ = 0;
  CodeNesting nesting_;
  char last_ = 0;  // last character that is no blank and in no comment; 'a' for any word
  std::vector<Getattr> getattrs_;
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

std::optional<Finding> classFinding(const std::string& name) {
  if (startsWith(name, "ipex_studio::") && isListedClass(name)) return std::nullopt;
  const bool known = isListedClass(name);
  if (known && isExtensionNamespace(name.substr(0, name.find(':')))) {
    return Finding{
        kExtensionFinding, "",
        fmt::format("Holds {} of Intel Extension for PyTorch, whose weights are read when the file is loaded.", name),
        false};
  }
  return Finding{
      "custom-class", "",
      fmt::format("Uses class {}{}.", name,
                  known ? ", which stock PyTorch brings along" : " of another library, which must be loaded with it"),
      !known};
}

void readCode(std::string_view text, const std::string& member, const std::string& module, const std::string& where,
              PtFileReport* report) {
  if (!isUtf8(text)) {
    throw Error(ExitCode::kBadModel, fmt::format("{}: the code is not UTF-8 text; the file is damaged.", where));
  }
  CodeReader(text, member, module, where, report).run();
}

}  // namespace ipex_studio
