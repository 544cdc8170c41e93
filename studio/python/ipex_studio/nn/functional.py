"""Functions with gradients: interaction of features and embedding bags of many tables."""
from typing import List, Optional, Sequence

import torch

from .. import _engine  # noqa: F401 - brings the operators

__all__ = ["interaction", "merged_embedding_bag"]


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
