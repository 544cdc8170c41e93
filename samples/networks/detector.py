"""The head of an SSD detector: from two feature maps of a backbone to boxes and scores, without suppression."""

import math
from typing import List, Sequence, Tuple

import torch
from torch import nn

from .registry import Input, Network, register


def prior_boxes(sides: Sequence[int], ratios: Sequence[int]) -> torch.Tensor:
    """(boxes, 4) centre x, centre y, width, height in 0..1; two boxes of ratio 1 per place, one of each other."""
    boxes: List[List[float]] = []
    for level, (side, count) in enumerate(zip(sides, ratios)):
        scale = 0.1 + 0.8 * level / max(1, len(sides) - 1)
        shapes = [(scale, scale), (1.3 * scale, 1.3 * scale)]
        for ratio in range(2, 2 + (count - 2) // 2):
            shapes += [(scale * math.sqrt(ratio), scale / math.sqrt(ratio)),
                       (scale / math.sqrt(ratio), scale * math.sqrt(ratio))]
        for y in range(side):
            for x in range(side):
                boxes += [[(x + 0.5) / side, (y + 0.5) / side, w, h] for w, h in shapes]
    return torch.tensor(boxes)


class SsdHead(nn.Module):
    """fine (batch, c0, s, s), coarse (batch, c1, s/2, s/2) -> boxes (batch, boxes, 4) as corners, probabilities
    (batch, boxes, classes), and the best `kept` of the boxes' highest ones (batch, kept), sorted.

    Which boxes those are is left to the caller: indices of nearly equal scores would differ from engine to engine.
    """

    def __init__(self, inputs: Tuple[int, int], side: int, extras: Sequence[Tuple[int, int]], classes: int, kept: int):
        """extras: (squeezed, expanded) channels of each further level, which halves the side."""
        super().__init__()
        self.classes = classes
        self.kept = kept
        self.scale = nn.Parameter(torch.full((1, inputs[0], 1, 1), 20.0))
        channels, sides = [inputs[0], inputs[1]], [side, (side + 1) // 2]
        self.extras = nn.ModuleList()
        for squeezed, expanded in extras:
            self.extras.append(nn.Sequential(nn.Conv2d(channels[-1], squeezed, 1), nn.ReLU(inplace=True),
                                             nn.Conv2d(squeezed, expanded, 3, 2, 1), nn.ReLU(inplace=True)))
            channels.append(expanded)
            sides.append((sides[-1] + 1) // 2)
        counts = [4] + [6] * (len(channels) - 3) + [4, 4]
        self.locations = nn.ModuleList(nn.Conv2d(c, 4 * n, 3, 1, 1) for c, n in zip(channels, counts))
        self.confidences = nn.ModuleList(nn.Conv2d(c, classes * n, 3, 1, 1) for c, n in zip(channels, counts))
        self.register_buffer("priors", prior_boxes(sides, counts))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.normal_(module.bias, 0.0, 0.1)
        for module in self.confidences:
            # Without this most scores are 1.
            module.weight.data *= 0.5

    def rows(self, x: torch.Tensor, width: int) -> torch.Tensor:
        return x.permute(0, 2, 3, 1).reshape(x.size(0), -1, width)

    def decode(self, offsets: torch.Tensor) -> torch.Tensor:
        centre = self.priors[:, :2] + 0.1 * offsets[..., :2] * self.priors[:, 2:]
        size = self.priors[:, 2:] * torch.exp(torch.clamp(0.2 * offsets[..., 2:], max=4.0))
        return torch.clamp(torch.cat([centre - 0.5 * size, centre + 0.5 * size], dim=-1), 0.0, 1.0)

    def forward(self, fine: torch.Tensor, coarse: torch.Tensor):
        maps = [self.scale * nn.functional.normalize(fine, dim=1), coarse]
        for extra in self.extras:
            maps.append(extra(maps[-1]))
        offsets, scores = [], []
        for level, (location, confidence) in enumerate(zip(self.locations, self.confidences)):
            offsets.append(self.rows(location(maps[level]), 4))
            scores.append(self.rows(confidence(maps[level]), self.classes))
        probabilities = nn.functional.softmax(torch.cat(scores, dim=1), dim=-1)
        # Class 0 is the background.
        highest, _ = probabilities[..., 1:].max(dim=-1)
        best, _ = torch.topk(highest, self.kept, dim=1)
        return self.decode(torch.cat(offsets, dim=1)), probabilities, best


register(Network("ssd_head", "SSD300 head: extra levels, six pairs of predictors, decoding of 8,744 boxes",
                 lambda: SsdHead((512, 1024), 38, [(256, 512), (128, 256), (128, 256), (128, 256)], 21, 200),
                 (Input("fine", (1, 512, 38, 38), "image"), Input("coarse", (1, 1024, 19, 19), "image"))))
register(Network("tiny_ssd_head", "SSD head of three levels, 196 boxes",
                 lambda: SsdHead((8, 16), 6, [(8, 16)], 4, 10),
                 (Input("fine", (2, 8, 6, 6), "image"), Input("coarse", (2, 16, 3, 3), "image"))))
