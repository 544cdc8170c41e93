#!/usr/bin/python3
"""One model on the processor and on an OpenCL device from C++: test_devices.py BUILD_FOLDER"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
MODEL = os.path.join(BUILD, "models", "tiny_resnet.pt")


class Devices(unittest.TestCase):
    def compare(self, device):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_CACHE_HOME": folder, "POCL_CACHE_DIR": folder}
            command = [os.path.join(BUILD, "sample_compare_devices"), MODEL, device, "input:1x3x32x32"]
            return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=560, check=False,
                                  env=environment)

    def test_a_device_that_is_not_there_is_a_sentence(self):
        done = self.compare("opencl:99")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    @unittest.skipUnless(os.path.exists("/etc/OpenCL/vendors/pocl.icd"), "no PoCL; samples/setup.sh --tests installs it")
    def test_both_agree_and_stand_side_by_side(self):
        done = self.compare("opencl")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([row[:1] + row[3:4] for row in rows[1:3]], [["cpu", "agree,"], ["opencl", "agree,"]])
        both = [row for row in rows if "convolution_xpu" in row and len(row) > 4 and row[-1] == "convolution_xpu"]
        self.assertTrue(both, done.stdout)
        for row in both:
            kernels = [word for word in row if word.startswith("convolution_")]
            self.assertEqual(len(kernels), 2, row)
            self.assertFalse(kernels[0].endswith("_xpu"), "the module of the processor stays on it")


if __name__ == "__main__":
    unittest.main()
