#!/usr/bin/python3
"""Every C++ file is formatted as .clang-format says. Versions of clang-format differ; the one of Debian 12 decides.
Comments, which clang-format leaves as they are, fit into its columns too."""
import re
import shutil
import subprocess
import unittest

import rooms

VERSION = "14"
COLUMNS = 120
COMMENT = re.compile(r"^(?:[^\"]|\"(?:\\.|[^\"\\])*\")*?//")  # outside of text in quotes


def cpp_files():
    """Paths of the C++ files of rooms, tests and samples."""
    return [path for folder in rooms.TOP_FOLDERS + ("tests", "samples") for pattern in ("*.h", "*.cpp")
            for path in sorted((rooms.ROOT / folder).rglob(pattern))]


def has_long_comment(line):
    """True if a line that has a comment is longer than the columns."""
    return len(line) > COLUMNS and COMMENT.match(line) is not None


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
        files = [str(path) for path in cpp_files()]
        self.assertGreater(len(files), 700)
        done = subprocess.run([self.formatter, "--dry-run", "--Werror", *files], text=True, stderr=subprocess.PIPE,
                              check=False)
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
        self.assertEqual(wrong, [], f"run: clang-format -i {' '.join(wrong)}")
        self.assertEqual(done.returncode, 0, done.stderr[:2000])

    def test_the_check_sees_what_is_not_formatted(self):
        self.assertTrue(self.unformatted("int  f( ){return 1 ;}\n"))
        self.assertFalse(self.unformatted("int f() { return 1; }\n"))


class Comments(unittest.TestCase):
    def test_comments_fit_into_the_columns(self):
        long = [f"{path.relative_to(rooms.ROOT)}:{number}" for path in cpp_files()
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if has_long_comment(line)]
        self.assertEqual(long, [], f"comments of more than {COLUMNS} columns")

    def test_the_check_tells_comments_from_text(self):
        self.assertTrue(has_long_comment("// " + "word " * 30))
        self.assertTrue(has_long_comment('  f("a//b");  // ' + "word " * 30))
        self.assertFalse(has_long_comment("// " + "é" * 117))
        self.assertFalse(has_long_comment('  f("https://' + "word" * 30 + '");'))


if __name__ == "__main__":
    unittest.main()
