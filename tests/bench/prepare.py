"""Makes the files that one network is compared on, in the interpreter that it is called with.

  prepare.py io NETWORK MODEL.pt BATCH OUT.npz          Debian's PyTorch: inputs, and what eager makes of them in FP64
  prepare.py samples NETWORK MODEL.pt BATCH OUT.npz     Debian's PyTorch: inputs to calibrate on, and what eager makes of them
  prepare.py recording SAMPLES.npz OUT.io.pt            Debian's PyTorch: the same as ipex-studio reads it
  prepare.py arguments IO.npz OUT.in.pt                 Debian's PyTorch: the inputs alone as ipex-studio reads them
  prepare.py flags NETWORK BATCH                        prints ipex-studio's flags for the inputs
  prepare.py module NETWORK MODEL.pt OUT.pth            the rivals' PyTorch: the same weights as a Python module
  prepare.py onnx NETWORK MODULE.pth IO.npz OUT.onnx    the rivals' PyTorch: the module as ONNX, at the size of the inputs
  prepare.py exported NETWORK MODULE.pth IO.npz OUT.pt2         the rivals' PyTorch: the module by torch.export
  prepare.py exported_bf16 NETWORK MODULE.pth IO.npz OUT.pt2    the rivals' PyTorch: the same, in BF16 between FP32
  prepare.py aotinductor PROGRAM.pt2 THREADS OUT.pt2    AOTInductor's PyTorch: what is exported as a library
  prepare.py litert NETWORK MODULE.pth IO.npz OUT.tflite    LiteRT's PyTorch: the module converted
  prepare.py litert_int8 MODEL.tflite SAMPLES.npz OUT.tflite    LiteRT's PyTorch: INT8 by its quantizer, calibrated on the samples
  prepare.py qdq MODEL.onnx SAMPLES.npz OUT.onnx        the rivals' PyTorch: INT8 by ONNX Runtime, calibrated on the samples
  prepare.py nncf MODEL.onnx SAMPLES.npz OUT            the rivals' PyTorch: INT8 by NNCF for OpenVINO, a folder with model.xml
"""

import os
import shlex
import sys
import tempfile

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "..", "samples")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import engines  # noqa: E402
import export_models  # noqa: E402 (registers the networks)
from networks import registry  # noqa: E402

OPSET = 17  # the first with layer normalization


def in_fp64(module: torch.jit.ScriptModule):
    """The module as a function that computes in FP64 on inputs of FP32: what rounds differently is judged by it."""
    double = module.double()
    return lambda *inputs: double(*[value.double() if value.is_floating_point() else value for value in inputs])


def recorded(name: str, model: str, batch: str, cases: int, seed: int, prefix: str = "", exact: bool = False) -> dict:
    """in0, in1, …, out0, … of the first case, with `prefix` and its number before each where it is given."""
    torch.manual_seed(seed)
    module, arrays = torch.jit.load(model).eval(), {}
    module = in_fp64(module) if exact else module
    for case in range(cases):
        inputs = [value for value in registry.NETWORKS[name].sample(int(batch)) if isinstance(value, torch.Tensor)]
        with torch.no_grad():
            outputs = engines.flattened(module(*inputs))
        head = f"{prefix}{case}_" if prefix else ""
        arrays.update({f"{head}in{i}": tensor.numpy() for i, tensor in enumerate(inputs)})
        arrays.update({f"{head}out{i}": tensor.numpy() for i, tensor in enumerate(outputs)})
    return arrays


def write_io(name: str, model: str, batch: str, out: str) -> None:
    np.savez(out, **recorded(name, model, batch, 1, registry.SEED + 1, exact=True))


def write_samples(name: str, model: str, batch: str, out: str) -> None:
    np.savez(out, **recorded(name, model, batch, engines.SAMPLES, registry.SEED + 2, "case"))


def write_recording(samples: str, out: str) -> None:
    with np.load(samples) as file:
        tensors = {name: torch.from_numpy(file[name]) for name in file.files}
    export_models.save(torch.jit.script(export_models.Recording(tensors)), out)


def write_arguments(io: str, out: str) -> None:
    torch.save(tuple(torch.from_numpy(array) for array in engines.read_arrays(io, "in")), out)


def print_flags(name: str, batch: str) -> None:
    print(shlex.join(registry.NETWORKS[name].flags(int(batch))))


def write_module(name: str, model: str, out: str) -> None:
    registry.settling = False  # the weights come from the file
    torch.manual_seed(registry.SEED)
    module = registry.NETWORKS[name].build().eval()
    missing, _ = module.load_state_dict(torch.jit.load(model).state_dict(), strict=False)
    if missing:
        raise RuntimeError(f"{model} has no weights for {missing[0]}")
    torch.save(module, out)


class GatheredBag(nn.Module):
    """An embedding bag with equally long bags as gather and sum: the exporter writes a loop for it otherwise."""

    def __init__(self, bag: nn.EmbeddingBag):
        super().__init__()
        self.weight = bag.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return nn.functional.embedding(ids, self.weight).sum(1)


def loaded_module(module_path: str, io: str):
    """The module of write_module, and its inputs."""
    module = torch.load(module_path, weights_only=False).eval()
    return module, tuple(torch.from_numpy(array) for array in engines.read_arrays(io, "in"))


def with_gathered_bags(module: nn.Module) -> nn.Module:
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.EmbeddingBag):
                assert child.mode == "sum"
                setattr(parent, name, GatheredBag(child))
    return module


def write_onnx(_: str, module_path: str, io: str, out: str) -> None:
    module, inputs = loaded_module(module_path, io)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that ONNX does not know
    with torch.no_grad():
        torch.onnx.export(with_gathered_bags(module), inputs, out, opset_version=OPSET, dynamo=False)


class InBf16(nn.Module):
    """A module in BF16 between inputs and results in FP32."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module.to(torch.bfloat16)

    def forward(self, *inputs: torch.Tensor):
        results = self.module(*[value.to(torch.bfloat16) if value.is_floating_point() else value for value in inputs])
        return tuple(value.float() for value in engines.flattened(results))


def write_exported(_: str, module_path: str, io: str, out: str) -> None:
    module, inputs = loaded_module(module_path, io)
    with torch.no_grad():
        torch.export.save(torch.export.export(module, inputs), out)


def write_exported_bf16(_: str, module_path: str, io: str, out: str) -> None:
    module, inputs = loaded_module(module_path, io)
    with torch.no_grad():
        torch.export.save(torch.export.export(InBf16(module), inputs), out)


def write_aotinductor(exported: str, threads: str, out: str) -> None:
    torch.set_num_threads(int(threads))  # the number is written into the library
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # holds the weights several times
        torch._inductor.aoti_compile_and_package(torch.export.load(exported), package_path=out,
                                                 inductor_configs={"freezing": True})


def write_litert(_: str, module_path: str, io: str, out: str) -> None:
    import litert_torch

    module, inputs = loaded_module(module_path, io)
    litert_torch.convert(with_gathered_bags(module), inputs).export(out)


def write_litert_int8(model: str, samples: str, out: str) -> None:
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import qtyping, quantizer, recipe

    signature = Interpreter(model_path=model).get_signature_runner()
    places = {name: (engines.litert_place(name), details["dtype"]) for name, details in signature.get_input_details().items()}
    feeds = [{name: inputs[place].astype(dtype, copy=False) for name, (place, dtype) in places.items()}
             for inputs in engines.read_samples(samples)]
    quantized = quantizer.Quantizer(model, recipe.static_wi8_ai8())
    for edge in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
        # Inputs and outputs stay FP32, as those of the other engines.
        quantized.update_quantization_recipe(".*", edge, algorithm_key=quantizer.AlgorithmName.NO_QUANTIZE)
    quantized.quantize(quantized.calibrate({"serving_default": feeds})).export_model(out)


def write_qdq(onnx_path: str, samples: str, out: str) -> None:
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    names = [value.name for value in onnx.load(onnx_path, load_external_data=False).graph.input]

    class Inputs(CalibrationDataReader):
        feeds = [dict(zip(names, inputs)) for inputs in engines.read_samples(samples)]

        def get_next(self):
            return self.feeds.pop() if self.feeds else None

    prepared = out + ".prepared.onnx"
    quant_pre_process(onnx_path, prepared)
    try:
        quantize_static(prepared, out, Inputs(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    finally:
        os.remove(prepared)


def write_nncf(onnx_path: str, samples: str, out: str) -> None:
    import nncf
    import openvino

    inputs = nncf.Dataset(engines.read_samples(samples))
    quantized = nncf.quantize(openvino.Core().read_model(onnx_path), inputs, subset_size=engines.SAMPLES)
    os.makedirs(out)
    openvino.save_model(quantized, os.path.join(out, "model.xml"), compress_to_fp16=False)


COMMANDS = {"io": write_io, "samples": write_samples, "recording": write_recording, "arguments": write_arguments,
            "flags": print_flags, "module": write_module, "onnx": write_onnx, "exported": write_exported,
            "exported_bf16": write_exported_bf16, "aotinductor": write_aotinductor, "litert": write_litert,
            "litert_int8": write_litert_int8, "qdq": write_qdq, "nncf": write_nncf}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
