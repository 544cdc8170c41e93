"""Models that are slow for one reason each, as users make them, beside the same function written well.

  slow_models.py --list                the models, and what makes each slow
  slow_models.py -o FOLDER [NAME …]    NAME.pt, NAME.good.pt and models.json; the same command writes the same numbers
"""

import argparse
import dataclasses
import json
import math
import os
import sys
from typing import Callable, Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SEED = 3232


@dataclasses.dataclass(frozen=True)
class SlowModel:
    """`good` takes the parameters of `slow`. `words`: the cause is named where advice has one of them."""

    name: str
    cause: str
    words: Tuple[str, ...]
    slow: Callable[[], nn.Module]
    good: Callable[[nn.Module], nn.Module]
    inputs: Tuple[str, ...]                 # values of --input
    sample: Callable[[], Tuple[Tensor, ...]]
    scripted: bool = False
    training: bool = False
    flags: Tuple[str, ...] = ()             # of `ipex-studio run`, for causes that lie in how it is run


MODELS: Dict[str, SlowModel] = {}


def model(name, cause, words, good, inputs, sample, **more):
    """Registers the class below as a slow model; `good` makes the well written one from an instance of it."""
    def registered(slow):
        MODELS[name] = SlowModel(name, cause, tuple(words), slow, good, tuple(inputs), sample, **more)
        return slow
    return registered


class Of(nn.Module):
    """A module that shares the parts of another and computes by a function of its own."""

    def __init__(self, parts: nn.Module, forward):
        super().__init__()
        self.parts = parts
        self.compute = forward

    def forward(self, *arguments):
        return self.compute(self.parts, *arguments)


def of(forward):
    return lambda slow: Of(slow, forward)


def linears(count, width):
    return nn.ModuleList(nn.Linear(width, width) for _ in range(count))


def convs(count, channels, kernel=3):
    return nn.ModuleList(nn.Conv2d(channels, channels, kernel, padding=kernel // 2) for _ in range(count))


# --- fusion ---

def good_gelu(m, x):
    for layer in m.layers:
        x = F.gelu(F.layer_norm(layer(x), (256,), m.scale, m.shift, 1e-5))
    return x


@model("missed_fusion", "norms and activations spelled out in many elementwise operations",
       ("elementwise", "fused"), of(good_gelu), ["x:256x256"], lambda: (torch.randn(256, 256),))
class MissedFusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(4, 256)
        self.scale, self.shift = nn.Parameter(torch.ones(256)), nn.Parameter(torch.zeros(256))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            centred = x - x.mean(-1, keepdim=True)
            x = centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale + self.shift
            x = x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
        return x


# --- precision and casts ---

def good_float(m, x):
    for layer in m.layers:
        x = F.relu(layer(x))
    return x * m.factor


@model("float64", "a constant of numpy makes everything double precision", ("double", "float64", "FP64"),
       of(good_float), ["x:128x256"], lambda: (torch.randn(128, 256),))
class Float64(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(4, 256)
        self.factor = 1 / 255.0
        self.register_buffer("scale", torch.full((256,), 1 / 255.0, dtype=torch.float64))

    def forward(self, x):
        x = x * self.scale
        for layer in self.layers:
            x = F.relu(F.linear(x, layer.weight.double(), layer.bias.double()))
        return x.float()


@model("casts", "casts to double precision and back around every operation", ("cast", "double", "converted"),
       of(lambda m, x: [x := F.relu(layer(x)) for layer in m.layers][-1]), ["x:1024x64"],
       lambda: (torch.randn(1024, 64),))
class Casts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(4, 64)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x.float())
            x = torch.clamp(x.double(), min=0.0).float()
        return x


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(4, 512)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for layer in self.layers:
                x = F.relu(layer(x)).float()
        return x


model("autocast", "traced under autocast: casts around every layer", ("cast", "BF16", "bf16"),
      of(lambda m, x: [x := F.relu(layer(x)) for layer in m.layers][-1]), ["x:64x512"],
      lambda: (torch.randn(64, 512),))(Autocast)


@model("denormals", "activations so small that the processor computes them by microcode", ("denormal", "subnormal"),
       lambda slow: Denormals(slow.layers, 1.0),  # as fast as processors are on other numbers
       ["x:1x32x48x48"], lambda: (torch.randn(1, 32, 48, 48),))
class Denormals(nn.Module):
    def __init__(self, layers=None, factor=1e-37):
        super().__init__()
        self.factor = factor
        self.layers = layers or convs(4, 32)
        with torch.no_grad():
            for layer in self.layers:
                layer.bias.zero_()  # which would lift what decays

    def forward(self, x):
        faint = x * self.factor
        for layer in self.layers:
            faint, x = F.relu(layer(faint) * 0.3), F.relu(layer(x))
        return x + faint


# --- layout ---

def good_convs(m, x):
    for layer in m.layers:
        x = F.relu(layer(x))
    return x


@model("layout_ping_pong", "permutes to channels-last and back around every layer", ("layout", "permute", "transpos"),
       of(good_convs), ["x:1x32x56x56"], lambda: (torch.randn(1, 32, 56, 56),))
class LayoutPingPong(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = convs(5, 32)

    def forward(self, x):
        for layer in self.layers:
            x = x.permute(0, 2, 3, 1).contiguous()
            x = F.relu(x)
            x = layer(x.permute(0, 3, 1, 2).contiguous())
        x = x.permute(0, 2, 3, 1).contiguous()
        return F.relu(x).permute(0, 3, 1, 2).contiguous()


@model("strided_softmax", "a softmax over an axis that is not the last, with copies around it", ("softmax",
       "transpos", "permute", "layout", "cop"),
       of(lambda m, x: torch.softmax(x, 1) * x), ["x:4x64x56x56"], lambda: (torch.randn(4, 64, 56, 56),))
class StridedSoftmax(nn.Module):
    def forward(self, x):
        y = x.permute(0, 2, 3, 1).contiguous()
        e = torch.exp(y - y.max(dim=-1, keepdim=True)[0])
        y = (e / e.sum(dim=-1, keepdim=True)).permute(0, 3, 1, 2).contiguous()
        return y * x


@model("needless_copies", "clones and copies that nothing needs", ("cop", "clone"), of(good_convs),
       ["x:1x32x56x56"], lambda: (torch.randn(1, 32, 56, 56),))
class NeedlessCopies(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = convs(4, 32, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x.clone().contiguous()).clone()).clone()
            x = torch.cat([x[:, :16].clone(), x[:, 16:].clone()], 1)
        return x


# --- operations that are too small, loops ---

@model("tiny_operations", "hundreds of operations on a few numbers", ("few numbers",),
       of(lambda m, x: m.good(x)), ["x:64x16"], lambda: (torch.randn(64, 16),))
class TinyOperations(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(32, 64)

    def good(self, x):
        w, b = self.cell.weight, self.cell.bias
        return torch._VF.lstm(x[:, None], [torch.zeros(1, 1, 16)] * 2,
                              [w[:, :16].contiguous(), w[:, 16:].contiguous(), b, torch.zeros_like(b)],
                              True, 1, 0.0, False, False, False)[0][:, 0]

    def forward(self, x):
        h, c = torch.zeros(16), torch.zeros(16)
        out = []
        for t in range(64):
            gates = F.linear(torch.cat([x[t], h]), self.cell.weight, self.cell.bias)
            i, f, g, o = gates[:16], gates[16:32], gates[32:48], gates[48:]
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out)


@model("sample_loop", "a loop over the samples of a batch", ("loop", "sample"),
       of(lambda m, x: m.net(x)), ["x:32x128"], lambda: (torch.randn(32, 128),), scripted=True)
class SampleLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 128))

    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(self.net(x[i:i + 1]))
        return torch.cat(out)


@model("channel_loop", "a convolution of its own for every channel", ("slices",),
       of(lambda m, x: F.conv2d(x, m.weight, None, 1, 1, 1, 64)), ["x:1x64x28x28"],
       lambda: (torch.randn(1, 64, 28, 28),))
class ChannelLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 1, 3, 3))

    def forward(self, x):
        return torch.cat([F.conv2d(x[:, c:c + 1], self.weight[c:c + 1], None, 1, 1) for c in range(64)], 1)


@model("concat_in_loop", "a concatenation that grows in a loop", ("concat", "cat", "cop", "loop"),
       of(lambda m, x: F.relu(m.layer(x))), ["x:64x2048"], lambda: (torch.randn(64, 2048),), scripted=True)
class ConcatInLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2048, 64)

    def forward(self, x):
        y = F.relu(self.layer(x[0:1]))
        for i in range(1, x.size(0)):
            y = torch.cat([y, F.relu(self.layer(x[i:i + 1]))], 0)
        return y


# --- control flow ---

@model("item_sync", "Python numbers read from tensors to decide on branches", ("branch", "control flow", "item",
       "number"),
       of(lambda m, x: [x := F.relu(layer(x)) / (1 + layer.bias[0].abs()) for layer in m.layers][-1]),
       ["x:32x256"], lambda: (torch.randn(32, 256),), scripted=True)
class ItemSync(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(4, 256)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
            if float(x.abs().max().item()) < 1e30:
                x = x / (1.0 + float(layer.bias[0].abs().item()))
        return x


@model("control_flow", "a branch that depends on data around the hot part", ("branch", "control flow", "condition"),
       of(lambda m, x: m.bn(F.relu(m.bn(F.relu(m.bn(m.conv(x))) + x)))), ["x:1x32x56x56"],
       lambda: (torch.randn(1, 32, 56, 56),), scripted=True)
class ControlFlow(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(32, 32, 3, padding=1)
        self.bn = nn.BatchNorm2d(32)

    def forward(self, x):
        if bool(x.abs().sum() > 0):
            y = F.relu(self.bn(self.conv(x)))
            if bool(y.max() > -1):
                x = self.bn(F.relu(y + x))
            return self.bn(x)
        return x


# --- work that need not be done in each run ---

@model("weights_transposed", "weights that are transposed and copied in every run", ("weight", "constant", "folded"),
       of(lambda m, x: [x := torch.tanh(x @ w) for w in m.weights][-1]), ["x:1x768"], lambda: (torch.randn(1, 768),))
class WeightsTransposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(768, 768) / 28) for _ in range(4))

    def forward(self, x):
        for w in self.weights:
            x = torch.tanh(x @ w.t().contiguous().t())
        return x


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(torch.nn.utils.weight_norm(nn.Linear(512, 512)) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


def without_weight_norm(slow):
    plain = WeightNorm()
    plain.load_state_dict(slow.state_dict())
    for layer in plain.layers:
        torch.nn.utils.remove_weight_norm(layer)
    return plain


model("weights_recomputed", "weights that are normalized anew in every run", ("weight", "constant", "folded"),
      without_weight_norm, ["x:4x512"], lambda: (torch.randn(4, 512),))(WeightNorm)


@model("constants_recomputed", "position codes that are computed anew in every run", ("constant", "folded"),
       of(lambda m, x: m.layer(x + m.table)), ["x:1x256x256"], lambda: (torch.randn(1, 256, 256),))
class ConstantsRecomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)
        self.register_buffer("table", self.codes(256, 256))

    @staticmethod
    def codes(length: int, width: int):
        position = torch.arange(length, dtype=torch.float32).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
        return torch.stack([torch.sin(position * rate), torch.cos(position * rate)], -1).flatten(1)

    def forward(self, x):
        return self.layer(x + self.codes(x.size(1), x.size(2)))


@model("repeated_subgraph", "the same computed several times", ("compute again",),
       of(lambda m, x: m.head(m.body(x)) * 4), ["x:1x16x64x64"], lambda: (torch.randn(1, 16, 64, 64),))
class RepeatedSubgraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1))
        self.head = nn.Conv2d(32, 16, 1)

    def forward(self, x):
        return self.part(x) + self.part(x.contiguous()) + self.part(x.clone()) + self.part(x)

    def part(self, x):
        return self.head(self.body(x))


# --- the wrong operation ---

@model("one_hot", "a look-up written as a product with one-hot rows", ("one-hot", "one_hot", "look-up"),
       of(lambda m, ids: F.embedding(ids, m.table)), ["ids:1x64:int64[0,4999]"],
       lambda: (torch.randint(0, 5000, (1, 64)),))
class OneHot(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(5000, 64))

    def forward(self, ids):
        return F.one_hot(ids, 5000).float() @ self.table


@model("broadcast_product", "a matrix product written as a broadcast product and a sum", ("product", "matmul", "broadcast"),
       of(lambda m, x: x @ m.weight), ["x:64x256"], lambda: (torch.randn(64, 256),))
class BroadcastProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(256, 256) / 16)

    def forward(self, x):
        return (x.unsqueeze(2) * self.weight.unsqueeze(0)).sum(1)


@model("einsum", "attention written with einsum over axes in an unlucky order", ("einsum", "product", "transpos", "attention"),
       of(lambda m, q, k, v: F.softmax((q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)) / 8.0, -1)
          .matmul(v.permute(0, 2, 1, 3)).permute(0, 2, 1, 3).contiguous()),
       ["q:1x128x8x64", "k:1x128x8x64", "v:1x128x8x64"], lambda: tuple(torch.randn(1, 128, 8, 64) for _ in range(3)))
class Einsum(nn.Module):
    def forward(self, q, k, v):
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / 8.0
        return torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, -1), v)


@model("mask_gather", "rows picked by a mask, computed and written back", ("mask", "nonzero", "index", "size"),
       of(lambda m, x: torch.where(x.sum(-1, keepdim=True) > -40, F.relu(m.layer(x)), x)), ["x:256x256"],
       lambda: (torch.randn(256, 256),))
class MaskGather(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        mask = x.sum(-1) > -40
        y = x.clone()
        y[mask] = F.relu(self.layer(x[mask]))
        return y


@model("padding", "convolutions over a wide border of zeros that is cut off again", ("padding", "pad", "zeros", "border"),
       of(lambda m, x: F.conv2d(x, m.conv.weight, m.conv.bias, 1, 1)), ["x:1x16x32x32"],
       lambda: (torch.randn(1, 16, 32, 32),))
class Padding(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, padding=1)

    def forward(self, x):
        return self.conv(F.pad(x, [32, 32, 32, 32]))[:, :, 32:64, 32:64]


# --- how it is saved or run ---

class TrainMode(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = convs(4, 32)
        self.norms = nn.ModuleList(nn.BatchNorm2d(32) for _ in range(4))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = F.dropout(F.relu(norm(layer(x))), 0.1, self.training)
        return x


def evaluated(slow):
    plain = TrainMode()
    plain.load_state_dict(slow.state_dict())
    return plain.eval()


model("train_mode", "traced while training: norms use the batch, dropout is active", ("training", "dropout", "random"),
      evaluated, ["x:1x32x56x56"], lambda: (torch.randn(1, 32, 56, 56),), training=True)(TrainMode)


@model("too_many_threads", "more threads than the machine has cores", ("thread",),
       of(lambda m, x: [x := F.relu(layer(x)) for layer in m.layers][-1]), ["x:16x256"],
       lambda: (torch.randn(16, 256),), flags=("--threads", "16"))
class TooManyThreads(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(8, 256)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


@model("cold_weights", "few rows through many weights: memory is the limit, not computing",
       ("memory", "weights", "INT8", "BF16"), of(lambda m, x: [x := F.relu(layer(x)) for layer in m.layers][-1]),
       ["x:1x2048"], lambda: (torch.randn(1, 2048),))
class ColdWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linears(6, 2048)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


def export(entry: SlowModel, folder: str) -> None:
    torch.manual_seed(SEED)
    slow = entry.slow()
    slow.train(entry.training)
    good = entry.good(slow)
    good.train(False)
    sample = entry.sample()
    with torch.no_grad():
        for name, module in ((entry.name, slow), (f"{entry.name}.good", good)):
            module.train(entry.training and module is slow)
            saved = torch.jit.script(module) if entry.scripted and module is slow else \
                torch.jit.trace(module, sample, check_trace=False)
            saved.save(os.path.join(folder, f"{name}.pt"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", metavar="FOLDER", dest="folder")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list or not arguments.folder:
        for entry in MODELS.values():
            print(f"{entry.name:22} {entry.cause}")
        return 0
    os.makedirs(arguments.folder, exist_ok=True)
    chosen = [MODELS[name] for name in arguments.names or MODELS]
    for entry in chosen:
        export(entry, arguments.folder)
    with open(os.path.join(arguments.folder, "models.json"), "w", encoding="utf-8") as file:
        json.dump([{"name": entry.name, "cause": entry.cause, "words": entry.words, "inputs": entry.inputs,
                    "flags": entry.flags} for entry in chosen], file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
