"""Random models: statements over tensors of several ranks and dtypes, with views, writes in place, branches and loops.

Each model is a function that TorchScript compiles. A statement stays if the function runs with it on two sets of inputs
of different sizes, so every model is judged on sizes and values that its optimizer has not seen.
"""
import importlib.util
import os
import random
import re
import textwrap
import typing
import warnings

import torch

import samples

CHANNELS = 8
SIZES = ((3, 5), (4, 7))  # batch and length of the example, and of the other inputs
HEADER = """\
from typing import List, Optional, Tuple
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from random_models import Parameters


"""
CLASS = """\
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        given = Parameters({seed})
        self.w, self.b, self.k = nn.Parameter(given.w), nn.Parameter(given.b), nn.Parameter(given.k)
        self.register_buffer("m", given.m)

    def forward(self, x: Tensor, y: Tensor, ids: Tensor, flag: Tensor):
{body}
        return {results}


"""


# Statements whose results jump or lose all digits where their operands nearly agree are left out: rounding is no fault.
TYPING = {"List": typing.List, "Optional": typing.Optional, "Tuple": typing.Tuple, "Tensor": torch.Tensor}

# Statements by what they take: A, B are floating tensors, I integers, M a mask. N is the name of the result.
POINTWISE = """
N = torch.relu(A)
N = torch.sigmoid(A)
N = torch.tanh(A)
N = F.gelu(A)
N = F.silu(A)
N = torch.exp(A.clamp(-3, 2))
N = A.abs().sqrt()
N = F.hardswish(A)
N = F.leaky_relu(A, 0.1)
N = F.softplus(A)
N = F.elu(A)
N = A.clamp(min=-0.5)
N = A.clamp(max=1)
N = A * 0.5 + 1
N = 2 - A
N = 1 / (A.abs() + 1)
N = A ** 2
N = torch.floor(A * 2)
N = torch.round(A * 4) / 4
N = torch.sign(A) * 0.5
N = A % 2
N = A // 0.5
N = torch.fmod(A, 1.5)
N = torch.sin(A) + torch.cos(A)
N = A.double().float()
N = A.to(torch.float64).mul(3).to(A.dtype)
N = A.half().float()
N = A.int().float()
N = A.long() % 3
N = (A > 0).float()
N = torch.where(A > 0.2, A, -A)
N = torch.lerp(A, A * 2, 0.3)
N = torch.addcmul(A, A, A, value=0.5)
N = A.sigmoid().log()
N = torch.log1p(A.abs())
N = A.contiguous()
N = A.detach() + 0
N = torch.nan_to_num(A / A.relu())
N = A.masked_fill(A > 0.5, -1.0)
N = A.clone()
"""
BINARY = """
N = A + B
N = A - B
N = A * B
N = A / (B.abs() + 1)
N = torch.maximum(A, B)
N = torch.minimum(A, B)
N = torch.where(A > B, A, B)
N = torch.add(A, B, alpha=2)
N = A + B[..., :1]
N = A * B.mean()
N = torch.cat([A, B], 0)
N = torch.cat([A, B], -1)
N = torch.cat([A, B], 1)
N = torch.stack([A, B])
N = torch.stack([A, B], -1).sum(-1)
N = A @ B.transpose(-1, -2)
N = torch.matmul(A, B)
N = torch.bmm(A, B.transpose(1, 2))
N = torch.einsum("btc,bsc->bts", A, B)
N = torch.outer(A.flatten()[:3], B.flatten()[:4])
N = torch.dot(A.flatten()[:4], B.flatten()[:4]) + A
N = torch.hypot(A, B)
N = (A > B) & (A < 1)
"""
VIEWS = """
N = A.transpose(0, 1)
N = A.transpose(-1, -2)
N = A.permute(2, 0, 1)
N = A.flatten(1)
N = A.reshape(A.size(0), -1)
N = A.reshape(-1)
N = A.view(A.size(0), A.size(1), 2, -1)
N = A.unsqueeze(1)
N = A.unsqueeze(-1)
N = A.squeeze()
N = A[0]
N = A[-1]
N = A[:, 0]
N = A[..., -1]
N = A[:, 1:]
N = A[..., ::2]
N = A[1:, :-1]
N = A.narrow(1, 1, 2)
N = A.expand(2, A.size(0), A.size(1))
N = A.unsqueeze(0).expand(3, -1, -1, -1).sum(0)
N = A.chunk(2, -1)[1]
N = A.split(2, 1)[0]
N = A.roll(1, 0)
N = A.flip(1)
N = F.pad(A, (1, 2))
N = F.pad(A, (0, 0, 1, 0), value=2.0)
N = A.repeat(2, 1, 1)
N = A.repeat_interleave(2, 0)
N = A.tile(2)
N = A.unfold(1, 3, 1)
N = A.t()
N = A.diagonal(0, -2, -1)
N = A.tril()
N = A.movedim(0, -1)
"""
REDUCTIONS = """
N = A.sum(0)
N = A.sum(-1)
N = A.mean(1)
N = A.mean(-1, keepdim=True)
N = A.amax(1)
N = A.amin(0, keepdim=True)
N = A.max(-1)[0]
N = A.max(1)[1]
N = A.std(-1)
N = A.var(1, unbiased=False)
N = A.norm(dim=-1)
N = A.norm(p=2, dim=(0, 1), keepdim=True)
N = A.softmax(-1)
N = A.softmax(1)
N = A.log_softmax(-1)
N = F.layer_norm(A, [A.size(-1)])
N = F.layer_norm(A, [8], self.m, self.b)
N = F.normalize(A, dim=-1)
N = A.argmax(-1)
N = A.argmin(1)
N = A.cumsum(1)
N = A.cumsum(-1)
N = A.sort(-1)[0]
N = A.topk(2, -1)[0]
N = A.topk(2, -1)[1]
N = A.logsumexp(1)
N = A.prod(-1)
N = (A > 0).any(1)
N = (A > -1).all(-1)
N = (A > 0).sum(1)
N = A.sum()
N = A.mean()
N = A.median(-1)[0]
N = F.avg_pool1d(A, 2)
N = F.max_pool1d(A, 2)
N = F.adaptive_avg_pool1d(A, 3)
N = F.interpolate(A, scale_factor=2.0)
N = F.glu(A, -1)
"""
LAYERS = """
N = F.linear(A, self.w, self.b)
N = F.linear(A, self.w)
N = A * self.m
N = A + self.b
N = A @ self.w
N = F.conv1d(A.transpose(1, 2), self.k, self.b, padding=1).transpose(1, 2)
N = F.conv1d(A.transpose(1, 2), self.k, stride=2, padding=1)
N = F.batch_norm(A.flatten(0, 1), self.b, self.m, self.m, self.b)
N = (A @ A.transpose(-1, -2) / 3.0).softmax(-1) @ A
N = F.group_norm(A.transpose(1, 2), 2, self.m, self.b)
N = F.embedding(I.clamp(0, 7), self.w)
N = self.w[I.clamp(0, 7)]
N = self.w.index_select(0, I.flatten().clamp(0, 7))
N = torch.gather(A, -1, I.clamp(0, 1).unsqueeze(-1))
N = A[torch.arange(A.size(0)), I[:, 0].clamp(0, 2)]
N = torch.zeros(8, 8).scatter_add(0, I[:, :4].clamp(0, 7), A[:, :4, 0])
N = torch.zeros_like(A).index_add_(0, torch.arange(A.size(0)), A)
N = F.one_hot(I.clamp(0, 7), 8).float()
N = I * 2 + 1
N = I.float() / 3
N = I // 2
N = -I // 2
N = I % 3 - 1
N = I.sum(-1)
N = I.cumsum(0)
N = (I > 2).float()
N = I.max() + I
N = I == I.max()
N = A.sum() + I
N = torch.where(M, A, A * 0)
N = A.masked_fill(M, 0.25)
N = ~M
N = M.float().mean()
N = M.sum()
N = M.long()
N = torch.zeros(A.size(0), A.size(1)) + 0.5
N = torch.ones(A.size(1), 8).cumsum(0)
N = torch.arange(A.size(1)).float() / A.size(0)
N = torch.full([A.size(0), 1], 0.5)
N = torch.full_like(A, 2.0) * A
N = A.new_zeros([A.size(0), A.size(1)])
N = torch.linspace(0, 1, A.size(1))
N = torch.eye(A.size(0))
N = torch.tensor([1.0, 2.0]).sum() * A
N = A * A.size(0)
N = A / A.size(1)
N = A * float(A.size(0) // 2 + 1)
N = torch.meshgrid([torch.arange(A.size(0)), torch.arange(A.size(1))])[0]
N = A * flag
"""
# The tensor is written: whoever shares its memory sees it.
WRITES = """
A.add_(1)
A.mul_(B)
A.relu_()
A[0] = 0.5
A[:, 0] = 1.0
A[..., 1:] += 1
A[1:] *= 2
A[:, :2] = B[:, :2]
A[-1].copy_(A[0])
A[A > 0.5] = 0.0
A.masked_fill_(A < 0, 0.1)
A.transpose(0, 1).add_(1)
A.view(-1)[0] = 3.0
A.fill_(0.3)
A.zero_().add_(B)
A.clamp_(-1, 1)
A.index_fill_(0, torch.tensor([0]), 0.5)
A.index_copy_(0, torch.tensor([1]), A[:1] * 2)
A.select(0, 0).sub_(A.select(0, 1))
A.diagonal(0, -2, -1).fill_(1.0)
A += B
A *= A.mean()
"""
BLOCKS = """
N: List[Tensor] = []
for i in range(A.size(0)):
    N.append(A[i] * 0.5 + i)
R = torch.stack(N)
---
N: List[Tensor] = []
for i in range(A.size(1)):
    N.append(A[:, i].sigmoid())
N.append(A[:, 0])
R = torch.cat(N, -1)
---
R = torch.zeros_like(A[0])
for i in range(A.size(0)):
    R = R * 0.9 + A[i]
---
R = torch.zeros_like(A)
for i in range(A.size(0)):
    R[i] = A[A.size(0) - 1 - i] * 2
---
R = torch.zeros_like(A)
for i in range(1, A.size(1)):
    R[:, i] = R[:, i - 1] * 0.5 + A[:, i]
---
R = A
for i in range(3):
    R = torch.tanh(R) + A
---
R = A
while bool(R.abs().max() > 0.5):
    R = R * 0.5
---
R = A
n = 0
while n < A.size(1):
    R = R + A[:, n:n + 1]
    n += 2
---
if A.size(0) > 3:
    R = A * 2
else:
    R = A + 1
---
if bool(A.mean() > 0):
    R = A.relu()
else:
    R = A - 1
---
R = A
if A.size(-1) % 2 == 1:
    R = F.pad(A, (0, 1))
---
if A.dim() == 3:
    R = A.sum(1)
else:
    R = A
---
N: Optional[Tensor] = None
if bool(flag > 0):
    N = A
R = B if N is None else N + 1
---
N = [A, B]
N[0] = N[0] + N[1]
N.append(N[0] * 2)
R = N[0] + N[2]
---
N = torch.jit.annotate(List[int], [])
for s in A.size():
    N.append(s)
R = A.reshape(N[0], -1) * N[-1]
---
R = torch.stack([v.sum() for v in A.unbind(0)])
---
R = torch.cat([v * 2 for v in A.split(2, 1)], 1)
---
n = A.size(1) // 2
R = A[:, :n].mean(1) - A[:, n:].mean(1)
---
n = int(ids.max())
R = A[:, :n % 3 + 1]
---
n = float(A.mean())
R = A * n
---
R = A
for v in [1.0, 2.0, 3.0]:
    R = R + v * B
---
R = A
for i in range(A.size(0)):
    if i % 2 == 0:
        R = R + 1
    else:
        R = R * 0.5
---
R = A
for i in range(10):
    R = R * 1.5
    if bool(R.abs().max() > 2):
        break
---
N = {"a": A, "b": B}
N["a"] = N["a"] * 2
R = N["a"] + N["b"]
---
N = (A, B.mean())
R = N[0] * N[1]
---
N = A.clone()
R = N[0]
N.mul_(2)
R = R + N[1]
---
N = A.clone()
R = N.transpose(0, 1)
R.add_(1)
R = N * 2
---
N = torch.zeros(A.size(0), A.size(1), 8)
N[:, ::2] = A[:, ::2]
N[:, 1::2] = -A[:, 1::2]
R = N
"""


def lines_of(text):
    return [line for line in text.strip().splitlines() if line]


# Statements and how often they are chosen.
WRITING = lines_of(WRITES)
KINDS = ((lines_of(POINTWISE), 5), (lines_of(BINARY), 4), (lines_of(VIEWS), 4), (lines_of(REDUCTIONS), 3),
         (lines_of(LAYERS), 5), (WRITING, 2), ([block.strip() for block in BLOCKS.split("---")], 3))
LARGEST = 20000  # elements of a value
SMALLEST = 1e-3  # largest element of a value


def inputs(batch, length, seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, length, CHANNELS, generator=generator), torch.randn(batch, length, CHANNELS, generator=generator),
            torch.randint(0, 8, (batch, length), generator=generator), torch.tensor(float(seed % 2))]


class Model:
    """The source of one model while it grows."""

    def __init__(self, name, seed):
        self.name, self.seed, self.random = name, seed, random.Random(seed)
        self.statements, self.made = [], 0
        self.environment = {}
        self.values = self.run()

    def text(self, results="x"):
        body = textwrap.indent("\n".join(self.statements) or "pass", " " * 8)
        return CLASS.format(name=self.name, seed=self.seed, body=body, results=results)

    def run(self):
        """The tensors after the statements on the example; raises where the model cannot do with the last statement."""
        found = []
        for (batch, length), seed in zip(SIZES, (self.seed, self.seed + 1)):
            x, y, ids, flag = inputs(batch, length, seed)
            scope = {"torch": torch, "F": torch.nn.functional, "x": x, "y": y, "ids": ids, "flag": flag,
                     "self": Parameters(self.seed), **TYPING}
            exec("\n".join(self.statements), scope)  # pylint: disable=exec-used
            found.append({name: value for name, value in scope.items() if isinstance(value, torch.Tensor)})
        for name, value in found[0].items():
            if name in found[1] and (found[1][name].dim() != value.dim() or found[1][name].dtype != value.dtype):
                raise ValueError("another rank")
            if value.numel() > LARGEST or value.numel() == 0:
                raise ValueError("size")
            if value.is_floating_point() and 0 < value.abs().max() < SMALLEST:
                raise ValueError("what is left of a difference")
        return found[0]

    def pick(self, wanted, own=False):
        names = [name for name, value in self.values.items() if wanted(value) and (not own or name not in ("x", "y"))]
        if not names:
            raise ValueError("no such value")
        # Recent values are likelier, so that chains become long.
        return self.random.choice(names[-4:] if self.random.random() < 0.7 else names)

    def grow(self):
        kind = self.random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
        text = self.random.choice(kind)
        floating, integer, mask = (lambda v: v.is_floating_point() and v.dim() > 0,
                                   lambda v: v.dtype == torch.int64 and v.dim() > 0, lambda v: v.dtype == torch.bool)
        try:
            a = self.pick(floating, own=kind is WRITING)
            shape = self.values[a].shape
            b = self.pick(lambda v: floating(v) and (self.random.random() < 0.2 or v.shape == shape))
            i, m = (self.pick(integer) if "I" in tokens(text) else ""), (self.pick(mask) if "M" in tokens(text) else "")
        except ValueError:
            return
        self.made += 1
        names = {"A": a, "B": b, "I": i, "M": m, "N": f"t{self.made}", "R": f"r{self.made}", "n": f"n{self.made}"}
        self.statements.append(VARIABLE.sub(lambda match: names[match.group(1)], text))
        try:
            self.values = self.run()
        except Exception:  # pylint: disable=broad-except  (whatever a statement cannot do here)
            self.statements.pop()

    def results(self):
        """The newest values and some others."""
        names = [name for name in self.values if name not in ("x", "y", "ids", "flag")]
        chosen = names[-3:] + self.random.sample(names[:-3], min(2, len(names[:-3])))
        return ", ".join(chosen) + "," if chosen else "x,"


VARIABLE = re.compile(r"(?<![.\w])([ABIMNRn])\b")


def tokens(text):
    return set(VARIABLE.findall(text))


class Parameters:
    """What `self` holds while statements are tried."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.w = torch.randn(CHANNELS, CHANNELS, generator=generator) * 0.4
        self.b = torch.randn(CHANNELS, generator=generator)
        self.k = torch.randn(CHANNELS, CHANNELS, 3, generator=generator) * 0.3
        self.m = torch.rand(CHANNELS, generator=generator) + 0.5


def grown(name, seed, statements):
    model = Model(name, seed)
    for _ in range(statements * 3):
        if len(model.statements) < statements:
            model.grow()
    return model


def compiled(source, model, example):
    """The model as TorchScript, each third traced; none if TorchScript does not take it."""
    module = getattr(source, model.name)().eval()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if model.seed % 3 == 0:
                return torch.jit.trace(module, copies(example), check_trace=False)
            return torch.jit.script(module)
    except (RuntimeError, torch.jit.frontend.FrontendError):
        return None


def write_batch(path, seeds, statements):
    """Writes path.pt, path.in.pt and path.others.pt for database_check, and path.py, the source of the models."""
    models = [grown(f"Model{seed}", seed, random.Random(seed).randint(2, statements)) for seed in seeds]
    with open(path + ".py", "w", encoding="utf-8") as file:
        file.write(HEADER + "".join(model.text(model.results()) for model in models))
    spec = importlib.util.spec_from_file_location(os.path.basename(path), path + ".py")
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    made, others = [], {}
    for model in models:
        example, other = (tuple(inputs(*size, model.seed + more)) for more, size in enumerate(SIZES))
        module = compiled(source, model, example)
        if module is not None:
            made.append(samples.Sample(model.name, module, example))
            others[model.name] = other
    samples.write_batch(path, made)
    torch.save(others, path + ".others.pt")


def copies(tensors):
    return tuple(tensor.clone() for tensor in tensors)
