"""Batches in parts that run beside each other."""
from typing import Any, Iterator, List, Optional, Tuple, Union

import torch

from ..._log import logger
from .cores import CPUPool, pin
from .task import Task

__all__ = ["MultiStreamModule", "MultiStreamModuleHint", "get_default_num_streams"]


class MultiStreamModuleHint:
    """Which axes of inputs are split, or of outputs joined: an integer is an axis, None passes a value on.

    Positions and keywords as those of the module; tuples, lists and dicts as they are nested there.
    """

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = list(args), kwargs

    def __repr__(self) -> str:
        words = [repr(axis) for axis in self.args] + [f"{name}={axis!r}" for name, axis in self.kwargs.items()]
        return f"MultiStreamModuleHint({', '.join(words)})"


def get_default_num_streams(cpu_pool: CPUPool) -> int:
    """One for each core."""
    return len(cpu_pool)


def _check_nested(hint: Any, value: Any) -> None:
    same = (set(hint) == set(value) if isinstance(hint, dict) and isinstance(value, dict) else
            isinstance(value, (tuple, list)) and len(hint) == len(value))
    if not same:
        raise ValueError(f"the hint {hint!r} is not nested as the value, a {type(value).__name__}")


def _sizes(hint: Any, value: Any) -> Iterator[int]:
    """The lengths of the axes that a hint names."""
    if isinstance(hint, int):
        yield value.shape[hint]
    elif hint is not None:
        _check_nested(hint, value)
        for key in hint if isinstance(hint, dict) else range(len(hint)):
            yield from _sizes(hint[key], value[key])


def _part(hint: Any, value: Any, begin: int, length: int) -> Any:
    if hint is None:
        return value
    if isinstance(hint, int):
        return value.narrow(hint, begin, length)
    if isinstance(hint, dict):
        return {key: _part(hint[key], value[key], begin, length) for key in value}
    return type(hint)(_part(axis, each, begin, length) for axis, each in zip(hint, value))


def _joined(hint: Any, parts: List[Any]) -> Any:
    if hint is None:
        return parts[0]
    if isinstance(hint, int):
        return torch.cat(parts, hint)
    for part in parts:
        _check_nested(hint, part)
    if isinstance(hint, dict):
        return {key: _joined(hint[key], [part[key] for part in parts]) for key in parts[0]}
    return type(hint)(_joined(axis, [part[place] for part in parts]) for place, axis in enumerate(hint))


def _shares(total: int, parts: int) -> List[Tuple[int, int]]:
    """Beginnings and lengths of parts that differ by 1 at most, the longer ones first."""
    lengths = [total // parts + (part < total % parts) for part in range(parts)]
    return [(sum(lengths[:part]), length) for part, length in enumerate(lengths)]


def _number_of_streams(num_streams: Union[int, str], cpu_pool: CPUPool) -> int:
    if isinstance(num_streams, str):
        if num_streams.upper() != "AUTO":
            raise AssertionError('num_streams is an integer or "AUTO"')
        return get_default_num_streams(cpu_pool)
    if num_streams < 1:
        raise ValueError(f"there is no work in {num_streams} streams")
    if num_streams > len(cpu_pool):
        logger.warning("MultiStreamModule: %d cores serve %d streams, not %d", len(cpu_pool), len(cpu_pool), num_streams)
    return min(num_streams, len(cpu_pool))


class _Streams(torch.nn.Module):
    """A module with a task for each share of the cores, or on all of them where there is one stream."""

    def __init__(self, model: torch.nn.Module, num_streams: Union[int, str] = "AUTO", cpu_pool: Optional[CPUPool] = None):
        super().__init__()
        cpu_pool = CPUPool() if cpu_pool is None else cpu_pool
        if not isinstance(cpu_pool, CPUPool):
            raise AssertionError("cpu_pool is a CPUPool")
        self.model, self.cpu_pool = model, cpu_pool
        self.num_streams = _number_of_streams(num_streams, cpu_pool)
        self.tasks = [Task(model, CPUPool(cpu_pool.core_ids[begin:begin + length]))
                      for begin, length in _shares(len(cpu_pool), self.num_streams)] if self.num_streams > 1 else []

    def get_stream_number(self) -> int:
        return self.num_streams

    def _run(self, calls: List[Tuple[tuple, dict]]) -> List[Any]:
        if not self.tasks:
            with pin(self.cpu_pool):
                return [self.model(*args, **kwargs) for args, kwargs in calls]
        futures = [task(*args, **kwargs) for task, (args, kwargs) in zip(self.tasks, calls)]
        return [future.get() for future in futures]


class MultiStreamModule(_Streams):
    """Runs the parts of a batch beside each other, each on its share of the cores.

    num_streams: "AUTO" is one for each core. Shares of cores and of the batch differ by 1 at most, the larger ones come
    first, and a batch that is shorter than the number of streams has one row in a stream. concat_output=False gives the
    list of what the streams gave. Inputs must have places in input_split_hint, and what it splits is equally long;
    ValueError otherwise. Models of TorchScript gain most: Python code of several streams takes turns.
    """

    def __init__(self, model: torch.nn.Module, num_streams: Union[int, str] = "AUTO", cpu_pool: Optional[CPUPool] = None,
                 concat_output: bool = True, input_split_hint: MultiStreamModuleHint = MultiStreamModuleHint(0),
                 output_concat_hint: MultiStreamModuleHint = MultiStreamModuleHint(0)):
        super().__init__(model, num_streams, cpu_pool)
        self.concat_output, self.input_split_hint = concat_output, input_split_hint
        self.output_concat_hint = output_concat_hint

    def forward(self, *args, **kwargs):
        outputs = self._run(self._split(args, kwargs))
        if not self.concat_output:
            return outputs
        if len(outputs) == 1:
            return outputs[0]
        hint = self.output_concat_hint
        return _joined(hint.kwargs or (hint.args[0] if len(hint.args) == 1 else tuple(hint.args)), outputs)

    def _split(self, args: tuple, kwargs: dict) -> List[Tuple[tuple, dict]]:
        hint = self.input_split_hint
        if len(hint.args) != len(args) or set(hint.kwargs) != set(kwargs):
            raise ValueError(f"input_split_hint is {hint!r}, but the inputs are {len(args)} by position"
                             + (f" and {', '.join(kwargs)}" if kwargs else ""))
        sizes = set(_sizes(hint.args, args)) | set(_sizes(hint.kwargs, kwargs))
        if len(sizes) > 1:
            raise ValueError(f"what is split is not equally long: {sorted(sizes)}")
        if not sizes or sizes == {0}:
            return [(args, kwargs)]
        batch = sizes.pop()
        return [(tuple(_part(hint.args, args, begin, length)), _part(hint.kwargs, kwargs, begin, length))
                for begin, length in _shares(batch, min(batch, self.num_streams))]


class MultiStreamBenchmarkModule(_Streams):
    """Runs the same inputs in all streams at once, for measurements; gives what the first one gave."""

    def forward(self, *args, **kwargs):
        return self._run([(args, kwargs)] * self.num_streams)[0]
