"""Medians, ratios and their intervals. Samples of one turn share that turn's noise, so whole turns are resampled."""

import math
from typing import Dict, List, Sequence, Tuple

import numpy as np

RESAMPLES = 1000


def by_turn(latency_ns: Sequence[int], turn: Sequence[int]) -> Dict[int, np.ndarray]:
    values, turns = np.asarray(latency_ns, dtype=float), np.asarray(turn)
    return {int(t): values[turns == t] for t in np.unique(turns)}


def median_ratio(a: Tuple[Sequence[int], Sequence[int]], b: Tuple[Sequence[int], Sequence[int]],
                 seed: int = 0) -> Tuple[float, float, float]:
    """Median of a ÷ median of b with its 95 % bootstrap interval; each is (latency_ns, turn), and both ran in the same
    rounds, which are drawn together."""
    ratio = float(np.median(a[0]) / np.median(b[0]))
    turns_a, turns_b = by_turn(*a), by_turn(*b)
    common = sorted(set(turns_a) & set(turns_b))
    if len(common) < 2:
        return ratio, ratio, ratio
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(RESAMPLES):
        rounds = generator.choice(common, len(common))
        drawn.append(np.median(np.concatenate([turns_a[r] for r in rounds]))
                     / np.median(np.concatenate([turns_b[r] for r in rounds])))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return ratio, float(low), float(high)


def geometric_mean(values: List[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")
