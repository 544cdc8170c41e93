"""Sets of cores, and threads that keep to them."""
import contextlib
import ctypes
import os
import re
import threading
from typing import Iterable, List, Optional

import torch

from ..._log import logger

__all__ = ["CPUPool", "bind", "bound_cores", "get_core_list_of_node_id", "is_runtime_ext_enabled", "pin"]

_NODES = "/sys/devices/system/node"
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_AVAILABLE = sorted(os.sched_getaffinity(0))  # of the process, before any thread was bound
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def is_runtime_ext_enabled() -> bool:
    """True: needs no library to be loaded first."""
    return True


def _listed(path: str) -> List[int]:
    """The numbers of a list such as 0-3,8 in a file."""
    with open(path, encoding="ascii") as file:
        spans = [span.split("-") for span in file.read().strip().split(",") if span]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def get_core_list_of_node_id(node_id: int) -> List[int]:
    """Cores of a memory node, one of those that share a physical core. Raises ValueError where there is no such node."""
    try:
        cores = _listed(f"{_NODES}/node{node_id}/cpulist")
    except FileNotFoundError:
        if node_id != 0 or os.path.exists(f"{_NODES}/node0"):
            raise ValueError(f"there is no memory node {node_id}") from None
        cores = _AVAILABLE  # Linux tells no nodes
    return [core for core in cores if core == _first_sibling(core)]


def _first_sibling(core: int) -> int:
    try:
        return _listed(_SIBLINGS.format(core))[0]
    except (FileNotFoundError, IndexError):
        return core


class CPUPool:
    """Cores for work. Without arguments: those that the process began with.

    core_ids: list or range; cores that the process may not use are left out, with a warning. node_id: the cores of a
    memory node. Raises RuntimeError where none is left.
    """

    def __init__(self, core_ids: Optional[Iterable[int]] = None, node_id: Optional[int] = None):
        if core_ids is not None and node_id is not None:
            logger.warning("CPUPool takes core_ids; node_id is not used")
        if core_ids is not None and not isinstance(core_ids, (list, range)):
            raise AssertionError("core_ids of CPUPool is a list of integers or a range")
        asked = (list(core_ids) if core_ids is not None else
                 get_core_list_of_node_id(node_id) if node_id is not None else _AVAILABLE)
        self.core_ids = [core for core in asked if core in _AVAILABLE]
        if not self.core_ids:
            raise RuntimeError(f"Can't find available core id in current process with the core ids of CPUPool "
                               f"construction: {asked} of {_AVAILABLE}.")
        if len(self.core_ids) < len(asked):
            logger.warning("CPUPool: the process may not use the cores %s",
                           [core for core in asked if core not in _AVAILABLE])

    @property
    def cpu_pool(self) -> "CPUPool":
        """Itself: the extension keeps another object here."""
        return self

    def get_core_list(self) -> List[int]:
        return list(self.core_ids)

    def __len__(self) -> int:
        return len(self.core_ids)

    def __repr__(self) -> str:
        return f"CPUPool({self.core_ids})"


def _open_mp() -> Optional[ctypes.CDLL]:
    """The library of the threads that torch computes with, or None where it is not known."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split(maxsplit=5)[5].strip() for line in file if re.search(r"/lib(iomp5|gomp)[-.\w]*$", line)}
    for path in sorted(paths, key=lambda path: "iomp5" not in path):  # answers libgomp's names where both are loaded
        library = ctypes.CDLL(path)
        if hasattr(library, "GOMP_parallel"):
            return library
    return None


def bound_cores() -> List[int]:
    """The cores that the calling thread may use."""
    return sorted(os.sched_getaffinity(0))


def bind(cores: Iterable[int], threads: int) -> None:
    """The calling thread, and the `threads` - 1 that it computes with, keep to cores from now on."""
    cores = list(cores)
    os.sched_setaffinity(0, cores)
    torch.get_num_threads()  # a thread that has not asked yet would take the number that others set later
    torch.set_num_threads(threads)  # starts threads of torch's own anew, on these cores
    library = _open_mp() if threads > 1 else None
    if library is not None:  # threads that were started earlier do not follow by themselves
        library.GOMP_parallel(_PARALLEL(lambda _: os.sched_setaffinity(0, cores)), None, ctypes.c_uint(threads),
                              ctypes.c_uint(0))


class pin(contextlib.ContextDecorator):
    """The calling thread computes on the cores of a pool, within `with` or in the function that this decorates."""

    def __init__(self, cpu_pool: CPUPool):
        if not isinstance(cpu_pool, CPUPool):
            raise AssertionError("pin takes a CPUPool")
        self.cpu_pool = cpu_pool
        self._entered = threading.local()  # a decorated function may run in several threads, and call itself

    def __enter__(self) -> "pin":
        before = self._entered.__dict__.setdefault("before", [])
        before.append((bound_cores(), torch.get_num_threads()))
        bind(self.cpu_pool.core_ids, len(self.cpu_pool))
        return self

    def __exit__(self, *_) -> None:
        bind(*self._entered.before.pop())
