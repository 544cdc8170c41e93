"""How layers of torch multiply FP32 numbers on CPUs; plans compute in FP32."""
import enum

import torch

from ._log import logger


class FP32MathMode(enum.IntEnum):
    """FP32: as they are. BF32: rounded to BF16, with sums in FP32. TF32: GPUs have it."""
    FP32 = 0
    TF32 = 1
    BF32 = 2


_PRECISIONS = {FP32MathMode.FP32: "highest", FP32MathMode.BF32: "medium"}


def _check(device: str) -> None:
    if device not in ("cpu", "xpu"):
        raise RuntimeError(f"Unexpected device type {device}. Supported are 'cpu', 'xpu'.")


def set_fp32_math_mode(mode: FP32MathMode = FP32MathMode.FP32, device: str = "cpu") -> None:
    """Chooses FP32 or BF32 for matrix products on CPUs, as torch.set_float32_matmul_precision does. Other modes, and
    those of other devices, are said to change nothing."""
    _check(device)
    precision = _PRECISIONS.get(FP32MathMode(mode))
    if device != "cpu" or precision is None:
        logger.warning("There is no %s on %s here: the mode stays %s.", FP32MathMode(mode).name, device,
                       get_fp32_math_mode().name)
    else:
        torch.set_float32_matmul_precision(precision)


def get_fp32_math_mode(device: str = "cpu") -> FP32MathMode:
    """The mode of CPUs; FP32 for other devices."""
    _check(device)
    medium = device == "cpu" and torch.get_float32_matmul_precision() == "medium"
    return FP32MathMode.BF32 if medium else FP32MathMode.FP32
