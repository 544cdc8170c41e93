"""Tests of what is said about files of the extension, without the extension."""

import argparse
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import extension_files  # noqa: E402
import numpy as np  # noqa: E402
import turns  # noqa: E402


def results(**errors):
    """Results of all engines, of which those named are so far from the extension; ours take half of its time."""
    found = {}
    for engine in extension_files.FILE_ENGINES:
        time = 100 if engine in extension_files.OURS else 200
        found[engine] = turns.Measured(engine, max_rel=errors.get(engine, 0.0), latency_ns=[time] * 4, turn=[0, 0, 1, 1])
    return found


class ExtensionFiles(unittest.TestCase):
    def test_numbers_are_judged_in_fp32_alone(self):
        far = results(package=1e-3)
        self.assertIn("package", extension_files.fault_of("mlp-fp32-warm", far))
        self.assertEqual(extension_files.fault_of("mlp-bf16", far), "")
        self.assertEqual(extension_files.fault_of("mlp-fp32", results(plain=9e-6)), "")
        self.assertNotEqual(extension_files.fault_of("mlp-fp32", results(plain=float("nan"))), "")

    def test_what_does_not_run_is_a_fault(self):
        found = results()
        found["package"].error = "ended: no operator"
        self.assertIn("no operator", extension_files.fault_of("mlp-bf16", found))
        self.assertIsNone(extension_files.over(found, "package"))

    def test_ratios_are_over_the_extension(self):
        self.assertEqual(extension_files.over(results(), "optimized"), (2.0, 2.0, 2.0))
        self.assertEqual(extension_files.over(results(), "control")[0], 1.0)
        self.assertIn("2.00 [2.00, 2.00]", extension_files.row_of("mlp-fp32", results()))

    def test_the_extension_itself_is_judged_by_fp64(self):
        judge = extension_files.Judge(argparse.Namespace(threads=1))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mlp.npz")
            np.savez(path, in0=np.ones(2), out0=np.array([1.0, 2.0]), exact0=np.array([1.0, 4.0]))
            self.assertEqual(judge.own_error({"io": path}), 0.5)
            np.savez(path, in0=np.ones(2), out0=np.array([1.0, 2.0]))
            self.assertEqual(judge.own_error({"io": path}), 0.0)
        self.assertIn("from FP64", extension_files.row_of("mlp-fp32-warm", results(extension=4e-2)))


if __name__ == "__main__":
    unittest.main()
