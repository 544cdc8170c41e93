"""intel_extension_for_pytorch.frontend: optimize() keeps what scripts rely on where that of ipex_studio does otherwise."""
import copy
import functools
import inspect
from typing import Any

import torch
from torch import nn

from .. import frontend
from .._automatic import FrozenModule
from .._script import sample_arguments
from ..frontend import disable_auto_channels_last, enable_auto_channels_last

__all__ = ["disable_auto_channels_last", "enable_auto_channels_last", "fast_bert", "optimize"]
_SIGNATURE = inspect.signature(frontend.optimize)


@functools.wraps(frontend.optimize)
def optimize(*args, **kwargs):
    given = _SIGNATURE.bind(*args, **kwargs).arguments
    model, sample = given["model"], given.get("sample_input")
    if isinstance(model, FrozenModule) and sample is None and given.get("optimizer") is None:
        return model  # which gets plans at its first runs
    result = frontend.optimize(*args, **kwargs)
    if sample is not None and given.get("auto_kernel_selection"):
        _note_rows(result[0] if isinstance(result, tuple) else result, sample)
    return result


def fast_bert(model: nn.Module, dtype: torch.dtype = torch.float, optimizer: Any = None, unpad: bool = False):
    """optimize() of a BERT, in inference or training. `unpad`: padded words are computed as others, with the same results."""
    if dtype not in (torch.float, torch.bfloat16):
        raise AssertionError(f"fast_bert takes torch.float and torch.bfloat16, not {dtype}")
    return optimize(model, dtype=dtype, optimizer=optimizer)


def _note_rows(model: nn.Module, sample_input: Any) -> None:
    """Gives linear layers `batch_size_collapsed`, the number of rows that they see with a sample."""
    seen = copy.deepcopy(model).eval()  # a run may change a model in training mode
    layers = [(layer, twin) for layer, twin in zip(model.modules(), seen.modules()) if isinstance(layer, nn.Linear)]
    for layer, twin in layers:
        def note(_, inputs, layer=layer):
            layer.batch_size_collapsed = inputs[0].numel() // max(inputs[0].shape[-1], 1)
        twin.register_forward_pre_hook(note)
    args, named = ((), sample_input) if isinstance(sample_input, dict) else (sample_arguments(sample_input), {})
    with torch.no_grad():
        seen(*args, **named)
