"""Layers of graph networks that optimize() lets kernels compute: values and gradients against the layers as they were
in FP64, what they leave alone, and what is refused. With PyTorch Geometric where it is installed."""
import copy
import pickle
import unittest

import torch

import ipex_studio
from ipex_studio._messages import _form_of

from message_passing import INSTALLED, Attention, Differences, Neighbors, Weighted
from test_graphs import largest, random_edges

NODES = 23


def optimized(layer):
    return ipex_studio.optimize(layer.train(), optimizer=torch.optim.SGD(layer.parameters(), lr=0.1))[0]


def ran(operator, call):
    """How often an operator ran in a call."""
    with torch.profiler.profile() as profile:
        call()
    return sum(event.count for event in profile.key_averages() if event.key == f"ipex_studio::{operator}")


def as_double(value):
    if isinstance(value, tuple):
        return tuple(as_double(each) for each in value)
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().double().requires_grad_(value.requires_grad) if floating else value


def leaves(arguments):
    flat = [each for value in arguments for each in (value if isinstance(value, tuple) else (value,))]
    return [each for each in flat if isinstance(each, torch.Tensor) and each.requires_grad]


class Layers(unittest.TestCase):
    def check(self, layer, operator, *arguments, times=1):
        """Values and gradients of the optimized layer, with a random cotangent, are those of the layer in FP64."""
        fast, exact = optimized(layer), copy.deepcopy(layer).double()
        exact_arguments = as_double(arguments)
        expected = exact(*exact_arguments)
        cotangent = torch.randn_like(expected)
        right = torch.autograd.grad(expected, leaves(exact_arguments) + list(exact.parameters()), cotangent)
        self.assertEqual(ran(operator, lambda: fast(*arguments)), times)
        result = fast(*arguments)
        self.assertEqual((result.dtype, result.shape), (torch.float32, expected.shape))
        self.assertLess(largest(result, expected), 2e-5)
        for ours, gradient in zip(torch.autograd.grad(result, leaves(arguments) + list(fast.parameters()),
                                                      cotangent.float()), right):
            self.assertLess(largest(ours, gradient), 5e-5)
        return fast

    def test_sums_and_means_of_neighbors(self):
        torch.manual_seed(1)
        for width in (1, 3, 17, 33, 100, 129):
            for aggregation in ("add", "mean"):
                x = torch.randn(NODES, 5, requires_grad=True)
                edges = random_edges(90, NODES, NODES)
                self.check(Weighted(5, width, aggr=aggregation), "spmm", x, edges)
                self.check(Weighted(5, width, aggr=aggregation), "spmm", x, edges, torch.rand(90, requires_grad=True))
                self.check(Neighbors(5, width, aggr=aggregation), "spmm", x, edges)

    def test_nodes_of_two_kinds(self):
        torch.manual_seed(2)
        for rows in (4, NODES, 60):
            pair = (torch.randn(NODES, 7, requires_grad=True), torch.randn(rows, 7))
            self.check(Neighbors(7, 3, aggr="mean"), "spmm", pair, random_edges(50, NODES, rows), (NODES, rows))

    def test_attention(self):
        torch.manual_seed(3)
        for heads, width in ((1, 17), (3, 5), (4, 33)):
            layer = Attention(6, heads, width)
            x, edges = torch.randn(NODES, 6, requires_grad=True), random_edges(70, NODES, NODES)
            self.check(layer, "segment_softmax", x, edges)
            self.check(layer, "spmm", x, edges)
            self.assertEqual(ran("csr_from_index", lambda: optimized(layer)(x, edges)), 1)

    def test_messages_that_are_no_products(self):
        torch.manual_seed(4)
        for aggregation in ("add", "mean"):
            x, edges = torch.randn(NODES, 9, requires_grad=True), random_edges(70, NODES, NODES)
            self.check(Differences(9, 17, aggr=aggregation), "scatter_rows", x, edges)
            self.check(Differences(9, 17, aggr=aggregation), "gather_rows", x, edges, times=2)

    def test_graphs_without_edges(self):
        x = torch.randn(3, 4, requires_grad=True)
        self.check(Weighted(4, 5), "spmm", x, torch.empty(2, 0, dtype=torch.long))

    def test_extremes_stay(self):
        """Equal extremes share their gradient there."""
        torch.manual_seed(5)
        x = torch.randint(0, 2, (NODES, 4)).float().requires_grad_()
        layer, edges = Neighbors(4, 3, aggr="max"), random_edges(60, NODES, NODES)
        fast = self.check(layer, "spmm", x, edges, times=0)
        gradients = [torch.autograd.grad(model(x, edges).sum(), x)[0] for model in (layer, fast)]
        self.assertLess(largest(*gradients), 1e-5)

    def test_edges_changed_in_place(self):
        layer = Weighted(4, 3)
        fast, x, edges = optimized(layer), torch.randn(NODES, 4), random_edges(40, NODES, NODES)
        for _ in range(2):
            self.assertLess(largest(fast(x, edges), layer(x, edges)), 1e-5)
            edges.copy_(random_edges(40, NODES, NODES))

    def test_inference_and_double_precision(self):
        torch.manual_seed(6)
        layer, x, edges = Weighted(4, 3).eval(), torch.randn(NODES, 4), random_edges(40, NODES, NODES)
        fast = ipex_studio.optimize(layer)
        with torch.no_grad():
            self.assertEqual(ran("spmm", lambda: fast(x, edges)), 1)
            self.assertLess(largest(fast(x, edges), layer(x, edges)), 1e-5)
        exact = copy.deepcopy(layer).double()
        again = ipex_studio.optimize(exact)
        self.assertLess(largest(again(x.double(), edges), exact(x.double(), edges)), 1e-13)

    def test_the_other_direction_stays(self):
        layer, x, edges = Weighted(4, 3, flow="target_to_source"), torch.randn(NODES, 4), random_edges(40, NODES, NODES)
        fast = optimized(layer)
        self.assertEqual(ran("spmm", lambda: fast(x, edges)), 0)
        self.assertLess(largest(fast(x, edges), layer(x, edges)), 1e-5)

    def test_hooks_see_messages(self):
        fast, seen = optimized(Weighted(4, 3)), []
        fast.register_message_forward_hook(lambda *given: seen.append(given[-1]))
        fast(torch.randn(NODES, 4), random_edges(40, NODES, NODES))
        self.assertEqual(seen[0].shape, (40, 3))

    def test_traces_hold_torch_alone(self):
        layer, x, edges = Weighted(4, 3), torch.randn(NODES, 4), random_edges(40, NODES, NODES)
        traced = torch.jit.trace(optimized(layer), (x, edges), check_trace=False)
        self.assertNotIn("ipex_studio", str(traced.inlined_graph))
        self.assertLess(largest(traced(x, edges), layer(x, edges)), 1e-5)

    def test_nodes_that_do_not_exist(self):
        fast, x = optimized(Weighted(4, 3)), torch.randn(NODES, 4)
        for wrong in (NODES, -1):
            edges = torch.tensor([[0, 1], [2, 2]])
            edges[0, 1] = wrong
            with self.assertRaisesRegex(IndexError, str(wrong)):
                fast(x, edges)

    def test_copies_pickles_and_undoing(self):
        layer, x, edges = Weighted(4, 3), torch.randn(NODES, 4), random_edges(40, NODES, NODES)
        fast = optimized(layer)
        self.assertEqual(list(fast.state_dict()), list(layer.state_dict()))
        self.assertIsInstance(fast, Weighted)
        for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast)), ipex_studio.optimize(copy.deepcopy(fast))):
            self.assertEqual(ran("spmm", lambda: other(x, edges)), 1)
            self.assertLess(largest(other(x, edges), layer(x, edges)), 1e-5)
        plain = ipex_studio.optimize(copy.deepcopy(fast).eval(), level="O0")
        self.assertEqual(ran("spmm", lambda: plain(x, edges)), 0)


class Forms(unittest.TestCase):
    def test_what_is_a_product(self):
        def first(self, h_j, norm):
            return h_j * norm.reshape(-1, 1)

        def scaled(self, x_j, edge_weight):
            return 2 * edge_weight.view(-1, 1) * x_j

        def own(self, x_i):
            return x_i

        def two_steps(self, x_j, edge_weight):
            x_j = x_j + 1
            return edge_weight.view(-1, 1) * x_j

        def by_node(self, x_j, alpha_i):
            return alpha_i.unsqueeze(-1) * x_j

        def unused(self, x_j, edge_attr):
            return x_j

        form = _form_of(first)
        self.assertEqual((form.features, form.number, form.may_be_none), ("h", "norm", False))
        for other in (scaled, own, two_steps, by_node, unused, len):
            self.assertIsNone(_form_of(other), other)


@unittest.skipUnless(INSTALLED, "PyTorch Geometric is not installed")
class Geometric(unittest.TestCase):
    def test_layers(self):
        from torch_geometric import nn as layers
        torch.manual_seed(7)
        x, edges = torch.randn(NODES, 6, requires_grad=True), random_edges(70, NODES, NODES)
        mlp = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU())
        for layer in (layers.GCNConv(6, 5), layers.SAGEConv(6, 5), layers.SAGEConv(6, 5, aggr="max"),
                      layers.GATConv(6, 5, heads=3), layers.GATv2Conv(6, 5, heads=2), layers.GINConv(mlp),
                      layers.GraphConv(6, 5), layers.TransformerConv(6, 5, heads=2), layers.SGConv(6, 5, K=2),
                      layers.TAGConv(6, 5), layers.ChebConv(6, 5, 3), layers.ARMAConv(6, 5), layers.EdgeConv(
                          torch.nn.Linear(12, 5)), layers.GatedGraphConv(8, 2), layers.ClusterGCNConv(6, 5)):
            exact = copy.deepcopy(layer).double()
            fast, exact_x = optimized(layer), x.detach().double().requires_grad_()
            result, expected = fast(x, edges), exact(exact_x, edges)
            self.assertLess(largest(result, expected), 5e-5, layer)
            cotangent = torch.randn_like(expected)
            needed = [name for name, _ in exact.named_parameters()]
            right = torch.autograd.grad(expected, [exact_x, *exact.parameters()], cotangent, allow_unused=True)
            ours = torch.autograd.grad(result, [x, *fast.parameters()], cotangent.float(), allow_unused=True)
            for name, a, b in zip(["x", *needed], ours, right):
                self.assertEqual(a is None, b is None, (layer, name))
                if a is not None:
                    self.assertLess(largest(a, b), 1e-4, (layer, name))


if __name__ == "__main__":
    unittest.main()
