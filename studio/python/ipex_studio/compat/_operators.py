"""Operators that scripts call by the extension's names, as torch.ops.torch_ipex.NAME."""
import torch

from ..optim import cat_bfloat16_float, split_float_bfloat16

_library = None  # kept, for the operators live as long as it does


def install() -> None:
    """Registers them, where torch (since 2.0) lets several libraries share a namespace."""
    global _library
    if _library is not None or torch.__version__.startswith("1."):
        return
    _library = torch.library.Library("torch_ipex", "FRAGMENT")
    for schema, function in (("split_float_bfloat16(Tensor tensor) -> (Tensor, Tensor)", split_float_bfloat16),
                             ("cat_bfloat16_float(Tensor top, Tensor bottom) -> Tensor", cat_bfloat16_float)):
        _library.define(schema)
        _library.impl(schema.partition("(")[0], function, "CompositeExplicitAutograd")
