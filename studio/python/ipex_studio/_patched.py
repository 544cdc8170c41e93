"""Modules that are of their class in all but a few methods.

A patched module keeps its attributes, and with them its state_dict, and is an instance of the class that it had. Copies
and pickles are patched alike.
"""
import copy
import functools
from typing import Any, Callable, Dict, Type

import torch

_ROLES: Dict[str, Callable[[type], Dict[str, Any]]] = {}


def role(name: str):
    """Registers a function that makes the members of a patched class from its base."""

    def register(members: Callable[[type], Dict[str, Any]]):
        _ROLES[name] = members
        return members

    return register


@functools.lru_cache(maxsize=None)
def patched_class(base: type, name: str) -> type:
    """`base` with the members of a role, among them `_ipex_attributes`, the names of attributes that the role adds, and
    `_ipex_transient`, those of them that no copy takes over."""

    def reduce_ex(self, protocol):
        _, _, state, *rest = base.__reduce_ex__(self, protocol)
        if isinstance(state, dict):
            state = {key: value for key, value in state.items() if key not in type(self)._ipex_transient}
        return (_rebuild, (base, name), state, *rest)

    members = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__,
               "_ipex_base": base, "_ipex_role": name, "_ipex_attributes": (), "_ipex_transient": (), "__prepare_scriptable__": unpatched,
               **_ROLES[name](base)}
    if base.__reduce_ex__ is object.__reduce_ex__ and base.__reduce__ is object.__reduce__:
        members["__reduce_ex__"] = reduce_ex  # others say themselves how they are copied, and are plain then
    return type(base.__name__, (base,), members)


def _rebuild(base: type, name: str) -> torch.nn.Module:
    return object.__new__(patched_class(base, name))


def patch(module: torch.nn.Module, name: str) -> None:
    """Gives a module a role."""
    module.__class__ = patched_class(type(module), name)


def drop_role(model: torch.nn.Module, name: str) -> None:
    """Takes a role from the modules of a model where it was given last."""
    for module in model.modules():
        if type(module).__dict__.get("_ipex_role") == name:
            module.__class__ = type(module)._ipex_base


def stock_class(module: torch.nn.Module) -> Type[torch.nn.Module]:
    """The class of a module without the roles that it has."""
    kind = type(module)
    while "_ipex_base" in kind.__dict__:
        kind = kind._ipex_base
    return kind


def unpatched(module: torch.nn.Module) -> torch.nn.Module:
    """A shallow copy without the role given last, for those that read a module's code."""
    kind = type(module)
    plain = object.__new__(kind._ipex_base)
    plain.__dict__.update({key: value for key, value in module.__dict__.items() if key not in kind._ipex_attributes})
    return plain


def shadow_of(model: torch.nn.Module) -> torch.nn.Module:
    """A copy without any roles that shares the parameters alone: running it leaves the model as it is."""
    shadow = copy.deepcopy(model, {id(value): value for value in model.parameters()})
    for module in shadow.modules():
        while "_ipex_base" in type(module).__dict__:
            for name in type(module)._ipex_attributes:
                module.__dict__.pop(name, None)
            module.__class__ = type(module)._ipex_base
    return shadow
