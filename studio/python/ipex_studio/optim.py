"""Optimizers with one fused step over all parameters, in place of those of torch.optim:

    optimizer = ipex_studio.optim.AdamW(model.parameters(), lr=1e-3)

They are subclasses of torch's, with the same arguments and states, and give the same bits as its for-loops (of torch
1.13; square roots of later versions round differently); with `optimizer.fast = True` they round less often. BF16
parameters are the upper halves of FP32 numbers whose lower halves are in the state, so that training loses nothing;
with `optimizer.split = False` the state has whole FP32 numbers. step() also scales, clips and checks gradients:
help(SGD.step).

`fused(optimizer)` makes such a one of an optimizer of torch. Functions step single parameters as the operators of Intel
Extension for PyTorch do that have their names.
"""
from typing import Any, Dict, Optional

import torch
from torch import nn
from torch.optim import Optimizer

from ._fused import FusedSteps, Group, Rule
from ._fused_steps import (adagrad_fused_step, adam_fused_step, cat_bfloat16_float, lamb_fused_step, lars_fused_step,
                           packed_add, sgd_fused_step, split_float_bfloat16, sync_master_weight_to_bf16,
                           sync_master_weight_to_fp16)
from ._log import logger

__all__ = ["Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "Lars", "Lion", "NAdam", "RAdam", "RMSprop", "SGD",
           "adagrad_fused_step", "adam_fused_step", "cat_bfloat16_float", "create_optimizer_lars", "fused",
           "lamb_fused_step", "lars_fused_step", "packed_add", "sgd_fused_step", "split_float_bfloat16",
           "sync_master_weight_to_bf16", "sync_master_weight_to_fp16"]


def _flag(group: Group, name: str) -> float:
    return 1.0 if group.get(name) else 0.0


def _momentum(group: Group):
    return ("momentum_buffer",) if group["momentum"] else ()


class SGD(FusedSteps, torch.optim.SGD):
    __doc__ = torch.optim.SGD.__doc__
    RULE = Rule("sgd", lambda g: (g["lr"], g["momentum"], g["dampening"], _flag(g, "nesterov"), g["weight_decay"],
                                  _flag(g, "maximize")), _momentum, counts_steps=False)


def _adam_settings(group: Group):
    return (group["lr"], *group["betas"], group["eps"], group["weight_decay"], _flag(group, "amsgrad"),
            _flag(group, "maximize"))


def _adam_states(group: Group):
    return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")


class Adam(FusedSteps, torch.optim.Adam):
    __doc__ = torch.optim.Adam.__doc__
    RULE = Rule("adam", _adam_settings, _adam_states)


class AdamW(FusedSteps, torch.optim.AdamW):
    __doc__ = torch.optim.AdamW.__doc__
    RULE = Rule("adamw", _adam_settings, _adam_states)


class Adagrad(FusedSteps, torch.optim.Adagrad):
    __doc__ = torch.optim.Adagrad.__doc__
    RULE = Rule("adagrad", lambda g: (g["lr"], g["lr_decay"], g["weight_decay"], g["eps"], _flag(g, "maximize")),
                lambda g: ("sum",), first={"sum": lambda g: float(g["initial_accumulator_value"])})


def _rmsprop_states(group: Group):
    return ("square_avg",) + (("grad_avg",) if group["centered"] else ()) + _momentum(group)


class RMSprop(FusedSteps, torch.optim.RMSprop):
    __doc__ = torch.optim.RMSprop.__doc__
    RULE = Rule("rmsprop", lambda g: (g["lr"], g["alpha"], g["eps"], g["weight_decay"], g["momentum"],
                                      _flag(g, "centered"), _flag(g, "maximize")), _rmsprop_states)


class NAdam(FusedSteps, torch.optim.NAdam):
    __doc__ = torch.optim.NAdam.__doc__
    RULE = Rule("nadam", lambda g: (g["lr"], *g["betas"], g["eps"], g["weight_decay"], g["momentum_decay"],
                                    _flag(g, "decoupled_weight_decay"), _flag(g, "maximize")),
                lambda g: ("exp_avg", "exp_avg_sq", "mu_product"), first={"mu_product": lambda g: 1.0},
                numbers=("mu_product",))


class RAdam(FusedSteps, torch.optim.RAdam):
    __doc__ = torch.optim.RAdam.__doc__
    RULE = Rule("radam", lambda g: (g["lr"], *g["betas"], g["eps"], g["weight_decay"],
                                    _flag(g, "decoupled_weight_decay"), _flag(g, "maximize")),
                lambda g: ("exp_avg", "exp_avg_sq"))


class Adamax(FusedSteps, torch.optim.Adamax):
    __doc__ = torch.optim.Adamax.__doc__
    RULE = Rule("adamax", lambda g: (g["lr"], *g["betas"], g["eps"], g["weight_decay"], _flag(g, "maximize")),
                lambda g: ("exp_avg", "exp_inf"))


def _check(valid: bool, name: str, value: Any) -> None:
    if not valid:
        raise ValueError(f"Invalid {name}: {value}")


def _check_betas(betas) -> None:
    for index, beta in enumerate(betas):
        _check(0.0 <= beta < 1.0, f"beta parameter at index {index}", beta)


class Lion(FusedSteps, Optimizer):
    """Steps by the sign of a momentum: X. Chen et al., Symbolic discovery of optimization algorithms, 2023."""
    RULE = Rule("lion", lambda g: (g["lr"], *g["betas"], g["weight_decay"], _flag(g, "maximize")),
                lambda g: ("exp_avg",), counts_steps=False)

    def __init__(self, params, lr: float = 1e-4, betas=(0.9, 0.99), weight_decay: float = 0.0, *,
                 maximize: bool = False):
        _check(lr >= 0, "learning rate", lr)
        _check_betas(betas)
        _check(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))


class Lamb(FusedSteps, Optimizer):
    """LAMB, in the form and with the arguments of Intel Extension for PyTorch: Y. You et al., Large batch optimization
    for deep learning, 2019. The further arguments give apex's FusedLAMB, which has adam_w_mode True and use_nvlamb
    False; its max_grad_norm is the max_norm of step()."""
    RULE = Rule("lamb", lambda g: (g["lr"], *g["betas"], g["eps"], g["weight_decay"], _flag(g, "bias_correction"),
                                   _flag(g, "adam_w_mode"), _flag(g, "grad_averaging"), _flag(g, "use_nvlamb"),
                                   _flag(g, "maximize")), lambda g: ("exp_avg", "exp_avg_sq"))

    def __init__(self, params, lr: float = 1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 fused: bool = True, *, bias_correction: bool = True, adam_w_mode: bool = True,
                 grad_averaging: bool = True, use_nvlamb: bool = True, maximize: bool = False):
        _check(lr >= 0, "learning rate", lr)
        _check(eps >= 0, "epsilon value", eps)
        _check_betas(betas)
        _check(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=fused,
                                      bias_correction=bias_correction, adam_w_mode=adam_w_mode,
                                      grad_averaging=grad_averaging, use_nvlamb=use_nvlamb, maximize=maximize))


class Lars(FusedSteps, Optimizer):
    """LARS, with the arguments of Intel Extension for PyTorch: Y. You et al., Large batch training of convolutional
    networks, 2017. A group with lars=False takes plain steps, without decay."""
    RULE = Rule("lars", lambda g: (g["lr"], g["momentum"], g["eeta"], g["weight_decay"], g["epsilon"],
                                   _flag(g, "lars"), _flag(g, "maximize")), _momentum, counts_steps=False)

    def __init__(self, params, lr: float = 1e-3, momentum: float = 0, eeta: float = 1e-3, weight_decay: float = 0,
                 epsilon: float = 0.0):
        _check(isinstance(lr, float) and lr >= 0, "learning rate", lr)
        _check(momentum >= 0, "momentum value", momentum)
        _check(weight_decay >= 0, "weight_decay value", weight_decay)
        _check(0 < eeta <= 1, "eeta value", eeta)
        _check(epsilon >= 0, "epsilon value", epsilon)
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, eeta=eeta, epsilon=epsilon,
                                      lars=True))


_NO_MOMENTS = torch.empty(0)  # a vector has moments of its elements alone


class Adafactor(getattr(torch.optim, "Adafactor", Optimizer)):
    """Adafactor, with the arguments and states of torch.optim.Adafactor, which came with torch 2.5: N. Shazeer and
    M. Stern, Adafactor: adaptive learning rates with sublinear memory cost, 2018. BF16 parameters are the upper halves
    of FP32 numbers whose lower halves are in the state, as with the other optimizers here."""

    def __init__(self, params, lr=1e-2, beta2_decay: float = -0.8, eps=(None, 1e-3), d: float = 1.0,
                 weight_decay: float = 0.0, *, foreach: Optional[bool] = None, maximize: bool = False):
        _check(lr >= 0, "learning rate", lr)
        _check(beta2_decay <= 0, "beta2_decay (at most 0)", beta2_decay)
        _check(eps[0] is None or eps[0] >= 0, "epsilon1", eps[0])
        _check(eps[1] >= 0, "epsilon2", eps[1])
        _check(d >= 1, "clipping threshold d (at least 1)", d)
        _check(weight_decay >= 0, "weight_decay value", weight_decay)
        Optimizer.__init__(self, params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                              foreach=foreach, maximize=maximize))

    @torch.no_grad()
    def step(self, closure=None):
        """Does a step of all parameters that have a gradient; `closure` evaluates the model anew and returns the loss,
        which is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group, [parameter for parameter in group["params"] if parameter.grad is not None])
        return loss

    def _step_group(self, group: Group, parameters) -> None:
        for parameter in parameters:
            if parameter.grad.is_sparse:
                raise RuntimeError("Adafactor does not support sparse gradients")
            if parameter.dtype not in (torch.float32, torch.bfloat16):
                raise RuntimeError(f"Adafactor steps FP32 and BF16 parameters, not such of {parameter.dtype}.")
        least, eps2 = group["eps"]
        least = torch.finfo(torch.float32).eps if least is None else least
        settings = [float(value) for value in (group["lr"], group["beta2_decay"], least, eps2, group["d"],
                                               group["weight_decay"], group["maximize"])]
        wide, moments, counts = [], [], []
        for parameter in parameters:
            state = self.state[parameter]
            self._begin(state, parameter)
            state["step"] += 1
            counts.append(int(state["step"]))
            both = (state["row_var"], state["col_var"]) if parameter.dim() > 1 else (state["variance"], _NO_MOMENTS)
            moments += both
            split = parameter.dtype == torch.bfloat16
            wide.append(cat_bfloat16_float(parameter, state["bf16_trail"]) if split else parameter)
        gradients = [parameter.grad.float() for parameter in parameters]
        torch.ops.ipex_studio.adafactor_step(settings, wide, gradients, moments, counts)
        for parameter, number in zip(parameters, wide):
            if number is not parameter:
                upper, lower = split_float_bfloat16(number)
                parameter.copy_(upper)
                self.state[parameter]["bf16_trail"] = lower

    @staticmethod
    def _begin(state: Dict[str, Any], parameter: torch.Tensor) -> None:
        """Gives a parameter the states that it lacks, all of them or the lower halves alone."""
        split = parameter.dtype == torch.bfloat16
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            if parameter.dim() > 1:
                state["row_var"] = torch.zeros(*parameter.shape[:-1], 1, dtype=torch.float32)
                state["col_var"] = torch.zeros(*parameter.shape[:-2], 1, parameter.shape[-1], dtype=torch.float32)
            else:
                state["variance"] = torch.zeros(parameter.shape, dtype=torch.float32)
        if split and "bf16_trail" not in state:
            state.update({key: value.float() for key, value in state.items() if isinstance(value, torch.Tensor)})
            state["bf16_trail"] = torch.zeros_like(parameter)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """As torch's, but moments of BF16 parameters keep their own precision."""
        super().load_state_dict(state_dict)
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        for number, parameter in zip(saved, (one for group in self.param_groups for one in group["params"])):
            for key, value in state_dict["state"].get(number, {}).items():
                if isinstance(value, torch.Tensor):
                    self.state[parameter][key] = value.clone()


_NORMS = (nn.LayerNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def create_optimizer_lars(model: nn.Module, lr: float, momentum: float, weight_decay: float, bn_bias_separately: bool,
                          epsilon: float) -> Lars:
    """A Lars of a model; with bn_bias_separately, normalization layers and biases are in groups of their own, which
    take plain steps without decay."""
    settings = dict(lr=lr, momentum=momentum, weight_decay=weight_decay, epsilon=epsilon)
    if not bn_bias_separately:
        return Lars(model.parameters(), **settings)
    norms = {id(p): p for module in model.modules() if isinstance(module, _NORMS) for p in module.parameters(False)}
    biases = {id(p): p for name, p in model.named_parameters() if "bias" in name and id(p) not in norms}
    rest = [p for p in model.parameters() if id(p) not in norms and id(p) not in biases]
    return Lars([dict(params=rest), dict(params=list(norms.values()), weight_decay=0, lars=False),
                 dict(params=list(biases.values()), lars=False)], **settings)


_COUNTERPARTS: Dict[type, type] = {kind.__mro__[2]: kind
                                   for kind in (SGD, Adam, AdamW, Adagrad, RMSprop, NAdam, RAdam, Adamax)}
if hasattr(torch.optim, "Adafactor"):
    _COUNTERPARTS[torch.optim.Adafactor] = Adafactor


def fused(optimizer: Optimizer) -> Optimizer:
    """The optimizer itself, which from now on has fused steps if it is one of torch's; others stay, which is logged."""
    if isinstance(optimizer, (FusedSteps, Adafactor)):
        return optimizer
    kind = _COUNTERPARTS.get(type(optimizer))
    why = "there is no fused one" if kind is None else _why_not(optimizer)
    if why:
        logger.warning("%s keeps torch's own step: %s.", type(optimizer).__name__, why)
        return optimizer
    counted = optimizer.__dict__.pop("step", None)
    optimizer.__class__ = kind
    patch = getattr(optimizer, "_patch_step_function", None) or getattr(optimizer, "_hook_for_profile", None)
    if patch is not None:
        patch()  # hooks and profiles of steps
    if counted is not None:
        optimizer.step = _counted_step(optimizer, counted)
    optimizer.params_attr = {}
    return optimizer


def _why_not(optimizer: Optimizer) -> Optional[str]:
    if any(group.get("capturable") or group.get("differentiable") for group in optimizer.param_groups):
        return "capturable or differentiable is set"
    own = optimizer.__dict__.get("step")
    if own is not None and not hasattr(own, "_with_counter") and not hasattr(own, "_wrapped_by_lr_sched"):
        return "its step was replaced"
    return None


def _counted_step(optimizer: Optimizer, old):
    """What a scheduler of learning rates puts in the place of step, to see that steps are done, around the new one."""

    def step(*args, **kwargs):
        optimizer._step_count = getattr(optimizer, "_step_count", 0) + 1
        optimizer._opt_called = True
        return type(optimizer).step(optimizer, *args, **kwargs)

    step.__dict__.update(old.__dict__)
    return step
