// Positions of the sources of layers with weights (core/op/op_kinds.h): convolutions and linear layers of all kinds.
#pragma once

namespace ipex_studio {

constexpr int kSrc = 0, kWeights = 1, kBias = 2, kFirstPostOperand = 3;
constexpr int kChannelAxis = 1;  // of an image, whatever its layout

}  // namespace ipex_studio
