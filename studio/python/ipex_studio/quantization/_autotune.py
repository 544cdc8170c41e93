"""autotune(): the recipe with the most of a model in INT8 that keeps its accuracy."""
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .._log import logger
from .._patched import shadow_of
from ..errors import Error
from ._convert import convert, prepare_by
from ._mappings import Settings

_SETTINGS = (Settings(observer="auto"), Settings(observer="min-max"))
_ALPHAS = (0.5, 0.65, 0.8)  # of SmoothQuant where "auto" is asked for


def autotune(model: torch.nn.Module, calib_dataloader: Any, calib_func: Optional[Callable] = None,
             eval_func: Optional[Callable] = None, op_type_dict: Optional[Dict] = None,
             smoothquant_args: Optional[Dict[str, Any]] = None, sampling_sizes: Optional[List[int]] = None,
             accuracy_criterion: Optional[Dict[str, float]] = None, tuning_time: float = 0) -> torch.nn.Module:
    """A prepared model whose conversion keeps the accuracy that eval_func(model) measures, for convert().

    Tries `sampling_sizes` (numbers of samples; [100]) of `calib_dataloader` with each observer; then keeps layers in FP32,
    those first whose rounding changes the results most, until `accuracy_criterion` holds: {"relative": 0.01}, as at
    first, or {"absolute": …}. `op_type_dict`: kinds of layers, {nn.Linear: …}, whose "weight" or "activation" has
    "dtype" ["fp32"] stay in FP32. `smoothquant_args`: {"alpha": a number, a list of them to try, or "auto"}. `calib_func(prepared)` may run the samples itself. A sample is a tensor, (tensor, label), or a
    dict of arguments. `tuning_time` seconds at most, 0: as long as it takes; then, and without any that holds, the best
    comes back, and a warning says so.
    """
    (criterion, allowed), = (accuracy_criterion or {"relative": 0.01}).items()
    if criterion not in ("relative", "absolute"):
        raise ValueError(f"accuracy_criterion is 'relative' or 'absolute', not {criterion!r}.")
    samples = _samples(calib_dataloader)
    if not samples:
        raise Error("The data loader is empty: give it at least one sample.", exit_code=2)
    end = time.monotonic() + tuning_time if tuning_time > 0 else float("inf")
    search = _Search(model.eval(), samples, calib_func, eval_func, end)
    search.wanted = search.accuracy(model) if eval_func else None
    if search.wanted is not None:
        search.wanted -= allowed * (search.wanted if criterion == "relative" else 1)
    sizes = sampling_sizes or [100]
    for size in sizes:
        for settings in _settings(op_type_dict, smoothquant_args):
            if search.attempt(size, settings):
                return search.best
    search.keep_layers(sizes[-1])
    if search.found < search.wanted:
        logger.warning("autotune() found nothing that keeps the accuracy: the best has %.6g of the %.6g asked for.",
                       search.found, search.wanted)
    return search.best


def _settings(op_type_dict: Optional[Dict], smoothquant_args: Optional[Dict[str, Any]]) -> List[Settings]:
    """What is tried, in order."""
    kept = frozenset(_kind_of(kind) for kind, own in (op_type_dict or {}).items()
                     if any(side.get("dtype") in (["fp32"], "fp32") for side in own.values()))
    if not smoothquant_args:
        return [settings._replace(kept_kinds=kept) for settings in _SETTINGS]
    alpha = smoothquant_args.get("alpha", 0.5)
    alphas = _ALPHAS if alpha == "auto" else alpha if isinstance(alpha, (list, tuple)) else (alpha,)
    return [Settings(observer="min-max", alpha=float(value), kept_kinds=kept) for value in alphas]


def _kind_of(kind: Any) -> str:
    name = (kind if isinstance(kind, str) else kind.__name__).lower()
    return "convolution" if "conv" in name else "linear" if "linear" in name else name


class _Search:
    def __init__(self, model, samples, calib_func, eval_func, end: float) -> None:
        self.model, self.samples, self.calib_func, self.eval_func, self.end = model, samples, calib_func, eval_func, end
        self.wanted: Optional[float] = None
        self.found = float("-inf")
        self.best: Optional[torch.nn.Module] = None
        self.best_settings = Settings()

    def accuracy(self, model: torch.nn.Module) -> float:
        with torch.no_grad():
            return float(self.eval_func(model))

    def attempt(self, size: int, settings: Settings) -> bool:
        """Tries one setting; true if it holds, or nothing is asked for."""
        if self.best is not None and time.monotonic() > self.end:
            return False
        prepared = self._calibrated(size, settings)
        if self.eval_func is None:
            self.best = prepared
            return True
        found = self.accuracy(convert(prepared))
        if found > self.found:
            self.found, self.best, self.best_settings = found, prepared, settings
        return found >= self.wanted

    def _calibrated(self, size: int, settings: Settings) -> torch.nn.Module:
        prepared = prepare_by(settings, shadow_of(self.model))
        with torch.no_grad():
            if self.calib_func is not None:
                self.calib_func(prepared)
            else:
                _run(prepared, self.samples, size)
        return prepared

    def keep_layers(self, size: int) -> None:
        """Keeps 1, 2, 4 … layers in FP32."""
        settings = self.best_settings
        layers = self._by_damage(size, settings)
        count = 1
        while layers and time.monotonic() < self.end:
            kept = settings._replace(kept_names=frozenset(layers[:count]))
            if self.attempt(size, kept) or count >= len(layers):
                return
            count *= 2

    def _by_damage(self, size: int, settings: Settings) -> List[str]:
        """Names of layers, those first whose rounding alone changes the results most."""
        prepared = self._calibrated(size, settings)
        names = list(dict.fromkeys(filter(None, prepared.__dict__["_ipex_quantization"].products)))
        args, kwargs = arguments_of_sample(self.samples[0])
        with torch.no_grad():
            wanted = _tensors(self.model(*args, **kwargs))
        damage = {}
        for name in names:
            if time.monotonic() > self.end:
                break
            alone = self._calibrated(1, settings._replace(kept_names=frozenset(names) - {name}))
            with torch.no_grad():
                results = _tensors(convert(alone)(*args, **kwargs))
            damage[name] = sum(float((a - b).double().square().sum()) for a, b in zip(results, wanted))
        return sorted(damage, key=damage.get, reverse=True)


def _samples(loader: Any) -> List[Any]:
    return list(loader) if loader is not None else []


def arguments_of_sample(sample: Any) -> Tuple[Tuple, Dict[str, Any]]:
    """What a model is called with for one sample of a data loader."""
    if isinstance(sample, dict):
        return (), sample
    if isinstance(sample, (tuple, list)):
        return arguments_of_sample(sample[0])
    return (sample,), {}


def _run(model: torch.nn.Module, samples: List[Any], size: int) -> None:
    seen = 0
    for sample in samples:
        if seen >= size:
            return
        args, kwargs = arguments_of_sample(sample)
        model(*args, **kwargs)
        first = next((value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)), None)
        seen += first.shape[0] if first is not None and first.dim() > 0 else 1


def _tensors(results: Any) -> List[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results] if results.is_floating_point() else []
    if isinstance(results, dict):
        results = results.values()
    return [tensor for part in results for tensor in _tensors(part)] if isinstance(results, (tuple, list)) or \
        hasattr(results, "__iter__") else []
