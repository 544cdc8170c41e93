"""Modules of language models; those that take a torch.nn.Linear share its parameters."""
from typing import Optional, Sequence, Union

import torch

from . import functional, state_space
from ._rotary_tables import rotary_tables
from .experts import GatedMLPMOE

__all__ = ["FastLayerNorm", "GatedMLPMOE", "IndirectAccessKVCacheAttention", "Linear2SiluMul", "LinearAdd",
           "LinearAddAdd", "LinearGelu", "LinearMul", "LinearNewGelu", "LinearRelu", "LinearSilu", "LinearSiluMul",
           "MambaMixer", "PagedAttention", "RMSNorm", "RotaryEmbedding", "VarlenAttention"]


class RMSNorm(torch.nn.Module):
    """functional.rms_norm. weight: None makes a parameter of ones."""

    def __init__(self, hidden_size: int, eps: float = 1e-6, weight: Optional[torch.Tensor] = None):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(hidden_size)) if weight is None else weight

    apply_function = staticmethod(functional.rms_norm)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{tuple(self.weight.shape)}, eps={self.eps}"


class FastLayerNorm(torch.nn.Module):
    """functional.fast_layer_norm with given parameters."""

    def __init__(self, normalized_shape: Union[int, Sequence[int]], eps: float, weight: torch.Tensor,
                 bias: Optional[torch.Tensor] = None):
        super().__init__()
        self.normalized_shape, self.eps, self.weight, self.bias = normalized_shape, eps, weight, bias

    apply_function = staticmethod(functional.fast_layer_norm)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return functional.fast_layer_norm(hidden_states, self.normalized_shape, self.weight, self.bias, self.eps)


class RotaryEmbedding(torch.nn.Module):
    """Rotary embedding with tables of its own.

    pos_embd_dim: the number of values that are rotated. extra_rope_config: rope_scaling of the model's configuration
    (linear, dynamic, llama3, yarn, longrope). backbone is taken and not needed. Texts longer than
    max_position_embeddings get longer tables.
    """

    def __init__(self, max_position_embeddings: int, pos_embd_dim: int, base: float = 10000,
                 backbone: Optional[str] = None, extra_rope_config: Optional[dict] = None):
        super().__init__()
        self.max_position_embeddings, self.pos_embd_dim, self.base = max_position_embeddings, pos_embd_dim, base
        self.model_backbone, self.extra_rope_config = backbone, extra_rope_config
        self._make_tables(max_position_embeddings)

    def _make_tables(self, positions: int) -> None:
        sin, cos = rotary_tables(positions, self.pos_embd_dim, self.base, self.extra_rope_config)
        self.register_buffer("sin", sin, persistent=False)
        self.register_buffer("cos", cos, persistent=False)

    apply_function = staticmethod(functional.rotary_embedding)

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor, num_head: int, head_dim: int, offset: int,
                rotary_ndims: int, seq_len: Optional[int] = None, num_concats: Optional[int] = None):
        """x: (B, S, num_head, head_dim), or (B, S, num_head · head_dim). offset: 1 for pairs (2i, 2i + 1).

        With num_concats, x holds queries, keys and values side by side, (B, S, columns), and all three are returned as
        (B, S, heads, head_dim); keys and values have as many heads as fill the columns.
        """
        if seq_len is not None and seq_len > self.sin.shape[0]:
            self._make_tables(seq_len)

        def turned(heads: torch.Tensor) -> torch.Tensor:
            return functional.rotate(heads, self.sin, self.cos, rotary_ndims, offset == 1, position_ids)

        if num_concats is None:
            return turned(x.view(*x.shape[:2], num_head, head_dim))
        key_heads = (x.shape[-1] // head_dim - num_head) // 2
        query, key, value = x.view(*x.shape[:2], num_head + 2 * key_heads, head_dim).split(
            (num_head, key_heads, key_heads), 2)
        return turned(query), turned(key), value


class _LinearUnits(torch.nn.Module):
    """A linear layer with an activation."""
    activation = "none"

    def __init__(self, linear: torch.nn.Linear):
        super().__init__()
        self.linear = linear

    def _run(self, x, factor=None, addends=()):
        return functional.linear_units(x, self.linear.weight, self.linear.bias, self.activation, factor, addends)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._run(x)


class LinearSilu(_LinearUnits):
    """silu(linear(x))."""
    activation = "silu"


class LinearRelu(_LinearUnits):
    """relu(linear(x))."""
    activation = "relu"


class LinearGelu(_LinearUnits):
    """gelu(linear(x)), by erf."""
    activation = "gelu"


class LinearNewGelu(_LinearUnits):
    """gelu(linear(x)), by tanh."""
    activation = "gelu_tanh"


class LinearSiluMul(_LinearUnits):
    """silu(linear(x)) · y."""
    activation = "silu"

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._run(x, y)


class LinearMul(_LinearUnits):
    """linear(x) · y."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._run(x, y)


class LinearAdd(_LinearUnits):
    """linear(x) + y."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._run(x, None, (y,))


class LinearAddAdd(_LinearUnits):
    """linear(x) + y + z."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return self._run(x, None, (y, z))


class Linear2SiluMul(torch.nn.Module):
    """silu(linear_1(x)) · linear_2(x), the middle of a gated MLP."""

    def __init__(self, linear_s: torch.nn.Linear, linear_m: torch.nn.Linear):
        super().__init__()
        self.linear_1, self.linear_2 = linear_s, linear_m

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up = functional.linear_units(x, self.linear_2.weight, self.linear_2.bias)
        return functional.linear_units(x, self.linear_1.weight, self.linear_1.bias, "silu", up)


class VarlenAttention(torch.nn.Module):
    """functional.varlen_attention."""

    apply_function = staticmethod(functional.varlen_attention)

    def forward(self, *arguments, **keywords) -> torch.Tensor:
        return functional.varlen_attention(*arguments, **keywords)


class IndirectAccessKVCacheAttention(torch.nn.Module):
    """functional.indirect_access_kv_cache_attention with caches of text_max_length rows at first."""

    def __init__(self, text_max_length: int = 2048):
        super().__init__()
        self.text_max_length = text_max_length

    apply_function = staticmethod(functional.indirect_access_kv_cache_attention)

    def forward(self, query, key, value, scale_attn, layer_past=None, head_mask=None, attention_mask=None, alibi=None,
                add_casual_mask=True, seq_info=None):
        return functional.indirect_access_kv_cache_attention(query, key, value, scale_attn, layer_past, head_mask,
                                                             attention_mask, alibi, add_casual_mask, seq_info,
                                                             self.text_max_length)


def _check_unscaled(kv_cache_dtype: str, *scales: float) -> None:
    if kv_cache_dtype != "auto" or any(scale != 1.0 for scale in scales):
        raise TypeError("pages hold values as they are: kv_cache_dtype is auto, and scales are 1")


class PagedAttention:
    """Caches in pages (pages, Hk, size, ...) of a pool, in the extension's form."""

    @classmethod
    def reshape_and_cache(cls, key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype="auto", k_scale=1.0,
                          v_scale=1.0):
        """functional.write_pages."""
        _check_unscaled(kv_cache_dtype, k_scale, v_scale)
        functional.write_pages(key, value, key_cache, value_cache, slot_mapping)

    reshape_and_cache_flash = reshape_and_cache

    @classmethod
    def single_query_cached_kv_attention(cls, output, query, key_cache, value_cache, head_mapping, scale, block_tables,
                                         context_lens, block_size, max_context_len, alibi_slopes, window_size=-1,
                                         k_scale=1.0, v_scale=1.0, softcap=-1.0):
        """functional.paged_attention, written to output. head_mapping follows from the sizes."""
        _check_unscaled("auto", k_scale, v_scale)
        output.copy_(functional.paged_attention(query, key_cache, value_cache, block_tables, context_lens, scale,
                                                alibi_slopes, window_size, softcap))
        return output

    @classmethod
    @torch.no_grad()
    def flash_attn_varlen_func(cls, output, query, k_cache, v_cache, cu_seq_lens_q, cu_seq_lens_kv, max_seq_len_q,
                               max_seq_len_kv, scale, is_causal, block_table, alibi_slopes=None, window_size_left=-1,
                               window_size_right=-1, kv_cache_dtype="auto", k_scale=1.0, v_scale=1.0, softcap=-1.0):
        """Attention of the last tokens of each text, query (tokens, H, D), to all its keys in pages.

        is_causal: a token sees keys up to its own, which is the last one for the last token. Written to output.
        alibi_slopes, windows and softcap raise ValueError.
        """
        _check_unscaled(kv_cache_dtype, k_scale, v_scale)
        if alibi_slopes is not None or window_size_left != -1 or window_size_right != -1 or softcap > 0:
            raise ValueError("flash_attn_varlen_func has no alibi_slopes, windows or softcap")
        size = k_cache.shape[2]
        begins, key_begins = cu_seq_lens_q.tolist(), cu_seq_lens_kv.tolist()
        for text, (first, last) in enumerate(zip(begins, begins[1:])):
            keys = key_begins[text + 1] - key_begins[text]
            pages = block_table[text, :(keys + size - 1) // size].long()
            k, v = (cache[pages].transpose(0, 1).flatten(1, 2)[None, :, :keys] for cache in (k_cache, v_cache))
            mask = None
            if is_causal:
                own = torch.arange(keys - (last - first), keys)
                mask = torch.arange(keys) <= own[:, None]
            result = functional.attention(query[first:last].transpose(0, 1)[None], k, v, mask, False, scale)
            output[first:last] = result[0].transpose(0, 1)
        return output


class MambaMixer:
    """Functions of state_space, in the extension's form."""

    causal_conv1d_fn = staticmethod(state_space.causal_conv1d_fn)
    causal_conv1d_update = staticmethod(state_space.causal_conv1d_update)
    selective_scan_fn = staticmethod(state_space.selective_scan_fn)
    selective_state_update = staticmethod(state_space.selective_state_update)
