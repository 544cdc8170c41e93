"""Files that Intel Extension for PyTorch wrote, loaded without it: its layers and operators become those of PyTorch."""
import functools
import re
from typing import Any, Callable, Optional

from . import _engine
from ._log import logger
from .errors import Error

_NAMES = re.compile(r"__torch__\.torch\.classes\.ipex_prepack|(?:torch_ipex|ipex_prepack|ipex)::\w+")
_declared = False


def _name_in(problem: Exception) -> Optional[str]:
    """The name of the extension that libtorch does not know, if that is the problem."""
    text = str(problem)
    found = _NAMES.search(text)
    return found.group() if found and re.search("Unknown (type name|builtin op)|find an operator", text) else None


def _load_declared(load: Callable, file: Any, place: Optional[int], args, kwargs) -> Any:
    if place is not None:
        file.seek(place)
    try:
        return load(file, *args, **kwargs)
    except RuntimeError as problem:
        name = _name_in(problem)
        if name is None:
            raise
        raise Error(f"The file calls {name} of Intel Extension for PyTorch, which cannot be written in operators of "
                    "PyTorch here; save the model without ipex.optimize.", 3) from None


def reads_extension(load: Callable) -> Callable:
    """torch.jit.load that takes such files, too. Where the extension itself is loaded, they stay its own."""

    @functools.wraps(load)
    def wrapped(file, *args, **kwargs):
        global _declared
        place = file.tell() if hasattr(file, "seek") and hasattr(file, "tell") else None
        try:
            module = load(file, *args, **kwargs)
        except RuntimeError as problem:
            if _name_in(problem) is None:
                raise
            _engine.declare_extension()
            _declared = True
            module = _load_declared(load, file, place, args, kwargs)
        operators = _engine.write_out_extension(module._c) if _declared else 0
        if operators:
            logger.info("%d operators of Intel Extension for PyTorch became operators of PyTorch.", operators)
        return module

    return wrapped
