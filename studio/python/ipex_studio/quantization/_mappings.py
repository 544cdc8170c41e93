"""What a user says about quantization: qconfigs of PyTorch and of the extension, read as settings."""
import collections
import enum
from typing import Any, FrozenSet, NamedTuple, Optional

import torch
from torch.ao.quantization import (HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver,
                                   PlaceholderObserver, QConfig, QConfigMapping, default_dynamic_quant_observer)

from ..errors import Error

_weights = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
default_static_qconfig = QConfig(activation=HistogramObserver.with_args(reduce_range=False), weight=_weights)
default_static_qconfig_mapping = QConfigMapping().set_global(default_static_qconfig)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=_weights)
default_dynamic_qconfig_mapping = QConfigMapping().set_global(default_dynamic_qconfig)

QConfigSmoothQuant = collections.namedtuple(
    "QConfigSmoothQuant", ["activation", "weight", "alpha", "act_ic_observer", "wei_ic_observer", "share_weight_observers"])
QConfigWoq = collections.namedtuple(
    "QConfigWoq", ["activation", "weight", "lowp_mode", "act_quant_mode", "weight_dtype", "group_size",
                   "cache_weight_for_large_batch", "weight_qscheme"])


class WoqWeightDtype(enum.IntEnum):
    """How weights are stored."""
    INT8, INT4, NF4, FP8 = 1, 2, 3, 4


class WoqLowpMode(enum.IntEnum):
    """What products with such weights may compute in."""
    NONE, FP16, BF16, INT8 = 0, 1, 2, 3


class WoqActQuantMode(enum.IntEnum):
    """Which numbers of a product's operand share a scale where it computes in INT8."""
    NONE = -1
    PER_TENSOR, PER_IC_BLOCK, PER_BATCH, PER_BATCH_IC_BLOCK = 0, 1, 2, 3
    PER_TENSOR_SYM, PER_IC_BLOCK_SYM, PER_BATCH_SYM, PER_BATCH_IC_BLOCK_SYM = 4, 5, 6, 7


class WoqWeightQScheme(enum.IntEnum):
    """Whether integers of weights have a zero point."""
    UNDEFINED, ASYMMETRIC, SYMMETRIC = 0, 1, 2


def get_smooth_quant_qconfig_mapping(alpha: Optional[float] = 0.5, act_observer=None, act_ic_observer=None,
                                     wei_observer=None, wei_ic_observer=None,
                                     share_weight_observers: bool = True) -> QConfigMapping:
    """Static quantization in which linear layers take over outlying channels of what they read (SmoothQuant)."""
    if alpha is None or not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a number from 0 to 1, not {alpha}.")
    qconfig = QConfigSmoothQuant(act_observer or MinMaxObserver.with_args(reduce_range=False), wei_observer or _weights,
                                 alpha, act_ic_observer, wei_ic_observer, share_weight_observers)
    return QConfigMapping().set_global(qconfig)


def get_weight_only_quant_qconfig_mapping(*, weight_dtype: int = WoqWeightDtype.INT8, lowp_mode: int = WoqLowpMode.NONE,
                                          act_quant_mode: int = WoqActQuantMode.PER_BATCH_IC_BLOCK_SYM,
                                          group_size: int = -1,
                                          weight_qscheme: int = WoqWeightQScheme.UNDEFINED) -> QConfigMapping:
    """Weights of linear layers as integers, products as sums in FP32.

    `group_size` weights in a row share a scale, -1: all of a row. Weights have zero points unless they are NF4, or INT8 with
    a lowp_mode of INT8, or `weight_qscheme` is SYMMETRIC. The other arguments allow precisions lower than FP32, of which
    none is used.
    """
    if weight_dtype not in (WoqWeightDtype.INT8, WoqWeightDtype.INT4, WoqWeightDtype.NF4):
        raise Error("Weights are stored as INT8, INT4 or NF4: give weight_dtype one of these.", exit_code=5)
    if group_size != -1 and (group_size <= 0 or group_size & (group_size - 1) and group_size % 32 != 0):
        raise ValueError(f"group_size is -1, a power of 2 or a multiple of 32, not {group_size}.")
    symmetric = weight_dtype == WoqWeightDtype.NF4 or \
        weight_dtype == WoqWeightDtype.INT8 and lowp_mode == WoqLowpMode.INT8
    assert not (symmetric and weight_qscheme == WoqWeightQScheme.ASYMMETRIC), \
        "NF4, and INT8 with a lowp_mode of INT8, have symmetric weights."
    if weight_qscheme == WoqWeightQScheme.UNDEFINED:
        weight_qscheme = WoqWeightQScheme.SYMMETRIC if symmetric else WoqWeightQScheme.ASYMMETRIC
    qconfig = QConfigWoq(PlaceholderObserver.with_args(dtype=torch.float32), _weights, WoqLowpMode(lowp_mode),
                         WoqActQuantMode(act_quant_mode), WoqWeightDtype(weight_dtype), group_size, False,
                         WoqWeightQScheme(weight_qscheme))
    return QConfigMapping().set_global(qconfig)


class Settings(NamedTuple):
    """How a model is quantized; `kept_names` and `kept_kinds` are modules and kinds of operations that stay in FP32."""
    mode: str = "static"  # "dynamic", "weight-only"
    observer: str = "auto"
    symmetric: bool = False
    alpha: float = 0.0
    weights: Optional[QConfigWoq] = None  # of "weight-only"
    kept_names: FrozenSet[str] = frozenset()
    kept_kinds: FrozenSet[str] = frozenset()

    def keeps(self, name: str) -> bool:
        """True if the module, or one that it is part of, stays in FP32."""
        return any(name == kept or name.startswith(kept + ".") for kept in self.kept_names)


_KINDS = {torch.nn.Linear: "linear", torch.nn.functional.linear: "linear", torch.nn.Conv1d: "convolution",
          torch.nn.Conv2d: "convolution", torch.nn.Conv3d: "convolution", torch.nn.functional.conv2d: "convolution",
          torch.matmul: "matmul", torch.bmm: "matmul"}
_OBSERVERS = {HistogramObserver: "auto", MinMaxObserver: "min-max", MovingAverageMinMaxObserver: "min-max"}


def read_configure(configure: Any) -> Settings:
    """The settings of a QConfigMapping or qconfig. Raises AssertionError for observers that no kernel follows."""
    kept_names, kept_kinds = frozenset(), frozenset()
    qconfig = configure
    if isinstance(configure, QConfigMapping):
        qconfig = configure.global_qconfig
        kept_names = frozenset(name for name, own in configure.module_name_qconfigs.items() if own is None)
        kept_kinds = frozenset(_KINDS[kind] for kind, own in configure.object_type_qconfigs.items()
                               if own is None and kind in _KINDS)
    if qconfig is None:
        raise AssertionError("The qconfig mapping has no global qconfig: call set_global().")
    if isinstance(qconfig, QConfigWoq):
        return Settings("weight-only", weights=qconfig, kept_names=kept_names, kept_kinds=kept_kinds)
    activation, weight = qconfig.activation(), qconfig.weight()
    assert not isinstance(weight, PlaceholderObserver) and weight.dtype == torch.qint8, \
        "Weights are quantized to torch.qint8: give the qconfig an observer of that dtype."
    if isinstance(activation, PlaceholderObserver):
        return Settings("dynamic", kept_names=kept_names, kept_kinds=kept_kinds)
    observer = next((name for kind, name in _OBSERVERS.items() if type(activation) is kind), None)
    assert observer is not None, \
        f"Activations are observed by HistogramObserver or MinMaxObserver, not by {type(activation).__name__}."
    symmetric = activation.qscheme == torch.per_tensor_symmetric
    return Settings("static", observer, symmetric, float(getattr(qconfig, "alpha", 0.0)), kept_names=kept_names,
                    kept_kinds=kept_kinds)
