#!/usr/bin/python3
"""Files of Intel Extension for PyTorch load without it, get plans, and are written as stock TorchScript."""
import io
import os
import tempfile
import unittest

import torch

import ipex_studio
from extension_file import packed, write
from ipex_studio._program import tell

_STRIDES = ([1, 1], [1, 1], [1, 1])


def layers():
    torch.manual_seed(3)
    return torch.randn(8, 3, 3, 3), torch.randn(8), torch.randn(5, 8), torch.randn(5)


def network(path):
    """A convolution and a linear layer as the extension writes them once they are traced and frozen."""
    w, b, v, c = layers()
    write(path, [
        "y = ops.torch_ipex.convolution_forward(x, CONSTANTS.c0, CONSTANTS.c0, (CONSTANTS.c1).get_data_handle(), "
        "[8, 3, 3, 3], [1, 1], [1, 1], [1, 1], True)",
        "z = torch.mean(torch.relu(y), [2, 3])",
        "return ops.torch_ipex.ipex_MKLSGEMM(z, CONSTANTS.c0, CONSTANTS.c0, (CONSTANTS.c2).get_data_handle(), 5)",
    ], [torch.empty(0), packed("ConvolutionOpContext", w, b, *_STRIDES, 1, True, []), packed("MKLOpContext", v, c, None)])


def expected(x):
    w, b, v, c = layers()
    y = torch.relu(torch.nn.functional.conv2d(x, w, b, padding=1))
    return torch.nn.functional.linear(y.mean((2, 3)), v, c)


class Extension(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "old.pt")
        self.plain = os.path.join(folder.name, "plain.pt")
        self.db = os.path.join(folder.name, "profile.db")

    def check(self, module):
        for batch in (2, 3):
            x = torch.randn(batch, 3, 12, 12)
            with torch.no_grad():
                for _ in range(3):
                    torch.testing.assert_close(module(x), expected(x), rtol=1e-5, atol=1e-5)

    def test_a_file_loads_and_gets_plans(self):
        network(self.path)
        module = torch.jit.load(self.path)
        self.assertNotIn("ipex", str(module.graph))
        self.check(module)
        self.assertTrue(module.__dict__["_ipex_forward"]._plans)

    def test_a_stream_loads_again_and_again(self):
        network(self.path)
        with open(self.path, "rb") as file:
            stream = io.BytesIO(file.read())
        for _ in range(2):
            stream.seek(0)
            self.check(torch.jit.load(stream))

    def test_it_is_saved_as_stock_torchscript(self):
        network(self.path)
        torch.jit.save(torch.jit.load(self.path), self.plain)
        self.assertNotIn("ipex", ipex_studio.load(self.plain).facts["operators"])
        self.check(torch.jit.load(self.plain))

    def test_the_program_converts_it(self):
        network(self.path)
        tell(["convert", self.path, "-o", self.plain, "--input", "x:2x3x12x12"])
        operators = ipex_studio.load(self.plain).facts["operators"]
        self.assertEqual([name for name in operators if not name.startswith("aten::")], [])
        self.check(torch.jit.load(self.plain))

    def test_the_program_runs_it(self):
        network(self.path)
        run = ipex_studio.run(self.path, inputs="x:2x3x12x12", iterations=3, warmup=0, tune="off", threads=1, db=self.db)
        self.assertTrue(all(row["accurate"] in (True, None) for row in run.rows))
        self.assertEqual([found["kind"] for found in ipex_studio.load(self.path).facts["findings"] if found["dangerous"]],
                         [])

    def test_unknown_operators_are_named(self):
        write(self.path, ["return ops.torch_ipex.rnnt_update(x, CONSTANTS.c0)"], [torch.ones(1)])
        with self.assertRaisesRegex(ipex_studio.Error, "torch_ipex::rnnt_update of Intel Extension for PyTorch"):
            torch.jit.load(self.path)
        with self.assertRaisesRegex(ipex_studio.Error, "calls torch_ipex::rnnt_update of") as caught:
            tell(["convert", self.path, "-o", self.plain, "--input", "x:2x3"])
        self.assertEqual(caught.exception.exit_code, 3)
        self.assertFalse(os.path.exists(self.plain))

    def test_addresses_in_a_file_are_not_followed(self):
        write(self.path, ["return ops.torch_ipex.ipex_linear(x, x, None, CONSTANTS.c0, 4)"],
              [torch.tensor([0x7FFFDEADBEEF])])
        with self.assertRaisesRegex(ipex_studio.Error, "a process that is gone"):
            torch.jit.load(self.path)
        with self.assertRaisesRegex(ipex_studio.Error, "a process that is gone"):
            tell(["convert", self.path, "-o", self.plain, "--input", "x:2x4"])


if __name__ == "__main__":
    unittest.main()
