"""Further families of torchvision: dense concatenation, channel shuffle, grouped convolution, windowed attention, large
depthwise kernels with layer-norm, Inception modules, segmentation, video."""

import torch
from torch import nn

from .registry import Input, Network, register, settle_batch_norm
from .vision import IMAGE, from_torchvision


def scaled(model: nn.Module) -> nn.Module:
    """Sets the learned scales of ConvNeXt's blocks to the size of trained ones: their initial values hide the blocks."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("layer_scale"):
                nn.init.uniform_(parameter, 0.1, 0.5)
            elif name.endswith("relative_position_bias_table"):
                nn.init.normal_(parameter, 0.0, 0.5)
    return model


def image_network(name: str, summary: str, torchvision_name: str = "", side: int = 224) -> None:
    register(Network(name, f"{summary} (torchvision)", lambda: scaled(from_torchvision(torchvision_name or name)),
                     (Input("x", (1, 3, side, side), "image"),)))


class Segmenter(nn.Module):
    """The result of torchvision's segmentation networks without the dictionary around it."""

    def __init__(self, name: str):
        super().__init__()
        from torchvision.models import segmentation

        self.network = getattr(segmentation, name)(weights=None, weights_backbone=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x)["out"]


def segmenter(name: str) -> nn.Module:
    return settle_batch_norm(Segmenter(name), Input("x", (2, 3, 224, 224), "image").sample())


def video(name: str) -> nn.Module:
    from torchvision.models import video as networks

    return settle_batch_norm(getattr(networks, name)(weights=None), torch.randn(1, 3, 8, 112, 112))


image_network("densenet121", "ImageNet classifier with dense concatenation")
image_network("shufflenet_v2", "ImageNet classifier with channel shuffle, width 1.0", "shufflenet_v2_x1_0")
image_network("resnext50", "ResNeXt-50 32x4d, ImageNet classifier with grouped convolution", "resnext50_32x4d")
image_network("regnet_y", "RegNetY-1.6GF, ImageNet classifier: grouped convolution, squeeze-excitation", "regnet_y_1_6gf")
image_network("swin_tiny", "Swin-T, ImageNet classifier with windowed attention", "swin_t")
image_network("convnext_tiny", "ConvNeXt-T, ImageNet classifier: 7 x 7 depthwise, layer-norm")
image_network("vgg16", "ImageNet classifier of 3 x 3 convolutions and large linear layers")
image_network("squeezenet", "ImageNet classifier of fire modules", "squeezenet1_1")
image_network("googlenet", "ImageNet classifier of Inception modules")
image_network("inception_v3", "ImageNet classifier with 1 x 7 and 7 x 1 convolutions", side=299)
image_network("mnasnet", "ImageNet classifier: depthwise 5 x 5", "mnasnet1_0")
image_network("mobilenet_v2", "ImageNet classifier: inverted residuals, ReLU6")
image_network("efficientnet_v2_s", "ImageNet classifier: fused inverted residuals")
image_network("resnet18", "ImageNet classifier of basic blocks")
image_network("maxvit", "MaxViT-T, ImageNet classifier: attention in windows and grids", "maxvit_t")
image_network("swin_v2", "Swin V2-T, ImageNet classifier: cosine attention in windows", "swin_v2_t")
image_network("vit_b_16", "ViT-B/16 ImageNet classifier with nn.MultiheadAttention")
register(Network("deeplab", "DeepLabV3 on MobileNetV3-Large: dilated convolutions (torchvision)",
                 lambda: segmenter("deeplabv3_mobilenet_v3_large"), (IMAGE,)))
register(Network("lraspp", "LR-ASPP on MobileNetV3-Large: segmentation (torchvision)",
                 lambda: segmenter("lraspp_mobilenet_v3_large"), (IMAGE,)))
register(Network("video_resnet", "R(2+1)D-18 on 8 frames of 112 x 112: convolutions in three dimensions (torchvision)",
                 lambda: video("r2plus1d_18"), (Input("x", (1, 3, 8, 112, 112)),)))
