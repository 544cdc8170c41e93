"""QuantConf and calibrate(): static quantization of a model that was not prepared."""
import contextlib
import functools
import json
import os
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple, Union

import torch

from .._forms import UnknownForm
from ..errors import Error
from ._call_order import CallOrder
from ._mappings import Settings
from ._models import Quantization, flat

AnyPath = Union[str, "os.PathLike[str]"]


class QuantConf:
    """Ranges of a model's values: from calibrate(), or from a file of either generation.

    `qscheme`: torch.per_tensor_affine, or torch.per_tensor_symmetric for ranges of equal reach on both sides of zero.
    """

    def __init__(self, configure_file: Optional[AnyPath] = None, qscheme: torch.qscheme = torch.per_tensor_affine) -> None:
        assert qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric), \
            "qscheme is torch.per_tensor_affine or torch.per_tensor_symmetric."
        self.qscheme = qscheme
        self._text: Optional[str] = None
        self._watched: List["_Watched"] = []
        if configure_file is not None:
            with open(configure_file, encoding="utf-8") as file:
                self._text = file.read()

    def save(self, configure_file: AnyPath, default_recipe: bool = True) -> None:
        """Writes the ranges as the list that versions before 1.12 read.

        `default_recipe` is taken here as well as by calibrate(), and changes nothing: which operations pass integers on
        to others is found from their costs when the model is converted.
        """
        text = self._configuration()
        with open(configure_file, "w", encoding="utf-8") as file:
            file.write(text)

    def _configuration(self) -> str:
        quantized = [watched for watched in self._watched if watched.quantization.products]
        if not quantized:
            if self._text is None:
                raise Error("Nothing was calibrated: call a model within ipex_studio.quantization.calibrate(conf), or give "
                            "QuantConf a file.", exit_code=2)
            return self._text
        if len(quantized) > 1:
            raise Error(f"{' and '.join(watched.name for watched in quantized)} were calibrated with one QuantConf: give "
                        "each its own.", exit_code=2)
        return quantized[0].quantization.configuration(as_list=True)

    def _observe(self, module: torch.nn.Module, args: Tuple, kwargs: Dict[str, Any], order: List[str]) -> None:
        watched = next((known for known in self._watched if known.module() is module), None)
        if watched is None:
            settings = Settings(symmetric=self.qscheme == torch.per_tensor_symmetric)
            watched = _Watched(module, Quantization(settings), order)
            try:
                watched.quantization.begin(module, *flat(args, kwargs))
            except UnknownForm as unknown:
                raise Error(f"{watched.name} cannot be calibrated: an argument is {unknown}.", exit_code=2) from unknown
            self._watched.append(watched)
        watched.check(order)
        watched.quantization.observe(module, args, kwargs)


class _Watched:
    """A module that was called while a QuantConf watched."""

    def __init__(self, module: torch.nn.Module, quantization: Quantization, order: List[str]) -> None:
        self.module = weakref.ref(module)
        self.name = type(module).__name__
        self.quantization = quantization
        self._order = order

    def check(self, order: List[str]) -> None:
        """Raises Error for a call whose operators are not those of the first."""
        for index, (first, now) in enumerate(zip(self._order + [None], order + [None])):
            if first != now:
                raise Error(f"{self.name} ran other operators than in its first call: operator {index} is "
                            f"{now or 'missing'}, and was {first or 'missing'}. A model that chooses by values cannot be "
                            "calibrated.", exit_code=2)


class calibrate(contextlib.ContextDecorator):  # pylint: disable=invalid-name # by the extension's name
    """A context, or decorator, in which each call of a model is observed.

        with torch.no_grad(), calibrate(conf):
            for x in data:
                model(x)

    Results are those of the model. Modules without convolutions and products pass unobserved.
    """

    def __init__(self, conf: QuantConf, default_recipe: bool = True) -> None:
        if not isinstance(conf, QuantConf):
            raise TypeError(f"calibrate() takes a QuantConf, not a {type(conf).__name__}.")
        self.conf = conf
        self._stock = None

    def __enter__(self) -> QuantConf:
        if self._stock is not None:
            raise RuntimeError("This calibrate() is entered already.")
        if getattr(torch.nn.Module.__call__, "_ipex_calibrates", False):
            raise Error("A calibrate() is inside of another one.", exit_code=2)
        self._stock = torch.nn.Module.__call__
        torch.nn.Module.__call__ = _watching(self._stock, self.conf)
        return self.conf

    def __exit__(self, *problem) -> None:
        torch.nn.Module.__call__, self._stock = self._stock, None


def _watching(stock, conf: QuantConf):
    """torch.nn.Module.__call__ with the outermost calls of modules observed."""
    inside = threading.local()

    @functools.wraps(stock)
    def call(module, *args, **kwargs):
        if getattr(inside, "is_true", False) or torch._C._get_tracing_state() is not None:
            return stock(module, *args, **kwargs)
        inside.is_true = True
        try:
            with CallOrder() as order:
                results = stock(module, *args, **kwargs)
            if order.multiplies or isinstance(module, torch.jit.ScriptModule):  # whose products the mode may not see
                conf._observe(module, args, kwargs, order.names)
            return results
        finally:
            inside.is_true = False

    call._ipex_calibrates = True
    return call


def convert_by_conf(model: torch.nn.Module, conf: QuantConf, inputs: Any) -> torch.jit.ScriptModule:
    """The model in INT8, traced with `inputs` and frozen."""
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    quantization = Quantization(Settings())
    quantization.begin(model, *flat(args, {}))
    quantization.text = conf._configuration()
    return quantization.portable()
