// The places of settings in the list of each optimizer, in the order that kernels/optim/optimizer.h gives.
#pragma once

namespace ipex_studio {

namespace sgd_setting {
enum : int { kLr, kMomentum, kDampening, kNesterov, kWeightDecay, kMaximize, kCount };
}
namespace adam_setting {
enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kAmsgrad, kMaximize, kCount };
}
namespace adagrad_setting {
enum : int { kLr, kLrDecay, kWeightDecay, kEps, kMaximize, kCount };
}
namespace rmsprop_setting {
enum : int { kLr, kAlpha, kEps, kWeightDecay, kMomentum, kCentered, kMaximize, kCount };
}
namespace nadam_setting {
enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kMomentumDecay, kDecoupled, kMaximize, kCount };
}
namespace radam_setting {
enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kDecoupled, kMaximize, kCount };
}
namespace adamax_setting {
enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kMaximize, kCount };
}
namespace lion_setting {
enum : int { kLr, kBeta1, kBeta2, kWeightDecay, kMaximize, kCount };
}
namespace lamb_setting {
enum : int {
  kLr,
  kBeta1,
  kBeta2,
  kEps,
  kWeightDecay,
  kBiasCorrection,
  kDecoupled,
  kAveraging,
  kAlwaysRatio,
  kMaximize,
  kCount
};
}
namespace lars_setting {
enum : int { kLr, kMomentum, kEeta, kWeightDecay, kEpsilon, kLars, kMaximize, kCount };
}

}  // namespace ipex_studio
