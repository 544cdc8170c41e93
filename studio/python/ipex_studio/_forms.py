"""Takes values apart into tensors and a form without them, and puts them together again.

A form is hashable and says all that a plan depends on beside what the tensors hold: types, keys, sizes, dtypes, and
values that are no tensors.
"""
from typing import Any, List, Tuple

import torch

_NUMBERS = (bool, int, float, str, type(None))


class UnknownForm(Exception):
    """A value whose type cannot be taken apart, or a tensor that no plan reads."""


def _tensor_form(tensor: torch.Tensor) -> Tuple:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise UnknownForm(f"a {type(tensor).__name__}")
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise UnknownForm(f"a tensor on {tensor.device} with layout {tensor.layout}")
    return ("tensor", tensor.dtype, tensor.shape)


def take_apart(value: Any, leaves: List[torch.Tensor]) -> Tuple:
    """Appends the tensors of `value` to `leaves` and returns the form. Raises UnknownForm."""
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        return _tensor_form(value)
    kind = type(value)
    if kind in _NUMBERS:
        return ("constant", kind, value)
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return ("dict", kind, tuple((key, take_apart(part, leaves)) for key, part in value.items()))
    if kind in (tuple, list) or hasattr(kind, "_fields"):
        return ("sequence", kind, tuple(take_apart(part, leaves) for part in value))
    raise UnknownForm(f"a {kind.__name__}")


def put_together(form: Tuple, leaves) -> Any:
    """The value of a form; `leaves` is an iterator over its tensors."""
    role, kind, parts = form
    if role == "tensor":
        return next(leaves)
    if role == "constant":
        return parts
    if role == "dict":
        values = {key: put_together(part, leaves) for key, part in parts}
        return values if kind is dict else kind(**values)
    values = [put_together(part, leaves) for part in parts]
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def without_sizes(form: Tuple) -> Tuple:
    """The form in which tensors have a rank instead of sizes."""
    role, kind, parts = form
    if role == "tensor":
        return role, kind, len(parts)
    if role == "dict":
        return role, kind, tuple((key, without_sizes(part)) for key, part in parts)
    return form if role == "constant" else (role, kind, tuple(map(without_sizes, parts)))
