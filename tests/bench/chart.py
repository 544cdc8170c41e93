"""A line chart as SVG: throughput over the batch, one line per engine."""

import html
import math
from typing import Dict, List, Tuple

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 28, 44
# Distinct also without colour vision; the first is ours and drawn thicker.
COLOURS = ("#d1495b", "#30638e", "#00798c", "#edae49", "#7a5195", "#6c757d", "#2f4858")


def ticks(highest: float) -> List[float]:
    """Round numbers from 0 to just above the highest value."""
    step = 10 ** math.floor(math.log10(highest))
    while highest / step < 4:
        step /= 2
    return [i * step for i in range(math.ceil(highest / step) + 1)]


def throughput_svg(title: str, lines: Dict[str, List[Tuple[int, float]]]) -> str:
    """`lines`: by engine, (batch, inputs per second); batches are spaced as powers of two."""
    batches = sorted({batch for points in lines.values() for batch, _ in points})
    marks = ticks(max(rate for points in lines.values() for _, rate in points))
    span = math.log2(batches[-1] / batches[0]) or 1.0

    def x(batch: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log2(batch / batches[0]) / span

    def y(rate: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rate / marks[-1]

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="18" font-size="14">{html.escape(title)}</text>']
    for mark in marks:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 8}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for batch in batches:
        parts.append(f'<text x="{x(batch):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{batch}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">batch</text>')
    ends = sorted(((points[-1][1], name) for name, points in lines.items()), reverse=True)
    label_y = {}
    lowest = -math.inf
    for rate, name in ends:  # labels at the right end, moved apart where they would overlap
        lowest = label_y[name] = max(y(rate) + 4, lowest + 14)
    for index, (name, points) in enumerate(lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x(batch):.1f},{y(rate):.1f}" for batch, rate in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3 if index == 0 else 1.5}"/>'
                     f'<text x="{WIDTH - RIGHT + 8}" y="{label_y[name]:.1f}" fill="{colour}">{html.escape(name)}</text>')
    return "\n".join(parts) + "\n</svg>\n"
