"""Networks over sequences: recurrent layers, a LLaMA-style decoder, a T5-style encoder, a speech encoder of convolutions
along time."""

import math
from typing import Tuple

import torch
from torch import nn

from .registry import Input, Network, register, settle_batch_norm


class Tagger(nn.Module):
    """Embedding, two bidirectional recurrent layers, a linear layer per token."""

    def __init__(self, recurrent: type, vocabulary: int, width: int, hidden: int, labels: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.recurrent = recurrent(width, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, labels)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states, _ = self.recurrent(self.embedding(ids))
        return self.head(states)


class RmsNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width).uniform_(0.7, 1.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]), dim=-1)


class LlamaBlock(nn.Module):
    """Rotary positions, keys and values shared by groups of heads, gated feed-forward (LLaMA 2, arXiv 2307.09288)."""

    def __init__(self, width: int, heads: int, groups: int, hidden: int):
        super().__init__()
        self.heads, self.groups, self.head_width = heads, groups, width // heads
        self.norm1 = RmsNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.head_width, bias=False)
        self.value = nn.Linear(width, groups * self.head_width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = RmsNorm(width)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def repeated(self, x: torch.Tensor) -> torch.Tensor:
        batch, groups, length, width = x.shape
        times = self.heads // self.groups
        return x[:, :, None, :, :].expand(batch, groups, times, length, width).reshape(batch, self.heads, length, width)

    def projected(self, x: torch.Tensor, cosine: torch.Tensor,
                  sine: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        normed = self.norm1(x)
        query = self.query(normed).view(batch, length, self.heads, self.head_width).transpose(1, 2)
        key = self.key(normed).view(batch, length, self.groups, self.head_width).transpose(1, 2)
        value = self.value(normed).view(batch, length, self.groups, self.head_width).transpose(1, 2)
        return query * cosine + rotate_half(query) * sine, key * cosine + rotate_half(key) * sine, value

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = self.projected(x, cosine, sine)
        scores = torch.matmul(query, self.repeated(key).transpose(2, 3)) / math.sqrt(self.head_width) + mask
        weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        context = torch.matmul(weights, self.repeated(value)).transpose(1, 2).contiguous().reshape(batch, length, width)
        x = x + self.out(context)
        normed = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """ids (batch, length) int64 -> logits (batch, length, vocabulary): reads a prompt."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, groups: int, hidden: int, positions: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups, hidden) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        head_width = width // heads
        rates = 1.0 / (10000.0 ** (torch.arange(0, head_width, 2).float() / head_width))
        angles = torch.outer(torch.arange(positions).float(), rates)
        self.register_buffer("cosine", torch.cat((angles, angles), dim=-1).cos())
        self.register_buffer("sine", torch.cat((angles, angles), dim=-1).sin())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        length = ids.shape[1]
        mask = torch.full((length, length), -1e9).triu(1)
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cosine[:length], self.sine[:length], mask)
        return self.head(self.norm(x))


class T5Block(nn.Module):
    """Attention without a scale but with a learned bias by distance, then a feed-forward (T5, arXiv 1910.10683)."""

    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        nn.init.normal_(self.query.weight, 0.0, (width * self.head_width) ** -0.5)
        self.wi, self.wo = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def heads_of(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], -1, self.heads, self.head_width).transpose(1, 2)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        normed = self.norm1(x)
        query, key, value = self.heads_of(self.query(normed)), self.heads_of(self.key(normed)), self.heads_of(self.value(normed))
        scores = torch.matmul(query, key.transpose(3, 2))
        scores += bias
        weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        context = torch.matmul(weights, value).transpose(1, 2).contiguous().view(x.shape[0], -1, self.heads * self.head_width)
        x = x + self.out(context)
        return x + self.wo(nn.functional.relu(self.wi(self.norm2(x))))


class T5Encoder(nn.Module):
    """ids and mask (batch, length) int64 -> states (batch, length, width)."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, hidden: int, buckets: int = 32, far: int = 128):
        super().__init__()
        self.buckets, self.far = buckets, far
        self.embedding = nn.Embedding(vocabulary, width)
        self.distance = nn.Embedding(buckets, heads)
        self.blocks = nn.ModuleList(T5Block(width, heads, hidden) for _ in range(layers))
        self.norm = RmsNorm(width)

    def bias(self, length: int) -> torch.Tensor:
        places = torch.arange(length, dtype=torch.long)
        relative = places[None, :] - places[:, None]
        half = self.buckets // 2
        bucket = (relative > 0).to(torch.long) * half
        relative = torch.abs(relative)
        exact = half // 2
        large = exact + (torch.log(relative.float() / exact) / math.log(self.far / exact) * (half - exact)).to(torch.long)
        large = torch.min(large, torch.full_like(large, half - 1))
        bucket += torch.where(relative < exact, relative, large)
        return self.distance(bucket).permute([2, 0, 1]).unsqueeze(0)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        bias = self.bias(ids.shape[1]) + (1.0 - mask[:, None, None, :].to(torch.float32)) * -1e9
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, bias)
        return self.norm(x)


class SpeechBlock(nn.Module):
    """A Conformer's convolution between halves of feed-forwards, with attention (arXiv 2005.08100)."""

    def __init__(self, width: int, heads: int, kernel: int):
        super().__init__()
        self.first, self.second = self.feed_forward(width), self.feed_forward(width)
        self.attention_norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.convolution_norm = nn.LayerNorm(width)
        self.convolution = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1), nn.GLU(dim=1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width, bias=False), nn.BatchNorm1d(width), nn.SiLU(),
            nn.Conv1d(width, width, 1))
        self.norm = nn.LayerNorm(width)

    @staticmethod
    def feed_forward(width: int) -> nn.Sequential:
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.5 * self.first(x)
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        x = x + self.convolution(self.convolution_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.norm(x + 0.5 * self.second(x))


class SpeechEncoder(nn.Module):
    """wave (batch, 1, samples) -> (batch, frames, labels): strided convolutions along time, then Conformer blocks."""

    def __init__(self, width: int, layers: int, heads: int, labels: int):
        super().__init__()
        stages, channels = [], 1
        for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
            stages += [nn.Conv1d(channels, 512, kernel, stride, bias=False), nn.GroupNorm(512 if not stages else 1, 512), nn.GELU()]
            channels = 512
        self.features = nn.Sequential(*stages)
        self.project = nn.Linear(512, width)
        self.blocks = nn.Sequential(*(SpeechBlock(width, heads, 31) for _ in range(layers)))
        self.head = nn.Linear(width, labels)

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        x = self.project(self.features(wave).transpose(1, 2))
        return nn.functional.log_softmax(self.head(self.blocks(x)), dim=-1)


class MixerBlock(nn.Module):
    """MLPs across tokens and across channels (MLP-Mixer, arXiv 2105.01601)."""

    def __init__(self, tokens: int, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.across = nn.Sequential(nn.Linear(tokens, width // 2), nn.GELU(), nn.Linear(width // 2, tokens))
        self.along = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, width: int, depth: int, classes: int):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, stride=16)
        self.blocks = nn.Sequential(*(MixerBlock(196, width) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.patch(x).flatten(2).transpose(1, 2))).mean(1))


def speech(width: int, layers: int, heads: int, samples: int) -> nn.Module:
    return settle_batch_norm(SpeechEncoder(width, layers, heads, 32), Input("wave", (2, 1, samples)).sample())


def ids(length: int, vocabulary: int) -> Tuple[Input]:
    return (Input("ids", (1, length), "ids", vocabulary),)


register(Network("lstm_tagger", "Two bidirectional LSTM layers over 64 tokens",
                 lambda: Tagger(nn.LSTM, 20000, 256, 256, 32), ids(64, 20000)))
register(Network("gru_tagger", "Two bidirectional GRU layers over 64 tokens",
                 lambda: Tagger(nn.GRU, 20000, 256, 256, 32), ids(64, 20000)))
register(Network("llama_prompt", "LLaMA-style decoder of eight layers reading 64 tokens, 100 M parameters",
                 lambda: Llama(32000, 768, 8, 12, 4, 2048, 256), ids(64, 32000)))
register(Network("t5_encoder", "T5-small's encoder, 128 tokens",
                 lambda: T5Encoder(32128, 512, 6, 8, 2048),
                 (Input("ids", (1, 128), "ids", 32128), Input("mask", (1, 128), "mask"))))
register(Network("speech_encoder", "One second of sound: strided convolutions along time, six Conformer blocks",
                 lambda: speech(256, 6, 4, 16000), (Input("wave", (1, 1, 16000)),)))
register(Network("mixer_small", "MLP-Mixer S/16 ImageNet classifier",
                 lambda: Mixer(512, 8, 1000), (Input("x", (1, 3, 224, 224), "image"),)))
