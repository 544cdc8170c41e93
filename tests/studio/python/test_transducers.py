"""The loss of RNN transducers and a step of their decoding: against the definition in FP64, and what is refused."""
import unittest

import torch

import ipex_studio  # noqa: F401
from ipex_studio.compat import _operators
from ipex_studio.nn.functional import rnnt_loss
from ipex_studio.nn.modules import RNNTLoss


def by_definition(logits, targets, logit_lengths, target_lengths, blank, fused_log_softmax=True):
    """-ln of the sum over all paths, node by node of the lattice."""
    logarithms = logits.log_softmax(-1) if fused_log_softmax else logits
    costs = []
    for sample in range(len(logits)):
        frames, labels = int(logit_lengths[sample]), int(target_lengths[sample])
        reached = {}
        for t in range(frames):
            for u in range(labels + 1):
                ways = [reached[t - 1, u] + logarithms[sample, t - 1, u, blank]] if t else []
                if u:
                    ways.append(reached[t, u - 1] + logarithms[sample, t, u - 1, targets[sample, u - 1]])
                reached[t, u] = torch.stack(ways).logsumexp(0) if ways else logarithms.new_zeros(())
        costs.append(-(reached[frames - 1, labels] + logarithms[sample, frames - 1, labels, blank]))
    return torch.stack(costs)


def operands(samples=3, frames=7, labels=4, classes=9, dtype=torch.float):
    """(logits, targets, lengths): of several lengths, one without labels."""
    logits = torch.randn(samples, frames, labels + 1, classes, dtype=dtype)
    targets = torch.randint(0, classes, (samples, labels), dtype=torch.int32)
    return (logits, targets, torch.arange(frames, frames - samples, -1).clamp(min=1).int(),
            torch.arange(labels, labels - 2 * samples, -2).clamp(min=0).int())


class Loss(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_values_and_gradients_are_those_of_the_definition(self):
        for classes in (1, 3, 17, 33, 100, 129):
            for fused in (True, False):
                logits, *rest = operands(classes=classes)
                logits = logits if fused else logits.log_softmax(-1)
                mine, exact = logits.clone().requires_grad_(), logits.double().requires_grad_()
                result = rnnt_loss(mine, *rest, reduction="none", fused_log_softmax=fused)
                expected = by_definition(exact, *rest, classes - 1, fused)
                self.assertLess((result.double() - expected).abs().max().item(), 1e-5 * expected.abs().max().item() + 1e-6)
                cotangent = torch.randn(len(result))
                result.backward(cotangent)
                expected.backward(cotangent.double())
                self.assertLess((mine.grad.double() - exact.grad).abs().max().item(), 5e-6, (classes, fused))

    def test_gradient_in_double(self):
        logits, *rest = operands(2, 4, 3, 5, torch.double)
        for fused in (True, False):
            self.assertTrue(torch.autograd.gradcheck(
                lambda each: rnnt_loss(each, *rest, blank=0, reduction="none", fused_log_softmax=fused),
                (logits.requires_grad_(),)))

    def test_other_types(self):
        logits, *rest = operands(classes=50)
        for dtype, bound in ((torch.bfloat16, 2e-2), (torch.half, 4e-3)):
            mine = logits.to(dtype).requires_grad_()
            exact = mine.detach().double().requires_grad_()
            loss, expected = rnnt_loss(mine, *rest), by_definition(exact, *rest, 49).mean()
            self.assertEqual(loss.dtype, torch.float)
            self.assertAlmostEqual(loss.item(), expected.item(), delta=1e-5 * expected.item())
            loss.backward()
            expected.backward()
            self.assertEqual(mine.grad.dtype, dtype)
            self.assertLess((mine.grad.double() - exact.grad).abs().max().item(), bound * exact.grad.abs().max().item())
        self.assertEqual(rnnt_loss(logits.double(), *rest).dtype, torch.double)

    def test_reductions_and_layouts(self):
        logits, *rest = operands()
        costs = rnnt_loss(logits, *rest, reduction="none")
        self.assertTrue(torch.equal(RNNTLoss(reduction="sum")(logits, *rest), costs.sum()))
        self.assertTrue(torch.equal(RNNTLoss()(logits, *rest), costs.mean()))
        turned = logits.transpose(1, 2).contiguous().transpose(1, 2)
        self.assertTrue(torch.equal(rnnt_loss(turned, *[each.long() for each in rest], reduction="none"), costs))
        nothing = rnnt_loss(logits[:0], *[each[:0] for each in rest], reduction="none")
        self.assertEqual(nothing.shape, (0,))

    def test_bits_do_not_depend_on_threads(self):
        logits, *rest = operands(5, 31, 12, 129)
        results = []
        before = torch.get_num_threads()
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            mine = logits.clone().requires_grad_()
            rnnt_loss(mine, *rest, clamp=0.3).backward()
            results.append(mine.grad)
        torch.set_num_threads(before)
        self.assertTrue(torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]))

    def test_what_does_not_fit_is_named(self):
        logits, targets, frames, labels = operands()
        wrong = targets.clone()
        wrong[1, 1] = 9
        for arguments, message in (((logits, wrong, frames, labels), r"targets\[1\]\[1\] is 9"),
                                   ((logits, targets, frames + 1, labels), r"logit_lengths\[0\] is 8"),
                                   ((logits, targets, frames, labels + 1), r"target_lengths\[0\] is 5"),
                                   ((logits, targets, frames, labels, 9), "the blank 9 is none of 9 classes")):
            with self.assertRaisesRegex(IndexError, message):
                rnnt_loss(*arguments)
        with self.assertRaisesRegex(RuntimeError, "targets have the sizes"):
            rnnt_loss(logits, targets[:, :2], frames, labels)
        with self.assertRaisesRegex(RuntimeError, "whole numbers"):
            rnnt_loss(logits, targets.float(), frames, labels)
        with self.assertRaisesRegex(ValueError, "reduction 'average'"):
            rnnt_loss(logits, targets, frames, labels, reduction="average")


class Decoding(unittest.TestCase):
    FIRST = -1

    def expected(self, symbols, lengths, state, hidden, new_hidden, features, feature, most, blank):
        """A step written with whole tensors; state: label_col, symbols_added, time_idxs, labels."""
        label_col, symbols_added, time_idxs, labels = state
        goes_on = symbols.eq(blank)
        time_idxs += goes_on
        ended = time_idxs.ge(lengths)
        if ended.all():
            return True
        takes = ~(goes_on | ended)
        symbols_added.mul_(~goes_on).add_(takes)
        for mine, new in zip(hidden, new_hidden):
            mine[:, takes] = new[:, takes]
        label_col += takes
        labels[takes, label_col[takes].long()] = symbols[takes]
        full = symbols_added.ge(most)
        time_idxs += full
        symbols_added.mul_(~full)
        if (goes_on | full).any():
            at = time_idxs.clamp(max=features.shape[1] - 1).long()
            feature.copy_(features[torch.arange(len(at)), at].unsqueeze(1))
        return False

    def test_steps_are_those_of_the_definition(self):
        torch.manual_seed(1)
        for dtype in (torch.float, torch.bfloat16, torch.double):
            for batch, most, blank in ((1, 2, 4), (15, 3, 0), (64, 1, 4)):
                features = torch.randn(12, batch, 6, dtype=dtype).transpose(0, 1)
                lengths = torch.randint(1, 13, (batch,), dtype=torch.int32)
                ours, theirs = [
                    {"state": [torch.zeros(batch, dtype=torch.int32) for _ in range(3)] +
                              [torch.full((batch, 12 * most + 1), self.FIRST)],
                     "hidden": [torch.zeros(2, batch, 5, dtype=dtype) for _ in range(2)],
                     "feature": features[:, :1].clone()} for _ in range(2)]
                flags = [torch.zeros(batch, dtype=torch.int32) for _ in range(3)]
                put, following = torch.zeros(batch, dtype=torch.long), torch.full((batch,), self.FIRST)
                for _ in range(200):
                    symbols = torch.randint(0, 5, (batch,))
                    new_hidden = [torch.randn(2, batch, 5, dtype=dtype) for _ in range(2)]
                    label_col, symbols_added, time_idxs, labels = ours["state"]
                    done = _operators._rnnt_update_batch(
                        symbols, lengths, label_col, symbols_added, time_idxs, *flags, put, labels, following,
                        *ours["hidden"], *new_hidden, features, ours["feature"], most, blank, batch, self.FIRST, 12)
                    self.assertEqual(done, self.expected(symbols, lengths, theirs["state"], theirs["hidden"], new_hidden,
                                                         features, theirs["feature"], most, blank))
                    for mine, expected in zip(ours["state"] + ours["hidden"] + [ours["feature"]],
                                              theirs["state"] + theirs["hidden"] + [theirs["feature"]]):
                        self.assertTrue(torch.equal(mine, expected))
                    if done:
                        break
                    self.assertTrue(torch.equal(following, labels.gather(1, label_col.long().unsqueeze(1)).squeeze(1)))
                self.assertTrue(done)

    def test_labels_without_a_place_are_named(self):
        one = [torch.zeros(1, dtype=torch.int32) for _ in range(6)]
        features = torch.zeros(1, 4, 3)
        with self.assertRaisesRegex(IndexError, "sample 0 has 1 labels, for which 1 places"):
            _operators._rnnt_update_batch(
                torch.tensor([1]), torch.tensor([4], dtype=torch.int32), *one, torch.zeros(1, dtype=torch.long),
                torch.full((1, 1), self.FIRST), torch.tensor([self.FIRST]), *[torch.zeros(1, 1, 2)] * 4, features,
                features[:, :1].clone(), 2, 0, 1, self.FIRST, 4)

    def test_rows_of_labels(self):
        weight, labels = torch.randn(28, 320), torch.tensor([[-1], [2], [15], [-1], [5]])
        out = torch.ones(5, 1, 320)
        _operators._rnnt_embedding(weight, labels, out, self.FIRST, 5, 320)
        self.assertTrue(torch.equal(out[[1, 2, 4], 0], weight[[2, 15, 5]]))
        self.assertEqual(out[[0, 3]].abs().max().item(), 0)

    @unittest.skipIf(torch.__version__.startswith("1."), "operators of torch_ipex need torch 2")
    def test_operators_have_the_extensions_names(self):
        _operators.install()
        self.assertTrue(hasattr(torch.ops.torch_ipex, "rnnt_update_batch"))
        self.assertTrue(hasattr(torch.ops.torch_ipex, "rnnt_embedding"))


if __name__ == "__main__":
    unittest.main()
