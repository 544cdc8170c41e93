"""Sample networks and their inputs, and the table of all networks."""

import dataclasses
import functools
from typing import Callable, Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from torch import nn

SEED = 20260


@dataclasses.dataclass(frozen=True)
class Input:
    """One tensor argument of forward. kind: "normal", "image" (smooth, as pictures are), "ids" or "mask"."""

    name: str
    shape: Tuple[int, ...]
    kind: str = "normal"
    high: int = 0  # ids are drawn from [0, high)
    batch_dim: int = 0

    def at(self, batch: Optional[int]) -> "Input":
        """The same argument for another batch; None: as it is."""
        if batch is None:
            return self
        shape = list(self.shape)
        shape[self.batch_dim] = batch
        return dataclasses.replace(self, shape=tuple(shape))

    def flag(self) -> str:
        """The value of ipex-studio's --input that describes this argument."""
        text = self.name + ":" + "x".join(map(str, self.shape))
        if self.kind == "ids":
            return f"{text}:int64[0,{self.high - 1}]"
        if self.kind == "mask":
            return f"{text}:int64[1,1]"
        return text

    def sample(self) -> torch.Tensor:
        if self.kind == "ids":
            return torch.randint(0, self.high, self.shape)
        if self.kind == "mask":
            # The last positions of each sequence are padding, a different number in each.
            mask = torch.ones(self.shape, dtype=torch.int64)
            for row in range(self.shape[0]):
                mask[row, self.shape[1] - (row + self.shape[1] // 8):] = 0
            return mask
        if self.kind == "image":
            coarse = torch.randn(*self.shape[:2], max(1, self.shape[2] // 8), max(1, self.shape[3] // 8))
            smooth = F.interpolate(coarse, size=self.shape[2:], mode="bilinear", align_corners=False)
            return smooth + 0.3 * torch.randn(self.shape)
        return torch.randn(self.shape)


@dataclasses.dataclass(frozen=True)
class Value:
    """One argument of forward that is not a tensor."""

    name: str
    value: Union[int, float, bool]

    def at(self, _: Optional[int]) -> "Value":
        return self

    def flag(self) -> str:
        return f"{self.name}={self.value}"

    def sample(self) -> Union[int, float, bool]:
        return self.value


@dataclasses.dataclass(frozen=True)
class Network:
    """A network that can be exported: how to build it, what it takes, and whether it is traced or scripted."""

    name: str
    summary: str
    build: Callable[..., nn.Module]
    inputs: Tuple[Union[Input, Value], ...]
    scripted: bool = False
    # Name of a method that resets the state; recorded inputs are then steps of one sequence.
    reset: Optional[str] = None

    @property
    def tiny(self) -> bool:
        return self.name.startswith("tiny_")

    def sample(self, batch: Optional[int] = None) -> List[Union[torch.Tensor, int, float, bool]]:
        return [argument.at(batch).sample() for argument in self.inputs]

    def with_rows(self, rows: int) -> "Network":
        """The same network with tables of so many rows, and ids below that."""
        inputs = tuple(dataclasses.replace(argument, high=rows) if getattr(argument, "kind", "") == "ids" else argument
                       for argument in self.inputs)
        return dataclasses.replace(self, build=functools.partial(self.build, rows=rows), inputs=inputs)

    def flags(self, batch: Optional[int] = None) -> List[str]:
        """Command-line flags that describe the inputs to ipex-studio."""
        flags = [word for argument in self.inputs for word in ("--input", argument.at(batch).flag())]
        if self.reset:
            flags += ["--preserve", self.reset, "--reset", self.reset]
        return flags


NETWORKS: Dict[str, Network] = {}


def register(network: Network) -> None:
    assert network.name not in NETWORKS, network.name
    NETWORKS[network.name] = network


# False while weights are about to be replaced anyway, since settling runs the network.
settling = True


def settle_batch_norm(model: nn.Module, batch: torch.Tensor) -> nn.Module:
    """Gives every batch-norm the scale, shift and running statistics of a network that has been trained.

    Fresh ones are identities: folding them would prove nothing, and activations would explode or vanish with depth.
    Each sees `batch` as the layers before it, already settled, hand it on. Channels that hardly vary are kept from
    being blown up: on other inputs they would drown all others, layer after layer.
    """
    if not settling:
        return model.eval()
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]

    def settle(norm: nn.Module, arguments) -> None:
        x = arguments[0]
        dims = [d for d in range(x.dim()) if d != 1]
        variance = x.var(dims, unbiased=False)
        norm.running_mean.copy_(x.mean(dims))
        norm.running_var.copy_(torch.maximum(variance, 0.1 * variance.mean()))

    model.eval()
    hooks = []
    for norm in norms:
        nn.init.uniform_(norm.weight, 0.6, 1.4)
        nn.init.normal_(norm.bias, 0.0, 0.2)
        hooks.append(norm.register_forward_pre_hook(settle))
    with torch.no_grad():
        model(batch)
    for hook in hooks:
        hook.remove()
    return model
