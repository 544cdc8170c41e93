"""What the extension calls its compilers. torch.compile(model, backend="ipex") runs graphs by plans under either name."""
_KNOWN = ("inductor", "torchscript")
_backend = "inductor"


def _set_compiler_backend(backend: str = "inductor") -> None:
    global _backend
    if backend not in _KNOWN:
        raise RuntimeError(f"Unexpected compilation path {backend}. Options are 'torchscript', 'inductor'.")
    _backend = backend


def _get_compiler_backend() -> str:
    return _backend


def compile(model, example_inputs, mode=None, options=None):  # pylint: disable=redefined-builtin # the extension's name
    """Compiles a graph of torch.fx, as a backend of torch.compile does."""
    from .._compile import backend
    return backend(model, example_inputs, mode=mode, options=options)
