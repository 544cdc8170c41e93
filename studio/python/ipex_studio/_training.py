"""Models and optimizers in training: copies that belong together."""
import copy
import weakref
from typing import Dict, Optional, Tuple

from torch import nn
from torch.optim import Optimizer

# Copies of parameters by the identity of their originals, for optimizers that come alone and still hold those.
_copies: Dict[int, Tuple[weakref.ref, weakref.ref]] = {}


def copy_model(model: nn.Module) -> Tuple[nn.Module, Dict[nn.Parameter, nn.Parameter]]:
    """A deep copy, and its parameters by those of the original."""
    new = copy.deepcopy(model)
    pairs = dict(zip(model.parameters(), new.parameters()))
    for original, parameter in pairs.items():
        key = id(original)
        _copies[key] = (weakref.ref(original, lambda _, key=key: _copies.pop(key, None)), weakref.ref(parameter))
    return new, pairs


def copy_of(parameter: nn.Parameter) -> Optional[nn.Parameter]:
    """The last copy that copy_model() made of a parameter, if both live."""
    original, new = _copies.get(id(parameter), (None, None))
    return new() if original is not None and original() is parameter else None


def copy_optimizer(optimizer: Optimizer, pairs: Dict[nn.Parameter, nn.Parameter]) -> Optimizer:
    """A copy that steps the new parameters of `pairs` instead of the old, from the same state."""
    new = copy.deepcopy(optimizer)
    new.state.clear()
    for old_group, new_group in zip(optimizer.param_groups, new.param_groups):
        new_group["params"] = [pairs.get(parameter, parameter) for parameter in old_group["params"]]
        for parameter in old_group["params"]:
            if parameter in optimizer.state:
                new.state[pairs.get(parameter, parameter)] = copy.deepcopy(optimizer.state[parameter])
    return new


def follow_copies(optimizer: Optimizer) -> Optimizer:
    """The optimizer itself, or one of the copies if optimize() copied the model of its parameters."""
    pairs = {parameter: copy_of(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    pairs = {parameter: new for parameter, new in pairs.items() if new is not None}
    return copy_optimizer(optimizer, pairs) if pairs else optimizer
