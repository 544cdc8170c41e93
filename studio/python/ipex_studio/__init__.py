"""Faster inference on CPUs for PyTorch models, with results that are checked.

    import torch, ipex_studio

    fast = ipex_studio.optimize(torch.jit.load("model.pt"), sample_input=x)
    fast(x)

A module of TorchScript becomes a copy whose static parts are compiled plans. torch.jit.save writes it as a file that
loads wherever ipex_studio was imported before. `help(ipex_studio.optimize)` tells the rest.

    ipex_studio.run("model.pt", output="fast.pt")     # optimize, verify, measure and record it, in a sandbox
    ipex_studio.profile("model.pt")                   # the time of each operation

    frozen = torch.jit.freeze(torch.jit.trace(model, x))    # runs by a plan from its second call on, which measures kernels
    ipex_studio.set_measuring_budget(0)    # or takes them by rules; once chosen, they and the bits of results stay

    fast = torch.compile(model, backend="ipex_studio")    # torch 2.x: graphs of inference run by plans

    optimizer = ipex_studio.optimize(torch.optim.AdamW(model.parameters()))    # fused steps; see ipex_studio.optim
    ipex_studio.nn.functional.interaction(dense, *bags)    # operators with gradients: help(ipex_studio.nn)
    ipex_studio.llm.functional.attention(q, k, v, causal=True)    # of language models: help(ipex_studio.llm)

Scripts that import intel_extension_for_pytorch run unchanged after `python -m ipex_studio.alias install`.

    prepared = ipex_studio.quantization.prepare(model, mapping, example_inputs=x)    # INT8; help(ipex_studio.quantization)

Jobs on files do what the program ipex-studio does, and return tables: `help(ipex_studio.jobs)`.
"""
import torch as _torch

from ._torch_check import check_torch as _check_torch

_check_torch(_torch.__version__)

from ._automatic import enable_onednn_fusion, install as _install  # noqa: E402 - the check comes first
from ._kernel_times import set_measuring_budget  # noqa: E402
from ._build import VERSION as __version__  # noqa: E402
from ._compile import install as _install_backend  # noqa: E402
from ._math_mode import FP32MathMode, get_fp32_math_mode, set_fp32_math_mode  # noqa: E402
from ._xpu import install as _install_xpu  # noqa: E402
from .errors import Error  # noqa: E402
from . import optim  # noqa: E402
from .frontend import disable_auto_channels_last, enable_auto_channels_last, optimize  # noqa: E402

from .jobs import compare, export, load, profile, quantize, run, tune, verify  # noqa: E402

__all__ = ["Error", "FP32MathMode", "compare", "disable_auto_channels_last", "enable_auto_channels_last",
           "enable_onednn_fusion", "export", "get_fp32_math_mode", "load", "optim", "optimize", "profile", "quantize", "run",
           "set_fp32_math_mode", "set_measuring_budget", "tune", "verify"]
_install()
_install_backend()
_install_xpu(optimize=optimize, FP32MathMode=FP32MathMode, get_fp32_math_mode=get_fp32_math_mode,
             set_fp32_math_mode=set_fp32_math_mode)


def __getattr__(name: str):
    """Gives parts of the package that few scripts need when they are asked for."""
    if name not in ("alias", "cpu", "llm", "nn", "ops", "quantization"):
        raise AttributeError(f"module 'ipex_studio' has no attribute '{name}'")
    import importlib
    return importlib.import_module("." + name, __name__)
