"""Plans for modules of TorchScript."""
import copy
from typing import Any, Optional, Tuple

import torch

from . import _engine


def sample_arguments(sample_input: Any, names=()) -> Optional[Tuple]:
    """The arguments that a sample input stands for: a tensor alone, a tuple or list of them, or a dict by `names`."""
    if sample_input is None:
        return None
    if isinstance(sample_input, dict):
        given = [name for name in names if name in sample_input]
        if len(given) != len(sample_input) or given != list(names[:len(given)]):
            raise TypeError(f"sample_input names {', '.join(sample_input)}, but forward takes {', '.join(names)}")
        return tuple(sample_input[name] for name in given)
    return tuple(sample_input) if isinstance(sample_input, (tuple, list)) else (sample_input,)


def is_training(module: torch.jit.ScriptModule) -> bool:
    """True for a module in training mode whose forward may ask for it. Functions that were saved are said to be in it."""
    if not getattr(module, "training", False):  # frozen modules have no modes
        return False
    method = module._c._get_method("forward") if module._c._has_method("forward") else None
    return method is None or any(True for _ in module.children()) or bool(method.graph.findAllNodes("prim::GetAttr"))


def plan_script(module: torch.jit.ScriptModule, sample_input: Any = None, tune: str = "off",
                bf16: bool = False) -> torch.jit.ScriptModule:
    """A frozen copy of a module in eval mode with its static parts as plans; `module` stays as it is."""
    names = [argument.name for argument in module._c._get_method("forward").schema.arguments[1:]]
    planned = _engine.optimize(_in_eval_mode(module)._c, sample_arguments(sample_input, names), tune, bf16)
    return torch.jit._recursive.wrap_cpp_module(planned)


def plan_tuned(module: torch.jit.ScriptModule, args: Tuple, record: str, budget_s: float) -> _engine.TunedPlan:
    """The same for arguments that are known, with kernels that `record` knows or that are measured at the first run."""
    return _engine.TunedPlan(_in_eval_mode(module)._c, args, record, budget_s)


def _in_eval_mode(module: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """The module, or where only its file says that it is in training mode, a copy of it."""
    by_name = getattr(module, "training", False) and not is_training(module)
    return copy.copy(module).eval() if by_name else module
