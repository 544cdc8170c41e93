"""Tables of sines and cosines for rotary embedding, with the ways in which models stretch them to longer texts."""
import math
from typing import Optional, Tuple

import torch

__all__ = ["frequencies", "rotary_tables"]


def _llama3(frequency: torch.Tensor, config: dict) -> torch.Tensor:
    """Low frequencies are divided by a factor, high ones stay, and those between are mixed."""
    length = config["original_max_position_embeddings"]
    low, high, factor = config["low_freq_factor"], config["high_freq_factor"], config["factor"]
    turns = length * frequency / (2 * math.pi)
    share = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - share) * frequency / factor + share * frequency


def _yarn(frequency: torch.Tensor, width: int, base: float, config: dict) -> torch.Tensor:
    """Frequencies that turn often within the old length stay, rare ones are divided by a factor (arXiv:2309.00071)."""
    length = config["original_max_position_embeddings"]

    def pair_of(turns: float) -> float:
        return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(pair_of(config.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair_of(config.get("beta_slow", 1))), width - 1)
    ramp = ((torch.arange(width // 2, dtype=torch.float32) - low) / max(high - low, 0.001)).clamp(0, 1)
    return frequency / config["factor"] * ramp + frequency * (1 - ramp)


def frequencies(width: int, base: float = 10000, config: Optional[dict] = None,
                length: int = 0) -> Tuple[torch.Tensor, float]:
    """Angles by which one position turns each of width / 2 pairs, and a factor of sines and cosines.

    config: rope_scaling of a model's configuration; "rope_type" (or "type") is "default", "linear", "dynamic", "llama3",
    "yarn", or "longrope" ("su"). length: number of positions, which "dynamic" and "longrope" stretch to. Raises
    ValueError for other types.
    """
    config = config or {}
    kind = config.get("rope_type", config.get("type", "longrope" if "short_factor" in config else "default"))
    exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
    frequency, factor = base ** -exponents, 1.0
    old = config.get("original_max_position_embeddings", length)
    if kind == "linear":
        frequency = frequency / config["factor"]
    elif kind == "dynamic":
        if length > old > 0:
            stretch = config["factor"] * length / old - (config["factor"] - 1)
            frequency = (base * stretch ** (width / (width - 2))) ** -exponents
    elif kind == "llama3":
        frequency = _llama3(frequency, config)
    elif kind == "yarn":
        frequency = _yarn(frequency, width, base, config)

        def attention_factor(mscale):
            return 0.1 * mscale * math.log(config["factor"]) + 1 if config["factor"] > 1 else 1.0
        factor = attention_factor(config.get("mscale", 1)) / (
            attention_factor(config["mscale_all_dim"]) if config.get("mscale_all_dim") else 1)
    elif kind in ("longrope", "su"):
        name = "long_factor" if length > old else "short_factor"
        frequency = frequency / torch.tensor(config[name], dtype=torch.float32)
        if length > old:
            factor = math.sqrt(1 + math.log(length / old) / math.log(old))
    elif kind != "default":
        raise ValueError(f"rotary tables: the type '{kind}' is none of default, linear, dynamic, llama3, yarn and "
                         "longrope")
    return frequency, factor


def rotary_tables(positions: int, width: int, base: float = 10000,
                  config: Optional[dict] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    """sin and cos, (positions, width / 2), in float32."""
    frequency, factor = frequencies(width, base, config, positions)
    angles = torch.outer(torch.arange(positions, dtype=torch.float32), frequency)
    return angles.sin() * factor, angles.cos() * factor
