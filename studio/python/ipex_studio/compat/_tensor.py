"""What the extension adds to torch.Tensor."""
import functools

import torch


def install() -> None:
    """Lets numpy() give a BF16 tensor as a copy in FP32, for NumPy has no BF16."""
    stock = torch.Tensor.numpy
    if hasattr(stock, "_ipex_wraps"):
        return

    @functools.wraps(stock)
    def numpy(self, *args, **kwargs):
        return stock(self.float() if self.dtype == torch.bfloat16 else self, *args, **kwargs)

    numpy._ipex_wraps = stock
    torch.Tensor.numpy = numpy
