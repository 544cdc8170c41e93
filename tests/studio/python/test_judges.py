#!/usr/bin/python3
"""The tools of tests/judges, on a folder of made-up tests and on a few models."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ipex_studio

JUDGES = pathlib.Path(__file__).resolve().parents[2] / "judges"
PACKAGE = pathlib.Path(ipex_studio.__file__).parent.parent

TESTS = '''
import os, subprocess, sys, time, unittest
import torch
import intel_extension_for_pytorch as ipex
from intel_extension_for_pytorch.nn.functional import interaction

class Made(unittest.TestCase):
    def test_1_passes(self):
        self.assertIn("frontend", dir(ipex))
        print("noise")

    def test_2_crashes(self):
        os.abort()

    def test_3_fails(self):
        ipex.no_such_name

    def test_4_skips(self):
        self.skipTest("why not")

    def test_5_hangs(self):
        time.sleep(60)

    def test_6_passes(self):
        command = "import importlib.util, sys; print(sys.version, importlib.util.find_spec('intel_extension_for_pytorch') is None)"
        started = subprocess.run(["python", "-c", command], text=True, capture_output=True)
        self.assertEqual(started.stdout.strip(), f"{sys.version} False", started.stderr)
'''


def _pytest_folder():
    """Where pytest was found, if this interpreter does not find it by itself."""
    found = importlib.util.find_spec("pytest")
    return [str(pathlib.Path(found.origin).parents[1])] if found else []


def run(*words, code=0):
    done = subprocess.run([sys.executable, *map(str, words)], text=True, capture_output=True, check=False, timeout=400,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), *_pytest_folder()])})
    if done.returncode != code:
        raise AssertionError(f"{done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class ExtensionTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "test_emb.py").write_text(TESTS, encoding="utf-8")
        (self.folder / "test_import.py").write_text("import no_such_module\n", encoding="utf-8")

    def judge(self, *words, code=0):
        table = self.folder / "table.json"
        output = run(JUDGES / "extension_tests.py", self.folder, "--ours", sys.executable, "--timeout", "10", "--json",
                     table, *words, code=code)
        with open(table, encoding="utf-8") as file:
            return output, json.load(file)

    def test_a_row_for_each_test_whatever_it_does(self):
        output, rows = self.judge()
        did = {row["test"]: row["ours"]["outcome"] for row in rows}
        self.assertEqual(did, {"Made.test_1_passes": "passes", "Made.test_2_crashes": "crashes", "Made.test_3_fails": "fails",
                               "Made.test_4_skips": "skips", "Made.test_5_hangs": "late", "Made.test_6_passes": "passes",
                               "(import)": "fails"})
        self.assertIn("no counterpart of intel_extension_for_pytorch.no_such_name", output)
        self.assertIn("no_such_module", output)

    def test_the_real_things_results_are_the_bar(self):
        _, rows = self.judge("--files", "test_emb")
        real = [{**row, "real": {"outcome": "passes", "reason": ""} if row["test"] != "Made.test_3_fails" else
                 {"outcome": "fails", "reason": ""}} for row in rows]
        baseline = self.folder / "baseline.json"
        baseline.write_text(json.dumps(real), encoding="utf-8")
        output, _ = self.judge("--files", "test_emb", "--baseline", baseline, "--least", "90", code=1)
        self.assertIn("| public | 2 of 5 that the extension passes (40.0 %); 2 of all 6 |", output)


VISION_TESTS = '''
import pytest
import torch
from torchvision import ops

class TestMade:
    def test_suppression(self):
        boxes = torch.tensor([[0., 0, 4, 4], [0, 0, 4, 4], [5, 5, 9, 9]])
        assert ops.nms(boxes, torch.tensor([1., 2, 3]), 0.5).tolist() == [2, 1]

    @pytest.mark.parametrize("side", (1, 2))
    def test_scripted_regions(self, side):
        align = torch.jit.script(ops.RoIAlign(side, 1.0, 1))
        x = torch.rand(1, 2, 8, 8, dtype=torch.double, requires_grad=True)
        y = align(x, torch.tensor([[0, 1, 1, 5, 5]], dtype=torch.double))
        y.sum().backward()
        assert y.shape == (1, 2, side, side) and x.grad.sum() > 0

    def test_that_ours_is_judged(self):
        assert torch.ops.torchvision._cuda_version.default.name() == "torchvision::_cuda_version"
        assert "ipex_studio" not in __import__("sys").modules

    def test_skips(self):
        pytest.skip("why not")
'''


@unittest.skipUnless(importlib.util.find_spec("torchvision") and importlib.util.find_spec("pytest"),
                     "takes torchvision and pytest")
class VisionTests(unittest.TestCase):
    def test_ours_stand_under_their_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test_ops.py"
            path.write_text(VISION_TESTS, encoding="utf-8")
            output = run(JUDGES / "vision_tests.py", path, "--python", sys.executable, code=1)
        self.assertIn("| all | 5 | 4 | 3 | 3 | 1 |", output)
        self.assertIn("| TestMade.test_that_ours_is_judged | passes | fails |", output)


class Models(unittest.TestCase):
    def test_samples_of_the_databases(self):
        output = run(JUDGES / "models.py", "databases", "--sample", "12", "--seed", "3", "--operators", "^(add|norm|relu|mean)")
        self.assertRegex(output, r"\d+ right")

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "takes torchvision")
    def test_networks_and_their_files(self):
        with tempfile.TemporaryDirectory() as folder:
            output = run(JUDGES / "models.py", "networks", "--names", "squeezenet1_1", "--side", "64", "--folder", folder)
            self.assertEqual(output, "4 right\n")
            self.assertEqual(sorted(os.listdir(folder)), ["squeezenet1_1.in.pt", "squeezenet1_1.pt"])


if __name__ == "__main__":
    unittest.main()
