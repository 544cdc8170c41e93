"""optimize(), the call that most users need."""
import copy
from typing import Any

import torch

from ._log import logger
from ._plans import give_plans
from ._script import plan_script, sample_arguments


def optimize(model: torch.nn.Module, *, sample_input: Any = None, inplace: bool = False,
             auto_kernel_selection: bool = False) -> torch.nn.Module:
    """Makes a model in eval mode faster on this CPU.

        fast = ipex_studio.optimize(torch.jit.load("model.pt"), sample_input=x)    # a module of TorchScript
        fast = ipex_studio.optimize(resnet50().eval(), sample_input=x)             # any other model
        with torch.no_grad():
            fast(x)

    A module of TorchScript comes back as a frozen one whose static parts are compiled plans; torch.jit.save writes it.
    Without `sample_input` its sizes are guessed from its first layers.

    Any other model comes back as a copy of its class, or itself with `inplace`, with the same parameters under the
    same names. It is traced for each form of arguments and checked against itself, and then runs by plans: with
    gradients off, outside of autocast and in eval mode; else, and where a trace would not be right for other values,
    as it was, which the logger "ipex_studio" says once. Plans are made anew when weights change. Copies, pickles and
    state_dict are those of the model that was given.

    `sample_input`: a tensor, a tuple of arguments, or a dict of them by name.
    `auto_kernel_selection`: measure kernels on this machine before one is chosen, which takes some seconds.

    Raises ipex_studio.Error with one sentence where a module of TorchScript cannot be optimized.
    """
    tune = "quick" if auto_kernel_selection else "off"
    if getattr(model, "training", False):  # frozen modules have no modes
        logger.warning("%s is in training mode and stays as it is; call eval() first.", type(model).__name__)
        return model
    if isinstance(model, torch.jit.ScriptModule):
        return plan_script(model, sample_input, tune)
    planned = give_plans(model if inplace else copy.deepcopy(model), tune)
    if sample_input is not None:
        args, kwargs = ((), sample_input) if isinstance(sample_input, dict) else (sample_arguments(sample_input), {})
        with torch.no_grad():
            planned(*args, **kwargs)
    return planned
