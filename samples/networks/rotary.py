"""Decoders with rotary positions, one step of decoding: LLaMA-style and GPT-NeoX- or GPT-J-style."""

import math
from typing import List, Tuple

import torch
from torch import nn

from .decoder import decode_inputs
from .registry import Network, register
from .sequences import LlamaBlock, RmsNorm, rotate_half


def rotate_every_two(x: torch.Tensor) -> torch.Tensor:
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


class Angles(nn.Module):
    """Sines and cosines of the angles of `length` positions behind `past` others, for the first `rotated` values of a head."""

    def __init__(self, positions: int, rotated: int, interleaved: bool = False):
        super().__init__()
        rates = 1.0 / (10000.0 ** (torch.arange(0, rotated, 2).float() / rotated))
        angles = torch.outer(torch.arange(positions).float(), rates)
        angles = angles.repeat_interleave(2, dim=-1) if interleaved else torch.cat((angles, angles), dim=-1)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, past: int, length: int) -> Tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(past, past + length, device=self.cosine.device)
        return self.cosine[places], self.sine[places]


class LlamaStep(LlamaBlock):
    """Reads a step behind the keys and values of those before."""

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, past_key: torch.Tensor,
                past_value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        query, key, value = self.projected(x, cosine, sine)
        keys, values = torch.cat([past_key, key], dim=2), torch.cat([past_value, value], dim=2)
        scores = torch.matmul(query, self.repeated(keys).transpose(2, 3)) / math.sqrt(self.head_width)
        weights = nn.functional.softmax(scores, dim=-1)
        context = torch.matmul(weights, self.repeated(values)).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(context)
        normed = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed)), key, value


class NeoxStep(nn.Module):
    """Attention and feed-forward beside each other; some values of each head are rotated (arXiv 2204.06745)."""

    def __init__(self, width: int, heads: int, rotated: int, interleaved: bool):
        super().__init__()
        self.heads, self.head_width, self.rotated, self.interleaved = heads, width // heads, rotated, interleaved
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.reduce = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def turned(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        first, rest = x[..., :self.rotated], x[..., self.rotated:]
        turned = rotate_every_two(first) if self.interleaved else rotate_half(first)
        return torch.cat((first * cosine + turned * sine, rest), dim=-1)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, past_key: torch.Tensor,
                past_value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, self.heads, 3 * self.head_width).permute(0, 2, 1, 3)
        query = self.turned(qkv[..., :self.head_width], cosine, sine)
        key = self.turned(qkv[..., self.head_width:2 * self.head_width], cosine, sine)
        value = qkv[..., 2 * self.head_width:]
        keys, values = torch.cat((past_key, key), dim=-2), torch.cat((past_value, value), dim=-2)
        weights = nn.functional.softmax(torch.matmul(query, keys.transpose(-1, -2)) * self.head_width ** -0.5, dim=-1)
        context = torch.matmul(weights, values).permute(0, 2, 1, 3).contiguous().view(batch, length, width)
        return x + self.out(context) + self.reduce(nn.functional.gelu(self.expand(self.norm2(x)))), key, value


class RotaryDecodeStep(nn.Module):
    """ids (batch, 1) int64, keys and values (layers, batch, heads, past, head width) float ->
    logits (batch, 1, vocabulary), this token's keys and values (layers, batch, heads, 1, head width)."""

    def __init__(self, vocabulary: int, width: int, blocks: nn.ModuleList, norm: nn.Module, angles: Angles):
        super().__init__()
        self.embedding, self.blocks, self.norm, self.angles = nn.Embedding(vocabulary, width), blocks, norm, angles
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor, past_keys: torch.Tensor,
                past_values: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        cosine, sine = self.angles(past_keys.size(3), ids.size(1))
        x = self.embedding(ids)
        keys: List[torch.Tensor] = []
        values: List[torch.Tensor] = []
        for layer, block in enumerate(self.blocks):
            x, key, value = block(x, cosine, sine, past_keys[layer], past_values[layer])
            keys.append(key)
            values.append(value)
        return self.head(self.norm(x)), torch.stack(keys), torch.stack(values)


def llama(vocabulary: int, width: int, layers: int, heads: int, groups: int, hidden: int, positions: int) -> nn.Module:
    blocks = nn.ModuleList(LlamaStep(width, heads, groups, hidden) for _ in range(layers))
    return RotaryDecodeStep(vocabulary, width, blocks, RmsNorm(width), Angles(positions, width // heads))


def neox(vocabulary: int, width: int, layers: int, heads: int, rotated: int, positions: int,
         interleaved: bool = False) -> nn.Module:
    blocks = nn.ModuleList(NeoxStep(width, heads, rotated, interleaved) for _ in range(layers))
    return RotaryDecodeStep(vocabulary, width, blocks, nn.LayerNorm(width), Angles(positions, rotated, interleaved))


register(Network("llama_decode", "LLaMA-style decoder of eight layers, one step after 255 tokens",
                 lambda: llama(32000, 512, 8, 8, 4, 1376, 512), decode_inputs(32000, 8, 1, 4, 255, 64)))
register(Network("neox_decode", "GPT-NeoX-style decoder of six layers, one step after 255 tokens",
                 lambda: neox(50257, 512, 6, 8, 16, 512), decode_inputs(50257, 6, 1, 8, 255, 64)))
register(Network("tiny_llama_decode", "LLaMA-style decoder of two layers, one step after seven tokens, scripted",
                 lambda: llama(90, 32, 2, 4, 2, 88, 32), decode_inputs(90, 2, 2, 2, 7, 8), scripted=True))
register(Network("tiny_neox_decode", "GPT-NeoX-style decoder of two layers, one step after seven tokens",
                 lambda: neox(90, 32, 2, 4, 4, 32), decode_inputs(90, 2, 2, 4, 7, 8)))
register(Network("tiny_gptj_decode", "GPT-J-style decoder of two layers with interleaved pairs, one step, scripted",
                 lambda: neox(90, 32, 2, 4, 6, 32, True), decode_inputs(90, 2, 2, 4, 7, 8), scripted=True))
