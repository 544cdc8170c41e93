"""Small image networks for the tests: each has the structure that its namesake is known for, and runs in a moment."""

from typing import List

import torch
from torch import nn

from .registry import Input, Network, register, settle_batch_norm

IMAGE = Input("x", (1, 3, 32, 32), "image")
SEQUENTIAL_IMAGE = Input("input", (1, 3, 32, 32), "image")  # what nn.Sequential calls it


def conv_norm(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    """ResNet block: a branch of convolutions, added to the identity or a projection, then ReLU in place."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module):
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.branch(x)
        y += self.shortcut(x)
        return torch.relu_(y)


def tiny_resnet() -> nn.Module:
    relu = nn.ReLU(inplace=True)
    return nn.Sequential(
        conv_norm(3, 16, 7, 2), relu, nn.MaxPool2d(3, 2, 1),
        Residual(nn.Sequential(conv_norm(16, 16, 3), relu, conv_norm(16, 16, 3)), nn.Identity()),
        Residual(nn.Sequential(conv_norm(16, 16, 1), relu, conv_norm(16, 16, 3, 2), relu, conv_norm(16, 64, 1)),
                 conv_norm(16, 64, 1, 2)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(64, 10))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels: int, gate: nn.Module):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, channels // 4, 1)
        self.expand = nn.Conv2d(channels // 4, channels, 1)
        self.gate = gate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gate(self.expand(torch.relu(self.reduce(self.pool(x)))))


class InvertedResidual(nn.Module):
    """MobileNet block: expand, depthwise, squeeze-excitation, project, added to the input where shapes agree."""

    def __init__(self, inputs: int, outputs: int, stride: int, activation: nn.Module, gate: nn.Module):
        super().__init__()
        hidden = 4 * inputs
        self.same = inputs == outputs and stride == 1
        self.block = nn.Sequential(conv_norm(inputs, hidden, 1), activation,
                                   conv_norm(hidden, hidden, 3, stride, hidden), activation,
                                   SqueezeExcitation(hidden, gate), conv_norm(hidden, outputs, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.block(x) if self.same else self.block(x)


def tiny_mobilenet() -> nn.Module:
    return nn.Sequential(
        conv_norm(3, 8, 3, 2), nn.Hardswish(inplace=True),
        InvertedResidual(8, 8, 1, nn.ReLU6(inplace=True), nn.Hardsigmoid()),
        InvertedResidual(8, 16, 2, nn.Hardswish(), nn.Hardsigmoid()),
        InvertedResidual(16, 16, 1, nn.SiLU(inplace=True), nn.Sigmoid()),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Dropout(0.2, inplace=True), nn.Linear(16, 10))


class ChannelLayerNorm(nn.LayerNorm):
    """Layer-norm over the channels of (batch, channels, height, width), by way of channels last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.expand = nn.Linear(width, 4 * width)
        self.project = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(0.5 * torch.rand(width) + 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.project(nn.functional.gelu(self.expand(y)))
        return x + y.permute(0, 3, 1, 2)


def tiny_convnext() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 4, 4), ChannelLayerNorm(16, eps=1e-6), ConvNextBlock(16), ConvNextBlock(16),
        ChannelLayerNorm(16, eps=1e-6), nn.Conv2d(16, 32, 2, 2), ConvNextBlock(32),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.LayerNorm(32, eps=1e-6), nn.Linear(32, 10))


class ShuffleUnit(nn.Module):
    """ShuffleNet unit: one half passes, the other is worked on, the channels of both are then shuffled."""

    def __init__(self, channels: int):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(conv_norm(half, half, 1), nn.ReLU(inplace=True),
                                    conv_norm(half, half, 3, 1, half),
                                    conv_norm(half, half, 1), nn.ReLU(inplace=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, worked = x.chunk(2, dim=1)
        y = torch.cat((kept, self.branch(worked)), dim=1)
        batch, channels, height, width = y.size()
        y = y.view(batch, 2, channels // 2, height, width)
        return torch.transpose(y, 1, 2).contiguous().view(batch, channels, height, width)


class TinyShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 16, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.units = nn.Sequential(ShuffleUnit(16), ShuffleUnit(16))
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.units(self.stem(x)).mean([2, 3]))


class DenseLayer(nn.Module):
    """DenseNet layer: batch-norm and ReLU come before the convolution, so neither folds into it."""

    def __init__(self, inputs: int, growth: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, growth, 3, padding=1, bias=False)

    def forward(self, features: List[torch.Tensor]) -> torch.Tensor:
        return self.conv(torch.relu(self.norm(torch.cat(features, 1))))


class TinyDenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, stride=2)
        self.layers = nn.ModuleList(DenseLayer(16 + 8 * index, 8) for index in range(4))
        self.transition = nn.Sequential(nn.BatchNorm2d(48), nn.ReLU(inplace=True), nn.Conv2d(48, 24, 1),
                                        nn.AvgPool2d(2))
        self.head = nn.Linear(24, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(features))
        x = self.transition(torch.cat(features, 1))
        return self.head(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Aliases(nn.Module):
    """Patterns that break a careless rewrite: views written in place, a sum with two users, an input that is an output."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: torch.Tensor):
        y = self.conv1(x)
        y[:, :4].mul_(0.5)
        kept = y.view(y.size(0), 8, -1)
        total = y + self.conv2(torch.relu(y))
        branch = total.relu()
        y.add_(1.0)
        return total, branch.sum(dim=[2, 3]), kept.mean(-1), x


def settled(build) -> nn.Module:
    return settle_batch_norm(build(), Input("x", (4, 3, 32, 32), "image").sample())


register(Network("tiny_resnet", "Basic and bottleneck block, ReLU and sum in place",
                 lambda: settled(tiny_resnet), (SEQUENTIAL_IMAGE,)))
register(Network("tiny_mobilenet", "Depthwise, squeeze-excitation, ReLU6, hardswish, SiLU",
                 lambda: settled(tiny_mobilenet), (SEQUENTIAL_IMAGE,)))
register(Network("tiny_convnext", "Depthwise 7 x 7, layer-norm by permutes, GELU, layer scale", tiny_convnext,
                 (SEQUENTIAL_IMAGE,)))
register(Network("tiny_shufflenet", "Split, concatenation, channel shuffle", lambda: settled(TinyShuffleNet), (IMAGE,)))
register(Network("tiny_densenet", "Concatenations that grow, norm before convolution",
                 lambda: settled(TinyDenseNet), (IMAGE,)))
register(Network("tiny_aliases", "Views written in place, values with two users, an input that is an output",
                 Aliases, (IMAGE,)))
