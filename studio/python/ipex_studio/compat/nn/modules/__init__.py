"""intel_extension_for_pytorch.nn.modules: what ipex_studio.nn.modules has, and the layers of weight-only quantization."""
from ....nn.modules import *  # noqa: F401,F403 - the names are the module's __all__


def __getattr__(name: str):
    if name not in ("WeightOnlyQuantizedLinear", "weight_only_quantization"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import importlib
    module = importlib.import_module(".weight_only_quantization", __name__)
    return module if name == "weight_only_quantization" else module.WeightOnlyQuantizedLinear
