"""BERT, written out with the decomposed attention that traced Hugging Face encoders have."""

import math
from typing import Tuple

import torch
from torch import nn

from .registry import Input, Network, register


class BertEmbeddings(nn.Module):
    def __init__(self, vocabulary: int, positions: int, width: int):
        super().__init__()
        self.word = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = nn.Embedding(positions, width)
        self.token_type = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("position_ids", torch.arange(positions).expand(1, -1))
        self.register_buffer("token_type_ids", torch.zeros(1, positions, dtype=torch.int64))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        length = ids.size(1)
        x = self.word(ids) + self.token_type(self.token_type_ids[:, :length].expand(ids.size(0), length))
        x = x + self.position(self.position_ids[:, :length])
        return self.dropout(self.norm(x))


class BertSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def transpose_for_scores(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.head_width).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        key = self.transpose_for_scores(self.key(x))
        value = self.transpose_for_scores(self.value(x))
        query = self.transpose_for_scores(self.query(x))
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = scores / math.sqrt(self.head_width)
        scores = scores + mask
        probabilities = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probabilities, value).permute(0, 2, 1, 3).contiguous()
        return context.view(x.size(0), x.size(1), self.heads * self.head_width)


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = BertSelfAttention(width, heads)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.attention_norm(self.dropout(self.attention_output(self.attention(x, mask))) + x)
        y = nn.functional.gelu(self.intermediate(x))
        return self.output_norm(self.dropout(self.output(y)) + x)


class Bert(nn.Module):
    """Token ids and mask, (batch, length) int64 -> (batch, length, width) states, (batch, width) pooled."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int):
        super().__init__()
        # Added to masked scores: a float attribute, because TorchScript has no torch.finfo.
        self.lowest = torch.finfo(torch.float32).min
        self.embeddings = BertEmbeddings(vocabulary, positions, width)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                # Wider than BERT's initialization (0.02), as trained weights are; attention is then not flat.
                nn.init.normal_(module.weight, 0.0, 0.04)
            if isinstance(module, nn.LayerNorm):
                nn.init.uniform_(module.weight, 0.7, 1.1)
                nn.init.normal_(module.bias, 0.0, 0.05)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        extended = (1.0 - mask[:, None, None, :].to(dtype=torch.float32)) * self.lowest
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, extended)
        return x, torch.tanh(self.pooler(x[:, 0]))


def tokens(batch: int, length: int, vocabulary: int):
    return (Input("ids", (batch, length), "ids", vocabulary), Input("mask", (batch, length), "mask"))


register(Network("bert_base", "BERT-base encoder, 128 tokens, 109 M parameters",
                 lambda: Bert(30522, 512, 768, 12, 12), tokens(1, 128, 30522)))
register(Network("bert_large", "BERT-Large encoder, 128 tokens, 335 M parameters",
                 lambda: Bert(30522, 512, 1024, 24, 16), tokens(1, 128, 30522)))
register(Network("tiny_bert", "BERT of two layers, traced",
                 lambda: Bert(100, 32, 64, 2, 4), tokens(2, 16, 100)))
register(Network("tiny_bert_scripted", "BERT of two layers, scripted",
                 lambda: Bert(100, 32, 64, 2, 4), tokens(2, 16, 100), scripted=True))
