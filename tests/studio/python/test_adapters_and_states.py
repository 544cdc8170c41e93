#!/usr/bin/python3
"""Low-rank adapters of several texts in a batch, and parts of state space models, against their formulas in float64."""
import unittest

import torch
from torch.nn import functional as stock

from ipex_studio.llm import lora, state_space
from ipex_studio.llm.modules import MambaMixer

DTYPES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2}


class Adapters(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.down, self.up = torch.randn(3, 4, 16), torch.randn(3, 1, 10, 4)
        self.x, self.adapters = torch.randn(6, 16), torch.tensor([2, 0, -1, 2, 1, 0])

    def product(self, weights, x):
        """What each token's adapter gives; NaN where there is none."""
        rows = [weights.double().reshape(3, weights.shape[-2], -1)[adapter] @ row.double() if adapter >= 0 else
                torch.full((weights.shape[-2],), float("nan")) for adapter, row in zip(self.adapters.tolist(), x)]
        return torch.stack(rows)

    def check(self, found, before, wanted):
        wanted = torch.where(wanted.isnan(), before.double(), wanted)
        self.assertLess((found.double() - wanted).abs().max(), 1e-5)

    def test_shrink(self):
        before = torch.randn(6, 7)
        found = before.clone()
        self.assertIs(lora.bgmv_shrink(self.x, self.down, found, self.adapters, 0.5), found)
        self.check(found[:, :4], before[:, :4], 0.5 * self.product(self.down, self.x))
        self.assertTrue(torch.equal(found[:, 4:], before[:, 4:]))

    def test_expand(self):
        x, before = torch.randn(6, 4), torch.randn(6, 12)
        wanted = self.product(self.up, x)
        for adds in (True, False):
            for offset in (0, 2):
                found = before.clone()
                lora.bgmv_expand_slice(x, self.up, found, self.adapters, offset, 10, adds)
                part = before[:, offset:offset + 10]
                self.check(found[:, offset:offset + 10], part, wanted + part.double() * adds)
        found = before.clone()
        lora.bgmv_expand(x, self.up, found, self.adapters)
        self.check(found[:, :10], before[:, :10], wanted + before[:, :10].double())

    def test_one_adapter_a_text(self):
        texts, lengths, begins = torch.tensor([1, -1, 0]), torch.tensor([3, 2, 1]), torch.tensor([0, 3, 5])
        self.adapters = torch.tensor([1, 1, 1, -1, -1, 0])
        x, before = torch.randn(6, 4), torch.randn(6, 10)
        found = before.clone()
        lora.sgmv_expand(x, self.up, found, begins, lengths, texts, 3, 3, True)
        self.check(found, before, self.product(self.up, x) + before.double())
        found = before.clone()
        lora.sgmv_expand_slice(x, self.up, found, begins, lengths, texts, 3, 3, 0, 10)
        self.check(found, before, self.product(self.up, x))
        found, before = torch.zeros(6, 4), torch.zeros(6, 4)
        lora.sgmv_shrink(self.x, self.down, found, begins, lengths, texts, 3, 3, 2.0)
        self.check(found, before, 2 * self.product(self.down, self.x))

    def test_sums_are_rounded_once(self):
        x, up, out = torch.full((1, 4), 1.0), torch.full((1, 1, 4), 2 ** -9), torch.ones(1, 1, dtype=torch.bfloat16)
        lora.bgmv_expand(x.bfloat16(), up.bfloat16(), out, torch.tensor([0]))
        self.assertEqual(out.item(), 1.0078125)

    def test_what_does_not_fit_is_said(self):
        with self.assertRaisesRegex(IndexError, "from -1 to 2"):
            lora.bgmv_shrink(self.x, self.down, torch.zeros(6, 4), self.adapters + 1)
        with self.assertRaisesRegex(ValueError, "10 values"):
            lora.bgmv_expand_slice(self.x[:, :4], self.up, torch.zeros(6, 12), self.adapters, 8, 10)
        with self.assertRaisesRegex(ValueError, "5 indices"):
            lora.bgmv_shrink(self.x, self.down, torch.zeros(6, 4), self.adapters[:5])


class States(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_convolution_of_texts_and_of_tokens(self):
        for dtype, tolerance in DTYPES.items():
            x, weight, bias = torch.randn(2, 5, 9).to(dtype), torch.randn(5, 4).to(dtype), torch.randn(5).to(dtype)
            before = torch.randn(2, 5, 3).to(dtype)
            whole = torch.cat((before, x), -1).double()
            wanted = stock.silu(stock.conv1d(whole, weight.double()[:, None], bias.double(), groups=5))
            found, last = state_space.causal_conv1d_fn(x, weight, bias, before, True)
            self.assertEqual((found.dtype, last.dtype), (dtype, dtype))
            self.assertLess(((found.double() - wanted) / (1 + wanted.abs())).abs().max(), tolerance)
            self.assertTrue(torch.equal(last, x[..., -3:]))
            state = before.clone()
            parts = [state_space.causal_conv1d_update(part, state, weight, bias, "silu") for part in x.split((1, 3, 5), -1)]
            self.assertTrue(torch.allclose(torch.cat(parts, -1), found, tolerance, tolerance))
            self.assertTrue(torch.equal(state, last))
            ring = before.roll(2, -1)  # its next place is 2
            parts = [state_space.causal_conv1d_update(x[..., token], ring, weight, bias, "swish",
                                                      torch.tensor([2 + token, 2 + token], dtype=torch.int32))
                     for token in range(9)]
            self.assertTrue(torch.allclose(torch.stack(parts, -1), found, tolerance, tolerance))

    def test_convolution_begins_with_zeros(self):
        x, weight = torch.randn(1, 2, 2), torch.randn(2, 4)
        found, last = state_space.causal_conv1d_fn(x, weight, None, None, True, torch.empty(1, 2, 3), None)
        self.assertTrue(torch.allclose(found, state_space.causal_conv1d_fn(x, weight, None, torch.zeros(1, 2, 3),
                                                                            activation=None)[0]))
        self.assertTrue(torch.equal(last, torch.cat((torch.zeros(1, 2, 1), x), -1)))
        with self.assertRaisesRegex(NotImplementedError, "gelu"):
            state_space.causal_conv1d_fn(x, weight, activation="gelu")
        with self.assertRaisesRegex(ValueError, "looks back at 3"):
            state_space.causal_conv1d_update(x, torch.zeros(1, 2, 2), weight)
        with self.assertRaisesRegex(ValueError, "ring of 3"):
            state_space.causal_conv1d_update(torch.zeros(1, 2, 4), torch.zeros(1, 2, 3), weight,
                                             cache_seqlens=torch.tensor([0]))

    def scanned(self, u, delta, A, B, C, D, z, bias):
        """The formula, entry by entry, in float64; B and C: (B, D, N, S)."""
        u, delta, A, B, C, D, z, bias = (each.double() for each in (u, delta, A, B, C, D, z, bias))
        delta = stock.softplus(delta + bias[:, None])
        state, results = torch.zeros(u.shape[0], *A.shape, dtype=torch.float64), []
        for token in range(u.shape[2]):
            state = torch.exp(delta[:, :, token, None] * A) * state \
                + delta[:, :, token, None] * B[..., token] * u[:, :, token, None]
            results.append((state * C[..., token]).sum(-1) + D * u[..., token])
        return torch.stack(results, -1) * stock.silu(z), state

    def test_scan_of_texts_and_of_tokens(self):
        for dtype, tolerance in DTYPES.items():
            for form in ("fixed", "shared", "groups"):
                with self.subTest(dtype=dtype, form=form):
                    u, delta, z = (torch.randn(2, 4, 6).to(dtype) for _ in range(3))
                    A, D, bias = -torch.rand(4, 3), torch.randn(4), torch.rand(4)
                    sizes = {"fixed": (4, 3), "shared": (2, 3, 6), "groups": (2, 2, 3, 6)}[form]
                    B, C = torch.randn(sizes).to(dtype), torch.randn(sizes).to(dtype)

                    def spread(matrix):
                        if form == "fixed":
                            return matrix[None, :, :, None].expand(2, 4, 3, 6)
                        return matrix[:, None].expand(2, 4, 3, 6) if form == "shared" else matrix.repeat_interleave(2, 1)

                    wanted, last = self.scanned(u, delta, A, spread(B), spread(C), D, z, bias)
                    found, state = state_space.selective_scan_fn(u, delta, A, B, C, D, z, bias, True, True)
                    self.assertEqual(found.dtype, dtype)
                    self.assertLess(((found.double() - wanted) / (1 + wanted.abs())).abs().max(), tolerance)
                    self.assertLess(((state.double() - last) / (1 + last.abs())).abs().max(), max(tolerance, 1e-5))
                    self.assertTrue(torch.equal(found, state_space.selective_scan_fn(u, delta, A, B, C, D, z, bias, True)))
                    if form == "fixed":
                        continue
                    state = torch.zeros_like(state)
                    parts = []
                    for token in range(6):
                        reads = [spread(each)[..., token] for each in (B, C)]
                        # Channels as heads of one channel each, with a group for each or for two of them.
                        groups = [each[:, :, None] for each in (u[..., token], delta[..., token], z[..., token])]
                        b, c = reads if form == "shared" else (B[..., token], C[..., token])
                        heads = state.unsqueeze(2)
                        parts.append(state_space.selective_state_update(
                            heads, groups[0], groups[1], A[:, None], b, c, D[:, None], groups[2], bias[:, None], True)[..., 0])
                    self.assertTrue(torch.allclose(torch.stack(parts, -1).double(), found.double(), atol=tolerance,
                                                   rtol=tolerance))

    def test_state_is_written(self):
        state, x, dt = torch.randn(1, 4, 3).bfloat16(), torch.randn(1, 4), torch.rand(1, 4)
        A, B, C = -torch.rand(4, 3), torch.randn(1, 3), torch.randn(1, 3)
        after = state.double() * torch.exp(dt.double()[..., None] * A.double()) + (dt * x).double()[..., None] * B.double()
        found = MambaMixer.selective_state_update(state, x, dt, A, B, C)
        self.assertTrue(torch.allclose(found.double(), (after * C.double()).sum(-1), atol=1e-5))
        self.assertTrue(torch.equal(state, after.bfloat16()))
        with self.assertRaisesRegex(ValueError, "2 groups"):
            MambaMixer.selective_state_update(state, x, dt, A, torch.randn(1, 2, 3), C)

    def test_gradients_of_texts(self):
        def leaf(*sizes):
            return torch.randn(sizes, dtype=torch.float64).requires_grad_()

        self.assertTrue(torch.autograd.gradcheck(
            lambda *each: state_space.causal_conv1d_fn(*each)[0], (leaf(2, 3, 4), leaf(3, 3), leaf(3), leaf(2, 3, 2))))
        self.assertTrue(torch.autograd.gradcheck(
            lambda u, delta, A, B, C, D, z, bias: state_space.selective_scan_fn(u, delta, A, B, C, D, z, bias, True, True),
            (leaf(1, 2, 3), leaf(1, 2, 3), leaf(2, 2), leaf(1, 1, 2, 3), leaf(1, 2, 3), leaf(2), leaf(1, 2, 3), leaf(2))))


if __name__ == "__main__":
    unittest.main()
