"""INT8 with the interfaces of Intel Extension for PyTorch, of both its generations.

From 2.0 on a model is prepared, run over data, and converted:

    from ipex_studio.quantization import prepare, convert, default_static_qconfig_mapping

    prepared = prepare(model.eval(), default_static_qconfig_mapping, example_inputs=x, inplace=False)
    for x in data:
        prepared(x)
    prepared.save_qconf_summary(qconf_summary="int8.json")      # load_qconf_summary() reads it
    converted = convert(prepared)
    with torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(converted, x))

Before that a context watched a model that was not prepared:

    conf = ipex_studio.quantization.QuantConf(qscheme=torch.per_tensor_affine)
    with torch.no_grad(), ipex_studio.quantization.calibrate(conf):
        for x in data:
            model(x)
    conf.save("int8_conf.json", default_recipe=True)
    model = ipex_studio.quantization.convert(model, ipex_studio.quantization.QuantConf("int8_conf.json"), x)
    model.save("int8.pt")

What is saved holds PyTorch's own operators alone: torch.jit.load reads it anywhere, and where ipex_studio is imported it
runs by plans that compute in integers.
"""
from . import _utils
from ._autotune import autotune
from ._calibrate import QuantConf, calibrate
from ._convert import convert, prepare
from ._mappings import (QConfigSmoothQuant, QConfigWoq, WoqActQuantMode, WoqLowpMode, WoqWeightDtype, WoqWeightQScheme,
                        default_dynamic_qconfig, default_dynamic_qconfig_mapping, default_static_qconfig,
                        default_static_qconfig_mapping, get_smooth_quant_qconfig_mapping,
                        get_weight_only_quant_qconfig_mapping)
from ._weights import dequantize_per_block, dequantize_per_channel, quantize_per_block, quantize_per_channel

__all__ = ["QConfigSmoothQuant", "QConfigWoq", "QuantConf", "WoqActQuantMode", "WoqLowpMode", "WoqWeightDtype",
           "WoqWeightQScheme", "autotune", "calibrate", "convert", "default_dynamic_qconfig",
           "default_dynamic_qconfig_mapping", "default_static_qconfig", "default_static_qconfig_mapping",
           "dequantize_per_block", "dequantize_per_channel", "get_smooth_quant_qconfig_mapping",
           "get_weight_only_quant_qconfig_mapping", "prepare", "quantize_per_block", "quantize_per_channel"]
