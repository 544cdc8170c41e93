#!/usr/bin/python3
"""Writes the model files that the command line's tests feed to the program: make_models.py FOLDER.

Among them are attacks, which write to FOLDER/victim.txt when nothing stops them.
"""

import os
import sys
import zipfile
import warnings
from typing import Dict, List, Optional, Tuple

import numpy
import torch
from torch.utils.mobile_optimizer import optimize_for_mobile


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.norm(self.convolution(x)))
        return self.linear(x.mean([2, 3]))


class Trainable(Small):
    """Has a dropout, too, and classes that are quickly learned."""

    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x):
        x = torch.relu(self.norm(self.convolution(x)))
        return self.linear(self.dropout(x.mean([2, 3])))


class Two(torch.nn.Module):
    """Two arguments: floats and ids."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 6)
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x, ids):
        return self.linear(x) + self.table(ids)


class Decoder(torch.nn.Module):
    """A language model of one layer that takes and returns its cache."""

    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(50, 16)
        self.places = torch.nn.Embedding(64, 16)
        self.qkv = torch.nn.Linear(16, 48)
        self.out = torch.nn.Linear(16, 50)

    def forward(self, ids, past: Tuple[Tuple[torch.Tensor, torch.Tensor]]):
        b, t, n = ids.size(0), ids.size(1), past[0][0].size(2)
        x = self.tokens(ids) + self.places(torch.arange(n, n + t))
        q, k, v = [y.view(b, t, 2, 8).transpose(1, 2) for y in self.qkv(x).chunk(3, 2)]
        k, v = torch.cat([past[0][0], k], 2), torch.cat([past[0][1], v], 2)
        mask = torch.ones(t, n + t, dtype=torch.bool).tril(n)
        w = (q @ k.transpose(2, 3) / 2).masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + (w @ v).transpose(1, 2).reshape(b, t, 16)
        return self.out(x) * 4, ((k, v),)


class Silent(torch.nn.Module):
    """Takes a cache and does not return it."""

    def forward(self, ids, past: Tuple[Tuple[torch.Tensor, torch.Tensor]]):
        x = ids[:, :, None].expand(-1, -1, 3).float()
        return torch.cat([past[0][0], x], 1) + torch.cat([past[0][1], x], 1)


class NoGuess(torch.nn.Module):
    """A model that does not show how many dimensions its argument has."""

    def forward(self, x):
        return x + 1


class Spectrum(torch.nn.Module):
    """Takes complex tensors and a complex number."""

    def forward(self, z, w, scale: complex):
        return torch.fft.ifft(z * w).abs(), z.real + (w * scale).imag


class Unpacks(torch.nn.Module):
    """A model whose guessed input has too few dimensions."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 4)

    def forward(self, x):
        batch, length, width = x.shape
        return self.linear(x).view(batch, length * width // 6 * 4)


class Endless(torch.nn.Module):
    def forward(self, x):
        while bool(x.sum() < 1e30):
            x = x * 0.5
        return x


class Huge(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones([1 << 20, 1 << 20, 64]).sum()


class Options(torch.nn.Module):
    """Arguments that are no tensors; each shows in the result."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x, count: int, scale: float, flag: bool, mask: Optional[torch.Tensor] = None):
        y = self.linear(x).repeat(count, 1) * scale
        if flag:
            y = y + 1
        if mask is not None:
            y = y * mask
        return y


class Defaults(torch.nn.Module):
    """Arguments with defaults, which stay as they are, and one that may be left out."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x, mask: Optional[torch.Tensor] = None, scale: float = 1.0, flag: bool = True, n: int = 2,
                mode: str = "max: 1"):
        y = self.linear(x) * scale
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        if mode == "max: 1" and flag:
            return y.relu()
        return y * n


class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, images: List[torch.Tensor], named: Dict[str, torch.Tensor], pair: Tuple[float, List[int]]):
        y = self.linear(images[0]).relu() + named["a"]
        return [y * pair[0], images[-1] + pair[1][0]]


class Streaming(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x).relu()

    @torch.jit.export
    def step(self, x, state):
        state = torch.tanh(self.linear(x) + state)
        return state * 2, state


class Warns(torch.nn.Module):
    """Warns and prints as it runs, inside of no_grad()."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x):
        with torch.no_grad():
            y = self.linear(x).relu()
        if torch.jit.is_scripting():
            warnings.warn("Scripted module always returns a tuple")
        return y, torch.sigmoid(self.linear(y))


class Counter(torch.nn.Module):
    """The state counts the calls and changes the result."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)
        self.calls = torch.zeros(1)

    def forward(self, x):
        self.calls = self.calls + 1
        return self.linear(x) * self.calls

    @torch.jit.export
    def restart(self):
        self.calls = torch.zeros(1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 8, batch_first=True)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(self.lstm(x)[0]).relu()


class NotThree(torch.nn.Module):
    """Refuses one batch size."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x):
        if x.size(0) == 3:
            raise ValueError("three rows")
        return self.linear(x)


class Dice(torch.nn.Module):
    """Another result each time, unless the random numbers are the same."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x) + torch.rand(1, 6)


class Bytes(torch.nn.Module):
    """An image in bytes; some of its values are rounded from near a half."""

    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        return self.convolution(x).sigmoid().mul(255).round().to(torch.uint8)


class Wide(torch.nn.Module):
    """Little code and so many megabytes of weights."""

    def __init__(self, megabytes: int):
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(megabytes * 250_000, dtype=torch.float32).view(megabytes, -1))

    def forward(self, x):
        return x + self.table[0]


class WriteOnLoad(torch.nn.Module):
    """Code in __setstate__ runs while the file is merely loaded."""

    path: str

    def __init__(self, path: str):
        super().__init__()
        self.path = path
        self.weight = torch.nn.Parameter(torch.ones(3, 4))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)

    @torch.jit.export
    def __getstate__(self):
        return (self.weight, self.path, self.training)

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, str, bool]):
        self.weight = state[0]
        self.path = state[1]
        self.training = state[2]
        torch.save(state[0], state[1])


class Rounded(torch.nn.Module):
    """A small network after eager quantization of PyTorch: a branch, a sum, a concatenation, pools."""

    def __init__(self):
        super().__init__()
        self.quantize = torch.quantization.QuantStub()
        self.dequantize = torch.quantization.DeQuantStub()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.relu = torch.nn.ReLU()
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.pointwise = torch.nn.Conv2d(16, 16, 1)
        self.sum = torch.nn.quantized.FloatFunctional()
        self.join = torch.nn.quantized.FloatFunctional()
        self.pool = torch.nn.MaxPool2d(2)
        self.linear = torch.nn.Linear(32, 10)

    def forward(self, x):
        x = self.relu(self.first(self.quantize(x)))
        y = self.sum.add_relu(x, self.pointwise(self.depthwise(x)))
        x = self.join.cat([self.pool(x), self.pool(y)], 1)
        x = torch.flatten(torch.nn.functional.adaptive_avg_pool2d(x, 1), 1)
        return self.dequantize(self.linear(x))


def rounded(engine: str) -> torch.jit.ScriptModule:
    torch.backends.quantized.engine = engine
    model = torch.quantization.fuse_modules(Rounded().eval(), [["first", "relu"]])
    model.qconfig = torch.quantization.get_default_qconfig(engine)
    torch.quantization.prepare(model, inplace=True)
    for _ in range(4):
        model(torch.randn(2, 3, 16, 16))
    torch.quantization.convert(model, inplace=True)
    return torch.jit.script(model)


def fake_rounded() -> torch.jit.ScriptModule:
    """The same network in quantization-aware training, where floats hold the later integers."""
    model = Rounded().train()
    model.qconfig = torch.quantization.get_default_qat_qconfig("qnnpack", version=0)
    torch.quantization.prepare_qat(model, inplace=True)
    for _ in range(4):
        model(torch.randn(2, 3, 16, 16))
    model.eval().apply(torch.quantization.disable_observer)
    return torch.jit.trace(model, torch.rand(1, 3, 16, 16))


def from_file_attack(path: str) -> torch.jit.ScriptModule:
    """forward() maps a file of the user and overwrites it."""

    class Overwrite(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.path = path

        def forward(self, x):
            mapped = torch.from_file(self.path, True, 6, dtype=torch.uint8)
            mapped.fill_(65)
            return self.linear(x) + mapped.sum()

    return torch.jit.script(Overwrite())


def with_replaced_code(source: str, target: str, old: bytes, new: bytes) -> None:
    """Copies a model file, with valid checksums, and `old` in its code replaced by `new`."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
        replaced = 0
        for entry in archive.infolist():
            content = archive.read(entry)
            if "/code/" in entry.filename and entry.filename.endswith(".py"):
                replaced += content.count(old)
                content = content.replace(old, new)
            copy.writestr(entry.filename, content)
        assert replaced > 0, f"{old!r} is not in the code of {source}"


def with_broken_debug_info(source: str, target: str) -> None:
    """Copies a model file, with valid checksums, and with pickles of an empty tuple in place of what it says of Python."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
        for entry in archive.infolist():
            is_debug = entry.filename.endswith(".debug_pkl")
            copy.writestr(entry.filename, b"\x80\x02)." if is_debug else archive.read(entry))


def main() -> None:
    folder = sys.argv[1]
    victim = os.path.join(folder, "victim.txt")
    torch.manual_seed(0)

    def path(name: str) -> str:
        return os.path.join(folder, name)

    small = torch.jit.trace(Small().eval(), torch.rand(1, 3, 16, 16))
    small.save(path("small.pt"))
    with_broken_debug_info(path("small.pt"), path("broken_debug.pt"))
    small.convolution.weight.data *= 1.5
    small.save(path("scaled.pt"))
    small.convolution.weight.data /= 1.5
    broken = Small().eval()
    broken.linear.weight.data[1, 2] = float("nan")
    torch.jit.trace(broken, torch.rand(1, 3, 16, 16), check_trace=False).save(path("nan_weight.pt"))
    torch.jit.script(Two().eval()).save(path("two.pt"))
    torch.jit.script(NoGuess()).save(path("no_guess.pt"))
    torch.jit.script(Endless()).save(path("endless.pt"))
    torch.jit.script(Huge()).save(path("huge.pt"))
    torch.jit.script(Options().eval()).save(path("options.pt"))
    torch.jit.script(Defaults().eval()).save(path("defaults.pt"))
    torch.jit.script(Nested().eval()).save(path("nested.pt"))
    torch.jit.script(Streaming().eval()).save(path("streaming.pt"))
    torch.jit.script(Warns().eval()).save(path("warns.pt"))
    torch.jit.script(Small().train()).save(path("training.pt"))
    torch.jit.trace(Trainable().train(), torch.rand(4, 3, 16, 16), check_trace=False).save(path("traced_training.pt"))
    torch.jit.script(Small().eval().half()).save(path("half.pt"))
    torch.jit.trace(Small().eval().double(), torch.rand(1, 3, 16, 16).double()).save(path("double.pt"))
    torch.jit.optimize_for_inference(torch.jit.script(Small().eval())).save(path("for_inference.pt"))
    optimize_for_mobile(torch.jit.script(Small().eval())).save(path("for_mobile.pt"))
    torch.jit.script(torch.quantization.quantize_dynamic(Recurrent().eval(), {torch.nn.LSTM})).save(path("quantized_lstm.pt"))
    torch.jit.script(Counter().eval()).save(path("counter.pt"))
    torch.jit.script(NotThree().eval()).save(path("not_three.pt"))
    torch.jit.script(Dice().eval()).save(path("dice.pt"))
    torch.jit.script(Wide(19)).save(path("wide_19.pt"))
    torch.jit.script(Wide(100)).save(path("wide_100.pt"))
    torch.jit.script(WriteOnLoad(victim)).save(path("write_on_load.pt"))
    if os.path.exists(victim):
        os.remove(victim)
    from_file_attack(victim).save(path("from_file.pt"))

    for engine in ["onednn", "qnnpack"]:
        rounded(engine).save(path(f"rounded_{engine}.pt"))
    fake_rounded().save(path("fake_rounded.pt"))
    dynamic = torch.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval())
    torch.jit.script(dynamic).save(path("rounded_dynamic.pt"))

    torch.save(Small().state_dict(), path("state_dict.pt"))
    with_replaced_code(path("small.pt"), path("unknown_op.pt"), b"torch.relu(", b"torch.relu_of_the_future(")
    with_replaced_code(path("small.pt"), path("user_operator.pt"), b"torch.relu(", b"ops.user_library.twice_relu(")
    with open(path("small.pt"), "rb") as whole:
        content = whole.read()
    with open(path("truncated.pt"), "wb") as cut:
        cut.write(content[:4000])
    with open(path("empty.pt"), "wb"):
        pass
    # An ONNX ModelProto begins with its IR version and the producer.
    with open(path("model.onnx"), "wb") as onnx:
        onnx.write(b"\x08\x07\x12\x07pytorch\x1a\x061.13.1:\x00" + bytes(200))
    torch.save([torch.rand(1, 3, 16, 16)], path("inputs.pt"))
    torch.save({"x": torch.rand(2, 6)}, path("first_of_two.pt"))
    ids = torch.randint(0, 10, [5])
    torch.save((torch.rand(5, 6), ids), path("tuple_of_two.pt"))
    numpy.savez(path("two.npz"), ids=ids.numpy(), x=torch.rand(5, 6).numpy())
    numpy.save(path("x.npy"), torch.rand(5, 6).numpy())
    numpy.save(path("ids.npy"), ids.numpy())
    torch.save([[torch.rand(2, 6), torch.rand(3)], {"a": torch.rand(2, 6)}, (2, [3, 4])], path("nested_inputs.pt"))
    torch.jit.script(Bytes().eval()).save(path("bytes.pt"))
    torch.jit.script(Spectrum()).save(path("spectrum.pt"))
    torch.jit.script(Unpacks().eval()).save(path("unpacks.pt"))
    # At the end, since every model draws from one sequence of random numbers.
    torch.jit.script(Trainable().train()).save(path("trainable.pt"))
    torch.jit.freeze(torch.jit.script(Small().eval())).save(path("frozen.pt"))
    past = ((torch.rand(1, 2, 3, 8), torch.rand(1, 2, 3, 8)),)
    torch.jit.trace(Decoder().eval(), (torch.tensor([[1, 2]]), past), check_trace=False).save(path("decoder.pt"))
    torch.jit.script(Silent().eval()).save(path("silent.pt"))
    numpy.save(path("prompt.npy"), numpy.array([[3, 1, 4]], dtype=numpy.int32))
    spoiled = torch.rand(32, 3, 8, 8)
    spoiled[20, 0, 0, 0] = float("nan")
    torch.save((spoiled, torch.arange(32) % 4), path("spoiled.pt"))


if __name__ == "__main__":
    main()
