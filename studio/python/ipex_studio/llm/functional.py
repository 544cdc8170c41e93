"""Functions of language models: norms, rotary embedding, gated units, attention.

float32, float64 and floats below float32, which are computed in float32 and rounded once. All but those with caches have
first derivatives, whose bits are the same for any number of threads.
"""
from typing import Optional, Sequence, Tuple, Union

import torch

from .. import _engine  # noqa: F401 - brings the operators

__all__ = ["add_layer_norm", "add_rms_norm", "attention", "fast_layer_norm", "gelu_mul",
           "indirect_access_kv_cache_attention", "linear_units", "paged_attention", "rms_norm", "rotary_embedding", "rotate",
           "silu_mul", "varlen_attention", "write_pages"]


def _given(out: Optional[torch.Tensor], result: torch.Tensor) -> torch.Tensor:
    return result if out is None else out.copy_(result)


def rms_norm(hidden_states: torch.Tensor, weight: Optional[torch.Tensor], eps: float = 1e-6) -> torch.Tensor:
    """hidden_states / √(mean(hidden_states²) + eps) · weight over the last axis."""
    return torch.ops.ipex_studio.normalize_rows(hidden_states, weight, None, eps, False)


def _added(residual, x, weight, bias, eps, add_back, centered):
    if residual is None:
        return torch.ops.ipex_studio.normalize_rows(x, weight, bias, eps, centered)
    result, total = torch.ops.ipex_studio.add_normalize_rows(x, residual, weight, bias, eps, centered)
    if add_back:
        residual.copy_(total)
    return result


def add_rms_norm(residual: Optional[torch.Tensor], x: torch.Tensor, weight: Optional[torch.Tensor],
                 bias: Optional[torch.Tensor] = None, eps: float = 1e-6, add_back: bool = False) -> torch.Tensor:
    """rms_norm of x + residual, plus bias. add_back: the sum is written to residual. residual None: of x alone."""
    return _added(residual, x, weight, bias, eps, add_back, False)


def add_layer_norm(residual: Optional[torch.Tensor], x: torch.Tensor, weight: Optional[torch.Tensor],
                   bias: Optional[torch.Tensor] = None, eps: float = 1e-5, add_back: bool = False) -> torch.Tensor:
    """Layer norm of x + residual over the last axis. add_back: the sum is written to residual."""
    return _added(residual, x, weight, bias, eps, add_back, True)


def fast_layer_norm(hidden_states: torch.Tensor, normalized_shape: Union[int, Sequence[int]],
                    weight: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                    eps: float = 1e-5) -> torch.Tensor:
    """torch.nn.functional.layer_norm. Raises ValueError where hidden_states does not end in normalized_shape."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    axes = len(shape)
    if not axes or tuple(hidden_states.shape[-axes:]) != shape:
        raise ValueError(f"normalized_shape {shape} is not how the sizes {tuple(hidden_states.shape)} end")
    rows, weight, bias = (each if each is None or axes == 1 else each.flatten(-axes)
                          for each in (hidden_states, weight, bias))
    result = torch.ops.ipex_studio.normalize_rows(rows, weight, bias, eps, True)
    return result.view(hidden_states.shape)


def rotate(x: torch.Tensor, sin: torch.Tensor, cos: torch.Tensor, rotary_dim: int, interleaved: bool = False,
           positions: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Heads rotated by angles of their positions; rotary embedding of queries or keys.

    x: (texts, tokens, heads, D) or (tokens, heads, D). sin, cos: (positions, ≥ rotary_dim / 2) tables. The first
    rotary_dim values of a head are rotated, in pairs (2i, 2i + 1) where interleaved, else (i, i + rotary_dim / 2); the
    others stay. positions: a row of the tables for each token; for the tokens of each text; one number, the position of
    the first token; None: 0, 1, … Raises IndexError that names a position which is in no row. Tables get no gradient.
    """
    return torch.ops.ipex_studio.rotary_embedding(x, sin, cos, positions, rotary_dim, interleaved)


def rotary_embedding(query: torch.Tensor, key: torch.Tensor, sin: torch.Tensor, cos: torch.Tensor, rotary_dim: int,
                     rotary_half: bool, position_ids: Optional[torch.Tensor] = None
                     ) -> Tuple[torch.Tensor, torch.Tensor]:
    """Query and key, rotated by `rotate`; the extension's form.

    sin, cos: tables of rotary_dim / 2 columns, or of twice as many that say them twice. rotary_half: pairs are
    (i, i + rotary_dim / 2). Where neither has a gradient, query and key are overwritten and returned.
    """
    sin, cos = sin.reshape(-1, sin.shape[-1]), cos.reshape(-1, cos.shape[-1])
    results = tuple(rotate(each, sin, cos, rotary_dim, not rotary_half, position_ids) for each in (query, key))
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad):
        return results
    return query.copy_(results[0]), key.copy_(results[1])


def silu_mul(x: torch.Tensor, y: torch.Tensor, out: Optional[torch.Tensor] = None) -> torch.Tensor:
    """silu(x) · y. x and y have the same sizes, and may be halves of one tensor's last axis."""
    return _given(out, torch.ops.ipex_studio.gated_units(x, y, "silu"))


def gelu_mul(x: torch.Tensor, y: torch.Tensor, out: Optional[torch.Tensor] = None,
             approximate: str = "none") -> torch.Tensor:
    """gelu(x) · y. approximate: "none" or "tanh"; ValueError otherwise."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu_mul: approximate '{approximate}' is neither none nor tanh")
    return _given(out, torch.ops.ipex_studio.gated_units(x, y, "gelu" if approximate == "none" else "gelu_tanh"))


def linear_units(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None, activation: str = "none",
                 factor: Optional[torch.Tensor] = None, addends: Sequence[torch.Tensor] = ()) -> torch.Tensor:
    """activation(x·weightᵀ + bias) · factor + the sum of addends; one step in FP32 without gradients.

    activation: "none", "silu", "gelu", "gelu_tanh" or "relu"; ValueError otherwise.
    """
    return torch.ops.ipex_studio.linear_units(x, weight, bias, activation, factor, list(addends))


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Optional[torch.Tensor] = None,
              causal: bool = False, scale: Optional[float] = None) -> torch.Tensor:
    """softmax(scale · query·keyᵀ + mask) · value, in memory linear in the numbers of queries and keys.

    query: (B, H, S, D), key: (B, Hk, K, D), value: (B, Hk, K, W), where Hk divides H: H / Hk query heads share a key
    head. mask: spreads to (B, H, S, K); booleans say which keys count, floats are added. causal: query i sees keys up
    to i. scale: 1 / √D by default. Queries that see no key give 0. A mask with a gradient takes memory of the size
    S · K.
    """
    return torch.ops.ipex_studio.flash_attention(query, key, value, mask, causal, scale)


def varlen_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: Optional[torch.Tensor],
                     seqlen_q: torch.Tensor, seqlen_k: torch.Tensor, alibi_slopes: Optional[torch.Tensor] = None,
                     max_seqlen_q: int = 0, max_seqlen_k: int = 0, pdropout: float = 0.0,
                     softmax_scale: Optional[float] = None, zero_tensors: bool = False, is_causal: bool = True,
                     return_softmax: bool = False, gen_: Optional[torch.Generator] = None, window_size_left: int = -1,
                     window_size_right: int = -1, softcap: float = -1.0) -> torch.Tensor:
    """attention of texts of different lengths that stand one behind the other.

    query: (tokens, H, D), key and value: (tokens, Hk, D). seqlen_q, seqlen_k: where texts begin, and the end of the
    last one. is_causal: as attention's causal. out: gets the result, where given. The longest lengths are not needed.
    Raises ValueError for arguments beyond these, which the extension refuses, too.
    """
    refused = {"alibi_slopes": alibi_slopes is not None, "pdropout": pdropout > 0, "zero_tensors": zero_tensors,
               "return_softmax": return_softmax, "gen_": gen_ is not None, "window_size_left": window_size_left != -1,
               "window_size_right": window_size_right != -1, "softcap": softcap > 0}
    for name, is_given in refused.items():
        if is_given:
            raise ValueError(f"varlen_attention has no {name}")
    parts = []
    begins = list(zip(seqlen_q.tolist(), seqlen_k.tolist()))
    for (first_query, first_key), (last_query, last_key) in zip(begins, begins[1:]):
        heads = (each.transpose(0, 1).unsqueeze(0) for each in (query[first_query:last_query],
                                                                key[first_key:last_key], value[first_key:last_key]))
        parts.append(attention(*heads, None, is_causal, softmax_scale)[0].transpose(0, 1))
    result = torch.cat(parts) if parts else query.new_zeros(0, query.shape[1], value.shape[2])
    return _given(out, result)


def _caches(key: torch.Tensor, value: torch.Tensor, rows: int) -> Tuple[torch.Tensor, torch.Tensor]:
    return tuple(each.new_empty((rows, each.shape[0]) + each.shape[2:]) for each in (key, value))


@torch.no_grad()
def indirect_access_kv_cache_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale_attn: float,
        layer_past: Optional[Tuple[torch.Tensor, ...]] = None, head_mask: Optional[torch.Tensor] = None,
        attention_mask: Optional[torch.Tensor] = None, alibi: Optional[torch.Tensor] = None,
        add_casual_mask: bool = True, seq_info: Optional[torch.Tensor] = None, text_max_length: int = 0):
    """Attention of new tokens to all of their texts, whose keys and values stay in one cache; without gradients.

    query: (B, S, H, D); key and value: (B, S, Hk, ...). Scores are divided by scale_attn; attention_mask is added and
    spreads to (B, H, S, all tokens). layer_past: None for the first tokens, then what the last call gave: (a tensor
    whose sizes tell the number of tokens, cache of keys (rows, B, Hk, D), cache of values, beam_idx (rows + 2, B)).
    Texts that become several beams behind their first tokens begin with (a tensor (1, 0, 0, 1), anything, anything, a
    tensor (1, texts · beams)). The caches have text_max_length rows at first, and twice as many whenever they are full.
    Beams are reordered by

        layer_past[3][layer_past[0].size(-2) - 1] = new_order

    which moves no keys. New tokens see those before them. Without attention_mask it is attention of all to all, and
    there is no cache. Returns (result (B, H, S, ...), None, layer_past). head_mask and alibi, which the extension
    refuses or ignores, raise ValueError.
    """
    if head_mask is not None or alibi is not None:
        raise ValueError("indirect_access_kv_cache_attention has neither head_mask nor alibi")
    if attention_mask is None:
        return attention(*(each.transpose(1, 2) for each in (query, key, value)), None, False), None, None
    texts, tokens = query.shape[:2]
    if layer_past is None or layer_past[0].shape[-2] == 0:
        offset, beams = 0, texts if layer_past is None else layer_past[3].shape[1]
        if texts == 0 or beams % texts:
            raise ValueError(f"indirect_access_kv_cache_attention: {beams} beams are not as many for each of {texts} texts")
        of_beams = [each.repeat_interleave(beams // texts, 0) for each in (key, value)] if beams > texts else (key, value)
        key_cache, value_cache = _caches(*of_beams, max(text_max_length, tokens))
        key_cache[:tokens], value_cache[:tokens] = (each.transpose(0, 1) for each in of_beams)
        beam_idx = torch.arange(beams).repeat(key_cache.shape[0] + 2, 1)
    else:
        length, key_cache, value_cache, beam_idx = layer_past
        offset = length.shape[-2] if seq_info is None else int(seq_info.reshape(-1)[0])
    if offset + tokens > key_cache.shape[0]:
        rows = max(2 * key_cache.shape[0], offset + tokens)
        grown, beams = _caches(key, value, rows), torch.arange(texts).repeat(rows + 2, 1)
        for larger, smaller in zip(grown, (key_cache, value_cache)):
            larger[:offset] = smaller[:offset]
        beams[:offset] = beam_idx[:offset]
        key_cache, value_cache, beam_idx = *grown, beams
    if offset == 0:
        result = attention(*(each.transpose(1, 2) for each in (query, key, value)), attention_mask, add_casual_mask,
                           1 / scale_attn)
    else:
        result = torch.ops.ipex_studio.indirect_attention(query, key, value, key_cache, value_cache, beam_idx, offset,
                                                          1 / scale_attn, attention_mask).transpose(1, 2)
    # Its sizes alone are read.
    length = torch.empty(1, dtype=torch.long).expand(1, offset + tokens, offset + tokens, 1)
    return result, None, (length, key_cache, value_cache, beam_idx)


def write_pages(key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
                slots: torch.Tensor) -> None:
    """Writes keys and values (tokens, Hk, ...) into pages (pages, Hk, size, ...).

    slots: page · size + row for each token; negative ones are not written. Raises IndexError for one beyond the pages.
    """
    torch.ops.ipex_studio.write_pages(key.detach(), value.detach(), key_cache, value_cache, slots)


def paged_attention(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, pages: torch.Tensor,
                    lengths: torch.Tensor, scale: float, alibi_slopes: Optional[torch.Tensor] = None, window: int = 0,
                    softcap: float = 0.0) -> torch.Tensor:
    """Attention of the last token of each text to all its keys, which lie in pages; without gradients.

    query: (texts, H, D). Of each text, `pages` (texts, most) lists the pages, and `lengths` tells the number of keys.
    alibi_slopes: (H,); slope · (key - last key) is added to scores. window: number of last keys that count, 0: all.
    softcap: scores become softcap · tanh(score / softcap), 0: they stay. Raises IndexError that names text and page
    where a page is not there.
    """
    return torch.ops.ipex_studio.paged_attention(query.detach(), key_cache, value_cache, pages, lengths, scale,
                                                 alibi_slopes, window, softcap)
