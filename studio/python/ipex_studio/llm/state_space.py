"""Parts of state space models (Mamba, Jamba): causal convolutions and selective scans, of whole texts and token by token.

Computed in float32 or wider and rounded once. Those of whole texts have derivatives; those of tokens write to their states.
"""
from typing import Optional, Tuple

import torch
from torch.nn import functional as stock

__all__ = ["causal_conv1d_fn", "causal_conv1d_update", "selective_scan_fn", "selective_state_update"]


def _wide(x: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    return x if x is None or x.dtype == torch.float64 else x.float()


def _convolved(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], activation: Optional[str],
               dtype: torch.dtype) -> torch.Tensor:
    """Each channel of x (B, D, width - 1 + S) with its own weights (D, width): (B, D, S)."""
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError(f"activation is None, silu or swish, not {activation}")
    result = stock.conv1d(_wide(x), _wide(weight).unsqueeze(1), _wide(bias), groups=len(weight))
    return (result if activation is None else stock.silu(result)).to(dtype)


def causal_conv1d_fn(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None,
                     initial_states: Optional[torch.Tensor] = None, return_final_states: bool = False,
                     final_states_out: Optional[torch.Tensor] = None, activation: Optional[str] = "silu"
                     ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Convolution along x (B, D, S) in which no value sees later ones; weight: (D, width).

    initial_states: (B, D, width - 1), what stood before x; None: zeros. Returns the result, and the last width - 1
    values, for the next call, where return_final_states; final_states_out gets them where given. activation: "silu",
    "swish" (the same) or None.
    """
    before = weight.shape[1] - 1
    if initial_states is None:
        initial_states = x.new_zeros(x.shape[0], x.shape[1], before)
    whole = torch.cat((initial_states.to(x.dtype), x), -1)
    result = _convolved(whole, weight, bias, activation, x.dtype)
    if not return_final_states:
        return result, None
    final = whole[..., whole.shape[-1] - before:]
    return result, final.clone() if final_states_out is None else final_states_out.copy_(final)


@torch.no_grad()
def causal_conv1d_update(x: torch.Tensor, conv_state: torch.Tensor, weight: torch.Tensor,
                         bias: Optional[torch.Tensor] = None, activation: Optional[str] = None,
                         cache_seqlens: Optional[torch.Tensor] = None) -> torch.Tensor:
    """causal_conv1d_fn of the next tokens x, (B, D) or (B, D, S), behind those in conv_state, which takes them in.

    conv_state: (B, D, length ≥ width - 1), the last tokens in order; with cache_seqlens (B,), the number of tokens that
    were before, it is a ring, where token i stands at i % length.
    """
    tokens = x.unsqueeze(-1) if x.dim() == 2 else x
    before, length, count = weight.shape[1] - 1, conv_state.shape[-1], tokens.shape[-1]
    if length < before:
        raise ValueError(f"conv_state holds {length} tokens, and a weight of {before + 1} columns looks back at {before}")
    if cache_seqlens is None:
        whole = torch.cat((conv_state, tokens), -1)
        conv_state.copy_(whole[..., count:])
        whole = whole[..., length - before:]
    else:
        if count > length:
            raise ValueError(f"{count} tokens do not fit a ring of {length}")

        def places(first: int, last: int) -> torch.Tensor:
            each = torch.arange(first, last) + cache_seqlens.long().unsqueeze(1)
            return each.remainder(length).unsqueeze(1).expand(-1, tokens.shape[1], -1)

        whole = torch.cat((conv_state.gather(2, places(-before, 0)), tokens), -1)
        conv_state.scatter_(2, places(0, count), tokens)
    result = _convolved(whole, weight, bias, activation, x.dtype)
    return result.squeeze(-1) if x.dim() == 2 else result


def _step(state, x, steps, A, B, C) -> Tuple[torch.Tensor, torch.Tensor]:
    """The state (..., D, N) behind one token, and what is read of it: (..., D)."""
    state = state * torch.exp(steps.unsqueeze(-1) * A) + (steps * x).unsqueeze(-1) * B
    return state, (state * C).sum(-1)


def _steps(delta: torch.Tensor, bias: Optional[torch.Tensor], softplus: bool) -> torch.Tensor:
    delta = _wide(delta) if bias is None else _wide(delta) + _wide(bias)
    return stock.softplus(delta) if softplus else delta


def selective_scan_fn(u: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor,
                      D: Optional[torch.Tensor] = None, z: Optional[torch.Tensor] = None,
                      delta_bias: Optional[torch.Tensor] = None, delta_softplus: bool = False,
                      return_last_state: bool = False):
    """state ← exp(delta · A) · state + delta · B · u, result: C·state + D · u, times silu(z), token by token.

    u, delta, z: (B, D, S). A: (D, N). B, C: (D, N); or (B, N, S); or (B, groups, N, S), where a group serves D / groups
    channels. D, delta_bias: (D,). Returns the result, and the last state (B, D, N) where return_last_state.
    """
    channels = u.shape[1]
    inputs, steps, decays = _wide(u), _steps(delta.transpose(1, 2), delta_bias, delta_softplus), _wide(A)

    def at(matrix: torch.Tensor, token: int) -> torch.Tensor:
        if matrix.dim() == 2:
            return matrix
        now = matrix[..., token] if matrix.dim() == 4 else matrix[..., token].unsqueeze(1)
        return now.repeat_interleave(channels // now.shape[1], 1)

    reads, writes = _wide(C), _wide(B)
    state, results = inputs.new_zeros(u.shape[0], *A.shape), []
    for token in range(u.shape[2]):
        state, result = _step(state, inputs[..., token], steps[:, token], decays, at(writes, token), at(reads, token))
        results.append(result)
    result = torch.stack(results, -1) if results else inputs.clone()
    if D is not None:
        result = result + inputs * _wide(D).unsqueeze(-1)
    if z is not None:
        result = result * stock.silu(_wide(z))
    result = result.to(u.dtype)
    return (result, state) if return_last_state else result


@torch.no_grad()
def selective_state_update(state: torch.Tensor, x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor,
                           C: torch.Tensor, D: Optional[torch.Tensor] = None, z: Optional[torch.Tensor] = None,
                           dt_bias: Optional[torch.Tensor] = None, dt_softplus: bool = False) -> torch.Tensor:
    """selective_scan_fn of one token, which goes on from `state` and writes to it.

    state: (B, D, N); x, dt, z: (B, D); A: (D, N); B, C: (B, N) or (B, groups, N); D, dt_bias: (D,). With heads, (H, ...)
    in front of all D, a group of B and C serves H / groups heads.
    """
    heads = state.dim() == 4

    def grouped(matrix: torch.Tensor) -> torch.Tensor:
        matrix = matrix if matrix.dim() == 3 else matrix.unsqueeze(1)
        if not heads and matrix.shape[1] != 1:
            raise ValueError(f"{matrix.shape[1]} groups serve a state without heads")
        count = state.shape[1] if heads else 1
        if count % matrix.shape[1]:
            raise ValueError(f"{matrix.shape[1]} groups do not divide {count} heads")
        every = _wide(matrix).repeat_interleave(count // matrix.shape[1], 1)
        return every.unsqueeze(2) if heads else every

    after, result = _step(_wide(state), _wide(x), _steps(dt, dt_bias, dt_softplus), _wide(A), grouped(B), grouped(C))
    state.copy_(after)
    if D is not None:
        result = result + _wide(x) * _wide(D)
    if z is not None:
        result = result * stock.silu(_wide(z))
    return result.to(x.dtype)
