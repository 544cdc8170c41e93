"""Classes and functions of libraries that a model may bring; this package imports none of them."""
import sys
from typing import Any


def brought(name: str) -> Any:
    """A member of a library by its full name, if a model brought it; else None."""
    module, member = name.rsplit(".", 1)
    return getattr(sys.modules.get(module), member, None)
