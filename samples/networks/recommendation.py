"""DLRM: embedding bags for the categorical features, pairwise dot products, two small perceptrons."""

from typing import Sequence

import torch
from torch import nn

from .registry import Input, Network, register


def perceptron(widths: Sequence[int], last: nn.Module) -> nn.Sequential:
    """Linear layers with ReLU between them and `last` at the end."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    layers[-1] = last
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """Dense (batch, features) float and ids (batch, tables, ids per bag) int64 -> (batch, 1) probability."""

    def __init__(self, features: int, tables: int, rows: int, bottom: Sequence[int], top: Sequence[int]):
        super().__init__()
        width = bottom[-1]
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        for bag in self.bags:
            nn.init.uniform_(bag.weight, -0.2, 0.2)
        self.bottom = perceptron([features, *bottom], nn.ReLU())
        vectors = tables + 1
        self.top = perceptron([width + vectors * (vectors - 1) // 2, *top, 1], nn.Sigmoid())
        pairs = torch.tril_indices(vectors, vectors, offset=-1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                # PyTorch's default initialization shrinks the signal in each layer until all answers are the same.
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        self.register_buffer("pair_rows", pairs[0].clone())
        self.register_buffer("pair_columns", pairs[1].clone())

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        vectors = [x]
        for table, bag in enumerate(self.bags):
            vectors.append(bag(ids[:, table]))
        stacked = torch.stack(vectors, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.pair_rows, self.pair_columns]], dim=1))


def dlrm(rows: int = 100_000) -> nn.Module:
    return Dlrm(13, 26, rows, [512, 256, 128], [1024, 1024, 512, 256])


register(Network("dlrm", "DLRM, batch 128, 26 tables of 100,000 rows x 128 (1.3 GB)", dlrm,
                 (Input("dense", (128, 13)), Input("ids", (128, 26, 1), "ids", 100_000))))
register(Network("tiny_dlrm", "DLRM with four tables of 50 rows x 16, three ids per bag",
                 lambda: Dlrm(5, 4, 50, [32, 16], [32]), (Input("dense", (4, 5)), Input("ids", (4, 4, 3), "ids", 50))))
