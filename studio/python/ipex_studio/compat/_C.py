"""intel_extension_for_pytorch._C: what scripts ask about the machine, and switches whose work plans do anyway."""
import functools
from typing import FrozenSet, List

import torch

from .. import _automatic
from .._math_mode import FP32MathMode, get_fp32_math_mode, set_fp32_math_mode
from ..cpu.runtime import CPUPool, is_runtime_ext_enabled
from ..cpu.runtime.cores import bind, bound_cores

__all__ = ["CPUPool", "FP32MathMode", "get_fp32_math_mode", "is_runtime_ext_enabled", "set_fp32_math_mode"]


@functools.lru_cache(maxsize=None)
def _flags() -> FrozenSet[str]:
    """What Linux says that this CPU has."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return frozenset(next((line.split(":")[1].split() for line in file if line.startswith("flags")), []))


# Instruction sets by the extension's names, least first, and what a CPU has that has them.
_AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq"}
_LEVELS = {
    "AVX2": {"avx2", "fma"},
    "AVX2_VNNI": {"avx2", "avx_vnni"},
    "AVX512": _AVX512,
    "AVX512_VNNI": _AVX512 | {"avx512_vnni"},
    "AVX512_BF16": _AVX512 | {"avx512_vnni", "avx512_bf16"},
    "AMX": _AVX512 | {"avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"},
    "AVX512_FP16": _AVX512 | {"avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16", "avx512_fp16"},
}


def _has(*flags: str) -> bool:
    return _flags().issuperset(flags)


def isa_has_avx2_support() -> bool:
    return _has(*_LEVELS["AVX2"])


def isa_has_avx2_vnni_support() -> bool:
    return _has(*_LEVELS["AVX2_VNNI"])


def isa_has_avx512_support() -> bool:
    return _has(*_AVX512)


def isa_has_avx512_vnni_support() -> bool:
    return _has(*_LEVELS["AVX512_VNNI"])


def isa_has_avx512_bf16_support() -> bool:
    return _has(*_LEVELS["AVX512_BF16"])


def isa_has_avx512_fp16_support() -> bool:
    return _has(*_AVX512, "avx512_fp16")


def isa_has_amx_support() -> bool:
    return _has("amx_tile", "amx_int8", "amx_bf16")


def isa_has_amx_fp16_support() -> bool:
    return _has("amx_tile", "amx_fp16")


def onednn_has_bf16_support() -> bool:
    """True where BF16 layers run: there is AVX-512 at least, or AVX with conversions."""
    return _has(*_AVX512) or _has("avx_ne_convert")


def onednn_has_fp16_support() -> bool:
    return _has(*_AVX512, "avx512_fp16") or _has("avx_ne_convert")


def onednn_has_fp8_support() -> bool:
    return _has("amx_fp16")


def _get_highest_cpu_support_isa_level() -> str:
    return next((name for name in reversed(_LEVELS) if _has(*_LEVELS[name])), "DEFAULT")


def _get_highest_binary_support_isa_level() -> str:
    return next(reversed(_LEVELS))


# One binary holds the kernels of all levels and takes the highest.
_get_current_isa_level = _get_current_onednn_isa_level = _get_highest_cpu_support_isa_level


def _has_cpu() -> bool:
    return True


def _has_xpu() -> bool:
    return False


def enable_jit_opt() -> None:
    _automatic.enable_onednn_fusion(True)


def disable_jit_opt() -> None:
    _automatic.enable_onednn_fusion(False)


def get_jit_opt() -> bool:
    return _automatic.onednn_fusion_is_enabled()


def _ignored(*_args) -> None:
    """Changes nothing: plans repack and join layers as they see fit."""


enable_jit_linear_repack = disable_jit_linear_repack = enable_jit_concat_linear = disable_jit_concat_linear = _ignored
_jit_set_llga_weight_cache_enabled = set_llga_fp32_bf16_enabled = _ignored


def mkldnn_set_verbose(level: int) -> int:
    return torch._C._verbose.mkldnn_set_verbose(level)


def get_process_available_cores() -> List[int]:
    return bound_cores()


def get_current_cpu_pool() -> CPUPool:
    """The cores that the calling thread keeps to."""
    return CPUPool(bound_cores())


def set_cpu_pool(pool: CPUPool) -> None:
    """The calling thread keeps to the cores of a pool, and computes with as many threads."""
    bind(pool.core_ids, len(pool))


pin_cpu_cores = set_cpu_pool


def is_same_core_affinity_setting(core_ids: List[int]) -> bool:
    return sorted(core_ids) == bound_cores()


def xsmm_manual_seed(seed: int) -> None:
    """torch.manual_seed: there is one generator."""
    torch.manual_seed(seed)


_amp_foreach_non_finite_check_and_unscale_ = torch._amp_foreach_non_finite_check_and_unscale_
_amp_update_scale_ = torch._amp_update_scale_
