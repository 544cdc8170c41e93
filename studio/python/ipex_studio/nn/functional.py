"""Functions with gradients: interaction of features, embedding bags of many tables, sums over graphs, and the loss of RNN
transducers."""
from typing import List, Optional, Sequence

import torch

from .. import _engine  # noqa: F401 - brings the operators
from .graph import CSRGraph

__all__ = ["gather_rows", "interaction", "merged_embedding_bag", "rnnt_loss", "scatter_reduce", "scatter_rows",
           "segment_softmax", "spmm"]


def interaction(*features: torch.Tensor) -> torch.Tensor:
    """The first feature, and behind it the products of all pairs of features (DLRM's interaction).

    features: N tensors (B, D) of one floating type, the first of which stands in front. Returns (B, D + N(N-1)/2): the
    values of features[0], then features[i]·features[j] for j < i, row by row. Sums are FP32; other types than float32
    go through PyTorch's operators. Has a first derivative in float32, any in other types. Raises RuntimeError for
    features of several sizes or types.
    """
    return torch.ops.ipex_studio.feature_interaction(list(features))


def merged_embedding_bag(indices: Sequence[torch.Tensor], weights: Sequence[torch.Tensor],
                         offsets: Sequence[torch.Tensor], mode: str = "sum", *, sparse: bool = False,
                         per_sample_weights: Optional[Sequence[torch.Tensor]] = None,
                         include_last_offset: bool = False, padding_idx: int = -1) -> List[torch.Tensor]:
    """torch.nn.functional.embedding_bag for many tables in one call.

    weights[t]: (rows, D) of table t, float32 or float64; indices[t] and offsets[t]: one axis, int64 or int32, as
    embedding_bag takes them, and so are the other arguments: mode is "sum", "mean" or "max", per_sample_weights are for
    "sum". padding_idx counts from the front; -1: there is none. Returns a list of (bags, D); empty bags are zeros.
    Gradients have the same bits for any number of threads. Raises IndexError that names table, position and value of
    an index that is in no row.
    """
    return torch.ops.ipex_studio.merged_embedding_bag(list(weights), list(indices), list(offsets),
                                                      list(per_sample_weights or []), mode, include_last_offset,
                                                      padding_idx, sparse)


def spmm(graph: CSRGraph, x: torch.Tensor, value: Optional[torch.Tensor] = None, reduce: str = "sum") -> torch.Tensor:
    """The sum, mean, max or min of each node's neighbours: out[i] = reduce of value[e]·x[j] over the edges j → i.

    x: (columns, …); value: (E,), or (E, H) for x (columns, H, D): one for each head; None: all 1. Floats; float32 and
    float64 are computed in themselves, others in float32. Returns (rows, …); nodes without edges get 0. An extreme is
    NaN where one of its edges is, and hands its gradient to the first of equal edges. Has a first derivative, in x and
    value, whose bits, as the result's, are the same for any number of threads. Raises ValueError for another reduce,
    IndexError for an edge to a node that is not there.
    """
    needs_gradient = torch.is_grad_enabled() and x.requires_grad
    return torch.ops.ipex_studio.spmm(graph.rowptr, graph.col, graph.place, value, x, reduce,
                                      graph.transpose() if needs_gradient else [])


def segment_softmax(graph: CSRGraph, scores: torch.Tensor) -> torch.Tensor:
    """The softmax of scores (E,) or (E, H) over the edges that end in the same node.

    Float32 and float64 are computed in themselves, other floats in float32. Has a first derivative.
    """
    return torch.ops.ipex_studio.segment_softmax(graph.rowptr, graph.place, scores)


def scatter_rows(src: torch.Tensor, index: torch.Tensor, rows: int, reduce: str = "sum") -> torch.Tensor:
    """out[i] = the sum, mean, max or min of src[e] over all e with index[e] = i.

    src: (E, …), floats as in spmm; index: (E,), int64 or int32, in any order. Returns (rows, …); rows that nothing is
    sent to are 0. Has a first derivative; the bits are the same for any number of threads. Raises IndexError that names
    position and value of an index that is in no row. For many calls with one index, spmm over a CSRGraph sorts it once.
    """
    return torch.ops.ipex_studio.scatter_rows(src, index, rows, reduce)


def gather_rows(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """x[index], rows of x (rows, …), with a gradient that does not depend on the number of threads."""
    return torch.ops.ipex_studio.gather_rows(x, index)


def rnnt_loss(logits: torch.Tensor, targets: torch.Tensor, logit_lengths: torch.Tensor, target_lengths: torch.Tensor,
              blank: int = -1, clamp: float = -1, reduction: str = "mean",
              fused_log_softmax: bool = True) -> torch.Tensor:
    """The loss of RNN transducers (Graves, 2012), with the arguments of torchaudio.functional.rnnt_loss.

    logits: (B, T, U + 1, V), floats, what the joiner gives; targets: (B, U), logit_lengths and target_lengths: (B,), int32
    or int64. blank: its class, -1 the last. clamp: if positive, the bound of the gradient's magnitude before it is
    multiplied by that of the loss. Without fused_log_softmax, logits are logarithms of probabilities. Returns a number
    for "mean" and "sum", (B,) for "none", float64 for such logits and else float32. What lies beyond a sample's lengths
    is not read and has the gradient 0; a target that is impossible costs infinity. Memory beyond logits and their
    gradient: 3 numbers for each of B·T·(U + 1) nodes. Has a first derivative, whose bits are the same for any number of
    threads. Raises ValueError for another reduction, IndexError for a target or length that does not fit.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"rnnt_loss: reduction '{reduction}' is none of mean, sum and none")
    costs = torch.ops.ipex_studio.rnnt_loss(logits, targets, logit_lengths, target_lengths, blank, clamp, fused_log_softmax)
    return costs if reduction == "none" else getattr(costs, reduction)()


_REDUCES = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min"}


def scatter_reduce(input: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor, reduce: str, *,
                   include_self: bool = True) -> torch.Tensor:
    """torch.Tensor.scatter_reduce for "sum", "mean", "amax" and "amin", with a gradient, in one order of additions.

    index: int64, as many axes as src and no longer ones; along the other axes than dim it is no longer than input. Where
    it is the same for all other axes, expanded as torch_scatter and PyTorch Geometric make it, whole rows are sent. An
    extreme hands its gradient to the first of equal values, where input counts as the first. include_self: the values
    of input take part; else it stays only where nothing is sent. Raises ValueError for another reduce, IndexError for an
    index beyond dim.
    """
    if reduce not in _REDUCES:
        raise ValueError(f"scatter_reduce: reduce '{reduce}' is none of sum, mean, amax and amin")
    dim %= input.dim()
    sent = src[tuple(slice(size) for size in index.shape)].movedim(dim, 0)
    places, own = index.movedim(dim, 0), input.movedim(dim, 0)
    sizes = own.shape
    by_rows = sent.shape[1:] == sizes[1:] and all(
        places.stride(axis) == 0 or places.shape[axis] == 1 for axis in range(1, places.dim()))
    if by_rows and sent.numel():
        places = places[(slice(None),) + (0,) * (places.dim() - 1)]
    else:
        if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < sizes[0]:
            raise IndexError(f"scatter_reduce: index holds numbers outside of 0 to {sizes[0] - 1}")
        strides = torch.ones(len(sizes), dtype=torch.long)
        strides[:-1] = torch.tensor(sizes[1:]).flip(0).cumprod(0).flip(0)
        places = places * strides[0]
        for axis in range(1, len(sizes)):
            steps = torch.arange(places.shape[axis]) * strides[axis]
            places = places + steps.view([-1] + [1] * (len(sizes) - axis - 1))
        places, sent, own = places.reshape(-1), sent.reshape(-1), own.reshape(-1)
    rows = len(own)
    if include_self:
        places, sent = torch.cat((torch.arange(rows), places)), torch.cat((own, sent.to(own.dtype)))
    result = scatter_rows(sent, places, rows, _REDUCES[reduce])
    if not include_self:
        is_reached = torch.zeros(rows, dtype=torch.bool).index_fill(0, places, True)
        result = torch.where(is_reached.view([-1] + [1] * (result.dim() - 1)), result, own)
    return result.view(sizes).movedim(0, dim)
