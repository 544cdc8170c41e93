"""optimize(), with the signature and the contracts of Intel Extension for PyTorch."""
import warnings
from typing import Any, Dict, NamedTuple, Optional, Union

import torch
from torch import nn
from torch.optim import Optimizer

from . import _engine
from ._cast import cast_weights, to_channels_last
from ._fold import CONVOLUTIONS, LINEARS, fold_batch_norm
from ._layers import train_by_kernels, train_by_torch
from ._messages import pass_messages_by_kernels, pass_messages_by_torch
from ._log import logger
from ._packed import pack_layers, unpack_layers
from ._plans import give_plans
from ._script import is_training, plan_script, sample_arguments
from ._told import tell_faults, tell_no_faults
from ._training import copy_model, copy_optimizer, follow_copies
from ._versions import is_exported
from .errors import Error
from .optim import fused

_channels_last = True


class _Switches(NamedTuple):
    """What is done to a model in eval mode."""
    conv_bn_folding: bool
    linear_bn_folding: bool
    replace_dropout_with_identity: bool
    weights_prepack: bool
    plans_for_samples: bool
    auto_kernel_selection: bool = False
    graph_mode: bool = False


_LEVELS = {"O0": _Switches(False, False, False, False, False), "O1": _Switches(True, True, True, True, True)}


def enable_auto_channels_last() -> None:
    """Lets optimize() bring weights of convolutions into channels-last order, as it does at first."""
    global _channels_last
    _channels_last = True


def disable_auto_channels_last() -> None:
    """Lets optimize() leave the order of weights as it is."""
    global _channels_last
    _channels_last = False


def optimize(model: Union[nn.Module, Optimizer], dtype: Optional[torch.dtype] = None,
             optimizer: Optional[Optimizer] = None, level: str = "O1", inplace: bool = False,
             conv_bn_folding: Optional[bool] = None, linear_bn_folding: Optional[bool] = None,
             weights_prepack: Optional[bool] = None, replace_dropout_with_identity: Optional[bool] = None,
             optimize_lstm: Optional[bool] = None, split_master_weight_for_bf16: Optional[bool] = None,
             fuse_update_step: Optional[bool] = None, auto_kernel_selection: Optional[bool] = None,
             sample_input: Any = None, graph_mode: Optional[bool] = None,
             concat_linear: Optional[bool] = None) -> Any:
    """Makes a model in eval mode faster on this CPU.

        fast = ipex_studio.optimize(torch.jit.load("model.pt"), sample_input=x)    # a module of TorchScript
        fast = ipex_studio.optimize(resnet50().eval(), sample_input=x)             # any other model, by plans
        fast = ipex_studio.optimize(resnet50().eval())                             # any other model, layer by layer
        with torch.no_grad():
            fast(x)

    A module of TorchScript comes back as a frozen one whose static parts are compiled plans; torch.jit.save writes it.
    Without `sample_input` its sizes are guessed from its first layers.

    Any other model comes back as a copy of its class, or itself with `inplace`, with the same parameters under the
    same names: state_dict, in FP32, goes to stock models and comes from them. With `sample_input` or `graph_mode` it is
    traced for each form of arguments and checked against itself, and then runs by plans: with gradients off, outside
    of autocast and in eval mode; else, and where a trace would not be right for other values, as it was, which the
    logger "ipex_studio" says once. Plans are made anew when weights change. Copies and pickles are optimized, too.

    Arguments:

    dtype           torch.bfloat16 casts weights of convolutions, linear layers, embeddings and LSTMs, for calls within
                    torch.cpu.amp.autocast(); plans of TorchScript compute in BF16 where the CPU has it
    optimizer       of a model in training mode; returns (model, optimizer), or give an optimizer alone as `model`.
                    It gets fused steps (ipex_studio.optim), and is a copy if the model is one. The model's layers
                    Conv2d, ConvTranspose2d and BatchNorm2d compute in FP32 by kernels of ours, with their gradients
                    and in channels-last order; layers of PyTorch Geometric sum their messages so, in both modes
    level           "O1", or "O0": all switches below are off that are not given
    inplace         change the model instead of a copy
    conv_bn_folding, linear_bn_folding
                    fold batch normalization into the layer before it; parameters of both stay
    replace_dropout_with_identity
                    replace dropout, which does nothing in eval mode
    sample_input    a tensor, a tuple of arguments, or a dict of them by name
    graph_mode      plans from the first call on, without a sample
    weights_prepack
                    in training mode: kernels of ours for layers; in eval mode: linear layers compute by weights that
                    are packed once, where gradients and autocast are off
    fuse_update_step
                    give the optimizer fused steps
    auto_kernel_selection
                    measure kernels on this machine before one is chosen, which takes some seconds

    The other arguments of Intel Extension for PyTorch are taken and change nothing: plans do what they ask for.

    Raises RuntimeError for an unknown level or dtype and for parameters on several devices, AssertionError for an
    optimizer with a model in eval mode, ipex_studio.Error where a module of TorchScript cannot run its sample_input.
    """
    if isinstance(model, Optimizer):
        return fused(follow_copies(model))
    if not isinstance(model, nn.Module):
        raise TypeError(f"optimize() takes a torch.nn.Module or a torch.optim.Optimizer, not a {type(model).__name__}.")
    given = {"conv_bn_folding": conv_bn_folding, "linear_bn_folding": linear_bn_folding,
             "replace_dropout_with_identity": replace_dropout_with_identity, "weights_prepack": weights_prepack,
             "auto_kernel_selection": auto_kernel_selection, "graph_mode": graph_mode}
    _check_arguments(model, dtype, optimizer, level)
    switches = _LEVELS[level]._replace(**{name: bool(value) for name, value in given.items() if value is not None})
    if isinstance(model, torch.jit.ScriptModule):
        result = model if level == "O0" else _optimize_script(model, dtype, sample_input, switches)
        return result if optimizer is None else (result, _with_steps(optimizer, level, fuse_update_step))
    new, pairs = (model, {}) if inplace else copy_model(model)
    if any(parameter.device.type != "cpu" for parameter in new.parameters()):
        logger.warning("%s is not on the CPU and stays as it is.", type(model).__name__)
    elif getattr(model, "training", False) and not is_exported(model):
        _prepare_training(new, dtype, level == "O1" if weights_prepack is None else weights_prepack)
    else:
        _optimize_for_inference(new, dtype, sample_input, switches, given)
    if optimizer is None:
        return new
    return new, _with_steps(copy_optimizer(optimizer, pairs) if pairs else optimizer, level, fuse_update_step)


def _check_arguments(model: nn.Module, dtype: Optional[torch.dtype], optimizer: Optional[Optimizer], level: str) -> None:
    if optimizer is not None and not isinstance(model, torch.jit.ScriptModule) and not model.training:
        raise AssertionError("The optimizer should not be given for inference mode")
    if level not in _LEVELS:
        raise RuntimeError(f"Unexpected optimization level {level}. Options are 'O0', 'O1'.")
    if dtype not in (None, torch.float32, torch.bfloat16, torch.float16):
        raise RuntimeError(f"Unexpected dtype {dtype}. Options are torch.float32, torch.bfloat16, torch.float16.")
    if len({parameter.device.type for parameter in model.parameters()}) > 1:
        raise RuntimeError("The model is mixed with different device type")


def _with_steps(optimizer: Optimizer, level: str, fuse_update_step: Optional[bool]) -> Optimizer:
    fuse = level == "O1" if fuse_update_step is None else fuse_update_step
    return fused(optimizer) if fuse else optimizer


def _prepare_training(model: nn.Module, dtype: Optional[torch.dtype], by_kernels: bool) -> None:
    if dtype in (torch.bfloat16, torch.float16):
        logger.warning("%s is in training mode and keeps its layers in FP32.", type(model).__name__)
    tell_no_faults(model)
    unpack_layers(model)
    if _channels_last:
        to_channels_last(model)
    counts = train_by_kernels(model) if _channels_last and by_kernels else {}
    if by_kernels:
        counts.update(pass_messages_by_kernels(model))
    *others, last = [f"{count} {kind}" for kind, count in counts.items()] or ["no layers"]
    logger.info("%s trains %s by kernels of ipex_studio, other layers by those of torch.", type(model).__name__,
                f"{', '.join(others)} and {last}" if others else last)


def _optimize_script(module: torch.jit.ScriptModule, dtype: Optional[torch.dtype], sample_input: Any,
                     switches: _Switches) -> torch.jit.ScriptModule:
    if is_training(module):
        logger.warning("%s is in training mode and stays as it is; call eval() first.", module.original_name)
        return module
    if any(module.inlined_graph.findAllNodes(kind) for kind in ("ipex_studio::region", "ipex_studio::region_loop")):
        return module  # it has plans already
    bf16 = dtype == torch.bfloat16 and _engine.has_bf16()
    if dtype in (torch.bfloat16, torch.float16) and not bf16:
        logger.warning("This CPU has no unit for %s: the plans compute in FP32.", dtype)
    try:
        return plan_script(module, sample_input, _tune(switches), bf16)
    except Error as error:
        if sample_input is not None:
            raise
        logger.warning("%s stays as it is: %s Give a sample_input.", module.original_name, error)
        return module


def _tune(switches: _Switches) -> str:
    return "quick" if switches.auto_kernel_selection else "off"


def _optimize_for_inference(model: nn.Module, dtype: Optional[torch.dtype], sample_input: Any, switches: _Switches,
                            given: Dict[str, Optional[bool]]) -> None:
    for module in model.modules() if is_exported(model) else ():
        module.training = False  # its eval() refuses
    train_by_torch(model)
    pass_messages_by_torch(model)
    tell_no_faults(model)
    unpack_layers(model)
    if _channels_last:
        to_channels_last(model)
    if switches.conv_bn_folding:
        _fold_or_say(model, CONVOLUTIONS, "Conv", given["conv_bn_folding"])
    if switches.linear_bn_folding:
        _fold_or_say(model, LINEARS, "Linear", given["linear_bn_folding"])
    if switches.replace_dropout_with_identity:
        replace_dropout(model)
    if switches.weights_prepack and not is_exported(model):
        tell_faults(model)
    if dtype in (torch.bfloat16, torch.float16) and _can_compute(dtype):
        cast_weights(model, dtype)
        return
    if switches.weights_prepack and not is_exported(model):
        logger.info("%s computes %d linear layers by packed weights.", type(model).__name__, pack_layers(model))
        pass_messages_by_kernels(model)
    if switches.graph_mode or switches.plans_for_samples and sample_input is not None:
        give_plans(model, _tune(switches))
        if sample_input is not None:
            _call_once(model, sample_input)


def _fold_or_say(model: nn.Module, kinds: Dict[type, type], name: str, asked: Optional[bool]) -> None:
    try:
        fold_batch_norm(model, kinds)
    except Exception as problem:  # tracing runs any code of a model's author
        if asked:
            warnings.warn(f"{name} BatchNorm folding failed during the optimize process.")
        logger.info("%s BatchNorm folding failed: %s", name, problem)


def replace_dropout(model: nn.Module) -> None:
    """Puts nn.Identity in the place of dropout layers."""
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.modules.dropout._DropoutNd):
                setattr(module, name, nn.Identity())


def _can_compute(dtype: torch.dtype) -> bool:
    """True if this torch has layers for the dtype. Says where it is slow."""
    one = torch.ones(1, 1, 1, 1, dtype=dtype)
    try:
        nn.functional.conv2d(one, one)
    except RuntimeError:
        logger.warning("torch %s has no layers for %s on CPUs: weights stay in FP32.", torch.__version__, dtype)
        return False
    if dtype == torch.bfloat16 and not _engine.has_bf16():
        logger.warning("This CPU has no BF16 unit: torch emulates BF16, which is slow.")
    return True


def _call_once(model: nn.Module, sample_input: Any) -> None:
    args, kwargs = ((), sample_input) if isinstance(sample_input, dict) else (sample_arguments(sample_input), {})
    with torch.no_grad():
        model(*args, **kwargs)
