"""Small networks that the tests of the package optimize."""
import torch
from torch import nn


class Net(nn.Module):
    """Convolution, normalization, dropout and a linear layer."""

    def __init__(self, width=8):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(width, 5)

    def forward(self, x, scale=None):
        y = torch.relu(self.norm(self.conv(x))).mean([2, 3])
        y = self.head(self.drop(y))
        return y if scale is None else y * scale


def trained_net(seed=0, width=8):
    """A Net in eval mode whose statistics are not those of a new one."""
    torch.manual_seed(seed)
    net = Net(width)
    for _ in range(3):
        net(torch.randn(4, 3, 8, 8) * 2 + 1)
    return net.eval()


def image(batch=2, side=8, seed=1):
    return torch.randn(batch, 3, side, side, generator=torch.Generator().manual_seed(seed))
