#!/usr/bin/python3
"""Every C++ file is formatted as .clang-format says. Versions of clang-format differ; the one of Debian 12 decides."""
import re
import shutil
import subprocess
import unittest

import rooms

VERSION = "14"


def formatter():
    """The path of clang-format 14, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and re.search(rf"version {VERSION}\.", subprocess.run([path, "--version"], text=True, check=True,
                                                                      stdout=subprocess.PIPE).stdout):
            return path
    return None


class Format(unittest.TestCase):
    def setUp(self):
        self.formatter = formatter()
        if self.formatter is None:
            self.skipTest(f"clang-format {VERSION} is not installed")

    def unformatted(self, text):
        done = subprocess.run([self.formatter, "--assume-filename", str(rooms.ROOT / "core/some.cpp"), "--dry-run",
                               "--Werror"], input=text, text=True, stderr=subprocess.PIPE, check=False)
        return done.returncode != 0

    def test_all_files_are_formatted(self):
        files = [str(path) for folder in rooms.TOP_FOLDERS + ("tests", "samples") for pattern in ("*.h", "*.cpp")
                 for path in sorted((rooms.ROOT / folder).rglob(pattern))]
        self.assertGreater(len(files), 700)
        done = subprocess.run([self.formatter, "--dry-run", "--Werror", *files], text=True, stderr=subprocess.PIPE,
                              check=False)
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
        self.assertEqual(wrong, [], f"run: clang-format -i {' '.join(wrong)}")
        self.assertEqual(done.returncode, 0, done.stderr[:2000])

    def test_the_check_sees_what_is_not_formatted(self):
        self.assertTrue(self.unformatted("int  f( ){return 1 ;}\n"))
        self.assertFalse(self.unformatted("int f() { return 1; }\n"))


if __name__ == "__main__":
    unittest.main()
