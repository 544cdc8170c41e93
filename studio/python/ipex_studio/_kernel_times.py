"""Times of kernels that automatic plans measured, kept where the program keeps its own: in profile.db.

The program is the only one that opens the database. It is asked for its times once, when the first plan is made, and
gets new ones after each plan that measured, beside the script.
"""
import atexit
import json
import subprocess
import tempfile
import threading
from typing import Dict, List, Tuple

from ._log import logger
from ._program import environment, find_program
from .errors import Error

_WAIT_S = 10  # for the program, which takes a moment

_lock = threading.Lock()
_known: Dict[Tuple, Dict] = {}  # entries by what they are valid for
_is_read = False
_writers: List["subprocess.Popen[bytes]"] = []
_budget_s = 5.0


def set_measuring_budget(seconds: float) -> None:
    """Limits the time in which the plan of a frozen module may measure kernels, at its second call (5 seconds at first). What
    was measured before, here or by the program, is known. 0: nothing is measured or looked up, and rules choose kernels."""
    global _budget_s
    if not seconds >= 0:
        raise ValueError(f"A budget is a number of seconds, not {seconds}.")
    _budget_s = float(seconds)


def measuring_budget() -> float:
    return _budget_s


def remembered() -> str:
    """All that is known, as the record that a plan takes."""
    global _is_read
    with _lock:
        if not _is_read:
            _is_read = True
            _add(_read())
        return json.dumps({"tuning": list(_known.values())})


def remember(record: str) -> int:
    """Keeps what a plan measured, for the next one and for other processes; returns the number of entries."""
    with _lock:
        count = _add(record)
        if count:
            _write(record)
        return count


def _add(record: str) -> int:
    """The number of entries that a record adds to what is known."""
    entries = json.loads(record or "{}").get("tuning", [])
    for entry in entries:
        _known[tuple(entry[name] for name in ("spec", "device", "isa", "libraries", "threads"))] = entry
    return len(entries)


def _read() -> str:
    try:
        words = [find_program(), "db", "kernels"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=True, timeout=_WAIT_S, env=environment())
        return done.stdout
    except (Error, OSError, subprocess.SubprocessError) as problem:
        logger.info("Times of kernels are not remembered: %s", problem)
        return ""


def _write(record: str) -> None:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(record.encode())
            file.seek(0)
            _writers[:] = [writer for writer in _writers if writer.poll() is None]
            _writers.append(subprocess.Popen([find_program(), "db", "kernels", "-"], stdin=file, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, start_new_session=True, env=environment()))
    except (Error, OSError) as problem:
        logger.info("Times of kernels are not remembered: %s", problem)


@atexit.register
def _wait_for_writers() -> None:
    for writer in _writers:
        try:
            writer.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            pass
