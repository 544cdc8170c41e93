"""Mixtures of experts, linear layers of 4 and 8 bits with the forms of GPTQ and AWQ, and frozen batch norm."""
import itertools
import unittest

import torch
from torch.nn import functional as stock

from ipex_studio.llm.experts import GatedMLPMOE, choose_experts, mixture_of_experts
from ipex_studio.llm.weight_only import WeightOnlyQuantizedLinear
from ipex_studio.nn.modules import FrozenBatchNorm2d


def every_expert(x, weights, experts, gate_up, down):
    """Token by token, in FP64."""
    rows = []
    for token, (of_token, chosen) in enumerate(zip(weights, experts)):
        total = 0
        for weight, expert in zip(of_token, chosen):
            gate, up = (gate_up[expert] @ x[token]).chunk(2)
            total = total + weight * (down[expert] @ (stock.silu(gate) * up))
        rows.append(total)
    return torch.stack(rows)


class Experts(unittest.TestCase):
    def test_values_and_gradients(self):
        torch.manual_seed(1)
        for width, inner, count, top_k, tokens in ((17, 33, 4, 2, 9), (3, 5, 8, 3, 1), (32, 16, 3, 1, 20)):
            # Weights as layers begin with: results of the size of x.
            operands = [torch.randn(sizes, dtype=torch.double) / scale ** 0.5 for sizes, scale in
                        (((tokens, width), 1), ((tokens, count), 1), ((count, 2 * inner, width), width),
                         ((count, width, inner), inner))]
            ours = [each.float().requires_grad_() for each in operands]
            exact = [each.requires_grad_() for each in operands]
            weights, experts = choose_experts(ours[1], top_k)
            result = mixture_of_experts(ours[0], weights, experts, *ours[2:])
            right = exact[1].softmax(-1).gather(-1, experts)
            expected = every_expert(exact[0], right / right.sum(-1, keepdim=True), experts, *exact[2:])
            self.assertLess((result - expected).abs().max().item(), 1e-5)
            cotangent = torch.randn_like(result)
            for gradient, of_exact in zip(torch.autograd.grad(result, ours, cotangent),
                                          torch.autograd.grad(expected, exact, cotangent.double())):
                self.assertLess((gradient - of_exact).abs().max().item(), 1e-5 * max(1, of_exact.abs().max().item()))

    def test_choices(self):
        logits = torch.tensor([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]])
        weights, experts = choose_experts(logits, 2)
        self.assertEqual(experts.tolist(), [[1, 2], [0, 1]])
        self.assertTrue(torch.allclose(weights, torch.full((2, 2), 0.5)))
        _, experts = choose_experts(logits, 2, groups=2, top_groups=1)
        self.assertEqual(experts.tolist(), [[1, 0], [0, 1]])
        correction = torch.tensor([0.0, 0.0, 0.0, 5.0])
        weights, experts = choose_experts(logits, 2, True, "sigmoid", correction=correction, factor=2.0)
        self.assertEqual(experts.tolist(), [[3, 1], [3, 0]])
        scores = logits.sigmoid().gather(1, experts)
        self.assertTrue(torch.allclose(weights, 2 * scores / scores.sum(1, keepdim=True)))
        _, experts = choose_experts(logits, 1, True, "sigmoid", 2, 1, correction)
        self.assertEqual(experts.tolist(), [[3], [3]])
        with self.assertRaisesRegex(ValueError, "neither softmax nor sigmoid"):
            choose_experts(logits, 1, scoring="tanh")

    def test_the_module_and_threads(self):
        torch.manual_seed(2)
        gate, up, down = torch.randn(4, 16, 8), torch.randn(4, 16, 8), torch.randn(4, 8, 16)
        x, logits = torch.randn(3, 5, 8), torch.randn(15, 4)
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            results.append(GatedMLPMOE(torch.cat((gate, up), 1), down)(x, False, 2, logits, True))
        self.assertTrue(torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]))
        self.assertTrue(torch.allclose(GatedMLPMOE(gate, down, up)(x, False, 2, logits, True), results[0], atol=1e-4))
        own = GatedMLPMOE(gate, down, up)(x, False, 2, logits, True, None, None,
                                          lambda hidden, router, k, renormalize: choose_experts(router, k, renormalize))
        self.assertTrue(torch.allclose(own, results[0], atol=1e-4))
        self.assertEqual(mixture_of_experts(x[:0], torch.zeros(0, 2), torch.zeros(0, 2, dtype=torch.long), gate, down,
                                            up).shape, (0, 5, 8))


def packed_words(nibbles: torch.Tensor, order=range(8)) -> torch.Tensor:
    """(…, 8 · n) nibbles as (…, n) int32; nibble i of a word is column order[i]."""
    eights = nibbles.long().unflatten(-1, (-1, 8))
    words = sum(eights[..., place] << 4 * nibble for nibble, place in enumerate(order))
    return torch.where(words >= 2 ** 31, words - 2 ** 32, words).int()


class WeightOnly(unittest.TestCase):
    def check(self, layer, weight, bias, tolerance=1e-5):
        """The layer computes with these weights, and hands gradients to its inputs."""
        self.assertLess((layer.dequantized() - weight).abs().max(), 1e-6)
        for rows in ((1,), (3,), (2, 40), (0,)):
            x = torch.randn(*rows, weight.shape[1])
            expected = stock.linear(x.double(), weight.double(), None if bias is None else bias.double())
            for result in (layer(x), layer(x.clone().requires_grad_())):
                self.assertEqual(result.shape, expected.shape)
                if x.numel():
                    self.assertLess((result - expected).abs().max().item(), tolerance * max(1, expected.abs().max().item()))

    def test_from_floats(self):
        torch.manual_seed(3)
        for bits, group, symmetric, depth in itertools.product((4, 8), (32, 128), (True, False), (33, 100, 129, 256)):
            linear = torch.nn.Linear(depth, 17, bias=group == 32)
            with self.subTest(bits=bits, group=group, symmetric=symmetric, depth=depth):
                layer = WeightOnlyQuantizedLinear.from_float(linear, bits, group, symmetric)
                self.check(layer, layer.dequantized(), linear.bias)
                step = layer.scales.max().item()
                self.assertLess((layer.dequantized() - linear.weight).abs().max().item(), 0.51 * step + 1e-6)
                copy = WeightOnlyQuantizedLinear.from_float(torch.nn.Linear(depth, 17, bias=group == 32), bits, group,
                                                            symmetric)
                copy.load_state_dict(layer.state_dict())
                self.assertTrue(torch.equal(copy.dequantized(), layer.dequantized()))
        with self.assertRaisesRegex(ValueError, "groups of a multiple of 32"):
            WeightOnlyQuantizedLinear.from_float(linear, 4, 20)

    def test_levels_of_nf4(self):
        torch.manual_seed(13)
        for group, depth in itertools.product((32, 128), (33, 100, 129, 256)):
            linear = torch.nn.Linear(depth, 17, bias=group == 32)
            with self.subTest(group=group, depth=depth):
                layer = WeightOnlyQuantizedLinear.from_float(linear, 4, group, kind="nf4")
                weight = layer.dequantized()
                self.check(layer, weight, linear.bias)
                scales = layer.scales[:, torch.arange(depth) // group]
                for level in (-1.0, -0.09105003625154495, 0.0, 0.4407098293304443, 1.0):
                    nearer = (weight - linear.weight).abs() <= (level * scales - linear.weight).abs() + 1e-6
                    self.assertTrue(nearer.all(), level)
        for bits, kind in ((8, "nf4"), (4, "fp4")):
            with self.assertRaisesRegex(ValueError, "levels are even, or nf4"):
                WeightOnlyQuantizedLinear.from_float(linear, bits, 32, kind=kind)
            with self.assertRaisesRegex(RuntimeError, "levels of"):
                torch.ops.ipex_studio.woq_linear(torch.ones(1, 32), torch.zeros(2, 32, dtype=torch.int8), torch.ones(2, 1),
                                                 None, bits, 32, 32, kind)

    def test_gptq(self):
        torch.manual_seed(4)
        rows, depth, group = 24, 128, 32
        levels, zeros = torch.randint(16, (rows, depth)), torch.randint(1, 16, (rows, depth // group))
        scales, bias = torch.rand(rows, depth // group) / 8 + 0.01, torch.randn(rows)
        for act_order in (False, True):
            group_of = torch.arange(depth) // group
            if act_order:
                group_of = group_of[torch.randperm(depth)]
            weight = (levels - zeros[:, group_of]) * scales[:, group_of]
            layer = WeightOnlyQuantizedLinear.from_gptq(packed_words(levels).t(), packed_words(zeros.t() - 1), scales.t(),
                                                        group_of.int(), bias)
            self.check(layer, weight, bias)
            second = WeightOnlyQuantizedLinear.from_gptq(packed_words(levels).t(), packed_words(zeros.t()), scales.t().half(),
                                                         group_of.int(), None, False)
            self.assertLess((second.dequantized() - weight).abs().max(), 2e-3)
        symmetric = WeightOnlyQuantizedLinear.from_gptq(packed_words(levels).t(), packed_words(torch.full_like(zeros.t(), 7)),
                                                        scales.t())
        self.assertIsNone(symmetric.corrections)

    def test_awq(self):
        torch.manual_seed(5)
        rows, depth, group = 16, 192, 64
        levels, zeros = torch.randint(16, (rows, depth)), torch.randint(16, (rows, depth // group))
        scales = torch.rand(rows, depth // group) / 8 + 0.01
        order, group_of = (0, 2, 4, 6, 1, 3, 5, 7), torch.arange(depth) // group
        layer = WeightOnlyQuantizedLinear.from_awq(packed_words(levels.t(), order), packed_words(zeros.t(), order),
                                                   scales.t())
        self.check(layer, (levels - zeros[:, group_of]) * scales[:, group_of], None)


class FrozenBatchNorm(unittest.TestCase):
    def test_as_batch_norm_that_does_not_train(self):
        torch.manual_seed(6)
        batch_norm = torch.nn.BatchNorm2d(5)
        for tensor in (batch_norm.weight.data, batch_norm.bias.data, batch_norm.running_mean):
            tensor.normal_()
        batch_norm.running_var.uniform_(0.5, 2)
        frozen = FrozenBatchNorm2d(5)
        frozen.load_state_dict(batch_norm.state_dict())
        self.assertEqual((list(frozen.parameters()), len(list(frozen.buffers()))), ([], 4))
        x = torch.randn(2, 5, 3, 7, requires_grad=True)
        cotangent = torch.randn_like(x)
        results = [module(x) for module in (frozen, batch_norm.eval())]
        self.assertTrue(torch.allclose(*results, atol=1e-6))
        gradients = [torch.autograd.grad(result, x, cotangent)[0] for result in results]
        self.assertTrue(torch.allclose(*gradients, atol=1e-6))
        self.assertTrue(torch.equal(frozen.train()(x), results[0]))


if __name__ == "__main__":
    unittest.main()
