"""Interaction of features and embedding bags of many tables: values, gradients and updates against FP64."""
import itertools
import unittest

import torch
from torch.nn.functional import embedding_bag

import ipex_studio
from ipex_studio.nn.functional import interaction, merged_embedding_bag
from ipex_studio.nn.modules import (MergedEmbeddingBag, MergedEmbeddingBagWithAdaGrad, MergedEmbeddingBagWithCat,
                                    MergedEmbeddingBagWithSGD)

WIDTHS = (3, 17, 33, 100, 129)  # around and between the widths of vectors


def largest(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, relative to the largest value where that is above 1."""
    if not b.numel():
        return 0.0
    return (a.double() - b.double()).abs().max().item() / max(1.0, b.abs().max().item())


def random_bags(rows: int, ids: int, last: bool, index_type=torch.int64):
    """Ids and offsets of seven bags, of which some are empty."""
    offsets = torch.sort(torch.randint(0, ids + 1, (7,)))[0]
    offsets[0] = 0
    if last:
        offsets = torch.cat([offsets, torch.tensor([ids])])
    return torch.randint(0, rows, (ids,)).to(index_type), offsets.to(index_type)


class Interaction(unittest.TestCase):
    def test_products_and_gradients(self):
        torch.manual_seed(1)
        for count, width in itertools.product((1, 2, 5, 27), WIDTHS):
            features = [torch.randn(4, width, requires_grad=True) for _ in range(count)]
            exact = [feature.detach().double().requires_grad_() for feature in features]
            x = torch.stack(exact, 1)
            rows, columns = torch.tril_indices(count, count, -1)
            expected = torch.cat([exact[0], (x @ x.transpose(1, 2))[:, rows, columns]], 1)
            result = interaction(*features)
            self.assertLess(largest(result, expected), 1e-5 * width)
            cotangent = torch.randn_like(result)
            for gradient, right in zip(torch.autograd.grad(result, features, cotangent),
                                       torch.autograd.grad(expected, exact, cotangent.double())):
                self.assertLess(largest(gradient, right), 1e-5 * count)

    def test_gradients_in_double_precision(self):
        features = [torch.randn(2, 5, dtype=torch.double, requires_grad=True) for _ in range(3)]
        self.assertTrue(torch.autograd.gradcheck(interaction, features))
        self.assertTrue(torch.autograd.gradgradcheck(interaction, features))

    def test_what_does_not_fit_is_said(self):
        with self.assertRaisesRegex(RuntimeError, "of one size"):
            interaction(torch.randn(2, 3), torch.randn(2, 4))
        x = torch.randn(2, 3, requires_grad=True)
        gradient, = torch.autograd.grad(interaction(x, x).sum(), x, create_graph=False)
        self.assertEqual(gradient.shape, x.shape)
        with self.assertRaisesRegex(RuntimeError, "second derivative"):
            torch.autograd.grad(interaction(x, x).sum(), x, create_graph=True)


class MergedBags(unittest.TestCase):
    def test_values_and_gradients(self):
        torch.manual_seed(2)
        for mode, width, last, sparse, weighted in itertools.product(
                ("sum", "mean", "max"), WIDTHS, (False, True), (False, True), (False, True)):
            if (weighted and mode != "sum") or (sparse and mode == "max"):
                continue
            tables = [torch.randn(rows, width, requires_grad=True) for rows in (7, 50, 1)]
            bags = [random_bags(len(table), 40, last, index_type)
                    for table, index_type in zip(tables, (torch.int64, torch.int32, torch.int64))]
            ids, offsets = zip(*bags)
            samples = [torch.randn(40, requires_grad=True) for _ in tables] if weighted else None
            results = merged_embedding_bag(ids, tables, offsets, mode, sparse=sparse, per_sample_weights=samples,
                                           include_last_offset=last)
            exact = [table.detach().double().requires_grad_() for table in tables]
            exact_samples = [sample.detach().double().requires_grad_() for sample in samples or []]
            expected = [embedding_bag(ids[t].long(), exact[t], offsets[t].long(), mode=mode, include_last_offset=last,
                                      per_sample_weights=exact_samples[t] if weighted else None) for t in range(3)]
            for result, right in zip(results, expected):
                self.assertLess(largest(result, right), 1e-5)
            cotangents = [torch.randn_like(result) for result in results]
            gradients = torch.autograd.grad(results, tables + (samples or []), cotangents)
            for gradient, right in zip(gradients, torch.autograd.grad(expected, exact + exact_samples,
                                                                      [each.double() for each in cotangents])):
                self.assertEqual(gradient.is_sparse, sparse and gradient.dim() == 2)
                self.assertLess(largest(gradient.to_dense() if gradient.is_sparse else gradient, right), 1e-4)

    def test_padding_counts_as_absent(self):
        table = torch.randn(5, 9, dtype=torch.double, requires_grad=True)
        ids, offsets = torch.tensor([1, 2, 2, 1, 4]), torch.tensor([0, 3, 3])
        for mode in ("sum", "mean", "max"):
            result, = merged_embedding_bag([ids], [table], [offsets], mode, padding_idx=2)
            expected = embedding_bag(ids, table, offsets, mode=mode, padding_idx=2)
            self.assertLess(largest(result, expected), 1e-12)
            cotangent = torch.randn_like(result)
            self.assertLess(largest(torch.autograd.grad(result, table, cotangent)[0],
                                    torch.autograd.grad(expected, table, cotangent)[0]), 1e-12)

    def test_what_is_out_of_range_is_named(self):
        tables = [torch.randn(9, 4), torch.randn(3, 4)]
        ids, offsets = [torch.tensor([8]), torch.tensor([0, 7])], [torch.tensor([0])] * 2
        with self.assertRaisesRegex(IndexError, "table 1: position 1 holds 7, and the table has 3 rows"):
            merged_embedding_bag(ids, tables, offsets)
        with self.assertRaisesRegex(IndexError, "table 0: offsets decrease at position 2"):
            merged_embedding_bag([torch.tensor([0, 1])], tables[:1], [torch.tensor([0, 2, 1])])

    def test_a_module_of_many(self):
        bags = [torch.nn.EmbeddingBag(rows, 16, mode="sum") for rows in (5, 9)]
        merged = MergedEmbeddingBag.from_embeddingbag_list(bags)
        ids, offsets = zip(*(random_bags(bag.num_embeddings, 20, False) for bag in bags))
        for result, bag, each, offset in zip(merged(ids, offsets), bags, ids, offsets):
            self.assertLess(largest(result, bag(each, offset)), 1e-5)
        dense = torch.randn(7, 16)
        joined = MergedEmbeddingBagWithCat.from_embeddingbag_list(bags)(ids, offsets, dense)
        self.assertLess(largest(joined, torch.cat([dense] + merged(ids, offsets), 1)), 1e-6)
        with self.assertRaises(AssertionError):
            MergedEmbeddingBag.from_embeddingbag_list([bags[0], torch.nn.EmbeddingBag(5, 8, mode="sum")])


class UpdatesInBackward(unittest.TestCase):
    def exact_step(self, table, state, ids, offsets, gradient, settings):
        """One step on the rows that a batch read, in FP64."""
        weight = table.clone().requires_grad_()
        of_rows, = torch.autograd.grad(embedding_bag(ids, weight, offsets, mode=settings["mode"]), weight, gradient)
        rows = torch.unique(ids)
        step = of_rows[rows]
        if settings["kind"] == "sgd":
            table[rows] -= 0.1 * (step + 0.01 * table[rows])
        elif settings["kind"] == "adagrad":
            state[rows] += step * step
            table[rows] -= 0.1 * step / (state[rows].sqrt() + 1e-10)
        else:
            state[rows] += (step * step).mean(1)
            table[rows] -= 0.1 * step / (state[rows].sqrt() + 1e-10)[:, None]

    def test_steps(self):
        for kind, mode, threads in itertools.product(("sgd", "adagrad", "rowwise"), ("sum", "mean"), (1, 2)):
            with self.subTest(kind=kind, mode=mode, threads=threads):
                torch.manual_seed(3)
                torch.set_num_threads(threads)
                bags = [torch.nn.EmbeddingBag(rows, width, mode=mode) for rows, width in ((30, 33), (4, 33))]
                exact = [bag.weight.detach().double() for bag in bags]
                states = [torch.zeros(len(table)) if kind == "rowwise" else torch.zeros_like(table) for table in exact]
                states = [state.double() for state in states]
                module = (MergedEmbeddingBagWithSGD.from_embeddingbag_list(bags, 0.1, 0.01) if kind == "sgd" else
                          MergedEmbeddingBagWithAdaGrad.from_embeddingbag_list(bags, 0.1, rowwise=kind == "rowwise"))
                for _ in range(3):
                    ids, offsets = zip(*(random_bags(len(table), 60, False) for table in exact))
                    results = module(ids, offsets)
                    cotangents = [torch.randn_like(result) for result in results]
                    torch.autograd.backward(results, cotangents)
                    for t in range(2):
                        self.exact_step(exact[t], states[t], ids[t], offsets[t], cotangents[t].double(),
                                        {"kind": kind, "mode": mode})
                for weight, right in zip(module.weights, exact):
                    self.assertIsNone(weight.grad)
                    self.assertLess(largest(weight, right), 1e-4)

    def test_any_number_of_threads_gives_the_same_bits(self):
        results = []
        for threads in (1, 2, 4):
            torch.manual_seed(4)
            torch.set_num_threads(threads)
            module = MergedEmbeddingBagWithAdaGrad.from_embeddingbag_list(
                [torch.nn.EmbeddingBag(50, 64, mode="mean") for _ in range(3)])
            ids, offsets = zip(*(random_bags(50, 2000, False) for _ in range(3)))
            torch.autograd.backward(module(ids, offsets), [torch.ones(7, 64)] * 3)
            results.append(torch.cat([weight.detach() for weight in module.weights]))
        self.assertTrue(torch.equal(results[0], results[1]) and torch.equal(results[0], results[2]))

    def test_under_the_name_of_the_extension(self):
        ipex_studio.alias.activate()
        try:
            import intel_extension_for_pytorch as ipex
            self.assertIs(ipex.nn.functional.interaction, interaction)
            self.assertIs(ipex.nn.modules.MergedEmbeddingBagWithSGD, MergedEmbeddingBagWithSGD)
        finally:
            ipex_studio.alias.deactivate()


if __name__ == "__main__":
    unittest.main()
