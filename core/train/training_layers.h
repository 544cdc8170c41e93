// The layers of a training that operators of ours compute, forward and backward.
#pragma once

#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Layers that were changed.
struct TrainingLayers {
  bool changed = false;
  std::vector<torch::jit::Value*> weights;  // of convolutions; read fastest with channels last
};

// Lets convolutions of signals, images and volumes, transposed ones of images, linear layers, LSTM and GRU, batch
// normalizations and dropouts in `graph`, which calls are inlined in, be computed by ipex_studio::conv1d, conv2d,
// conv3d, conv_transpose2d, train_linear, train_lstm, train_gru, batch_norm2d and dropout, where those know how
// (kernels/torch/layers), a normalization together with the sum and the ReLU behind it. Changes of form that take one
// order of memory alone then work in any: the results of convolutions have channels last. Changes nothing where that
// order would show: forward asks how a tensor lies, calls what is unknown, or writes through another form.
TrainingLayers useTrainingLayers(torch::jit::Graph& graph);

}  // namespace ipex_studio
