"""Modules whose weights are made on one device and in one dtype, whatever the code that makes them says."""
import torch
from torch.overrides import TorchFunctionMode

_FACTORIES = (torch.empty, torch.full, torch.ones, torch.zeros, torch.tensor, torch.rand, torch.randn)


class OnDevice(TorchFunctionMode):
    """Within it, tensors that name no device are made on `device`, and floating-point ones in `dtype`:

        with ipex.OnDevice(dtype=torch.bfloat16, device="meta"):
            model = Net()    # takes no memory
    """

    def __init__(self, dtype: torch.dtype, device: str = "meta", enabled: bool = True) -> None:
        super().__init__()
        self.dtype, self.device, self.enabled = dtype, device, enabled

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.enabled or func not in _FACTORIES:
            return func(*args, **kwargs)
        made = func(*args, **{**kwargs, "device": kwargs.get("device") or self.device})
        return made.to(self.dtype) if made.is_floating_point() else made
