#!/usr/bin/python3
"""The samples of samples/python, on small data: as they are, and under the name that scripts for the extension import."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ipex_studio
from ipex_studio import alias

SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "samples" / "python"
PACKAGE = pathlib.Path(ipex_studio.__file__).parent.parent
REAL = importlib.machinery.PathFinder.find_spec(alias.NAME)
UNDER_THE_ALIAS = ("import sys, runpy, ipex_studio.alias; ipex_studio.alias.activate(); sys.argv = sys.argv[1:]; "
                   "runpy.run_path(sys.argv[0], run_name='__main__')")


def run(*words):
    done = subprocess.run([sys.executable, *words], text=True, capture_output=True, check=False, timeout=500,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


class Samples(unittest.TestCase):
    def outputs(self, name, *flags):
        """What the sample prints, as it is and with the import of the extension."""
        yield run(SAMPLES / name, *flags)
        if REAL is not None:
            return  # the alias is refused beside it
        text = (SAMPLES / name).read_text(encoding="utf-8")
        changed = text.replace("\nimport ipex_studio as ipex\n", f"\nimport {alias.NAME} as ipex\n")
        self.assertNotEqual(text, changed)
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / name
            script.write_text(changed, encoding="utf-8")
            yield run("-c", UNDER_THE_ALIAS, script, *flags)

    def number(self, pattern, output):
        found = re.search(pattern, output)
        self.assertIsNotNone(found, output)
        return float(found.group(1))

    def test_introduction(self):
        for output in self.outputs("introduction.py", "--steps", "20"):
            first, last = (self.number(pattern, output) for pattern in (r"loss: ([\d.]+)", r"first, ([\d.]+)"))
            self.assertLess(last, 0.7 * first)
            self.assertLess(self.number(r"traced and eager: (\S+)", output), 1e-4)
            self.assertGreater(self.number(r"accuracy: (\S+)", output), 0.5)

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "takes torchvision")
    def test_resnet50_mixed_precision(self):
        for dtype in ("bfloat16", "float32"):
            outputs = self.outputs("resnet50_mixed_precision.py", "--dtype", dtype, "--side", "32", "--batch", "4",
                                   "--images", "8")
            for output in outputs:
                self.assertIn("epoch 0: loss 2.", output)
                self.assertLess(self.number(r"largest difference: (\S+)", output), 1e-4)
                self.assertIn("optimized: accuracy", output)
                if dtype == "float32":
                    break

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "takes torchvision")
    def test_bf16_and_int8(self):
        for output in self.outputs("bf16_and_int8.py", "--side", "64", "--batch", "4", "--steps", "2"):
            self.assertIn("BF16 training: loss", output)
            self.assertGreater(self.number(r"BF16 inference: (\S+) dB", output), 25)
            self.assertGreater(self.number(r"INT8 deployment: (\S+) dB", output), 20)


if __name__ == "__main__":
    unittest.main()
