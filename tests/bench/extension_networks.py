"""Writes files with Intel Extension for PyTorch, as its users did: extension_networks.py FOLDER [NAME …]

Runs where the extension is installed; files that are there stay. Networks are torchvision's, and small ones of every kind
that the extension treats in its own way, with seeded weights. A file's name ends with its form: fp32, bf16 (under autocast),
int8 (prepare, convert), and woq8, woq4 or nf4 (weights alone, as 8 bits, 4 bits, NF4); -warm is the graph that its executor
made of the first runs, in which its operators are fused. Beside NAME.pt stands NAME.npz with inputs and what the extension
makes of them (in0, in1, …, out0, …), and for fp32 what the network itself gives in FP64 (exact0, …).
"""

import contextlib
import copy
import math
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

SEED = 7
CALIBRATIONS = 4


class Encoder(nn.Module):
    """A text encoder as BERT: ids → words' states. Attention is written out, scores by matmul and softmax."""

    def __init__(self, width=256, heads=4, layers=4, words=1000, masked=False, norm=nn.LayerNorm):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "query": nn.Linear(width, width), "key": nn.Linear(width, width), "value": nn.Linear(width, width),
            "out": nn.Linear(width, width), "first": norm(width), "wide": nn.Linear(width, 4 * width),
            "narrow": nn.Linear(4 * width, width), "second": norm(width)}) for _ in range(layers))
        self.heads, self.masked = heads, masked
        self.register_buffer("order", torch.arange(512)[None])

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(self.order[:, :ids.size(1)])
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            query, key, value = (self.split(layer[name](x)) for name in ("query", "key", "value"))
            scale = math.sqrt(query.size(-1))
            if self.masked:  # as DistilBERT
                scores = torch.matmul(query / scale, key.transpose(2, 3))
                scores = scores.masked_fill((mask == 0).view(mask.size(0), 1, 1, -1).expand_as(scores), -3.4e38)
            else:
                scores = torch.matmul(query, key.transpose(-1, -2)) / scale + bias
            mixed = torch.matmul(functional.softmax(scores, -1), value)
            mixed = mixed.permute(0, 2, 1, 3).contiguous().view(x.size())
            x = layer["first"](layer["out"](mixed) + x)
            x = layer["second"](layer["narrow"](functional.gelu(layer["wide"](x))) + x)
        return x


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Decoder(nn.Module):
    """A language model as LLaMA: gated products, root mean square norms, a causal mask. Hidden states → logits."""

    def __init__(self, width=256, heads=4, layers=3, words=2000):
        super().__init__()
        names = ("query", "key", "value", "out")
        self.layers = nn.ModuleList(nn.ModuleDict({
            **{name: nn.Linear(width, width, bias=False) for name in names}, "first": RootMeanSquare(width),
            "second": RootMeanSquare(width), "gate": nn.Linear(width, 3 * width, bias=False),
            "up": nn.Linear(width, 3 * width, bias=False), "down": nn.Linear(3 * width, width, bias=False)})
            for _ in range(layers))
        self.head = nn.Linear(width, words, bias=False)
        self.heads = heads

    def forward(self, x):
        count = x.size(1)
        mask = torch.full((count, count), -1e9).triu(1).to(x.dtype)
        for layer in self.layers:
            y = layer["first"](x)
            query, key, value = (layer[name](y).view(y.size(0), count, self.heads, -1).transpose(1, 2)
                                 for name in ("query", "key", "value"))
            scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(query.size(-1)) + mask
            mixed = torch.matmul(functional.softmax(scores, -1), value).transpose(1, 2).reshape(y.size())
            x = x + layer["out"](mixed)
            y = layer["second"](x)
            x = x + layer["down"](functional.silu(layer["gate"](y)) * layer["up"](y))
        return self.head(x)


class Unet(nn.Module):
    def __init__(self, width=16):
        super().__init__()

        def block(from_, to):
            return nn.Sequential(nn.Conv2d(from_, to, 3, padding=1, bias=False), nn.BatchNorm2d(to), nn.ReLU(),
                                 nn.Conv2d(to, to, 3, padding=1), nn.ReLU())
        self.down = nn.ModuleList([block(3, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.join = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i, (up, join) in enumerate(zip(self.up, self.join)):
            x = join(torch.cat([kept[1 - i], up(x)], 1))
        return self.head(x)


class Tagger(nn.Module):
    def __init__(self, layers=2, both=True):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        self.lstm = nn.LSTM(128, 128, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(256 if both else 128, 20)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids))[0])


class Recommender(nn.Module):
    """Products of embeddings and dense features, as DLRM, through the extension's operators or its tables merged in one."""

    def __init__(self, tables=8, rows=5000, width=64, merged=False):
        super().__init__()
        import intel_extension_for_pytorch as ipex
        self.interaction = ipex.nn.functional.interaction
        bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bags = ipex.nn.modules.MergedEmbeddingBag.from_embeddingbag_list(bags) if merged else bags
        self.merged = merged
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + (tables + 1) * tables // 2, 256), nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())

    def forward(self, dense, offsets, *ids):
        dense = self.bottom(dense)
        if self.merged:
            found = self.bags(list(ids), [offsets] * len(ids))
        else:
            found = [bag(part, offsets) for bag, part in zip(self.bags, ids)]
        return self.top(self.interaction(dense, *found))


class Speech(nn.Module):
    """Convolutions over samples, then a recurrent layer in one direction."""

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(1, 64, 10, 5), nn.GELU(), nn.Conv1d(64, 128, 3, 2), nn.GELU(),
                                   nn.Conv1d(128, 128, 3, 2), nn.GELU())
        self.lstm = nn.LSTM(128, 96, batch_first=True)
        self.head = nn.Linear(96, 32)

    def forward(self, x):
        return functional.log_softmax(self.head(self.lstm(self.front(x).transpose(1, 2))[0]), -1)


class Backbone(nn.Module):
    """Residual blocks with the extension's frozen batch norm, and a pyramid as detectors have it."""

    def __init__(self):
        super().__init__()
        from intel_extension_for_pytorch.nn import FrozenBatchNorm2d

        def block(from_, to, stride):
            norm = FrozenBatchNorm2d(to)
            norm.running_var.uniform_(0.5, 1.5)
            return nn.Sequential(nn.Conv2d(from_, to, 3, stride, 1, bias=False), norm, nn.ReLU())
        self.blocks = nn.ModuleList([block(3, 32, 2), block(32, 64, 2), block(64, 128, 2)])
        self.sides = nn.ModuleList([nn.Conv2d(width, 64, 1) for width in (32, 64, 128)])

    def forward(self, x):
        kept = []
        for block in self.blocks:
            x = block(x)
            kept.append(x)
        sides = [side(part) for side, part in zip(self.sides, kept)]
        for i in (1, 0):
            sides[i] = sides[i] + functional.interpolate(sides[i + 1], scale_factor=2.0, mode="nearest")
        return tuple(sides)


class Activations(nn.Module):
    """A convolution and a linear layer before each function that the extension fuses with them."""

    FUNCTIONS = (torch.relu, torch.sigmoid, torch.tanh, functional.silu, functional.mish, functional.hardswish, functional.gelu,
                 functional.leaky_relu, functional.elu, functional.hardsigmoid, torch.abs, torch.square)

    def __init__(self, layer, width):
        super().__init__()
        self.layers = nn.ModuleList(layer(width) for _ in self.FUNCTIONS)

    def forward(self, x):
        for layer, function in zip(self.layers, self.FUNCTIONS):
            x = function(layer(x)) + x
        return x


class Patches(nn.Module):
    """A vision transformer."""

    def __init__(self, width=192, layers=6):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 16, 16)
        self.place = nn.Parameter(torch.randn(1, 196, width) * 0.02)
        block = nn.TransformerEncoderLayer(width, 3, 4 * width, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.ModuleList(copy.deepcopy(block) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
                                    nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(), nn.ConvTranspose3d(32, 8, 2, 2), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


def mlp(*widths):
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def generator():
    widths = (64, 128, 64, 32)
    layers = [part for a, b in zip(widths, widths[1:])
              for part in (nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


def image(side=224, batch=1):
    return lambda: (torch.rand(batch, 3, side, side),)


def values(*sizes):
    return lambda: (torch.randn(*sizes),)


def ids(*sizes):
    return lambda: (torch.randint(0, 1000, sizes),)


def text(length=64):
    def make():
        mask = torch.ones(1, length, dtype=torch.int64)
        mask[:, length - 9:] = 0
        return torch.randint(0, 1000, (1, length)), mask
    return make


def clicks(batch=64, tables=8, bag=4):
    return lambda: (torch.randn(batch, 13), torch.arange(0, batch * bag, bag),
                    *(torch.randint(0, 5000, (batch * bag,)) for _ in range(tables)))


def vision(name):
    def build():
        import torchvision
        return getattr(torchvision.models, name)(weights=None)
    return build


# name: what builds it, its inputs, its forms
NETWORKS = {
    "resnet18": (vision("resnet18"), image(), "fp32 fp32-warm bf16 int8"),
    "resnet50": (vision("resnet50"), image(), "fp32 fp32-warm bf16"),
    "mobilenet_v2": (vision("mobilenet_v2"), image(), "fp32 int8"),
    "mobilenet_v3_small": (vision("mobilenet_v3_small"), image(), "fp32 fp32-warm bf16"),
    "squeezenet1_1": (vision("squeezenet1_1"), image(), "fp32-warm"),
    "densenet121": (vision("densenet121"), image(), "fp32-warm"),
    "shufflenet_v2": (vision("shufflenet_v2_x1_0"), image(), "fp32"),
    "efficientnet_b0": (vision("efficientnet_b0"), image(), "fp32-warm"),
    "regnet": (vision("regnet_y_400mf"), image(), "fp32"),
    "unet": (Unet, image(128), "fp32 fp32-warm bf16"),
    "generator": (generator, values(1, 64, 4, 4), "fp32"),
    "volume": (Volume, values(1, 1, 16, 32, 32), "fp32"),
    "backbone": (Backbone, image(160), "fp32"),
    "activations_conv": (lambda: Activations(lambda n: nn.Conv2d(n, n, 3, padding=1), 24), values(1, 24, 28, 28), "fp32-warm"),
    "activations_linear": (lambda: Activations(lambda n: nn.Linear(n, n), 256), values(16, 256), "fp32-warm"),
    "mlp": (lambda: mlp(256, 1024, 1024, 10), values(16, 256), "fp32 bf16 int8 woq8 woq4"),
    "encoder": (Encoder, text(), "fp32 fp32-warm bf16 int8"),
    "masked_encoder": (lambda: Encoder(masked=True), text(), "fp32-warm"),
    "decoder": (Decoder, values(1, 32, 256), "fp32 fp32-warm bf16 woq8 woq4 nf4"),
    "patches": (Patches, image(), "fp32 bf16"),
    "tagger": (Tagger, ids(2, 40), "fp32 bf16"),
    "speech": (Speech, values(1, 1, 8000), "fp32"),
    "recommender": (Recommender, clicks(), "fp32 bf16"),
    "merged_recommender": (lambda: Recommender(merged=True), clicks(), "fp32"),
}


def names():
    return [f"{name}-{form}" for name, (_, _, forms) in NETWORKS.items() for form in forms.split()]


def settled(model):
    """Norms in which each channel has a scale of its own, as after training."""
    for part in model.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            nn.init.uniform_(part.running_var, 0.5, 1.5)
            nn.init.normal_(part.running_mean, 0.0, 0.1)
    return model.eval()


def prepared(model, form, inputs, sample):
    """The model as the extension's documentation prepares it for a form; traced and frozen."""
    import intel_extension_for_pytorch as ipex
    if form == "int8":
        from intel_extension_for_pytorch.quantization import convert, default_static_qconfig_mapping, prepare
        model = prepare(model, default_static_qconfig_mapping, example_inputs=inputs, inplace=True)
        for _ in range(CALIBRATIONS):
            model(*sample())
        model = convert(model)
    elif form in ("woq8", "woq4", "nf4"):
        from intel_extension_for_pytorch.quantization import WoqWeightDtype, convert, get_weight_only_quant_qconfig_mapping, prepare
        kind = {"woq8": WoqWeightDtype.INT8, "woq4": WoqWeightDtype.INT4, "nf4": WoqWeightDtype.NF4}[form]
        recipe = get_weight_only_quant_qconfig_mapping(weight_dtype=kind, group_size=-1 if form == "woq8" else 64)
        model = convert(prepare(model, recipe, inplace=True))
    else:
        model = ipex.optimize(model, dtype=torch.bfloat16 if form == "bf16" else torch.float32, inplace=True)
    return torch.jit.freeze(torch.jit.trace(model, inputs, check_trace=False, strict=False))


def run_thrice(module, inputs):
    """Results of the third run, each on inputs of its own: fused operators of the extension may write to them."""
    for _ in range(3):
        found = module(*[value.clone() for value in inputs])
    return as_tuple(found)


def fused(module, inputs):
    """The graph that the executor made of the first runs, as what can be saved."""
    run_thrice(module, inputs)
    graph = module.graph_for(*[value.clone() for value in inputs]).copy()
    graph.eraseInput(0)  # a frozen module reads nothing of itself
    torch._C._jit_pass_erase_shape_information(graph)
    return torch._C._create_function_from_graph("forward", graph)


def as_tuple(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def in_fp64(model, inputs):
    """Results of the network before the extension has it; none where operators of the extension know no FP64."""
    try:
        with torch.no_grad():
            return as_tuple(copy.deepcopy(model).double()(*[x.double() if x.is_floating_point() else x for x in inputs]))
    except RuntimeError:
        return ()


def make(name, stem):
    network, form = name.split("-", 1)
    build, sample, _ = NETWORKS[network]
    torch.manual_seed(SEED)
    model, inputs = settled(build()), sample()
    precision = form.split("-")[0]
    exact = in_fp64(model, inputs) if precision == "fp32" else ()
    autocast = torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    with torch.no_grad(), autocast:
        module = prepared(model, precision, tuple(value.clone() for value in inputs), sample)
        (fused(module, inputs) if form.endswith("-warm") else module).save(f"{stem}.partial")
        found = run_thrice(torch.jit.load(f"{stem}.partial"), inputs)
    np.savez(f"{stem}.npz", **{f"in{i}": value.numpy() for i, value in enumerate(inputs)},
             **{f"out{i}": value.float().numpy() for i, value in enumerate(found)},
             **{f"exact{i}": value.numpy() for i, value in enumerate(exact)})
    os.replace(f"{stem}.partial", f"{stem}.pt")


def main():
    folder, chosen = sys.argv[1], sys.argv[2:] or names()
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for name in chosen:
        stem = os.path.join(folder, name)
        if os.path.exists(f"{stem}.pt"):
            continue
        try:
            make(name, stem)
        except Exception as problem:  # of the extension; the others are made
            failed += 1
            print(f"{name}: {type(problem).__name__}: {str(problem).strip().splitlines()[0]}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
