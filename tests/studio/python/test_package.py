#!/usr/bin/python3
"""The package itself: its import, what it refuses, how it explains itself."""
import os
import pydoc
import subprocess
import sys
import unittest

import torch

import ipex_studio
from ipex_studio import _torch_check

PACKAGE = os.path.dirname(ipex_studio.__file__)
GOAL_S = 0.5  # of an import, beside torch's


class Package(unittest.TestCase):
    def test_another_torch_is_refused_by_both_names(self):
        with self.assertRaisesRegex(ImportError, r"built for torch 1\.13 and cannot run in torch 2\.8\.0\+cpu"):
            _torch_check.check_torch("2.8.0+cpu", "1.13.1")
        _torch_check.check_torch("2.8.1+cu126", "2.8.0")
        _torch_check.check_torch("1.13.0a0", "1.13.1")

    def test_it_is_refused_before_the_extension_loads(self):
        program = ("import torch; torch.__version__ = '9.9.0'\n"
                   "try:\n    import ipex_studio\n"
                   "except ImportError as error: print(error)\n"
                   "import sys; print('ipex_studio._engine' in sys.modules)")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertIn("cannot run in torch 9.9.0", done.stdout)
        self.assertTrue(done.stdout.endswith("False\n"), done.stdout)

    def test_the_import_is_quick(self):
        program = "import time, torch; begin = time.perf_counter(); import ipex_studio; print(time.perf_counter() - begin)"
        times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
                 for _ in range(3)]
        print(f"the import takes {min(times):.3f} s")
        if os.environ.get("IPEX_GOALS"):
            self.assertLess(min(times), GOAL_S)

    def test_help_teaches(self):
        text = pydoc.plain(pydoc.render_doc(ipex_studio.optimize))
        for word in ("fast = ipex_studio.optimize(", "sample_input", "inplace"):
            self.assertIn(word, text)

    def test_it_has_types_and_a_version(self):
        for name in ("py.typed", "_engine.pyi"):
            self.assertTrue(os.path.exists(os.path.join(PACKAGE, name)), name)
        self.assertRegex(ipex_studio.__version__, r"^\d+\.\d+\.\d+$")

    def test_compiled_exports_load_after_the_import(self):
        self.assertTrue(hasattr(torch.ops.ipex_studio, "region"))


if __name__ == "__main__":
    unittest.main()
