"""Operators of language models: values and gradients against PyTorch's operators in FP64, and what is refused."""
import itertools
import math
import unittest

import torch
from torch.nn import functional as stock

import ipex_studio
from ipex_studio.llm import functional, modules
from ipex_studio.llm._rotary_tables import rotary_tables

WIDTHS = (3, 17, 33, 100, 129)


def largest(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, relative to the largest value where that is above 1."""
    if not b.numel():
        return 0.0
    return (a.double() - b.double()).abs().max().item() / max(1.0, b.abs().max().item())


def stock_norm(x, weight, bias, eps, centered):
    if centered:
        return stock.layer_norm(x, x.shape[-1:], weight, bias, eps)
    result = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight
    return result if bias is None else result + bias


def stock_rotate(x, sin, cos, rotary_dim, interleaved):
    """x: (B, S, H, D), positions 0, 1, …"""
    pairs = rotary_dim // 2
    turned, rest = x[..., :rotary_dim], x[..., rotary_dim:]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if interleaved else (turned[..., :pairs], turned[..., pairs:])
    s, c = (table[:x.shape[1], None, :pairs].to(x.dtype) for table in (sin, cos))
    both = (a * c - b * s, b * c + a * s)
    turned = torch.stack(both, -1).flatten(-2) if interleaved else torch.cat(both, -1)
    return torch.cat((turned, rest), -1)


def stock_attention(query, key, value, mask, causal, scale):
    group = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(group, 1).transpose(2, 3) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    none = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(none, 0).softmax(-1).masked_fill(none, 0)
    return weights @ value.repeat_interleave(group, 1)


class Gradients(unittest.TestCase):
    def check(self, ours, theirs, operands, tolerance=2e-5):
        """Results and gradients of ours against theirs in FP64, with random cotangents; and ours in BF16."""
        needed = [each.clone().requires_grad_() for each in operands]
        exact = [each.double().requires_grad_() for each in operands]
        result, expected = ours(*needed), theirs(*exact)
        self.assertLess(largest(result, expected), tolerance)
        cotangent = torch.randn_like(result)
        for gradient, right in zip(torch.autograd.grad(result, needed, cotangent),
                                   torch.autograd.grad(expected, exact, cotangent.double())):
            self.assertLess(largest(gradient, right), tolerance)
        low = [each.bfloat16().requires_grad_() for each in operands]
        exact = [each.detach().double().requires_grad_() for each in low]
        result, expected = ours(*low), theirs(*exact)
        self.assertEqual(result.dtype, torch.bfloat16)
        self.assertLess(largest(result, expected), 0.01)
        for gradient, right in zip(torch.autograd.grad(result, low, cotangent.bfloat16()),
                                   torch.autograd.grad(expected, exact, cotangent.bfloat16().double())):
            self.assertLess(largest(gradient, right), 0.01)


class Norms(Gradients):
    def test_values_and_gradients(self):
        torch.manual_seed(1)
        for width, centered in itertools.product(WIDTHS, (False, True)):
            x, residual = torch.randn(2, 5, width), torch.randn(2, 5, width)
            weight, bias = torch.randn(width), torch.randn(width)
            added = functional.add_layer_norm if centered else functional.add_rms_norm
            with self.subTest(width=width, centered=centered):
                self.check(lambda x, r, w, b: added(r, x, w, b, 1e-5),
                           lambda x, r, w, b: stock_norm(x + r, w, b, 1e-5, centered), (x, residual, weight, bias))
        self.check(lambda x, w: functional.rms_norm(x, w, 1e-6), lambda x, w: stock_norm(x, w, None, 1e-6, False),
                   (torch.randn(7, 33), torch.randn(33)))
        self.check(lambda x, w, b: functional.fast_layer_norm(x, (3, 17), w, b, 1e-5),
                   lambda x, w, b: stock.layer_norm(x, (3, 17), w, b, 1e-5),
                   (torch.randn(4, 3, 17), torch.randn(3, 17), torch.randn(3, 17)))

    def test_the_sum_has_a_gradient_and_is_written_back(self):
        x, residual = torch.randn(3, 17, dtype=torch.double), torch.randn(3, 17, dtype=torch.double)
        weight = torch.randn(17, dtype=torch.double)
        operands = [each.requires_grad_() for each in (x, residual, weight)]
        for centered in (False, True):
            self.assertTrue(torch.autograd.gradcheck(lambda a, b, w: torch.ops.ipex_studio.add_normalize_rows(
                a, b, w, None, 1e-5, centered), operands))
        with torch.no_grad():
            total, kept = x + residual, residual.clone()
            functional.add_rms_norm(kept, x, weight, None, 1e-6, True)
            self.assertTrue(torch.equal(kept, total))

    def test_bits_threads_and_what_is_refused(self):
        torch.manual_seed(2)
        x, weight = torch.randn(3000, 65, requires_grad=True), torch.randn(65, requires_grad=True)
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            result = functional.rms_norm(x, weight)
            results.append([result, *torch.autograd.grad(result.square().sum(), (x, weight))])
        for other in results[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(results[0], other)))
        self.assertEqual(functional.rms_norm(x[:0], weight).shape, (0, 65))
        with self.assertRaisesRegex(RuntimeError, "weight and bias are \\[65\\] floats"):
            functional.rms_norm(x, weight[:3])
        with self.assertRaisesRegex(ValueError, "is not how the sizes"):
            functional.fast_layer_norm(x, (3, 65))
        with self.assertRaisesRegex(RuntimeError, "second derivative of normalize_rows"):
            torch.autograd.grad(functional.rms_norm(x, weight).sum(), x, create_graph=True)

    def test_modules(self):
        module = modules.RMSNorm(8)
        x = torch.randn(2, 8)
        self.assertLess(largest(module(x), stock_norm(x, torch.ones(8), None, 1e-6, False)), 1e-6)
        self.assertEqual(list(module.state_dict()), ["weight"])
        layer = torch.nn.LayerNorm(8)
        self.assertLess(largest(modules.FastLayerNorm((8,), 1e-5, layer.weight, layer.bias)(x), layer(x)), 1e-6)


class Rotary(Gradients):
    def test_values_and_gradients(self):
        torch.manual_seed(3)
        for width, interleaved in itertools.product((2,) + WIDTHS, (False, True)):
            for rotary_dim in {width // 2 * 2, width // 4 * 2}:
                sin, cos = rotary_tables(9, max(2, rotary_dim))
                with self.subTest(width=width, rotary_dim=rotary_dim, interleaved=interleaved):
                    self.check(lambda x: functional.rotate(x, sin, cos, rotary_dim, interleaved),
                               lambda x: stock_rotate(x, sin, cos, rotary_dim, interleaved),
                               (torch.randn(2, 5, 3, width),))

    def test_positions(self):
        sin, cos = rotary_tables(20, 8)
        x = torch.randn(2, 4, 3, 8)
        of_each = torch.tensor([[3, 0, 19, 7], [1, 1, 2, 5]])
        rotated = functional.rotate(x, sin, cos, 8, False, of_each)
        for text, token in itertools.product(range(2), range(4)):
            row = of_each[text, token].item()
            expected = stock_rotate(x[text:text + 1, token:token + 1], sin[row:], cos[row:], 8, False)
            self.assertLess(largest(rotated[text, token], expected[0, 0]), 1e-6)
        later = functional.rotate(x, sin, cos, 8, False, torch.tensor(5))
        self.assertTrue(torch.equal(later, functional.rotate(x, sin[5:], cos[5:], 8)))
        self.assertTrue(torch.equal(later, functional.rotate(x, sin, cos, 8, False, torch.arange(5, 9).int())))
        parts = torch.cat((x, x), 2)[:, :, 1:4]
        self.assertTrue(torch.equal(functional.rotate(parts, sin, cos, 8, False, of_each),
                                    functional.rotate(parts.contiguous(), sin, cos, 8, False, of_each)))
        tokens = functional.rotate(x.flatten(0, 1), sin, cos, 8, False, of_each)
        self.assertTrue(torch.equal(tokens, rotated.flatten(0, 1)))
        with self.assertRaisesRegex(IndexError, "position of token 2 is 20, and the tables have 20 rows"):
            functional.rotate(x, sin, cos, 8, False, torch.tensor([0, 1, 20, 2]))
        with self.assertRaisesRegex(RuntimeError, "rotary_dim 10 is no even number"):
            functional.rotate(x, sin, cos, 10)

    def test_the_form_of_the_extension(self):
        sin, cos = rotary_tables(4, 8)
        query, key = torch.randn(1, 4, 6, 8), torch.randn(1, 4, 2, 8)
        expected = [stock_rotate(each, sin, cos, 8, False) for each in (query, key)]
        results = functional.rotary_embedding(query, key, torch.cat((sin, sin), -1), torch.cat((cos, cos), -1), 8, True)
        for result, given, right in zip(results, (query, key), expected):
            self.assertTrue(result is given)
            self.assertLess(largest(given, right), 1e-6)

    def test_the_module(self):
        module = modules.RotaryEmbedding(16, 8, 10000, "GPTJForCausalLM")
        positions = torch.arange(5).unsqueeze(0)
        qkv = torch.randn(1, 5, (4 + 2 + 2) * 8)
        query, key, value = module(qkv, positions, 4, 8, 4, 8, None, 3)
        heads = qkv.view(1, 5, 8, 8)
        sin, cos = rotary_tables(16, 8)
        self.assertLess(largest(query, stock_rotate(heads[:, :, :4], sin, cos, 8, False)), 1e-6)
        self.assertLess(largest(key, stock_rotate(heads[:, :, 4:6], sin, cos, 8, False)), 1e-6)
        self.assertTrue(torch.equal(value, heads[:, :, 6:]))
        self.assertEqual(module(torch.randn(1, 40, 4, 8), torch.arange(40)[None], 4, 8, 1, 8, 40).shape, (1, 40, 4, 8))

    def test_tables(self):
        sin, cos = rotary_tables(30, 16, 10000)
        angles = torch.arange(30)[:, None] * 10000 ** (-torch.arange(0, 16, 2) / 16)
        self.assertLess(largest(sin, angles.sin()), 2e-6)
        self.assertTrue(torch.allclose(rotary_tables(30, 16, 10000, {"rope_type": "linear", "factor": 2.0})[1],
                                       (angles / 2).cos(), atol=2e-6))
        llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 64}
        stretched = rotary_tables(30, 16, 10000, llama3)[0][1]
        wavelengths = 2 * math.pi / angles[1]
        for pair, wavelength in enumerate(wavelengths.tolist()):
            angle = angles[1][pair].item()
            if wavelength > 64:
                angle /= 8
            elif wavelength > 16:
                smooth = (64 / wavelength - 1) / 3
                angle = (1 - smooth) * angle / 8 + smooth * angle
            self.assertAlmostEqual(stretched[pair].item(), math.sin(angle), places=6)
        for config in ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
                       {"type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 8},
                       {"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8,
                        "original_max_position_embeddings": 8}):
            self.assertTrue(rotary_tables(30, 16, 10000, config)[0].isfinite().all())
        with self.assertRaisesRegex(ValueError, "'spiral' is none of"):
            rotary_tables(3, 4, 10000, {"rope_type": "spiral"})


class Units(Gradients):
    def test_values_and_gradients(self):
        torch.manual_seed(4)
        ways = ((functional.silu_mul, lambda x, y: stock.silu(x) * y),
                (functional.gelu_mul, lambda x, y: stock.gelu(x) * y),
                (lambda x, y: functional.gelu_mul(x, y, None, "tanh"),
                 lambda x, y: stock.gelu(x, approximate="tanh") * y))
        for width, (ours, theirs) in itertools.product(WIDTHS, ways):
            self.check(ours, theirs, (3 * torch.randn(2, 3, width), torch.randn(2, 3, width)))
            self.check(lambda both: ours(*both.chunk(2, -1)), lambda both: theirs(*both.chunk(2, -1)),
                       (torch.randn(2, 3, 2 * width),))
        out = torch.empty(4, 5)
        x, y = torch.randn(4, 5), torch.randn(4, 5)
        self.assertTrue(functional.silu_mul(x, y, out) is out)
        self.assertLess(largest(out, stock.silu(x) * y), 1e-6)
        self.assertEqual(functional.silu_mul(x[:0], y[:0]).shape, (0, 5))
        with self.assertRaisesRegex(RuntimeError, "the same sizes and type"):
            functional.silu_mul(x, y[:2])
        with self.assertRaisesRegex(ValueError, "neither none nor tanh"):
            functional.gelu_mul(x, y, None, "sine")

    def test_linear_layers(self):
        torch.manual_seed(5)
        linear, other = torch.nn.Linear(17, 33), torch.nn.Linear(17, 33, bias=False)
        x, y, z = torch.randn(2, 5, 17), torch.randn(2, 5, 33), torch.randn(2, 5, 33)
        ways = ((modules.LinearSilu, stock.silu, ()), (modules.LinearRelu, stock.relu, ()),
                (modules.LinearGelu, stock.gelu, ()),
                (modules.LinearNewGelu, lambda each: stock.gelu(each, approximate="tanh"), ()),
                (modules.LinearSiluMul, lambda each, a: stock.silu(each) * a, (y,)),
                (modules.LinearMul, lambda each, a: each * a, (y,)), (modules.LinearAdd, lambda each, a: each + a, (y,)),
                (modules.LinearAddAdd, lambda each, a, b: each + a + b, (y, z)))
        for module, function, others in ways:
            fused, expected = module(linear), function(linear(x), *others)
            with self.subTest(module=module.__name__):
                self.assertLess(largest(fused(x, *others), expected), 1e-5)
                with torch.no_grad():
                    self.assertLess(largest(fused(x, *others), expected), 1e-5)
                for gradient, right in zip(torch.autograd.grad(fused(x, *others).square().sum(), linear.parameters()),
                                           torch.autograd.grad(expected.square().sum(), linear.parameters())):
                    self.assertLess(largest(gradient, right), 1e-5)
        gated = modules.Linear2SiluMul(linear, other)
        with torch.no_grad():
            self.assertLess(largest(gated(x), stock.silu(linear(x)) * other(x)), 1e-5)
            linear.weight.mul_(2)
            self.assertLess(largest(gated(x), stock.silu(linear(x)) * other(x)), 1e-5)
            with self.assertRaisesRegex(ValueError, "activation 'sine' is none of"):
                functional.linear_units(x, linear.weight, None, "sine")


class Attention(Gradients):
    def check_attention(self, sizes, mask=None, causal=False, scale=None, tolerance=2e-5):
        texts, heads, key_heads, queries, keys, depth, width = sizes
        operands = (torch.randn(texts, heads, queries, depth), torch.randn(texts, key_heads, keys, depth),
                    torch.randn(texts, key_heads, keys, width))
        by = scale if scale is not None else 1 / math.sqrt(depth)
        with self.subTest(sizes=sizes, causal=causal):
            self.check(lambda q, k, v: functional.attention(q, k, v, mask, causal, scale),
                       lambda q, k, v: stock_attention(q, k, v, None if mask is None else mask if mask.dtype ==
                                                       torch.bool else mask.double(), causal, by), operands, tolerance)

    def test_values_and_gradients(self):
        torch.manual_seed(6)
        for width in WIDTHS:
            self.check_attention((2, 3, 3, 17, 33, width, width))
            self.check_attention((1, 4, 2, 70, 70, width, 8), causal=True)
        self.check_attention((2, 6, 2, 130, 129, 64, 64), scale=0.2)
        self.check_attention((1, 2, 1, 1, 40, 16, 16))
        self.check_attention((2, 2, 2, 40, 50, 8, 8), torch.randn(2, 1, 40, 50))
        self.check_attention((2, 2, 2, 40, 50, 8, 8), torch.rand(2, 1, 1, 50) > 0.3)
        self.check_attention((2, 4, 2, 65, 65, 8, 8), torch.rand(1, 4, 65, 65) > 0.9, True)

    def test_gradients_in_double_precision(self):
        torch.manual_seed(7)
        q, k, v = (torch.randn(1, heads, rows, 3, dtype=torch.double, requires_grad=True)
                   for heads, rows in ((4, 5), (2, 6), (2, 6)))
        mask = torch.randn(5, 6, dtype=torch.double, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda *each: functional.attention(*each, None, True), (q, k, v)))
        self.assertTrue(torch.autograd.gradcheck(lambda *each: functional.attention(*each, True), (q, k, v, mask)))
        self.assertTrue(torch.equal(functional.attention(q, k, v, mask.detach()),
                                    functional.attention(q.detach(), k, v, mask.detach())))

    def test_layouts_and_threads(self):
        torch.manual_seed(8)
        q, k, v = (torch.randn(2, 90, 4, 24, requires_grad=True) for _ in range(3))
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            result = functional.attention(*(each.transpose(1, 2) for each in (q, k, v)), None, True)
            results.append([result, *torch.autograd.grad(result.square().sum(), (q, k, v))])
        for other in results[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(results[0], other)))
        dense = functional.attention(*(each.transpose(1, 2).contiguous() for each in (q, k, v)), None, True)
        self.assertTrue(torch.equal(dense, results[0][0]))
        turned = functional.attention(*(each.transpose(1, 2).transpose(2, 3).contiguous().transpose(2, 3)
                                        for each in (q, k, v)), None, True)
        self.assertTrue(torch.equal(turned, dense))

    def test_nothing_and_what_is_refused(self):
        q, k = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 5, 8)
        self.assertEqual(functional.attention(q[:, :, :0], k, k).shape, (1, 2, 0, 8))
        self.assertTrue(torch.equal(functional.attention(q, k[:, :, :0], k[:, :, :0]), torch.zeros_like(q)))
        self.assertTrue(torch.equal(functional.attention(q, k, k, torch.zeros(3, 5, dtype=torch.bool)),
                                    torch.zeros_like(q)))
        with self.assertRaisesRegex(RuntimeError, "where Hk divides H"):
            functional.attention(q, k, k[:, :1])
        with self.assertRaisesRegex(RuntimeError, "does not spread to"):
            functional.attention(q, k, k, torch.zeros(4, 5))
        with self.assertRaisesRegex(RuntimeError, "second derivative of flash_attention"):
            q.requires_grad_()
            torch.autograd.grad(functional.attention(q, k, k).sum(), q, create_graph=True)

    def test_texts_of_several_lengths(self):
        lengths, key_lengths = (5, 0, 9), (5, 3, 9)
        begins, key_begins = (torch.tensor([0, *torch.tensor(each).cumsum(0).tolist()]) for each in
                              (lengths, key_lengths))
        q, k, v = torch.randn(14, 4, 8), torch.randn(17, 2, 8), torch.randn(17, 2, 8)
        out = torch.empty(14, 4, 8)
        result = functional.varlen_attention(q, k, v, out, begins, key_begins, None, 9, 9, 0.0, 0.4, False, True, False,
                                             None)
        self.assertTrue(result is out)
        for text in range(3):
            rows, keys = (slice(*each[text:text + 2].tolist()) for each in (begins, key_begins))
            expected = stock_attention(*(each.transpose(0, 1)[None] for each in (q[rows], k[keys], v[keys])), None, True,
                                       0.4)[0].transpose(0, 1)
            self.assertLess(largest(out[rows], expected), 1e-5)
        with self.assertRaisesRegex(ValueError, "has no softcap"):
            functional.varlen_attention(q, k, v, None, begins, key_begins, softcap=3.0)


class Names(unittest.TestCase):
    def test_all_in_one_place_and_under_the_name_of_the_extension(self):
        import ipex_studio.compat.llm as extension
        self.assertTrue(ipex_studio.ops.attention is functional.attention)
        self.assertTrue(callable(ipex_studio.ops.spmm))
        self.assertTrue(extension.functional.rms_norm is functional.rms_norm)
        self.assertTrue(extension.modules.RMSNorm is modules.RMSNorm)
        x, weight = torch.randn(2, 3), torch.ones(3)
        self.assertTrue(torch.equal(modules.RMSNorm.apply_function(x, weight, 1e-6), functional.rms_norm(x, weight)))


if __name__ == "__main__":
    unittest.main()
