"""Sums over graphs: values and gradients against PyTorch's operators in FP64, and what is refused."""
import itertools
import unittest

import torch

import ipex_studio  # noqa: F401
from ipex_studio.nn.functional import gather_rows, scatter_reduce, scatter_rows, segment_softmax, spmm
from ipex_studio.nn.graph import CSRGraph

WIDTHS = (1, 3, 17, 33, 100, 129)
REDUCES = ("sum", "mean", "max", "min")


def largest(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, relative to the largest value where that is above 1."""
    if not b.numel():
        return 0.0
    return (a.double() - b.double()).abs().max().item() / max(1.0, b.abs().max().item())


def random_edges(edges: int, sources: int, targets: int) -> torch.Tensor:
    """Edges in any order, some twice; the last targets have none, the first has a third of them all."""
    ends = torch.randint(0, max(1, targets - 2), (edges,))
    ends[: edges // 3] = 0
    both = torch.stack([torch.randint(0, sources, (edges,)), ends])
    both[:, 1::4] = both[:, 0:1]
    return both[:, torch.randperm(edges)]


def by_stock_operators(messages: torch.Tensor, index: torch.Tensor, rows: int, reduce: str) -> torch.Tensor:
    """Row by row, with the gradient of an extreme at its first edge."""
    results = []
    for row in range(rows):
        mine = messages[index == row]
        if not len(mine):
            results.append(messages.sum(0) * 0)
        elif reduce in ("sum", "mean"):
            results.append(getattr(mine, reduce)(0))
        else:
            best = mine.detach().max(0)[0] if reduce == "max" else mine.detach().min(0)[0]
            first = (mine.detach() == best).int().argmax(0, keepdim=True)
            results.append(mine.gather(0, first)[0])
    return torch.stack(results)


class Spmm(unittest.TestCase):
    def check(self, x, value, edges, rows, reduce):
        graph = CSRGraph.from_edge_index(edges, (len(x), rows))
        result = spmm(graph, x, value, reduce)
        exact = [None if each is None else each.detach().double().requires_grad_() for each in (x, value)]
        messages = exact[0][edges[0]]
        if value is not None:
            messages = messages * exact[1].view(list(value.shape) + [1] * (x.dim() - value.dim()))
        expected = by_stock_operators(messages, edges[1], rows, reduce)
        self.assertLess(largest(result, expected), 2e-5)
        cotangent = torch.randn_like(result)
        needed = [each for each in (x, value) if each is not None]
        for gradient, right in zip(torch.autograd.grad(result, needed, cotangent, allow_unused=True),
                                   torch.autograd.grad(expected, [each for each in exact if each is not None],
                                                       cotangent.double(), allow_unused=True)):
            self.assertLess(largest(gradient, torch.zeros_like(gradient) if right is None else right), 2e-5)

    def test_values_and_gradients(self):
        torch.manual_seed(1)
        for reduce, width, weighted in itertools.product(REDUCES, WIDTHS, (False, True)):
            x = torch.randn(9, width, requires_grad=True)
            value = torch.randn(60, requires_grad=True) if weighted else None
            self.check(x, value, random_edges(60, 9, 12), 12, reduce)

    def test_heads_and_graphs_without_edges(self):
        torch.manual_seed(2)
        for reduce, edges in itertools.product(REDUCES, (0, 1, 40)):
            x = torch.randn(7, 3, 5, requires_grad=True)
            value = torch.randn(edges, 3, requires_grad=True)
            self.check(x, value, random_edges(edges, 7, 6), 6, reduce)

    def test_gradients_in_double_precision(self):
        torch.manual_seed(3)
        edges = random_edges(30, 5, 8)
        graph = CSRGraph.from_edge_index(edges, (5, 8))
        for reduce in REDUCES:
            x = torch.randn(5, 2, 3, dtype=torch.double, requires_grad=True)
            value = torch.randn(30, 2, dtype=torch.double, requires_grad=True)
            self.assertTrue(torch.autograd.gradcheck(lambda *both: spmm(graph, *both, reduce), (x, value)))
        scores = torch.randn(30, 2, dtype=torch.double, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda each: segment_softmax(graph, each), (scores,)))
        for reduce in REDUCES:
            self.assertTrue(torch.autograd.gradcheck(lambda each: scatter_rows(each, edges[1], 8, reduce), (scores,)))
        self.assertTrue(torch.autograd.gradcheck(lambda each: gather_rows(each, edges[1]),
                                                 (torch.randn(8, 2, dtype=torch.double, requires_grad=True),)))

    def test_the_same_bits_for_any_number_of_threads(self):
        torch.manual_seed(4)
        edges = random_edges(20000, 500, 700)
        graph = CSRGraph.from_edge_index(edges, (500, 700))
        x, value = torch.randn(500, 33, requires_grad=True), torch.randn(20000, requires_grad=True)
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        for reduce in REDUCES:
            results = []
            for threads in (1, 2, 4):
                torch.set_num_threads(threads)
                result = spmm(graph, x, segment_softmax(graph, value), reduce)
                results.append([result, *torch.autograd.grad(result.square().sum(), (x, value))])
            for other in results[1:]:
                for a, b in zip(results[0], other):
                    self.assertTrue(torch.equal(a, b))

    def test_edges_in_any_order(self):
        torch.manual_seed(5)
        edges = random_edges(60, 9, 12)
        x, value = torch.randn(9, 17, requires_grad=True), torch.randn(60, requires_grad=True)
        graph = CSRGraph.from_edge_index(edges, (9, 12))
        for reduce, ends in itertools.product(REDUCES, (edges, edges.int())):
            both = [spmm(graph, x, value, reduce), torch.ops.ipex_studio.spmm_edges(ends, value, x, 12, reduce)]
            gradients = [torch.autograd.grad(each.square().sum(), (x, value)) for each in both]
            for a, b in zip((both[0], *gradients[0]), (both[1], *gradients[1])):
                self.assertTrue(torch.equal(a, b))
        for wrong, told in (([[0, 9], [0, 0]], "9"), ([[0, 0], [0, -1]], "-1")):
            with self.assertRaisesRegex(IndexError, f"position 1 holds {told}"):
                torch.ops.ipex_studio.spmm_edges(torch.tensor(wrong), None, x, 12, "sum")
        with self.assertRaisesRegex(RuntimeError, r"edges are \[2, E\]"):
            torch.ops.ipex_studio.spmm_edges(edges.t(), None, x, 12, "sum")

    def test_a_graph_by_rows(self):
        x = torch.randn(4, 3)
        graph = CSRGraph(torch.tensor([0, 2, 2, 3], dtype=torch.int32), torch.tensor([1, 3, 0], dtype=torch.int32), 4)
        value = torch.tensor([1.0, 2.0, 3.0])
        self.assertLess(largest(spmm(graph, x, value), torch.stack([x[1] + 2 * x[3], x[0] * 0, 3 * x[0]])), 1e-6)
        self.assertEqual(spmm(graph, x.bfloat16()).dtype, torch.bfloat16)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(spmm(graph, x.bfloat16(), value).dtype, torch.bfloat16)

    def test_nan_and_what_is_refused(self):
        graph = CSRGraph(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 0]), 2)
        x = torch.tensor([[1.0], [float("nan")]], requires_grad=True)
        result = spmm(graph, x, reduce="max")
        self.assertTrue(result[0].isnan().item() and result[1].item() == 1)
        self.assertEqual(torch.autograd.grad(result, x, torch.ones(2, 1))[0].tolist(), [[1.0], [1.0]])
        with self.assertRaisesRegex(ValueError, "none of sum, mean, max and min"):
            spmm(graph, x, reduce="median")
        with self.assertRaisesRegex(IndexError, "col: position 1 holds 2, and there are 2 rows"):
            spmm(CSRGraph(torch.tensor([0, 2]), torch.tensor([0, 2]), 2), x)
        with self.assertRaisesRegex(IndexError, "rowptr: they decrease at position 2"):
            spmm(CSRGraph(torch.tensor([0, 2, 1, 3]), torch.tensor([0, 1, 1]), 2), x)
        with self.assertRaisesRegex(IndexError, "index: position 0 holds -1"):
            scatter_rows(x, torch.tensor([-1, 0]), 2)
        with self.assertRaisesRegex(IndexError, "index: position 1 holds 9"):
            gather_rows(x, torch.tensor([0, 9]))
        with self.assertRaisesRegex(RuntimeError, "value is"):
            spmm(graph, x, torch.randn(2))
        with self.assertRaisesRegex(RuntimeError, "second derivative of spmm"):
            torch.autograd.grad(spmm(graph, x).sum(), x, create_graph=True)


class Scatter(unittest.TestCase):
    def test_values_and_gradients(self):
        torch.manual_seed(5)
        for reduce, width, edges in itertools.product(REDUCES, WIDTHS, (0, 1, 50)):
            index = random_edges(edges, 5, 9)[1]
            src = torch.randn(edges, width, requires_grad=True)
            exact = src.detach().double().requires_grad_()
            result, expected = scatter_rows(src, index, 9, reduce), by_stock_operators(exact, index, 9, reduce)
            self.assertLess(largest(result, expected), 2e-5)
            if edges:
                cotangent = torch.randn_like(result)
                self.assertLess(largest(torch.autograd.grad(result, src, cotangent)[0],
                                        torch.autograd.grad(expected, exact, cotangent.double())[0]), 1e-5)

    def test_scatter_reduce(self):
        torch.manual_seed(7)
        shapes = (((5, 4), 0, (7, 4)), ((5, 4), 1, (5, 9)), ((5, 4, 3), 1, (4, 6, 2)), ((6,), -1, (20,)), ((5, 4), 0, (0, 4)))
        for (sizes, dim, sent), reduce, own in itertools.product(shapes, ("sum", "mean", "amax", "amin"), (True, False)):
            x, src = torch.randn(sizes, dtype=torch.double, requires_grad=True), torch.randn(
                [size + 1 for size in sent], dtype=torch.double, requires_grad=True)
            index = torch.randint(sizes[dim], sent)
            with self.subTest(sizes=sizes, dim=dim, reduce=reduce, own=own):
                result = scatter_reduce(x, dim, index, src, reduce, include_self=own)
                expected = x.scatter_reduce(dim, index, src[tuple(slice(size) for size in sent)], reduce,
                                            include_self=own)
                self.assertLess(largest(result, expected), 1e-12)
                cotangent = torch.randn_like(result)
                for gradient, right in zip(*(torch.autograd.grad(each, (x, src), cotangent, allow_unused=True)
                                             for each in (result, expected))):
                    self.assertLess(largest(torch.zeros(1) if gradient is None else gradient,
                                            torch.zeros(1) if right is None else right), 1e-12)

    def test_scatter_reduce_of_rows(self):
        x, src, index = torch.randn(5, 33), torch.randn(50, 33), torch.randint(5, (50,))
        rows = scatter_reduce(x, 0, index[:, None].expand(50, 33), src, "sum")
        self.assertLess(largest(rows, x.double().index_add(0, index, src.double())), 1e-5)
        self.assertLess(largest(scatter_reduce(x.t(), 1, index.expand(33, 50), src.t(), "sum"), rows.t()), 1e-5)
        with self.assertRaisesRegex(IndexError, "index: position 8 holds 9"):
            index[3] = 9
            scatter_reduce(x, 0, index[:, None].expand(50, 33), src, "sum")
        with self.assertRaisesRegex(IndexError, "outside of 0 to 4"):
            scatter_reduce(x, 0, index[:, None].repeat(1, 33), src, "sum")
        with self.assertRaisesRegex(ValueError, "none of sum, mean, amax and amin"):
            scatter_reduce(x, 0, index[:, None], src, "prod")

    def test_softmax_of_segments(self):
        torch.manual_seed(6)
        for heads in (None, 1, 4):
            edges = random_edges(70, 5, 9)
            scores = torch.randn(*([70] if heads is None else [70, heads]), requires_grad=True)
            exact = scores.detach().double().requires_grad_()
            result = segment_softmax(CSRGraph.from_edge_index(edges, (5, 9)), scores)
            expected = torch.zeros_like(exact)
            for row in edges[1].unique():
                mine = edges[1] == row
                expected = expected.index_put((mine.nonzero()[:, 0],), exact[mine].softmax(0))
            self.assertLess(largest(result, expected), 1e-6)
            cotangent = torch.randn_like(result)
            self.assertLess(largest(torch.autograd.grad(result, scores, cotangent)[0],
                                    torch.autograd.grad(expected, exact, cotangent.double())[0]), 1e-6)


if __name__ == "__main__":
    unittest.main()
