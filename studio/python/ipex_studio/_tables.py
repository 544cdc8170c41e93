"""What jobs return: rows and columns that print as text, show as HTML and become a pandas.DataFrame."""
import html
import math
from typing import Any, Dict, List, Sequence

Row = Dict[str, Any]


class Table:
    """Rows with the same columns, under a caption. Iterating gives the rows, each a dict."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Row], caption: str = "") -> None:
        self.columns = list(columns)
        self.rows = list(rows)
        self.caption = caption

    def __iter__(self):
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

    def to_pandas(self):
        """A pandas.DataFrame of the rows, with numbers as they were measured."""
        import pandas
        return pandas.DataFrame(self.rows, columns=self.columns)

    def __str__(self) -> str:
        cells = [self.columns] + [[_text(row.get(name)) for name in self.columns] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells)]
        right = [_is_numeric([row.get(name) for row in self.rows]) for name in self.columns]
        lines = ["  ".join(cell.rjust(width) if numeric else cell.ljust(width)
                           for cell, width, numeric in zip(line, widths, right)).rstrip() for line in cells]
        return "\n".join(([self.caption, ""] if self.caption else []) + lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def line(cells: List[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line([_text(row.get(name)) for name in self.columns], "td") for row in self.rows)
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead>{line(self.columns, 'th')}</thead><tbody>{body}</tbody></table>"


def _is_numeric(values: Sequence[Any]) -> bool:
    return all(value is None or isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
