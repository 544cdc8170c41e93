#!/usr/bin/python3
"""Layers of optimize(model) say which sizes they refuse, and are in all else what they were."""
import copy
import pickle
import unittest

import torch
from torch import nn

import ipex_studio
from ipex_studio._patched import stock_class

REFUSED = (
    (nn.Conv2d(16, 33, 3), (2, 30, 5, 5), "weight of size [33, 16, 3, 3], expected input[2, 30, 5, 5] to have 16 channels"),
    (nn.Conv2d(16, 32, 3, groups=2), (2, 9, 5, 5), "Given groups=2, weight of size [32, 8, 3, 3], expected input[2, 9, 5, 5]"),
    (nn.Conv2d(16, 33, 3), (20, 16, 50), "Expected 4-dimensional input for 4-dimensional weight [33, 16, 3, 3], but got 3"),
    (nn.Conv1d(4, 4, 3), (1, 4, 5, 5), "Expected 3-dimensional input for 3-dimensional weight [4, 4, 3], but got 4"),
    (nn.ConvTranspose2d(16, 33, 3), (2, 30, 5, 5), "Given transposed=True, weight of size [16, 33, 3, 3], expected input"),
    (nn.ConvTranspose2d(16, 33, 3, dilation=0), (2, 16, 5, 5), "non-positive dilation is not supported"),
    (nn.Linear(16, 33), (3,), "Check the shapes of mat1 and mat2, they cannot be multiplied! ([3] and [16, 33])"),
    (nn.Linear(16, 33), (4, 3), "they cannot be multiplied! ([4, 3] and [16, 33])"),
)


class Told(unittest.TestCase):
    def test_sizes_that_are_refused_are_named(self):
        for layer, sizes, text in REFUSED:
            model = ipex_studio.optimize(nn.Sequential(layer).eval())
            with self.subTest(text), torch.no_grad(), self.assertRaises(RuntimeError) as found:
                model(torch.randn(sizes))
            self.assertIn(text, str(found.exception))

    def test_other_errors_stay_as_they_are(self):
        model = ipex_studio.optimize(nn.Sequential(nn.Conv2d(3, 4, 9)).eval())
        with self.assertRaisesRegex(RuntimeError, "greater than actual input size"):
            model(torch.randn(1, 3, 5, 5))

    def test_images_without_a_batch_are_taken(self):
        stock = nn.Conv2d(3, 4, 3).eval()
        ours, x = ipex_studio.optimize(nn.Sequential(stock)), torch.randn(3, 6, 6)
        with torch.no_grad():
            torch.testing.assert_close(ours(x), stock(x))

    def test_copies_pickles_scripts_and_training_are_of_the_stock_class(self):
        ours, x = ipex_studio.optimize(nn.Sequential(nn.Conv2d(3, 4, 3)).eval()), torch.randn(1, 3, 6, 6)
        with torch.no_grad():
            for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), torch.jit.script(ours)):
                torch.testing.assert_close(other(x), ours(x))
        self.assertIs(stock_class(ours[0]), nn.Conv2d)
        again = ipex_studio.optimize(ours.train(), optimizer=torch.optim.SGD(ours.parameters(), lr=0.1))[0]
        self.assertIs(stock_class(again[0]), nn.Conv2d)

    @unittest.skipUnless(hasattr(torch, "compile"), "torch 1.13 compiles nothing")
    def test_it_is_compiled_as_one_graph(self):
        ours, x = ipex_studio.optimize(nn.Sequential(nn.Conv2d(3, 4, 3)).eval()), torch.randn(1, 3, 6, 6)
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(ours, backend="eager", fullgraph=True)(x), ours(x))


if __name__ == "__main__":
    unittest.main()
