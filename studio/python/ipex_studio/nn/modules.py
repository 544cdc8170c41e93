"""Embedding bags of many tables as one module, trained by any optimizer or by an update inside backward; batch norm whose
statistics stay; the loss of RNN transducers."""
from typing import Iterable, List, NamedTuple, Optional

import torch

from . import functional

__all__ = ["EmbeddingSpec", "FrozenBatchNorm2d", "MergedEmbeddingBag", "MergedEmbeddingBagWithAdaGrad",
           "MergedEmbeddingBagWithCat", "MergedEmbeddingBagWithSGD", "RNNTLoss"]


class EmbeddingSpec(NamedTuple):
    """A table of a merged embedding bag. `weight`: its values (num_embeddings, embedding_dim); None: random ones."""
    num_embeddings: int
    embedding_dim: int
    pooling_mode: str
    dtype: torch.dtype
    weight: Optional[torch.Tensor]
    sparse: bool
    include_last_offset: bool


def _spec_of(bag: torch.nn.EmbeddingBag) -> EmbeddingSpec:
    for name in ("max_norm", "padding_idx"):
        if getattr(bag, name) is not None:
            raise ValueError(f"a merged embedding bag has no {name}: keep this nn.EmbeddingBag as it is")
    return EmbeddingSpec(bag.num_embeddings, bag.embedding_dim, bag.mode, bag.weight.dtype, bag.weight.detach(),
                         bag.sparse, bag.include_last_offset)


class MergedEmbeddingBag(torch.nn.Module):
    """Many nn.EmbeddingBag in one call.

    Tables agree in embedding_dim, dtype, pooling_mode ("sum" or "mean"), sparse and include_last_offset; AssertionError
    otherwise. forward(indices, offsets) takes a list of each and gives a list of (bags, embedding_dim).
    """

    def __init__(self, embedding_specs: List[EmbeddingSpec]):
        super().__init__()
        assert embedding_specs, "a merged embedding bag has at least one table"
        first = embedding_specs[0]
        for field in ("embedding_dim", "dtype", "pooling_mode", "sparse", "include_last_offset"):
            assert all(getattr(spec, field) == getattr(first, field) for spec in embedding_specs), \
                f"all tables have the same {field}"
        assert first.pooling_mode in ("sum", "mean"), "the pooling mode is sum or mean"
        self.n_tables = len(embedding_specs)
        self.embedding_dim, self.dtype, self.pooling_mode = first.embedding_dim, first.dtype, first.pooling_mode
        self.sparse, self.include_last_offset = first.sparse, first.include_last_offset
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(self._values(spec)) for spec in embedding_specs])

    @staticmethod
    def _values(spec: EmbeddingSpec) -> torch.Tensor:
        if spec.weight is None:
            return torch.randn(spec.num_embeddings, spec.embedding_dim, dtype=spec.dtype)
        assert tuple(spec.weight.shape) == (spec.num_embeddings, spec.embedding_dim), \
            "a weight has num_embeddings rows of embedding_dim values"
        return spec.weight.detach()

    @classmethod
    def from_embeddingbag_list(cls, tables: Iterable[torch.nn.EmbeddingBag], *arguments, **keywords):
        """A module that shares the memory of `tables`; further arguments are those of the class."""
        return cls([_spec_of(bag) for bag in tables], *arguments, **keywords)

    def forward(self, indices: List[torch.Tensor], offsets: List[torch.Tensor]) -> List[torch.Tensor]:
        return functional.merged_embedding_bag(indices, list(self.weights), offsets, self.pooling_mode,
                                               sparse=self.sparse, include_last_offset=self.include_last_offset)

    def extra_repr(self) -> str:
        rows = ", ".join(str(weight.shape[0]) for weight in self.weights)
        return f"{self.n_tables} tables of {rows} rows, {self.embedding_dim} wide, mode={self.pooling_mode}"


class _UpdateInBackward(torch.autograd.Function):
    """Sums bags; backward updates the rows that they read, and gives no gradient of the tables."""

    @staticmethod
    def forward(context, module, indices, offsets, *weights):
        context.module, context.indices, context.offsets = module, indices, offsets
        return tuple(torch.ops.ipex_studio.merged_embedding_bag(
            list(weights), list(indices), list(offsets), [], module.pooling_mode, module.include_last_offset, -1, False))

    @staticmethod
    def backward(context, *gradients):
        context.module._update(context.indices, context.offsets, [gradient.contiguous() for gradient in gradients])
        return (None, None, None) + (None,) * context.module.n_tables


class _UpdatedInBackward(MergedEmbeddingBag):
    """A merged embedding bag whose tables an optimizer of its own trains, on the rows that a batch touched."""

    def forward(self, indices: List[torch.Tensor], offsets: List[torch.Tensor]) -> List[torch.Tensor]:
        if not torch.is_grad_enabled():
            return super().forward(indices, offsets)
        return list(_UpdateInBackward.apply(self, indices, offsets, *self.weights))

    def _apply_update(self, indices, offsets, gradients, states, optimizer, lr, weight_decay, eps):
        with torch.no_grad():
            torch.ops.ipex_studio.merged_embedding_bag_update(
                [weight.detach() for weight in self.weights], states, gradients, list(indices), list(offsets),
                self.pooling_mode, self.include_last_offset, -1, optimizer, lr, weight_decay, eps)


class MergedEmbeddingBagWithSGD(_UpdatedInBackward):
    """Updates touched rows inside backward: w -= lr·(g + weight_decay·w). Gradients of tables are never stored."""

    def __init__(self, embedding_specs: List[EmbeddingSpec], lr: float = 0.01, weight_decay: float = 0):
        super().__init__(embedding_specs)
        if lr < 0 or weight_decay < 0:
            raise ValueError(f"lr and weight_decay are at least 0, not {lr} and {weight_decay}")
        self.lr, self.weight_decay = lr, weight_decay

    def _update(self, indices, offsets, gradients):
        self._apply_update(indices, offsets, gradients, [], "sgd", self.lr, self.weight_decay, 0.0)


class MergedEmbeddingBagWithAdaGrad(_UpdatedInBackward):
    """Updates touched rows inside backward: h += g², w -= lr·g/(√h + eps).

    rowwise=True keeps one h for each row, to which the mean of its g² is added.
    """

    def __init__(self, embedding_specs: List[EmbeddingSpec], lr: float = 0.01, eps: float = 1e-10,
                 rowwise: bool = False):
        super().__init__(embedding_specs)
        if lr < 0 or eps < 0:
            raise ValueError(f"lr and eps are at least 0, not {lr} and {eps}")
        self.lr, self.eps, self.rowwise = lr, eps, rowwise
        for table, weight in enumerate(self.weights):
            state = torch.zeros(weight.shape[0] if rowwise else weight.shape, dtype=weight.dtype)
            self.register_buffer(f"hessian_{table}", state)

    def _update(self, indices, offsets, gradients):
        states = [getattr(self, f"hessian_{table}") for table in range(self.n_tables)]
        optimizer = "rowwise_adagrad" if self.rowwise else "adagrad"
        self._apply_update(indices, offsets, gradients, states, optimizer, self.lr, 0.0, self.eps)


class MergedEmbeddingBagWithCat(MergedEmbeddingBag):
    """forward(indices, offsets, dense): dense (B, D) and the bags of all tables side by side, (B, (tables + 1)·D)."""

    def __init__(self, embedding_specs: List[EmbeddingSpec]):
        super().__init__(embedding_specs)
        assert self.pooling_mode == "sum", "the pooling mode is sum"

    def forward(self, indices: List[torch.Tensor], offsets: List[torch.Tensor],
                dense_feature: torch.Tensor) -> torch.Tensor:
        return torch.cat([dense_feature] + super().forward(indices, offsets), dim=1)


class FrozenBatchNorm2d(torch.nn.Module):
    """Batch norm of images whose statistics and factors are buffers, which no training changes.

    Loads the state of torchvision's module of this name, and of nn.BatchNorm2d. The input has a gradient.
    """

    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features, self.eps = num_features, eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), value))

    def _load_from_state_dict(self, state_dict, prefix, *arguments):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0,
                                              self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}"


class RNNTLoss(torch.nn.Module):
    """functional.rnnt_loss as a module, with the arguments of torchaudio.transforms.RNNTLoss."""

    def __init__(self, blank: int = -1, clamp: float = -1.0, reduction: str = "mean", fused_log_softmax: bool = True):
        super().__init__()
        self.blank, self.clamp, self.reduction, self.fused_log_softmax = blank, clamp, reduction, fused_log_softmax

    def forward(self, logits: torch.Tensor, targets: torch.Tensor, logit_lengths: torch.Tensor,
                target_lengths: torch.Tensor) -> torch.Tensor:
        return functional.rnnt_loss(logits, targets, logit_lengths, target_lengths, self.blank, self.clamp, self.reduction,
                                    self.fused_log_softmax)
