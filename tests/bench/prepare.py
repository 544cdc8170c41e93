"""Makes the files that one network is compared on, in the interpreter that it is called with.

  prepare.py io NETWORK MODEL.pt BATCH OUT.npz          Debian's PyTorch: inputs, and what eager makes of them
  prepare.py flags NETWORK BATCH                        prints ipex-studio's flags for the inputs
  prepare.py module NETWORK MODEL.pt OUT.pth            the rivals' PyTorch: the same weights as a Python module
  prepare.py onnx NETWORK MODULE.pth IO.npz OUT.onnx    the rivals' PyTorch: the module as ONNX, at the size of the inputs
  prepare.py qdq NETWORK MODEL.onnx IO.npz OUT.onnx     the rivals' PyTorch: INT8 by ONNX Runtime, calibrated on the inputs
  prepare.py nncf NETWORK MODEL.onnx IO.npz OUT         the rivals' PyTorch: INT8 by NNCF for OpenVINO, a folder with model.xml
"""

import os
import shlex
import sys

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "..", "samples")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import engines  # noqa: E402
import export_models  # noqa: E402,F401 (registers the networks)
from networks import registry  # noqa: E402

OPSET = 17  # the first with layer normalization


def write_io(name: str, model: str, batch: str, out: str) -> None:
    torch.manual_seed(registry.SEED + 1)
    inputs = [value for value in registry.NETWORKS[name].sample(int(batch)) if isinstance(value, torch.Tensor)]
    with torch.no_grad():
        outputs = engines.flattened(torch.jit.load(model).eval()(*inputs))
    arrays = {f"in{i}": tensor.numpy() for i, tensor in enumerate(inputs)}
    arrays.update({f"out{i}": tensor.numpy() for i, tensor in enumerate(outputs)})
    np.savez(out, **arrays)


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


def write_onnx(_: str, module_path: str, io: str, out: str) -> None:
    module = torch.load(module_path, weights_only=False).eval()
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.EmbeddingBag):
                assert child.mode == "sum"
                setattr(parent, name, GatheredBag(child))
    inputs = tuple(torch.from_numpy(array) for array in engines.read_arrays(io, "in"))
    with torch.no_grad():
        torch.onnx.export(module, inputs, out, opset_version=OPSET, dynamo=False)


def write_qdq(_: str, onnx_path: str, io: str, out: str) -> None:
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    names = [value.name for value in onnx.load(onnx_path, load_external_data=False).graph.input]

    class Inputs(CalibrationDataReader):
        feeds = [dict(zip(names, engines.read_arrays(io, "in")))]

        def get_next(self):
            return self.feeds.pop() if self.feeds else None

    prepared = out + ".prepared.onnx"
    quant_pre_process(onnx_path, prepared)
    try:
        quantize_static(prepared, out, Inputs(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    finally:
        os.remove(prepared)


def write_nncf(_: str, onnx_path: str, io: str, out: str) -> None:
    import nncf
    import openvino

    inputs = engines.read_arrays(io, "in")
    quantized = nncf.quantize(openvino.Core().read_model(onnx_path), nncf.Dataset([inputs]), subset_size=1)
    os.makedirs(out)
    openvino.save_model(quantized, os.path.join(out, "model.xml"), compress_to_fp16=False)


if __name__ == "__main__":
    {"io": write_io, "flags": print_flags, "module": write_module, "onnx": write_onnx, "qdq": write_qdq,
     "nncf": write_nncf}[sys.argv[1]](*sys.argv[2:])
