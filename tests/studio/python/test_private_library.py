#!/usr/bin/python3
"""Copies of libraries that take their own functions first."""
import ctypes
import ctypes.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "studio" / "python" / "private_library.py"


def path_of(name):
    """Where this process has a library."""
    ctypes.CDLL(name)
    with open("/proc/self/maps", encoding="utf-8") as file:
        return next(line.split()[-1] for line in file if "/" + name.split(".so")[0] + ".so" in line)


class PrivateLibrary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = os.path.join(folder.name, "libz_i.so")

    def make(self, target):
        return subprocess.run([sys.executable, SCRIPT, path_of("libz.so.1"), target], capture_output=True, text=True, check=False)

    def test_it_has_another_name_and_binds_to_itself(self):
        self.assertEqual(self.make(self.copy).returncode, 0)
        said = subprocess.run(["readelf", "-d", self.copy], capture_output=True, text=True, check=True).stdout
        self.assertIn("soname: [libz_i.so]", said)
        self.assertRegex(said, re.compile(r"SYMBOLIC"))
        version = ctypes.CDLL(self.copy).zlibVersion
        version.restype = ctypes.c_char_p
        self.assertRegex(version().decode(), r"^1\.")

    def test_a_copy_that_is_right_stays_in_its_place(self):
        self.make(self.copy)
        before = os.stat(self.copy).st_ino
        self.make(self.copy)
        self.assertEqual(os.stat(self.copy).st_ino, before)

    def test_a_name_without_room_is_refused(self):
        done = self.make(self.copy.replace("libz_i", "libz_that_is_long"))
        self.assertIn("at most 9 characters", done.stderr)


if __name__ == "__main__":
    unittest.main()
