"""GPT-2, one step of decoding: a token comes in with the keys and values of those before it."""

import math
from typing import Tuple

import torch
from torch import nn

from .registry import Input, Network, register


class Conv1d(nn.Module):
    """The layer that GPT-2's code calls Conv1D: a linear layer whose weight is (inputs, outputs)."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        # Wider than GPT-2's initialization (0.02), as trained weights are; attention is then not flat.
        nn.init.normal_(self.weight, 0.0, 1.1 * inputs ** -0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = list(x.shape[:-1]) + [self.bias.size(0)]
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(shape)


def gelu_new(x: torch.Tensor) -> torch.Tensor:
    """GELU by tanh, written out as GPT-2's code does."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = Conv1d(width, 3 * width)
        self.proj = Conv1d(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = Conv1d(width, 4 * width)
        self.reduce = Conv1d(4 * width, width)

    def heads_of(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.head_width).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor, past_key: torch.Tensor, past_value: torch.Tensor):
        query, key, value = self.qkv(self.norm1(x)).split(x.size(2), dim=2)
        key, value = self.heads_of(key), self.heads_of(value)
        keys = torch.cat([past_key, key], dim=-2)
        values = torch.cat([past_value, value], dim=-2)
        scores = torch.matmul(self.heads_of(query), keys.transpose(-1, -2)) / math.sqrt(self.head_width)
        context = torch.matmul(nn.functional.softmax(scores, dim=-1), values).permute(0, 2, 1, 3).contiguous()
        x = x + self.proj(context.view(x.size(0), x.size(1), x.size(2)))
        return x + self.reduce(gelu_new(self.expand(self.norm2(x)))), key, value


class GptDecodeStep(nn.Module):
    """ids (batch, 1) int64, keys and values (layers, batch, heads, past, head width) float ->
    logits (batch, 1, vocabulary), this token's keys and values (layers, batch, heads, 1, head width)."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        nn.init.normal_(self.token.weight, 0.0, 0.04)
        nn.init.normal_(self.position.weight, 0.0, 0.02)
        self.head.weight = self.token.weight

    def forward(self, ids: torch.Tensor, past_keys: torch.Tensor,
                past_values: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        past = past_keys.size(3)
        places = torch.arange(past, past + ids.size(1), device=ids.device).unsqueeze(0)
        x = self.token(ids) + self.position(places)
        keys, values = [], []
        for layer, block in enumerate(self.blocks):
            x, key, value = block(x, past_keys[layer], past_values[layer])
            keys.append(key)
            values.append(value)
        return self.head(self.norm(x)), torch.stack(keys), torch.stack(values)


def decode_inputs(vocabulary: int, layers: int, batch: int, heads: int, past: int, head_width: int):
    cache = (layers, batch, heads, past, head_width)
    return (Input("ids", (batch, 1), "ids", vocabulary), Input("past_keys", cache, batch_dim=1),
            Input("past_values", cache, batch_dim=1))


register(Network("gpt2_decode", "GPT-2 small, one step of decoding after 255 tokens, 124 M parameters",
                 lambda: GptDecodeStep(50257, 1024, 768, 12, 12), decode_inputs(50257, 12, 1, 12, 255, 64)))
register(Network("tiny_gpt2_decode", "GPT-2 of two layers, one step of decoding after seven tokens",
                 lambda: GptDecodeStep(90, 32, 32, 2, 4), decode_inputs(90, 2, 2, 4, 7, 8)))
