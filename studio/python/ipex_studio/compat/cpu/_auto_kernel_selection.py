"""intel_extension_for_pytorch.cpu._auto_kernel_selection: switches between libraries that plans choose among by
measuring."""
_dnnl, _tpp = True, False


def _enable_dnnl() -> None:
    global _dnnl
    _dnnl = True


def _disable_dnnl() -> None:
    global _dnnl
    _dnnl = False


def _using_dnnl() -> bool:
    return _dnnl


def _enable_tpp() -> None:
    global _tpp
    _tpp = True


def _disable_tpp() -> None:
    global _tpp
    _tpp = False


def _using_tpp() -> bool:
    return _tpp
