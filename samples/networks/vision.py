"""Image networks of real size: three of torchvision, a U-Net and a ViT written out."""

import torch
from torch import nn

from .registry import Input, Network, register, settle_batch_norm

IMAGE = Input("x", (1, 3, 224, 224), "image")


def from_torchvision(name: str) -> nn.Module:
    import torchvision  # takes a second; the small networks do without

    model = getattr(torchvision.models, name)(weights=None)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            # Some initializations are so small that all classes look alike.
            nn.init.normal_(module.weight, 0.0, 1.5 * module.in_features ** -0.5)
    return settle_batch_norm(model, Input("x", (4, 3, 224, 224), "image").sample())


class DoubleConv(nn.Sequential):
    """Twice convolution, batch-norm, ReLU."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """U-Net: down by max-pooling, up by transposed convolution or bilinear upsampling, skips by concatenation."""

    def __init__(self, width: int, depth: int = 4, classes: int = 2, bilinear: bool = True):
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.stem = DoubleConv(3, widths[0])
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList()
        self.merge = nn.ModuleList()
        for below, here in zip(widths[:0:-1], widths[-2::-1]):
            if bilinear:
                self.up.append(nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                                             nn.Conv2d(below, here, 1)))
            else:
                self.up.append(nn.ConvTranspose2d(below, here, 2, stride=2))
            self.merge.append(DoubleConv(2 * here, here))
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = [self.stem(x)]
        for down in self.down:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


def unet(width: int, depth: int, side: int, bilinear: bool) -> nn.Module:
    return settle_batch_norm(UNet(width, depth, bilinear=bilinear), Input("x", (2, 3, side, side), "image").sample())


class VitBlock(nn.Module):
    """Pre-norm encoder block in the form common in exported ViTs: one linear for q, k and v, permuted apart."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attention = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        x = x + self.proj((attention @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    def __init__(self, side: int, patch: int, width: int, depth: int, heads: int, classes: int):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, stride=patch)
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, (side // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(VitBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


register(Network("resnet50", "ImageNet classifier, 25.6 M parameters (torchvision)",
                 lambda: from_torchvision("resnet50"), (IMAGE,)))
register(Network("mobilenet_v3_large", "ImageNet classifier: depthwise, squeeze-excitation, hardswish (torchvision)",
                 lambda: from_torchvision("mobilenet_v3_large"), (IMAGE,)))
register(Network("efficientnet_b0", "ImageNet classifier: depthwise, squeeze-excitation, SiLU (torchvision)",
                 lambda: from_torchvision("efficientnet_b0"), (IMAGE,)))
register(Network("unet", "Segmentation at 256 x 256, width 32, bilinear upsampling",
                 lambda: unet(32, 4, 256, True), (Input("x", (1, 3, 256, 256), "image"),)))
register(Network("vit_small", "ViT-S/16 ImageNet classifier",
                 lambda: Vit(224, 16, 384, 12, 6, 1000), (IMAGE,)))
register(Network("tiny_unet", "U-Net of two levels with transposed convolutions",
                 lambda: unet(8, 2, 32, False), (Input("x", (1, 3, 32, 32), "image"),)))
register(Network("tiny_unet_bilinear", "U-Net of two levels with bilinear upsampling",
                 lambda: unet(8, 2, 32, True), (Input("x", (1, 3, 32, 32), "image"),)))
register(Network("tiny_vit", "ViT of two blocks on 32 x 32",
                 lambda: Vit(32, 8, 32, 2, 4, 10), (Input("x", (1, 3, 32, 32), "image"),)))
