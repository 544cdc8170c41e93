"""Calls that run in a thread of their own, on cores of their own."""
import concurrent.futures
import contextlib
from typing import Any, Callable, Iterator

import torch

from ... import _versions
from .cores import CPUPool, bind

__all__ = ["Future", "Task"]


class Future:
    """A result that is being computed."""

    def __init__(self, future: concurrent.futures.Future):
        self._future = future

    def get(self) -> Any:
        """Waits for the result; raises what the call raised."""
        return self._future.result()


class _Modes:
    """The calling thread's modes of gradients, inference and autocast."""

    def __init__(self):
        self._inference, self._gradients = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        self._casts, self._dtype = _versions.autocast_is_on(), _versions.autocast_dtype()
        self._cache = torch.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        with torch.inference_mode(self._inference), torch.set_grad_enabled(self._gradients):
            if not self._casts:
                yield
                return
            with torch.autocast("cpu", self._dtype, cache_enabled=self._cache):
                yield


class Task:
    """Runs a module or function on the cores of a pool: task(x) returns at once, and task(x).get() is the result.

    Calls run one behind the other, in the caller's modes of gradients, inference and autocast. Python code of several
    tasks takes turns; modules of TorchScript run beside each other.
    """

    def __init__(self, module: Callable, cpu_pool: CPUPool):
        if not isinstance(cpu_pool, CPUPool):
            raise AssertionError("Task takes a CPUPool")
        self._module, self.cpu_pool = module, cpu_pool
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "ipex_studio.Task")
        threads = torch.get_num_threads()
        self._thread.submit(bind, cpu_pool.core_ids, len(cpu_pool)).result()
        torch.set_num_threads(threads)  # what threads begin with that torch has not seen yet

    def __reduce__(self):
        return Task, (self._module, self.cpu_pool)

    def __call__(self, *args, **kwargs) -> Future:
        return Future(self._thread.submit(self._run, _Modes(), args, kwargs))

    def run_sync(self, *args, **kwargs) -> Any:
        """The result, when it is there."""
        return self(*args, **kwargs).get()

    def _run(self, modes: _Modes, args, kwargs):
        with modes.entered():
            return self._module(*args, **kwargs)
