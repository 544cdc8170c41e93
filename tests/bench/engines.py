"""The engines that are compared: each loads one network for a fixed number of threads and gives a function to call.

Imported by worker.py, in the interpreter that the engine lives in: Debian's for ours and its baseline, one of those that
rivals.sh makes for the others. FP32 is FP32: OpenVINO is told so, the others compute as the model says. BF16 is what each
one's documentation gives as mixed precision: a hint for OpenVINO, autocast in PyTorch. INT8 is what each one's own
post-training quantization makes of the FP32 model, calibrated on the same few inputs; what it leaves in floating point
stays FP32.
"""

import contextlib
import os
from typing import Callable, Dict, List

import numpy as np

SAMPLES = 8  # to calibrate on


class Engine:
    """One network, loaded. `files` holds the paths by kind: "module", "onnx", "exported", "litert", "torchscript",
    "compiled", "exact", "library", for INT8 "samples", "qdq" and "nncf"."""

    def __init__(self, files: Dict[str, str], inputs: List[np.ndarray], threads: int):
        raise NotImplementedError

    @staticmethod
    def version() -> str:
        raise NotImplementedError

    def forward(self) -> object:
        raise NotImplementedError

    def outputs(self) -> List[np.ndarray]:
        """One forward, its outputs flattened."""
        raise NotImplementedError

    @staticmethod
    def context() -> contextlib.AbstractContextManager:
        """Entered once around everything that runs."""
        return contextlib.nullcontext()


class TorchEngine(Engine):
    """An engine that runs in PyTorch: `self.module` on `self.inputs`."""

    def __init__(self, files, inputs, threads):
        import torch

        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.inputs = [torch.from_numpy(array) for array in inputs]
        self.module = self.load(files)

    def load(self, files) -> Callable:
        raise NotImplementedError

    @staticmethod
    def version():
        import torch

        return torch.__version__.split("+")[0]

    @staticmethod
    def context():
        import torch

        return torch.no_grad()

    def forward(self):
        return self.module(*self.inputs)

    def outputs(self):
        import torch

        return [(tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy() for tensor in flattened(self.forward())]


def flattened(value) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flattened(part)]
    return [value]


def pickled_module(files):
    import torch

    return torch.load(files["module"], weights_only=False).eval()


class IpexStudio(TorchEngine):
    """Our compiled export in stock PyTorch."""

    def load(self, files):
        import torch

        torch.ops.load_library(files["library"])
        return torch.jit.load(files["compiled"]).eval()


class Exact(IpexStudio):
    """Our compiled export without Winograd: no convolution rounds differently."""

    def load(self, files):
        return super().load({**files, "compiled": files["exact"]})


class FrozenTorch(TorchEngine):
    """torch.jit.freeze with its defaults."""

    def load(self, files):
        import torch

        return torch.jit.freeze(torch.jit.load(files["torchscript"]).eval())


class Ipex(TorchEngine):
    """intel-extension-for-pytorch as its documentation says: optimize, trace, freeze."""

    def load(self, files):
        import intel_extension_for_pytorch as ipex
        import torch

        module = ipex.optimize(pickled_module(files), dtype=torch.float32, inplace=True)
        return torch.jit.freeze(torch.jit.trace(module, self.inputs, check_trace=False, strict=False))

    @staticmethod
    def version():
        import intel_extension_for_pytorch as ipex

        return ipex.__version__.split("+")[0]


class Inductor(TorchEngine):
    """torch.compile with freezing, which folds and packs the weights."""

    def load(self, files):
        import torch
        import torch._inductor.config

        torch._inductor.config.freezing = True
        return torch.compile(pickled_module(files))


class AotInductor(TorchEngine):
    """torch.export, compiled ahead of time into a library (AOTInductor), weights folded and packed."""

    def load(self, files):
        import ctypes

        import torch

        # Compiled models look for torch's symbols among those that all libraries see; Python's loader keeps them out.
        ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
        return torch._inductor.aoti_load_package(files["aotinductor"])


class OnnxRuntime(Engine):
    FILE = "onnx"

    def __init__(self, files, inputs, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # The threads stop spinning when a call returns, since another engine's turn may follow.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(files[self.FILE], options, providers=["CPUExecutionProvider"])
        self.feed = {argument.name: array for argument, array in zip(self.session.get_inputs(), inputs)}

    @staticmethod
    def version():
        import onnxruntime

        return onnxruntime.__version__

    def forward(self):
        return self.session.run(None, self.feed)

    def outputs(self):
        return self.forward()


class OpenVino(Engine):
    PRECISION = "f32"

    def __init__(self, files, inputs, threads):
        import openvino

        core = openvino.Core()
        settings = {"INFERENCE_PRECISION_HINT": self.PRECISION, "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False, "KV_CACHE_PRECISION": "f32",
                    "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        compiled = core.compile_model(self.model(files), "CPU", settings)
        self.request = compiled.create_infer_request()
        for position, array in enumerate(inputs):
            self.request.set_input_tensor(position, openvino.Tensor(array, shared_memory=True))
        self.count = len(compiled.outputs)

    @staticmethod
    def model(files: Dict[str, str]) -> str:
        return files["onnx"]

    @staticmethod
    def version():
        import openvino

        return openvino.__version__.split("-")[0]

    def forward(self):
        # Inputs are bound and outputs stay in the request, so nothing is copied, as from C++.
        self.request.infer()

    def outputs(self):
        self.forward()
        return [np.array(self.request.get_output_tensor(i).data) for i in range(self.count)]


def litert_place(name: str) -> int:
    """The place of an argument of a converted model: the converter names them args_0, args_1, …, serving_default_args_0:0, …"""
    return int(name.split("args_")[1].split(":")[0])


class LiteRt(Engine):
    """LiteRT's interpreter with XNNPACK, which it uses by default."""

    FILE = "litert"

    def __init__(self, files, inputs, threads):
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(model_path=files[self.FILE], num_threads=threads)
        self.interpreter.allocate_tensors()
        places = sorted(self.interpreter.get_input_details(), key=lambda detail: litert_place(detail["name"]))
        for place, array in zip(places, inputs):
            self.interpreter.set_tensor(place["index"], array.astype(place["dtype"], copy=False))  # ids become int32
        # In the order of the signature: the interpreter's own is that of the graph.
        signature = self.interpreter.get_signature_runner().get_output_details()
        self.places = [signature[name]["index"] for name in sorted(signature, key=lambda name: int(name.split("_")[1]))]

    @staticmethod
    def version():
        import importlib.metadata

        return importlib.metadata.version("ai-edge-litert")

    def forward(self):
        # Inputs stay set and outputs stay in the interpreter, so nothing is copied, as from C++.
        self.interpreter.invoke()

    def outputs(self):
        self.forward()
        return [self.interpreter.get_tensor(place) for place in self.places]


class Bf16Context:
    """Runs in PyTorch's automatic mixed precision."""

    @staticmethod
    def context():
        import torch

        stack = contextlib.ExitStack()
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16))
        return stack


class Bf16Torch(Bf16Context, TorchEngine):
    """Traced under autocast and frozen."""

    def load(self, files):
        import torch

        module = torch.jit.trace(pickled_module(files), self.inputs, check_trace=False, strict=False)
        return torch.jit.freeze(module.eval())


class Bf16Ipex(Bf16Context, Ipex):
    """optimize for BF16, then trace under autocast and freeze."""

    def load(self, files):
        import intel_extension_for_pytorch as ipex
        import torch

        module = ipex.optimize(pickled_module(files), dtype=torch.bfloat16, inplace=True)
        return torch.jit.freeze(torch.jit.trace(module, self.inputs, check_trace=False, strict=False))


class Bf16Inductor(Bf16Context, Inductor):
    """torch.compile under autocast."""


class Bf16OpenVino(OpenVino):
    PRECISION = "bf16"


class QuantizedOnnxRuntime(OnnxRuntime):
    """onnxruntime.quantization's static QDQ model."""

    FILE = "qdq"


class QuantizedOpenVino(OpenVino):
    """NNCF's post-training quantization."""

    @staticmethod
    def model(files):
        return os.path.join(files["nncf"], "model.xml")


class QuantizedIpex(Ipex):
    """prepare and convert with the default static recipe."""

    def load(self, files):
        import intel_extension_for_pytorch as ipex
        import torch
        from intel_extension_for_pytorch.quantization import convert, prepare

        recipe = ipex.quantization.default_static_qconfig_mapping
        prepared = prepare(pickled_module(files), recipe, example_inputs=tuple(self.inputs), inplace=True)
        for inputs in read_samples(files["samples"]):
            prepared(*[torch.from_numpy(array) for array in inputs])
        module = convert(prepared)
        return torch.jit.freeze(torch.jit.trace(module, self.inputs, check_trace=False, strict=False))


class QuantizedLiteRt(LiteRt):
    """The quantizer's static recipe: INT8 weights and activations."""

    FILE = "litert_int8"


class ExtensionFile(TorchEngine):
    """A file that the extension wrote, where it is imported."""

    def load(self, files):
        import intel_extension_for_pytorch  # noqa: F401 (registers what the file names)
        import torch

        return torch.jit.load(files["torchscript"]).eval()


class PackageFile(TorchEngine):
    """A file of the extension where ipex_studio is imported in its place."""

    def load(self, files):
        import ipex_studio  # noqa: F401 (opens such files, and gives them plans)
        import torch

        return torch.jit.load(files["torchscript"]).eval()


# In the order of the table. "exact" is ours too; ipex-studio itself records the names "baseline" and "optimized".
ENGINES = {
    "baseline": FrozenTorch,
    "torch": FrozenTorch,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "openvino_2026_3": OpenVino,
    "litert": LiteRt,
    "ipex": Ipex,
    "inductor": Inductor,
    "aotinductor": AotInductor,
    "exact": Exact,
    "optimized": IpexStudio,
}
# Engines in BF16, beside frozen FP32. ONNX Runtime and LiteRT compute BF16 on no CPU.
BF16_ENGINES = {
    "baseline": FrozenTorch,
    "torch": Bf16Torch,
    "openvino": Bf16OpenVino,
    "openvino_2026_3": Bf16OpenVino,
    "ipex": Bf16Ipex,
    "inductor": Bf16Inductor,
    "aotinductor": AotInductor,
    "optimized": IpexStudio,
}
# Engines in INT8, beside frozen FP32.
INT8_ENGINES = {
    "baseline": FrozenTorch,
    "onnxruntime": QuantizedOnnxRuntime,
    "openvino": QuantizedOpenVino,
    "openvino_2026_3": QuantizedOpenVino,
    "litert": QuantizedLiteRt,
    "ipex": QuantizedIpex,
    "optimized": IpexStudio,
}
# Ways to run a file of the extension; twice its own, as a control.
FILE_ENGINES = {"extension": ExtensionFile, "control": ExtensionFile, "optimized": IpexStudio, "package": PackageFile,
                "plain": FrozenTorch}
BY_PRECISION = {"fp32": ENGINES, "bf16": BF16_ENGINES, "int8": INT8_ENGINES}
# What a worker is asked for: a precision of networks, or "file".
TABLES = {**BY_PRECISION, "file": FILE_ENGINES}
# Name of the Python environment of each engine; all others live in "rivals".
ENVIRONMENTS = {"baseline": "debian", "exact": "debian", "optimized": "debian", "package": "debian", "plain": "debian",
                "openvino_2026_3": "rivals-2.15", "aotinductor": "rivals-2.15", "litert": "rivals-litert"}


def environment_of(engine: str) -> str:
    return ENVIRONMENTS.get(engine, "rivals")


def read_arrays(path: str, prefix: str) -> List[np.ndarray]:
    """in0, in1, … or out0, out1, … of a file that prepare.py wrote."""
    with np.load(path) as file:
        return [np.ascontiguousarray(file[f"{prefix}{i}"]) for i in range(len(file.files)) if f"{prefix}{i}" in file.files]


def read_samples(path: str) -> List[List[np.ndarray]]:
    """The inputs of each case that `prepare.py samples` wrote."""
    with np.load(path) as file:
        return [[file[f"case{case}_in{i}"] for i in range(len(file.files)) if f"case{case}_in{i}" in file.files]
                for case in range(SAMPLES)]


def largest_relative_error(results: List[np.ndarray], expected: List[np.ndarray]) -> float:
    """Worst output's max |Δ| / max |expected|; infinite where number or shapes differ."""
    if len(results) != len(expected):
        return float("inf")
    worst = 0.0
    for result, reference in zip(results, expected):
        if result.shape != reference.shape:
            return float("inf")
        scale = float(np.abs(reference).max(initial=0.0)) or 1.0
        error = float(np.abs(result.astype(np.float64) - reference).max(initial=0.0)) / scale
        worst = error if error > worst or error != error else worst
    return worst


def smallest_cosine(results: List[np.ndarray], expected: List[np.ndarray]) -> float:
    """Worst output's cosine with the expected one; 0 where number or shapes differ."""
    if len(results) != len(expected):
        return 0.0
    worst = 1.0
    for result, reference in zip(results, expected):
        if result.shape != reference.shape:
            return 0.0
        a, b = result.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        cosine = float(a @ b) / lengths if lengths > 0 else float(np.array_equal(a, b))
        worst = cosine if not cosine >= worst else worst
    return worst if worst == worst else 0.0


def limit_to_cores(cores: List[int]) -> None:
    os.sched_setaffinity(0, cores)
