"""The operators of a call that a trace could get wrong, in their order."""
from typing import List

from torch.utils._python_dispatch import TorchDispatchMode

# Views, copies and allocations depend on strides and sizes, which may differ from call to call.
_NAMED = {"convolution", "_convolution", "addmm", "mm", "bmm", "baddbmm", "linear", "relu", "relu_", "sigmoid", "tanh",
          "gelu", "silu", "softmax", "_softmax", "max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d",
          "native_layer_norm", "native_batch_norm", "embedding", "lstm", "mkldnn_linear"}


_PRODUCTS = {"aten::" + name for name in ("convolution", "_convolution", "addmm", "mm", "bmm", "baddbmm", "linear",
                                          "mkldnn_linear")}


class CallOrder(TorchDispatchMode):
    """Notes the names of operators while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.names: List[str] = []

    @property
    def multiplies(self) -> bool:
        """True if a convolution or product was among them."""
        return not _PRODUCTS.isdisjoint(self.names)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.__name__.split(".")[0]
        if name in _NAMED:
            self.names.append("aten::" + name)
        return func(*args, **(kwargs or {}))
