"""A model in INT8: what was observed of it, and the modules of TorchScript that a recipe makes of it."""
import copy
import io
import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from .. import _engine
from .._forms import put_together, take_apart, without_sizes
from .._patched import shadow_of
from .._plans import Call, CannotPlan, run_once, trace
from ..errors import Error
from ._mappings import Settings


class Script(NamedTuple):
    """A model as TorchScript for one form of arguments."""
    module: torch.jit.ScriptModule
    result: Optional[Tuple]  # the form of what it returns, whose tensors it gives; None: it returns that itself


def flat(args: Tuple, kwargs: Dict[str, Any]) -> Tuple[Tuple, List[torch.Tensor]]:
    """The form of arguments, and their tensors."""
    leaves: List[torch.Tensor] = []
    return take_apart((args, kwargs), leaves), leaves


def _takes_tensors_alone(form: Tuple) -> bool:
    (_, _, (args, kwargs)) = form
    return not kwargs[2] and all(part[0] == "tensor" for part in args[2])


def script_of(model: torch.nn.Module, form: Tuple, leaves: List[torch.Tensor]) -> Script:
    """The model as a module of its tensors. Raises Error where a trace would be wrong for other values."""
    if isinstance(model, torch.jit.ScriptModule):
        return Script(model, None)
    if model.training:
        raise Error(f"{type(model).__name__} is in training mode: call eval() before it is quantized.", exit_code=2)
    shadow = shadow_of(model)
    inputs = [leaf.detach().clone() for leaf in leaves]
    try:
        if _takes_tensors_alone(form):
            return Script(trace(shadow, inputs)[0], None)
        _, result = run_once(shadow, form, inputs)
        return Script(trace(Call(shadow, form), inputs)[0], result)
    except CannotPlan as reason:
        raise Error(f"{type(model).__name__} cannot be quantized: {reason}.", exit_code=3) from reason


def arguments_of(script: Script, form: Tuple, leaves: List[torch.Tensor]) -> Tuple:
    """What the module of a script is called with."""
    if script.result is not None or _takes_tensors_alone(form):
        return tuple(leaves)
    args, _ = put_together(form, iter(leaves))
    return tuple(args)


class Quantization:
    """Calibration of a model, and its modules in INT8. Made for the form of arguments that it sees first."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.text: Optional[str] = None  # of a configuration that stands in place of what was observed
        self.recipe: Optional[str] = None  # that convert() goes by
        self._form: Optional[Tuple] = None  # without sizes
        self._script: Optional[Script] = None
        self._quantizer: Optional[_engine.Quantizer] = None
        self._finished = False  # the next call begins a calibration of its own

    def __deepcopy__(self, memo) -> "Quantization":
        return copy.copy(self)  # the engine's part cannot be copied: copies of a prepared model observe together

    def begin(self, model: torch.nn.Module, form: Tuple, leaves: List[torch.Tensor]) -> None:
        """Prepares for calls of this form. Raises Error for another one than at first."""
        if self._form is not None:
            if without_sizes(form) != self._form:
                raise Error(f"{type(model).__name__} was calibrated with arguments of other types than these: quantize a "
                            "copy for each.", exit_code=2)
            return
        with torch.inference_mode(False), torch.no_grad():
            script = script_of(model, form, leaves)
            example = tuple(leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf
                            for leaf in arguments_of(script, form, leaves))
            self._quantizer = _engine.Quantizer(script.module._c, example, self.settings.observer, self.settings.alpha)
        self._script, self._form = script, without_sizes(form)

    def finish(self) -> None:
        """Ends a calibration: what was observed stays, until another call."""
        self._finished = True

    def frozen(self) -> "Quantization":
        """One of the same recipe, whatever is observed later."""
        result = copy.copy(self)
        result.recipe = self.recipe_text()
        return result

    @property
    def has_observed(self) -> bool:
        """True if a calibration is under way that has seen a call."""
        return self.calls > 0 and not self._finished

    @property
    def begun(self) -> bool:
        return self._form is not None

    @property
    def products(self) -> List[str]:
        """Names of what may be computed in INT8."""
        return self._quantizer.products

    @property
    def calls(self) -> int:
        return 0 if self._quantizer is None else self._quantizer.calls

    def observe(self, model: torch.nn.Module, args: Tuple, kwargs: Dict[str, Any]) -> None:
        form, leaves = flat(args, kwargs)
        if self._finished:
            self._form, self.text, self._finished = None, None, False
        self.begin(model, form, leaves)
        self._quantizer.observe(arguments_of(self._script, form, [leaf.detach() for leaf in leaves]))

    def configuration(self, as_list: bool) -> str:
        """The configuration file: the list of 1.10, or the dictionary of 2.x, which holds the whole recipe, too."""
        recipe = self.recipe_text()
        text = self._quantizer.configuration(recipe, as_list)
        if as_list:
            return text
        data = json.loads(text)
        next(iter(data.values()))["ipex_studio"] = json.loads(recipe)
        return json.dumps(data, indent=4)

    def recipe_text(self) -> str:
        """The recipe that the model is converted by. Raises Error if nothing was observed."""
        if self.recipe is not None:
            return self.recipe
        if self.settings.mode != "static":
            return json.dumps({"format": "ipex-studio-recipe", "version": 1, "mode": self.settings.mode, "values": [],
                               "nodes": []})
        if self.text is not None:
            observed = _embedded(self.text)
            return self._edited(self._quantizer.read(self.text, observed, "the configuration"), symmetric=False)
        if self.calls == 0:
            raise Error("Nothing was calibrated: run the prepared model on some samples before it is converted.", exit_code=2)
        return self._edited(self._quantizer.recipe(), self.settings.symmetric)

    def _edited(self, text: str, symmetric: bool) -> str:
        settings = self.settings
        if not (symmetric or settings.kept_names or settings.kept_kinds):
            return text
        recipe = json.loads(text)
        for value in recipe["values"] if symmetric else ():
            reach = max(abs(value["low"]), abs(value["high"]))
            if reach > 0:
                value.update(low=-reach, high=reach, scale=reach / 127.5, zero_point=128)
        for node in recipe["nodes"]:
            if settings.keeps(node["module"]) or node["kind"] in settings.kept_kinds:
                node.update(precision="fp32", reason="its qconfig is None")
        return json.dumps(recipe)

    def planned(self) -> Callable:
        """Calls of arguments_of(): by plans that compute in INT8."""
        return torch.jit._recursive.wrap_cpp_module(self._quantizer.planned(self.recipe_text()))

    def portable(self) -> torch.jit.ScriptModule:
        """The module in PyTorch's own operators, as it is loaded from its file."""
        return torch.jit.load(io.BytesIO(self._quantizer.portable(self.recipe_text())))

    def script(self) -> Script:
        return self._script


def _embedded(text: str) -> str:
    """The recipe that a file of ours holds beside what the extension reads; "" if there is none."""
    try:
        modules = list(json.loads(text).values())
        return json.dumps(next(module["ipex_studio"] for module in modules if "ipex_studio" in module))
    except (ValueError, AttributeError, TypeError, StopIteration):
        return ""
