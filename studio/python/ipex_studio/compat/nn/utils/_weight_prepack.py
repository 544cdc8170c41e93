"""intel_extension_for_pytorch.nn.utils._weight_prepack: classes that isinstance() knows layers of optimize() by."""
from torch import nn

__all__ = ["_IPEXConv1d", "_IPEXConv2d", "_IPEXConv3d", "_IPEXConvTranspose2d", "_IPEXConvTranspose3d", "_IPEXLinear",
           "_IPEXLSTM"]


class _OfOptimized(type):
    """Layers stay of the class that they are of: these are not made, only asked for."""

    def __instancecheck__(cls, module) -> bool:
        return isinstance(module, cls.stock) and "_ipex_role" in type(module).__dict__


def _class(stock: type) -> type:
    return _OfOptimized("_IPEX" + stock.__name__, (), {"stock": stock, "__module__": __name__})


_IPEXConv1d, _IPEXConv2d, _IPEXConv3d = map(_class, (nn.Conv1d, nn.Conv2d, nn.Conv3d))
_IPEXConvTranspose2d, _IPEXConvTranspose3d = map(_class, (nn.ConvTranspose2d, nn.ConvTranspose3d))
_IPEXLinear, _IPEXLSTM = map(_class, (nn.Linear, nn.LSTM))
