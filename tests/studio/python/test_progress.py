#!/usr/bin/python3
"""The progress of jobs as a bar of tqdm."""
import os
import stat
import tempfile
import types
import unittest
from unittest import mock

from ipex_studio import _progress, _program

# Draws as studio/cli/progress.cpp does, says something in between, and answers with more than a pipe holds.
PROGRAM = r"""#!/bin/sh
test -t 2 || exit 9
printf '\r\033[K[######------------------]  25%%  measure: baseline  4 s left' >&2
printf '\r\033[Ka word of warning\n' >&2
printf '\r\033[K[########################] 100%%  verify' >&2
printf '\r\033[K' >&2
printf '{"text": "'
head -c 200000 /dev/zero | tr '\0' x
printf '"}'
exit 4
"""


class Bar:
    """What is used of tqdm."""

    def __init__(self, total, **_):
        self.total, self.n, self.shown = total, 0, []
        Bar.last = self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def set_description(self, text, refresh):
        self.shown.append(text)

    def update(self, count):
        self.n += count
        self.shown.append(self.n)


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = os.path.join(folder.name, "ipex-studio")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(program, stat.S_IRWXU)
        bars = types.ModuleType("tqdm.auto")
        bars.tqdm = Bar
        for patch in (mock.patch.object(_program, "find_program", lambda: program),
                      mock.patch.dict("sys.modules", {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": bars})):
            patch.start()
            self.addCleanup(patch.stop)

    def test_a_bar_follows_the_program(self):
        with mock.patch.object(_progress, "is_shown", lambda: True):
            answer = _program.ask(["run"], answers=(4,))
        self.assertEqual(Bar.last.shown, ["measure: baseline", 25, "verify", 100])
        self.assertEqual((answer.messages, len(answer.data["text"]), answer.exit_code), (["a word of warning"], 200000, 4))

    def test_it_is_shown_to_someone_who_looks_on(self):
        with mock.patch("importlib.util.find_spec", lambda name: name == "tqdm" or None):
            for terminal in (True, False):
                with mock.patch("sys.stderr", mock.Mock(isatty=lambda: terminal)):
                    self.assertEqual(_progress.is_shown(), terminal)
            with mock.patch("sys.stderr", None), mock.patch.dict("sys.modules", ipykernel=types.ModuleType("ipykernel")):
                self.assertTrue(_progress.is_shown())
        with mock.patch("importlib.util.find_spec", lambda name: None):
            with mock.patch("sys.stderr", mock.Mock(isatty=lambda: True)):
                self.assertFalse(_progress.is_shown())


if __name__ == "__main__":
    unittest.main()
