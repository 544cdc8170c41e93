#!/usr/bin/python3
"""Exports of the small networks, loaded by stock PyTorch in another process: test_reload.py BUILD_FOLDER

Each result must agree with what the eager network gave when it was exported, within 1e-4 of the largest value.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build"
MODELS = os.path.join(BUILD, "models")
# One network of each family; those with arguments that are no tensors are tested elsewhere.
NAMES = ["tiny_resnet", "tiny_mobilenet", "tiny_bert", "tiny_dlrm", "tiny_unet", "tiny_shufflenet", "tiny_aliases"]


def recorded(path, case=0):
    buffers = dict(torch.jit.load(path).named_buffers())
    inputs, outputs = [], []
    for kind, tensors in (("in", inputs), ("out", outputs)):
        while f"case{case}_{kind}{len(tensors)}" in buffers:
            tensors.append(buffers[f"case{case}_{kind}{len(tensors)}"])
    return inputs, outputs


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


class Reload(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(MODELS, "models.json"), encoding="utf-8") as file:
            cls.flags = {entry["name"]: entry["flags"] for entry in json.load(file)}
        torch.ops.load_library(os.path.join(BUILD, "libipex_studio_ops.so"))

    def export(self, name, form, folder):
        out = os.path.join(folder, f"{name}.{form}.pt")
        command = [os.path.join(BUILD, "ipex-studio"), "run", os.path.join(MODELS, f"{name}.pt"), *self.flags[name],
                   "-o", out, "--form", form, "--iterations", "2", "--warmup", "0", "--threads", "1",
                   "--db", os.path.join(folder, "profile.db")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def check(self, form):
        with tempfile.TemporaryDirectory() as folder:
            for name in NAMES:
                with self.subTest(name=name, form=form):
                    module = torch.jit.load(self.export(name, form, folder))
                    if form == "portable":
                        self.assertNotIn("ipex_studio", module.code)
                    else:
                        self.assertIn("ipex_studio.region", module.code)
                    inputs, outputs = recorded(os.path.join(MODELS, f"{name}.io.pt"))
                    with torch.no_grad():
                        results = flat(module(*inputs))
                    self.assertEqual(len(results), len(outputs))
                    for result, expected in zip(results, outputs):
                        self.assertEqual(result.shape, expected.shape)
                        scale = expected.abs().max().item() if expected.numel() else 0
                        self.assertLessEqual((result - expected).abs().max().item(), 1e-4 * max(scale, 1e-6))

    def test_portable_exports_run_in_stock_pytorch(self):
        self.check("portable")

    def test_compiled_exports_run_with_the_operator_library(self):
        self.check("compiled")


if __name__ == "__main__":
    unittest.main()
