"""The progress of a job as a bar of tqdm, where tqdm is there and someone looks on.

The program draws its own line on a terminal, and so it gets one: a pseudo-terminal as its stderr.
"""
import importlib.util
import os
import pty
import re
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

_LINE = re.compile(r"\[#*-*\] +(\d+)%  (.*?)(?:  \d+ s left)?$")
_ENDS = re.compile(r"\r\x1b\[K|\r?\n")  # the first is written before each line that is drawn, and after the last


def is_shown() -> bool:
    """True if tqdm is installed and stderr is a terminal or a notebook's."""
    seen = sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules
    return seen and importlib.util.find_spec("tqdm") is not None


def run_with_bar(words: Sequence[str], environment: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end. Its stdout is returned, as are those lines of its stderr that show no progress."""
    from tqdm.auto import tqdm
    own, programs = pty.openpty()
    environment = {**environment, "TERM": "xterm", "NO_COLOR": "1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as answer:
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=answer, stderr=programs, env=environment) as child:
            os.close(programs)
            with tqdm(total=100, leave=False, bar_format="{l_bar}{bar}| {elapsed}<{remaining}") as bar:
                messages = _follow(own, bar)
            os.close(own)
        answer.seek(0)
        return subprocess.CompletedProcess(words, child.returncode, answer.read(), "\n".join(messages))


def _follow(terminal: int, bar: Any) -> List[str]:
    """Moves the bar until the program closes its terminal. Returns what else it wrote, line by line."""
    rest, messages = "", []
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # EIO: the other end is closed
            read = b""
        if not read:
            return messages + [line for line in _split(rest + "\n")[0] if not _show(line, bar)]
        lines, rest = _split(rest + read.decode(errors="replace"))
        messages += [line for line in lines if not _show(line, bar)]


def _split(text: str) -> Tuple[List[str], str]:
    """Lines that have come whole, and the beginning of the next."""
    *lines, rest = _ENDS.split(text)
    return [line for line in lines if line.strip()], rest


def _show(line: str, bar: Any) -> bool:
    """True if the line shows progress; the bar then shows the same."""
    found = _LINE.match(line)
    if found:
        bar.set_description(found.group(2), refresh=False)
        bar.update(int(found.group(1)) - bar.n)
    return bool(found)
