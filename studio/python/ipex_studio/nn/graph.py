"""The edges of a graph, sorted once for all layers and steps that run over it."""
from typing import List, Optional, Tuple, Union

import torch

from .. import _engine  # noqa: F401 - brings the operators

__all__ = ["CSRGraph"]


class CSRGraph:
    """A sparse matrix of edges, of which `rows` nodes read `columns` nodes (CSR).

    rowptr: (rows + 1,), where the edges of each row begin; col: (E,), the node that each edge reads. place: (E,), where
    values of edges stand in the caller's order; None: in the order of col. All are int64 or int32. What does not fit
    raises IndexError that names position and value, at the first use. The transposed matrix, which gradients read, is
    made once, at its first use. A graph is not changed by what uses it, and may be shared by threads.
    """

    def __init__(self, rowptr: torch.Tensor, col: torch.Tensor, columns: int, place: Optional[torch.Tensor] = None):
        self.rowptr, self.col, self.place, self.columns = rowptr, col, place, columns
        self._transpose: List[torch.Tensor] = []

    @classmethod
    def from_edge_index(cls, edge_index: torch.Tensor, nodes: Union[int, Tuple[int, int]]) -> "CSRGraph":
        """The graph of edges edge_index[0] → edge_index[1], (2, E), in any order: PyTorch Geometric's form.

        nodes: their number, or (numbers of sources, of targets). Values of edges stay in the order of edge_index.
        """
        columns, rows = (nodes, nodes) if isinstance(nodes, int) else nodes
        rowptr, place = torch.ops.ipex_studio.csr_from_index(edge_index[1], rows)
        return cls(rowptr, edge_index[0].long()[place], columns, place)

    @property
    def rows(self) -> int:
        return self.rowptr.numel() - 1

    @property
    def edges(self) -> int:
        return self.col.numel()

    def transpose(self) -> List[torch.Tensor]:
        """rowptr, col and place of the transposed matrix."""
        if not self._transpose:
            self._transpose = list(
                torch.ops.ipex_studio.csr_transpose(self.rowptr, self.col, self.place, self.columns))
        return self._transpose

    def __repr__(self) -> str:
        return f"CSRGraph({self.rows} rows of {self.columns}, {self.edges} edges)"
