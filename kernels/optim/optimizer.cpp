#include "kernels/optim/optimizer.h"

#include <array>

#include "core/base/error.h"
#include "kernels/optim/settings.h"

namespace ipex_studio {
namespace {

struct OptimizerRow {
  const char* name;
  int settings;
};

constexpr std::array<OptimizerRow, kOptimizers> kRows{{{"sgd", sgd_setting::kCount},
                                                       {"adam", adam_setting::kCount},
                                                       {"adamw", adam_setting::kCount},
                                                       {"adagrad", adagrad_setting::kCount},
                                                       {"rmsprop", rmsprop_setting::kCount},
                                                       {"nadam", nadam_setting::kCount},
                                                       {"radam", radam_setting::kCount},
                                                       {"adamax", adamax_setting::kCount},
                                                       {"lion", lion_setting::kCount},
                                                       {"lamb", lamb_setting::kCount},
                                                       {"lars", lars_setting::kCount}}};

}  // namespace

const char* optimizerName(Optimizer optimizer) { return kRows[static_cast<std::size_t>(optimizer)].name; }

Optimizer optimizerFromName(const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (name == kRows[i].name) return static_cast<Optimizer>(i);
    names += std::string(i == 0 ? "" : ", ") + kRows[i].name;
  }
  throw Error(ExitCode::kUsage, "There is no optimizer \"" + name + "\"; give one of " + names + ".");
}

int settingCount(Optimizer optimizer) { return kRows[static_cast<std::size_t>(optimizer)].settings; }

int stateCount(Optimizer optimizer, const double* settings) {
  const auto has = [&](int setting) { return settings[setting] != 0 ? 1 : 0; };
  switch (optimizer) {
    case Optimizer::kSgd:
      return has(sgd_setting::kMomentum);
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      return 2 + has(adam_setting::kAmsgrad);
    case Optimizer::kAdagrad:
    case Optimizer::kLion:
      return 1;
    case Optimizer::kRmsprop:
      return 1 + has(rmsprop_setting::kCentered) + has(rmsprop_setting::kMomentum);
    case Optimizer::kNadam:
      return 3;
    case Optimizer::kRadam:
    case Optimizer::kAdamax:
    case Optimizer::kLamb:
      return 2;
    case Optimizer::kLars:
      return has(lars_setting::kMomentum);
  }
  return 0;
}

bool isScalarState(Optimizer optimizer, int state) { return optimizer == Optimizer::kNadam && state == 2; }

}  // namespace ipex_studio
