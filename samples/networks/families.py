"""Further image families of torchvision: dense concatenation, channel shuffle, grouped convolution, windowed attention,
large depthwise kernels with layer-norm."""

import torch
from torch import nn

from .registry import Network, register
from .vision import IMAGE, from_torchvision


def scaled(model: nn.Module) -> nn.Module:
    """Gives the learned scales of ConvNeXt's blocks the size of trained ones: at their start they hide the blocks."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("layer_scale"):
                nn.init.uniform_(parameter, 0.1, 0.5)
            elif name.endswith("relative_position_bias_table"):
                nn.init.normal_(parameter, 0.0, 0.5)
    return model


register(Network("densenet121", "ImageNet classifier with dense concatenation (torchvision)",
                 lambda: from_torchvision("densenet121"), (IMAGE,)))
register(Network("shufflenet_v2", "ImageNet classifier with channel shuffle, width 1.0 (torchvision)",
                 lambda: from_torchvision("shufflenet_v2_x1_0"), (IMAGE,)))
register(Network("resnext50", "ResNeXt-50 32x4d, ImageNet classifier with grouped convolution (torchvision)",
                 lambda: from_torchvision("resnext50_32x4d"), (IMAGE,)))
register(Network("regnet_y", "RegNetY-1.6GF, ImageNet classifier: grouped convolution, squeeze-excitation (torchvision)",
                 lambda: from_torchvision("regnet_y_1_6gf"), (IMAGE,)))
register(Network("swin_tiny", "Swin-T, ImageNet classifier with windowed attention (torchvision)",
                 lambda: scaled(from_torchvision("swin_t")), (IMAGE,)))
register(Network("convnext_tiny", "ConvNeXt-T, ImageNet classifier: 7 x 7 depthwise, layer-norm (torchvision)",
                 lambda: scaled(from_torchvision("convnext_tiny")), (IMAGE,)))
