// The table of losses.
#include "core/train/loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/train/option_text.h"

namespace ipex_studio {

struct LossKind {
  const char* name;
  bool labels;          // targets are numbers of classes; else tensors of the results' sizes
  const char* setting;  // the name of its setting; null: none
  double otherwise;     // the setting's default
  at::Tensor (*mean)(const at::Tensor& output, const at::Tensor& target, double setting);
};

namespace {

using at::Tensor;
constexpr std::int64_t kIgnored = -100;  // a label that counts for nothing, as in PyTorch
constexpr auto kMean = at::Reduction::Mean;

const LossKind kLosses[] = {
    {"cross_entropy", true, "smoothing", 0,
     [](const Tensor& x, const Tensor& t, double s) { return at::cross_entropy_loss(x, t, {}, kMean, kIgnored, s); }},
    {"nll", true, nullptr, 0,
     [](const Tensor& x, const Tensor& t, double) { return at::nll_loss_nd(x, t, {}, kMean, kIgnored); }},
    {"bce", false, nullptr, 0, [](const Tensor& x, const Tensor& t, double) { return at::binary_cross_entropy(x, t); }},
    {"bce_logits", false, nullptr, 0,
     [](const Tensor& x, const Tensor& t, double) { return at::binary_cross_entropy_with_logits(x, t); }},
    {"mse", false, nullptr, 0, [](const Tensor& x, const Tensor& t, double) { return at::mse_loss(x, t); }},
    {"l1", false, nullptr, 0, [](const Tensor& x, const Tensor& t, double) { return at::l1_loss(x, t); }},
    {"smooth_l1", false, "beta", 1,
     [](const Tensor& x, const Tensor& t, double s) { return at::smooth_l1_loss(x, t, kMean, s); }},
    {"huber", false, "delta", 1,
     [](const Tensor& x, const Tensor& t, double s) { return at::huber_loss(x, t, kMean, s); }},
    {"kl_div", false, nullptr, 0, [](const Tensor& x, const Tensor& t, double) { return at::kl_div(x, t, kMean); }},
};

std::string sizesText(const Tensor& tensor) { return fmt::format("{}", fmt::join(tensor.sizes(), " x ")); }

[[noreturn]] void refuseLabel(std::int64_t label, std::int64_t classes) {
  throw Error(ExitCode::kUsage, fmt::format("A label of the data is {}, but the model knows {} classes, 0 to {}.",
                                            label, classes, classes - 1));
}

}  // namespace

Loss::Loss(const std::string& setting) : kind_(nullptr) {
  OptionText text("--loss", setting);
  std::vector<std::string> names;
  for (const LossKind& kind : kLosses) {
    names.emplace_back(kind.name);
    if (text.name() == kind.name) kind_ = &kind;
  }
  if (kind_ == nullptr) text.refuse(fmt::format("there is no such loss; use {}", fmt::join(names, ", ")));
  if (kind_->setting != nullptr) {
    const bool share = kind_->labels;  // of smoothing
    setting_ = text.number(kind_->setting, kind_->otherwise, share ? 0 : 1e-12, share ? 1 : 1e12);
  }
  text.finish();
}

bool Loss::takesLabels() const { return kind_->labels; }

const char* Loss::name() const { return kind_->name; }

void Loss::check(const Tensor& output, const Tensor& targets) const {
  const std::string given =
      fmt::format("this model gives {} {} and the data {}", at::toString(output.scalar_type()), sizesText(output),
                  targets.defined() ? fmt::format("targets of {}", sizesText(targets)) : std::string("no targets"));
  if (!at::isFloatingType(output.scalar_type()))
    throw Error(ExitCode::kUsage, fmt::format("The loss {} takes results that are floats; {}.", name(), given));
  if (!kind_->labels) {
    if (targets.defined() && output.sizes().equals(targets.sizes())) return;
    throw Error(ExitCode::kUsage,
                fmt::format("The loss {} takes targets of the results' sizes; {}; choose another --loss, or give other "
                            "targets.",
                            name(), given));
  }
  std::vector<std::int64_t> expected = output.sizes().vec();
  if (expected.size() > 1) expected.erase(expected.begin() + 1);
  const bool fits = output.dim() > 1 && targets.defined() && at::isIntegralType(targets.scalar_type(), false) &&
                    targets.sizes().equals(expected);
  if (!fits) {
    throw Error(ExitCode::kUsage, fmt::format("The loss {} takes results of N x classes and a label for each; {}; "
                                              "choose another --loss, or give other targets.",
                                              name(), given));
  }
  const Tensor counted = targets.masked_select(targets.ne(kIgnored));
  if (counted.numel() == 0) return;
  const std::int64_t least = counted.min().item<std::int64_t>(), most = counted.max().item<std::int64_t>();
  if (least < 0) refuseLabel(least, output.size(1));
  if (most >= output.size(1)) refuseLabel(most, output.size(1));
}

void Loss::checkLabels(const Tensor& output, const std::vector<std::int64_t>& labels) const {
  if (!kind_->labels || output.dim() < 2) return;
  for (const std::int64_t label : labels) {
    if (label != kIgnored && (label < 0 || label >= output.size(1))) refuseLabel(label, output.size(1));
  }
}

Tensor Loss::operator()(const Tensor& output, const Tensor& targets) const {
  const bool low = output.scalar_type() == at::kBFloat16 || output.scalar_type() == at::kHalf;
  const Tensor wide = low ? output.to(at::kFloat) : output;
  return kind_->mean(wide, kind_->labels ? targets.to(at::kLong) : targets.to(wide.scalar_type()), setting_);
}

}  // namespace ipex_studio
