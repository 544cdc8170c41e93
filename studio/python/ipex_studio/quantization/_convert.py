"""prepare() and convert(), and what models are between and after them."""
import functools
import itertools
import os
from typing import Any, Dict, Optional, Tuple, Union

import torch

from .._fold import CONVOLUTIONS, LINEARS, fold_batch_norm
from .._forms import UnknownForm, put_together
from .._log import logger
from .._patched import patch, role, shadow_of
from .._training import copy_model
from ..errors import Error
from . import _calibrate
from ._mappings import Settings, read_configure
from ._models import Quantization, arguments_of, flat
from ._weight_only import WeightOnlyQuantizedLinear

_numbers = itertools.count()
_PREPARED, _CONVERTED = "calibrated", "quantized"


def prepare(model: torch.nn.Module, configure: Any, example_inputs: Any = None, inplace: bool = False,
            bn_folding: bool = True, example_kwarg_inputs: Optional[Dict[str, Any]] = None) -> torch.nn.Module:
    """A copy of a model, in eval mode, that observes its values in each call, for convert().

    `configure`: a QConfigMapping, or a qconfig; the mappings of this package are static, dynamic, SmoothQuant and weight
    only. A module or kind of layer whose qconfig is None stays in FP32. `example_inputs`: a tensor, or a tuple or list of
    arguments; with or without `example_kwarg_inputs`, arguments by name. Static quantization needs either.

    The prepared model has save_qconf_summary(qconf_summary=path) and load_qconf_summary(qconf_summary=path).
    """
    settings = read_configure(configure)
    assert settings.mode != "static" or example_inputs is not None or example_kwarg_inputs, \
        "Static quantization needs example_inputs, or example_kwarg_inputs."
    return prepare_by(settings, model, example_inputs, inplace, bn_folding, example_kwarg_inputs)


def prepare_by(settings: Settings, model: torch.nn.Module, example_inputs: Any = None, inplace: bool = False,
               bn_folding: bool = True, example_kwarg_inputs: Optional[Dict[str, Any]] = None) -> torch.nn.Module:
    """prepare() with settings; those of the first call stand in for examples that are not given."""
    if isinstance(model, torch.jit.ScriptModule):
        raise Error("prepare() takes a torch.nn.Module; ipex_studio.quantize() takes modules of TorchScript.", exit_code=2)
    prepared = model if inplace else copy_model(model)[0]
    if prepared.training:
        logger.warning("%s was in training mode, and is quantized in eval mode.", type(model).__name__)
        prepared.eval()
    if bn_folding:
        try:
            for kinds in (CONVOLUTIONS, LINEARS):
                fold_batch_norm(prepared, kinds)
        except Exception as problem:  # tracing runs any code of a model's author
            logger.warning("Batch normalization is not folded: %s", problem)
    patch(prepared, _PREPARED)
    prepared.__dict__["_ipex_quantization"] = quantization = Quantization(settings)
    if settings.mode != "weight-only" and (example_inputs is not None or example_kwarg_inputs):
        args = example_inputs if isinstance(example_inputs, (tuple, list)) else \
            () if example_inputs is None else (example_inputs,)
        kwargs = dict(example_kwarg_inputs or {})
        if isinstance(example_inputs, dict):
            args, kwargs = (), {**example_inputs, **kwargs}
        quantization.begin(prepared, *flat(tuple(args), kwargs))
    return prepared


def convert(model: torch.nn.Module, *args, **kwargs) -> torch.nn.Module:
    """A prepared model in INT8: convert(prepared, inplace=False).

    It runs by plans that compute in integers; torch.jit.trace writes it down in PyTorch's own operators.

    convert(model, conf, inputs), with a QuantConf, is that of earlier versions: it takes a model that was not prepared,
    and returns the traced and frozen module. `inputs`: a tensor, or a tuple of arguments.
    """
    if isinstance(args[0] if args else kwargs.get("conf"), _calibrate.QuantConf):
        return _calibrate.convert_by_conf(model, *args, **kwargs)
    return _convert(model, *args, **kwargs)


def _convert(model: torch.nn.Module, inplace: bool = False) -> torch.nn.Module:
    quantization = model.__dict__.get("_ipex_quantization")
    if type(model).__dict__.get("_ipex_role") != _PREPARED or quantization is None:
        raise AssertionError("Please do prepare the model before doing convert")
    if quantization.settings.mode == "static":
        if not quantization.begun:
            raise Error("Nothing was calibrated: run the prepared model on some samples before it is converted.", exit_code=2)
        quantization = quantization.frozen()
    converted = model if inplace else shadow_of(model)
    if inplace:
        converted.__class__ = type(model)._ipex_base
    if quantization.settings.mode == "weight-only":
        converted.__dict__.pop("_ipex_quantization", None)
        return _with_packed_weights(converted, quantization.settings)
    if quantization.settings.mode == "dynamic" and _takes_dynamic_layers(converted):
        converted.__dict__.pop("_ipex_quantization", None)
        return _with_dynamic_layers(converted, quantization.settings)
    patch(converted, _CONVERTED)
    converted.__dict__["_ipex_quantization"] = quantization
    return converted


def _takes_dynamic_layers(model: torch.nn.Module) -> bool:
    """True if PyTorch's own dynamic layers can stand in the model."""
    return torch.backends.quantized.engine != "none" and type(model) is not torch.nn.Linear


def _with_dynamic_layers(model: torch.nn.Module, settings: Settings) -> torch.nn.Module:
    """The model with PyTorch's dynamic linear layers, which plans read as integers."""
    linears = [name for name, module in model.named_modules() if type(module) is torch.nn.Linear]
    kept = linears if "linear" in settings.kept_kinds else [name for name in linears if settings.keeps(name)]
    spec = {name: torch.ao.quantization.per_channel_dynamic_qconfig for name in linears if name not in kept}
    return torch.ao.quantization.quantize_dynamic(model, spec, inplace=True) if spec else model


def _with_packed_weights(model: torch.nn.Module, settings: Settings) -> torch.nn.Module:
    """The model with weights of its linear layers as integers."""
    if type(model) is torch.nn.Linear:
        return model if "linear" in settings.kept_kinds else _packed(model, settings)
    made: Dict[torch.nn.Module, torch.nn.Module] = {}  # a layer that is called in several places stays one
    for path, module in list(model.named_modules()):
        for name, child in module._modules.items():
            kept = "linear" in settings.kept_kinds or settings.keeps(f"{path}.{name}" if path else name)
            if type(child) is torch.nn.Linear and not kept:
                made[child] = made.get(child) or _packed(child, settings)
                module._modules[name] = made[child]
    return model


def _packed(linear: torch.nn.Linear, settings: Settings) -> WeightOnlyQuantizedLinear:
    linear.qconfig = settings.weights
    return WeightOnlyQuantizedLinear.from_float(linear)


class _Modules:
    """The modules in INT8 of a converted model, made when they are first called."""

    def __init__(self, quantization: Quantization) -> None:
        self._quantization = quantization
        self._planned = None
        self._stock = None

    def __call__(self, model: torch.nn.Module, args: Tuple, kwargs: Dict[str, Any]) -> Any:
        form, leaves = flat(args, kwargs)
        tracing = torch._C._get_tracing_state()
        # A traced model goes on with what the trace holds, with which torch.jit.trace compares it.
        call = self._stock or (self._planned if tracing is None else None)
        if call is None:
            torch._C._set_tracing_state(None)
            try:
                call = self._make(model, form, leaves, tracing is not None)
            finally:
                torch._C._set_tracing_state(tracing)
        script = self._quantization.script()
        results = call(*arguments_of(script, form, leaves))
        return results if script.result is None else put_together(script.result, iter(results))

    def _make(self, model: torch.nn.Module, form: Tuple, leaves, for_trace: bool):
        self._quantization.begin(model, form, leaves)
        with torch.inference_mode(False), torch.no_grad():
            if not for_trace:
                self._planned = self._quantization.planned()
                return self._planned
            # A function becomes part of a trace; the tracer takes no module that is not the traced model's own.
            graph = self._quantization.portable()._c._get_method("forward").graph.copy()
            graph.eraseInput(0)
            name = f"__torch__.ipex_studio_quantized_{next(_numbers)}"  # a file finds it by a name of its own
            self._stock = torch._C._create_function_from_graph(name, graph)
            return self._stock


@role(_CONVERTED)
def _converted_members(base: type) -> Dict[str, Any]:
    @functools.wraps(base.forward)
    def forward(self, *args, **kwargs):
        modules = self.__dict__.get("_ipex_modules")
        if modules is None:
            modules = self.__dict__["_ipex_modules"] = _Modules(self.__dict__["_ipex_quantization"])
        try:
            return modules(self, args, kwargs)
        except UnknownForm as unknown:
            raise Error(f"{type(self).__name__} in INT8 takes tensors, and lists and dictionaries of them, not {unknown}.",
                        exit_code=2) from unknown

    return {"forward": forward, "_ipex_attributes": ("_ipex_quantization", "_ipex_modules"),
            "_ipex_transient": ("_ipex_modules",)}


@role(_PREPARED)
def _prepared_members(base: type) -> Dict[str, Any]:
    @functools.wraps(base.forward)
    def forward(self, *args, **kwargs):
        results = base.forward(self, *args, **kwargs)
        quantization = self.__dict__["_ipex_quantization"]
        if quantization.settings.mode == "static" and torch._C._get_tracing_state() is None:
            try:
                quantization.observe(self, args, kwargs)
            except UnknownForm as unknown:
                raise Error(f"{type(self).__name__} cannot be calibrated: an argument is {unknown}.",
                            exit_code=2) from unknown
        return results

    def save_qconf_summary(self, qconf_summary: Union[str, "os.PathLike[str]"]) -> None:
        """Writes what was observed as a file that the extension reads, too."""
        _static_of(self)
        quantization = self.__dict__["_ipex_quantization"]
        text = quantization.configuration(as_list=False)
        with open(qconf_summary, "w", encoding="utf-8") as file:
            file.write(text)
        quantization.finish()

    def load_qconf_summary(self, qconf_summary: Union[str, "os.PathLike[str]"]) -> None:
        """Takes what such a file says in place of what was observed, until the next call."""
        quantization = _static_of(self)
        with open(qconf_summary, encoding="utf-8") as file:
            text = file.read()
        previous, quantization.text = quantization.text, text
        quantization.finish()
        if quantization.begun:
            try:
                quantization.recipe_text()  # refuses a file of another model
            except Error:
                quantization.text = previous
                raise

    return {"forward": forward, "save_qconf_summary": save_qconf_summary, "load_qconf_summary": load_qconf_summary,
            "_ipex_attributes": ("_ipex_quantization",), "_ipex_transient": ()}


def _static_of(model: torch.nn.Module) -> Quantization:
    quantization = model.__dict__["_ipex_quantization"]
    if quantization.settings.mode != "static":
        raise Error(f"A model of {quantization.settings.mode} quantization has no ranges to save or load.", exit_code=2)
    return quantization
