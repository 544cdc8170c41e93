"""intel_extension_for_pytorch.cpu._auto_kernel_selection: a switch between libraries that plans choose among by measuring."""
_dnnl = True


def _enable_dnnl() -> None:
    global _dnnl
    _dnnl = True


def _disable_dnnl() -> None:
    global _dnnl
    _dnnl = False


def _using_dnnl() -> bool:
    return _dnnl
