"""Mixtures of experts: the choice of experts for each token, and the products of those chosen."""
from typing import Callable, Optional, Tuple

import torch

from . import functional
from ..nn.functional import gather_rows, scatter_rows

__all__ = ["GatedMLPMOE", "choose_experts", "mixture_of_experts"]


def _largest(scores: torch.Tensor, count: int) -> torch.Tensor:
    """The places of the largest scores; of equal ones the first."""
    return scores.sort(stable=True, dim=-1, descending=True)[1][..., :count]


def choose_experts(router_logits: torch.Tensor, top_k: int, renormalize: bool = True, scoring: str = "softmax",
                   groups: int = 1, top_groups: int = 1, correction: Optional[torch.Tensor] = None,
                   factor: float = 1.0) -> Tuple[torch.Tensor, torch.Tensor]:
    """Weights and numbers of the experts of each token, (tokens, top_k), float32 and int64.

    router_logits: (tokens, experts). scoring: "softmax" or "sigmoid" of them, in float32. With groups of experts, those
    of the top_groups best groups alone are eligible. correction: (experts,), added where experts are chosen, not to
    weights; a group is then judged by its two best experts, else by the best. renormalize: weights are divided by their
    sum. factor: of all weights. Of equal scores the first wins. Weights have gradients, the choice has none. Raises
    ValueError for another scoring.
    """
    if scoring not in ("softmax", "sigmoid"):
        raise ValueError(f"choose_experts: scoring '{scoring}' is neither softmax nor sigmoid")
    logits = router_logits.float()
    scores = logits.softmax(-1) if scoring == "softmax" else logits.sigmoid()
    eligible = scores.detach()
    if correction is not None:
        eligible = eligible + correction.detach().float()
    if groups > 1:
        in_groups = eligible.unflatten(-1, (groups, -1))
        best = in_groups.amax(-1) if correction is None else in_groups.sort(-1, descending=True)[0][..., :2].sum(-1)
        chosen = torch.zeros_like(best, dtype=torch.bool).scatter(-1, _largest(best, top_groups), True)
        eligible = in_groups.masked_fill(~chosen[..., None], -float("inf")).flatten(-2)
    experts = _largest(eligible, top_k)
    weights = scores.gather(-1, experts)
    if renormalize:
        weights = weights / (weights.sum(-1, keepdim=True) + (1e-20 if scoring == "sigmoid" else 0))
    return weights * factor, experts


def mixture_of_experts(x: torch.Tensor, weights: torch.Tensor, experts: torch.Tensor, gate_up: torch.Tensor,
                       down: torch.Tensor, up: Optional[torch.Tensor] = None,
                       activation: str = "silu") -> torch.Tensor:
    """The weighted sum of the chosen experts' MLPs, down(activation(gate(x)) · up(x)).

    x: (..., H). weights, experts: (tokens, k), as choose_experts gives them. gate_up: (experts, 2 · I, H), gate above
    up; or with `up`, both (experts, I, H). down: (experts, H, I). Tokens are sorted by expert, so each has one product.
    Sums are float32, in one order for any number of threads. Has gradients.
    """
    tokens = x.flatten(0, -2)
    order = experts.flatten().sort(stable=True)[1]
    token = order // experts.shape[1]
    counts = torch.bincount(experts.flatten(), minlength=len(down)).tolist()
    rows, of_rows = gather_rows(tokens, token), weights.flatten()[order]
    parts, begin = [], 0
    for expert, count in enumerate(counts):
        if not count:
            continue
        mine = rows[begin:begin + count]
        if up is None:
            gate, upper = torch.nn.functional.linear(mine, gate_up[expert]).chunk(2, -1)
        else:
            gate, upper = (torch.nn.functional.linear(mine, each[expert]) for each in (gate_up, up))
        hidden = torch.ops.ipex_studio.gated_units(gate, upper, activation)
        result = torch.nn.functional.linear(hidden, down[expert])
        parts.append(result.float() * of_rows[begin:begin + count, None])
        begin += count
    if not parts:
        return torch.zeros_like(x)
    return scatter_rows(torch.cat(parts), token, len(tokens), "sum").to(x.dtype).view(x.shape)


class GatedMLPMOE(torch.nn.Module):
    """mixture_of_experts in the extension's form. W13: gate above up, or gate alone with W3 for up; W2: down."""

    def __init__(self, W13: torch.Tensor, W2: torch.Tensor, W3: Optional[torch.Tensor] = None,
                 use_prepack: bool = True):
        super().__init__()
        self.W13, self.W2, self.W3 = W13, W2, W3

    def forward(self, hidden_states: torch.Tensor, use_grouped_topk: bool, top_k: int, router_logits: torch.Tensor,
                renormalize: bool, topk_group: Optional[int] = None, num_expert_group: Optional[int] = None,
                custom_routing_function: Optional[Callable] = None, scoring_func: str = "softmax",
                e_score_correction_bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        """custom_routing_function(hidden_states, router_logits, top_k, renormalize) gives weights and experts."""
        if custom_routing_function is not None:
            weights, experts = custom_routing_function(hidden_states, router_logits, top_k, renormalize)
        else:
            grouped = (num_expert_group, topk_group) if use_grouped_topk else (1, 1)
            weights, experts = choose_experts(router_logits, top_k, renormalize, scoring_func, *grouped,
                                              e_score_correction_bias)
        return mixture_of_experts(hidden_states, weights, experts.long(), self.W13, self.W2, self.W3)
