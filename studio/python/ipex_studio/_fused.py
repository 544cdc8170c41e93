"""Steps of optimizers by kernels that update all parameters of all groups at once.

A class of ipex_studio.optim is the class of torch.optim with another step(): constructor, groups, schedulers and states
are torch's. States are plain tensors in `state`, with torch's names, so that state_dict goes both ways.
"""
import math
import operator
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from . import _engine  # noqa: F401 - loads the operators
from ._log import logger

Group = Dict[str, Any]
_NONE = torch.empty(0)  # for the kernels: a parameter does not have this
_HALVES = (torch.bfloat16, torch.float16)


class Rule(NamedTuple):
    """How the kernels know an optimizer: kernels/optim/optimizer.h lists names, settings and states."""
    name: str
    settings: Callable[[Group], Tuple[float, ...]]
    states: Callable[[Group], Tuple[str, ...]]  # keys of the state of a parameter, in order
    counts_steps: bool = True  # the state has `step`
    first: Dict[str, Callable[[Group], float]] = {}  # what states begin with, where that is not 0
    numbers: Tuple[str, ...] = ()  # states that are one number


def companion_key(parameter: Tensor, split: bool) -> str:
    """The key of the state that makes an FP32 number of a BF16 or FP16 parameter."""
    return "bf16_trail" if split and parameter.dtype == torch.bfloat16 else "master"


class _Flat:
    """The parameters of an optimizer as lists for the kernels, and what shows whether the lists still hold."""

    def __init__(self, optimizer: "FusedSteps", begun: Iterable[int]):
        self._dicts: List[Dict[str, Any]] = []
        self._keys: List[str] = []
        self._values: List[Any] = []
        rule, begun = optimizer.RULE, set(begun)
        self.fused = torch.classes.ipex_studio.FusedOptimizer(rule.name, optimizer.fast, optimizer.rounded)
        self.groups = [list(group["params"]) for group in optimizer.param_groups]
        self.states = [rule.states(group) for group in optimizer.param_groups]
        self.parameters = [parameter for group in self.groups for parameter in group]
        self.groups_of = [group for group in optimizer.param_groups for _ in group["params"]]
        states: List[Tensor] = []
        companions: List[Tensor] = []
        steps: List[Tensor] = []
        for number, (parameter, group) in enumerate(zip(self.parameters, self.groups_of)):
            own = optimizer.state.get(parameter, {})
            if own and rule.counts_steps and not _is_number(own.get("step")):
                own["step"] = _number(own.get("step", 0))  # older versions of torch count in integers
            states += [self._watched(own, key) for key in rule.states(group)]
            half = parameter.dtype in _HALVES
            companions.append(self._watched(own, companion_key(parameter, optimizer.split)) if half else _NONE)
            step = self._watched(own, "step") if rule.counts_steps else _number(0 if number in begun else 1)
            steps.append(_number(0) if step is _NONE else step)
        self._state_dicts = list(optimizer.state.values())
        self.fused.set(self.parameters, states, companions, steps, [len(group) for group in self.groups])

    def _watched(self, state: Dict[str, Any], key: str) -> Tensor:
        value = state.get(key)
        self._dicts.append(state)
        self._keys.append(key)
        self._values.append(value)
        return value if isinstance(value, Tensor) else _NONE

    def holds(self, optimizer: "FusedSteps") -> bool:
        groups = optimizer.param_groups
        return (len(groups) == len(self.groups)
                and all(_same(group["params"], params) for group, params in zip(groups, self.groups))
                and self.states == [optimizer.RULE.states(group) for group in groups]
                and _same(list(optimizer.state.values()), self._state_dicts)
                and all(map(operator.is_, map(dict.get, self._dicts, self._keys), self._values)))


def _number(value: Any) -> Tensor:
    return torch.tensor(float(value), dtype=torch.float32)


def _is_number(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.float32 and value.numel() == 1


def _same(one: list, other: list) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


class FusedSteps:
    """Gives an optimizer of torch the steps of the kernels. Stands before it among the bases."""

    RULE: Rule
    fused = True
    fast = False  # steps with fewer roundings than torch's, so that bits differ
    split = True  # BF16 parameters: the lower halves of FP32 numbers in the state, not whole ones
    rounded = False  # of split parameters the model sees the nearest BF16, not the one that cutting off gives
    gradient_norm = 0.0
    _flat = None
    _in_backward = False
    _begins = None  # the parameter whose gradient comes first, and the handle of its hook

    @torch.no_grad()
    def step(self, closure=None, *, gradient_scale: float = 1.0, max_norm: float = 0.0, skip_infinite: bool = False):
        """Does a step of all parameters that have a gradient. Gradients are never written.

        closure         evaluates the model anew and returns the loss, which is returned
        gradient_scale  gradients are multiplied by it first: 1 / loss scale
        max_norm        if above 0, gradients are clipped to that norm of them all, as by clip_grad_norm_
        skip_infinite   nothing changes if a gradient is infinite or NaN

        The norm of all gradients stands in `gradient_norm` afterwards if max_norm or skip_infinite ask for it.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        found, scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        if found is not None and float(found):  # torch's GradScaler leaves both to optimizers with fused=True
            return loss
        if scale is not None:
            gradient_scale /= float(scale)
        plain = gradient_scale == 1 and max_norm == 0 and not skip_infinite
        if self._in_backward and not plain:
            raise RuntimeError("Steps within backward take no gradient_scale, max_norm and skip_infinite, since "
                               "gradients are gone by then. Call step_in_backward(False) first.")
        if any(group.get("capturable") or group.get("differentiable") for group in self.param_groups):
            self._stock_step(self._parameters(), plain, "capturable or differentiable is set")
        else:
            self._fused_step(gradient_scale, max_norm, skip_infinite, plain)
        return loss

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """As torch's, but states of BF16 and FP16 parameters keep their own precision."""
        self._flat = None
        super().load_state_dict(state_dict)
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        for number, parameter in zip(saved, self._parameters()):
            if parameter.dtype not in _HALVES:
                continue
            for key, value in state_dict["state"].get(number, {}).items():
                if isinstance(value, Tensor):
                    self.state[parameter][key] = value.clone()

    def __getstate__(self) -> Dict[str, Any]:
        return {**super().__getstate__(), "fast": self.fast, "split": self.split, "rounded": self.rounded}

    def step_in_backward(self, on: bool = True) -> None:
        """Lets backward step each parameter as soon as its gradient is complete, and free the gradient: `grad` is None
        afterwards. One backward is one step, so gradients are not summed up over several. step() is still called after
        it: schedulers want it, and it steps what backward cannot, such as parameters in their first step. States that
        are replaced by hand count from the next step() on.
        """
        self._in_backward, self._flat = on, None  # with its lists go the hooks
        self._watch(None)

    def _watch(self, parameter: Optional[Tensor]) -> None:
        """Lets the gradient of this parameter, the first one of backward, bring the settings, which may have changed
        since the last step. One hook does: a hook of Python's at each gradient takes longer than steps of parameters.
        """
        if self._begins is not None:
            if self._begins[0] is parameter:
                return
            self._begins[1].remove()
            self._begins = None
        if parameter is not None:
            own = weakref.ref(self)
            self._begins = (parameter, parameter.register_hook(lambda _: _send_settings(own())))

    def _parameters(self) -> List[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def _fused_step(self, gradient_scale: float, max_norm: float, skip_infinite: bool, plain: bool) -> None:
        settings = self._settings()
        if self._flat is None or not self._flat.holds(self):
            self._flat = _Flat(self, ())
        norm, lacking, unsuited = self._flat.fused.step(settings, gradient_scale, max_norm, skip_infinite, False)
        begun = lacking + [number for number in unsuited if self._lacks_companion(self._flat.parameters[number])]
        if begun:
            self._begin(begun)
            norm, lacking, unsuited = self._flat.fused.step(settings, gradient_scale, max_norm, skip_infinite, False)
            if lacking:
                sizes = tuple(self._flat.parameters[lacking[0]].shape)
                raise RuntimeError(f"{type(self).__name__} has states of other sizes for a parameter of the sizes "
                                   f"{sizes}; load those of this model.")
        if unsuited:
            self._stock_step([self._flat.parameters[number] for number in unsuited], plain,
                             "gradients are sparse, or dtypes others than FP32, BF16 and FP16")
            self._flat.fused.step(settings, gradient_scale, max_norm, skip_infinite, True)
        if skip_infinite and not math.isfinite(norm) and not self.RULE.counts_steps:
            self._forget([self._flat.parameters[number] for number in begun])
        self.gradient_norm = norm
        if self._in_backward:
            self._prepare_backward()

    def _prepare_backward(self) -> None:
        first = self._flat.fused.after_backward()[1]
        if first >= 0:
            self._watch(self._flat.parameters[first])
        else:
            self._flat.fused.place_hooks()

    def _settings(self) -> List[float]:
        return [float(value) for group in self.param_groups for value in self.RULE.settings(group)]

    def _lacks_companion(self, parameter: Tensor) -> bool:
        return (parameter.dtype in _HALVES and not parameter.grad.is_sparse
                and companion_key(parameter, self.split) not in self.state.get(parameter, {}))

    def _begin(self, numbers: List[int]) -> None:
        """Gives these parameters the states that they lack. States in another precision are converted."""
        rule, flat = self.RULE, self._flat
        begun = []
        for number in numbers:
            parameter, group = flat.parameters[number], flat.groups_of[number]
            state = self.state[parameter]
            if all(state.get(key) is None for key in rule.states(group)):
                begun.append(number)
            if rule.counts_steps and not _is_number(state.get("step")):
                state["step"] = _number(state.get("step", 0))
            for key in rule.states(group):
                state[key] = _begun_state(state.get(key), parameter, rule, group, key)
            if self._lacks_companion(parameter):
                key = companion_key(parameter, self.split)
                state[key] = torch.zeros_like(parameter) if key == "bf16_trail" else parameter.detach().float()
        self._flat = _Flat(self, begun)

    def _forget(self, parameters: List[Tensor]) -> None:
        """Takes back momentum buffers that a step that was skipped has begun: the next one is their first."""
        for parameter in parameters:
            self.state[parameter].pop("momentum_buffer", None)

    def _stock_step(self, parameters: List[Tensor], plain: bool, why: str) -> None:
        """Steps these parameters by torch's own code."""
        name = type(self).__name__
        if super().step.__func__ is torch.optim.Optimizer.step:
            raise RuntimeError(f"{name} has no step for these parameters: {why}.")
        if not plain:
            raise RuntimeError(f"{name} takes no gradient_scale, max_norm and skip_infinite here: {why}.")
        if not self.__dict__.get("_said"):
            self._said = True
            logger.warning("%s steps parameters by torch's own code: %s.", name, why)
        ids, groups = set(map(id, parameters)), self.param_groups
        self.param_groups = [dict(group, params=[one for one in group["params"] if id(one) in ids]) for group in groups]
        try:
            super().step()
        finally:
            self.param_groups = groups


def _send_settings(optimizer: Optional[FusedSteps]) -> None:
    if optimizer is not None and optimizer._flat is not None:
        optimizer._flat.fused.step_in_backward(optimizer._settings())


def _begun_state(value: Any, parameter: Tensor, rule: Rule, group: Group, key: str) -> Tensor:
    if isinstance(value, Tensor):
        return value.float()
    first = rule.first[key](group) if key in rule.first else 0.0
    if key in rule.numbers:
        return _number(first)
    return torch.full_like(parameter, first, dtype=torch.float32, memory_format=torch.preserve_format)
