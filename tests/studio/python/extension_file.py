"""Writes files as Intel Extension for PyTorch does, without it: archives by hand, with its objects in their constants."""
import collections
import copyreg
import io
import pickle
import sys
import types
import zipfile

import torch
import torch.jit._pickle

_CLASSES = types.ModuleType("__torch__.torch.classes.ipex_prepack")
_STORAGES = {torch.float32: torch.FloatStorage, torch.int64: torch.LongStorage}
_CODE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
{body}
"""


class _Ints(list):
    def __reduce__(self):
        return torch.jit._pickle.build_intlist, (list(self),)


def _reduce(self, protocol):
    return copyreg.__newobj__, (type(self),), self.state


def packed(name, *state):
    """An object of the extension, by its class ("MKLOpContext") and state; lists in it are of integers."""
    kind = _CLASSES.__dict__.setdefault(name, type(name, (), {"__reduce_ex__": _reduce, "__module__": _CLASSES.__name__}))
    made = kind()
    made.state = tuple(_Ints(part) if isinstance(part, list) else part for part in state)
    return made


class _Pickler(pickle.Pickler):
    def __init__(self, stream, archive, folder):
        super().__init__(stream, protocol=2)
        self._archive, self._folder, self._count = archive, folder, 0

    def reducer_override(self, value):
        if not isinstance(value, torch.Tensor):
            return NotImplemented
        value = value.contiguous()
        arguments = (_Storage(value), 0, tuple(value.shape), value.stride(), False, collections.OrderedDict())
        return torch._utils._rebuild_tensor_v2, arguments

    def persistent_id(self, value):
        if not isinstance(value, _Storage):
            return None
        key, tensor = str(self._count), value.tensor
        self._count += 1
        self._archive.writestr(f"m/{self._folder}/{key}", tensor.numpy().tobytes())
        return ("storage", _STORAGES[tensor.dtype], key, "cpu", tensor.numel())


class _Storage:
    def __init__(self, tensor):
        self.tensor = tensor


def write(path, body, constants):
    """A file whose forward(x) is `body`, lines of TorchScript in which constants are called CONSTANTS.c0 …"""
    module = types.ModuleType("__torch__")
    module.M = type("M", (), {"__module__": "__torch__"})
    names = {"__torch__": module, _CLASSES.__name__: _CLASSES}
    sys.modules.update(names)
    try:
        _write(path, body, constants, module.M)
    finally:
        for name in names:
            del sys.modules[name]


def _write(path, body, constants, kind):
    root = kind()
    root.training, root._is_full_backward_hook = False, None
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in (("data", root), ("constants", tuple(constants))):
            stream = io.BytesIO()
            _Pickler(stream, archive, name).dump(value)
            archive.writestr(f"m/{name}.pkl", stream.getvalue())
        text = _CODE.format(body="\n".join("    " + line for line in body))
        archive.writestr("m/code/__torch__.py", text)
        archive.writestr("m/version", "3\n")
