"""Samples of PyTorch's operator and module databases as small TorchScript modules.

A sample is an operator with one set of arguments: its tensors become inputs, all else constants of the graph. It comes
in several forms:

  alone     the operator and nothing else
  inside    between two pairs of pointwise operators that change nothing, so that a region may form around it
  strided   alone, on inputs that are not contiguous
  inplace   the operator's in-place form on a copy
  empty, scalar, large   alone, on tensors of no elements, no dimensions, many elements, where the operator takes them
"""
import collections
import functools
import os
import resource
import sys
import types
import unittest
import warnings
from random import Random

import torch

if "expecttest" not in sys.modules:  # Debian has no package of it; the databases only derive from its class
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
    sys.modules["expecttest"].ACCEPT = False

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "i32": torch.int32, "u8": torch.uint8,
          "f64": torch.float64, "bf16": torch.bfloat16}
FORMS = ("alone", "inside", "strided", "inplace", "empty", "scalar", "large")
LARGE = 70_000  # elements of an input
MOST = 5_000_000  # elements of results
MEMORY = 8 << 30  # bytes that this process may ask for; large inputs can make results of any size

resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
torch.set_num_threads(1)  # survives() forks, which threads do not

Sample = collections.namedtuple("Sample", "name module inputs")  # a traced module and the tensors it takes


class NoSample(Exception):
    """There is no such form of a sample, with the reason."""


def identity(tensor):
    """The same values through two pointwise operators."""
    if tensor.dtype == torch.bool:
        return tensor.logical_not().logical_not()
    return tensor if tensor.is_complex() else tensor.neg().neg()


def copy(tensor):
    """A copy with own memory and the same strides and gaps."""
    if tensor.layout != torch.strided:
        return tensor.detach().clone()
    result = torch.empty(0, dtype=tensor.dtype)
    return result.set_(tensor.detach().storage().clone(), tensor.storage_offset(), tensor.size(), tensor.stride())


def tensors_of(value):
    """All tensors of nested arguments or results, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for part in value for tensor in tensors_of(part)] if isinstance(value, (list, tuple)) else []


def replaced(value, tensors):
    """The same nested arguments with tensors from an iterator."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: replaced(part, tensors) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replaced(part, tensors) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(part, tensors) for part in value)
    return value


def not_contiguous(tensor):
    """The same values with a gap after each element, and the last two axes exchanged in memory."""
    if tensor.dim() == 0 or tensor.numel() < 2:
        return tensor
    order = list(range(tensor.dim()))
    order[-2:] = order[-2:][::-1]
    wide = torch.zeros(*(tensor.size(axis) for axis in order), 2, dtype=tensor.dtype)
    wide[..., 1] = tensor.permute(order)
    return wide[..., 1].permute(order)


def resized(tensor, form):
    if tensor.dim() == 0:
        return tensor
    if form == "empty":
        return tensor[:0]
    if form == "scalar":
        if tensor.numel() == 0:
            raise NoSample("no element to take")
        return tensor.reshape(-1)[:1].reshape(())
    times = max(1, LARGE // max(1, tensor.numel()))
    return tensor.repeat(times, *[1] * (tensor.dim() - 1))


class Call(torch.nn.Module):
    """The operator with its constants; its results are a flat tuple of dense tensors."""

    def __init__(self, operator, arguments, form):
        super().__init__()
        self.operator, self.arguments, self.form = operator, arguments, form

    def forward(self, *tensors):
        if self.form == "inside":
            tensors = [identity(tensor) for tensor in tensors]
        elif self.form == "inplace":
            tensors = [tensors[0].clone(), *tensors[1:]]
        args, kwargs = replaced(self.arguments, iter(tensors))
        results = tensors_of(self.operator(*args, **kwargs))
        results = [tensor.to_dense() if tensor.layout != torch.strided else tensor for tensor in results]
        if self.form == "inside":
            results = [identity(tensor) for tensor in results]
        return tuple(results)


def traced(name, operator, arguments, form, call=None):
    """The sample, or NoSample."""
    if any(tensor.layout != torch.strided for tensor in tensors_of(arguments)):
        raise NoSample("sparse arguments")
    inputs = [tensor.detach() for tensor in tensors_of(arguments)]
    if form == "strided":
        inputs = [not_contiguous(tensor) for tensor in inputs]
    elif form in ("empty", "scalar", "large"):
        inputs = [resized(tensor, form) for tensor in inputs]
    inputs = [copy(tensor) for tensor in inputs]
    call = call or Call(operator, arguments, form)
    with torch.no_grad():
        if form not in ("alone", "inside") and not survives(call, inputs):
            raise NoSample("kills PyTorch itself")
        try:
            results = call(*map(copy, inputs))
        except Exception as problem:
            raise NoSample(f"does not run: {type(problem).__name__}") from problem
        if not results:
            raise NoSample("no tensor results")
        if sum(result.numel() for result in results) > MOST:
            raise NoSample("results are too large")
        try:
            return Sample(name, torch.jit.trace(call, tuple(map(copy, inputs)), check_trace=False), inputs)
        except Exception as problem:
            raise NoSample(f"is not traced: {str(problem).splitlines()[0][:80]}") from problem


def survives(call, inputs):
    """True if the call does not kill its process, which some operators of PyTorch do on what the database has not."""
    child = os.fork()
    if child == 0:
        try:
            call(*map(copy, inputs))
        finally:
            os._exit(0)
    return os.WIFEXITED(os.waitpid(child, 0)[1])


def operator_named(operator):
    name = operator.name.replace(".", "_")
    return f"{name}_{operator.variant_test_name}" if operator.variant_test_name else name


def spread(items, most):
    """At most so many of the items, evenly spread."""
    return items if len(items) <= most else [items[i * len(items) // most] for i in range(most)]


def operator_samples(operator, dtype, form, choose):
    """Yields samples of an operator, and (name, reason) where there is none. `choose` takes a part of a list."""
    call = operator.inplace_variant if form == "inplace" else operator.op
    if call is None:
        return
    torch.manual_seed(0)
    found = list(enumerate(operator.sample_inputs("cpu", DTYPES[dtype], requires_grad=False)))
    for index, sample in choose(found[:2] if form in ("empty", "scalar", "large") else found):
        name = f"{operator_named(operator)}__{dtype}__{index}__{form}"
        try:
            yield traced(name, call, ((sample.input, *sample.args), sample.kwargs), form)
        except NoSample as problem:
            yield name, str(problem)


class ModuleCall(torch.nn.Module):
    def __init__(self, module, arguments, form):
        super().__init__()
        self.module, self.call = module, Call(module, arguments, form)

    def forward(self, *tensors):
        return self.call(*tensors)


def module_samples(info, dtype, form, choose):
    """Yields samples of a module in evaluation as operator_samples does."""
    if form not in ("alone", "inside", "strided"):
        return
    torch.manual_seed(0)
    found = info.module_inputs_func(info, device="cpu", dtype=DTYPES[dtype], requires_grad=False, training=False)
    found = [item for item in enumerate(found) if item[1].forward_input is not None]
    for index, sample in choose(found):
        name = f"{info.name.replace('.', '_')}__{dtype}__{index}__{form}"
        torch.manual_seed(index)
        built = sample.constructor_input
        module = info.module_cls(*built.args, **built.kwargs).to(DTYPES[dtype]).eval()
        arguments = (tuple(sample.forward_input.args), sample.forward_input.kwargs)
        try:
            yield traced(name, module, arguments, form, ModuleCall(module, arguments, form))
        except NoSample as problem:
            yield name, str(problem)


def sources(matches, dtypes, forms):
    """What samples can be made of: a list of functions that take `choose` and yield as operator_samples does."""
    warnings.simplefilter("ignore")
    found = []
    for form in forms:
        for dtype in dtypes:
            found += [functools.partial(operator_samples, operator, dtype, form) for operator in op_db
                      if matches(operator_named(operator)) and DTYPES[dtype] in operator.supported_dtypes("cpu")]
            found += [functools.partial(module_samples, info, dtype, form) for info in module_db
                      if matches(info.name) and DTYPES[dtype] in info.dtypes]
    return found


def all_samples(found, most):
    """Yields at most so many samples of each source."""
    for source in found:
        yield from source(lambda items: spread(items, most))


def random_samples(found, count, seed):
    """Yields so many samples, each of another source if there are enough."""
    random = Random(seed)
    random.shuffle(found)
    for source in found:
        for sample in source(lambda items: [random.choice(items)] if items else []):
            yield sample
            count -= isinstance(sample, Sample)
        if count <= 0:
            return


class Batch(torch.nn.Module):
    """Samples as submodules of one file."""

    def __init__(self, samples):
        super().__init__()
        for sample in samples:
            setattr(self, sample.name, sample.module)


def write_batch(path, samples):
    """Writes path.pt and path.in.pt for the program database_check."""
    torch.jit.script(Batch(samples)).save(path + ".pt")
    torch.save({sample.name: tuple(sample.inputs) for sample in samples}, path + ".in.pt")
