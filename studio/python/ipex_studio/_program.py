"""Runs the program ipex-studio, which does jobs on model files in a sandbox and records them."""
import json
import os
import pathlib
import shutil
import subprocess
from typing import Any, Dict, List, NamedTuple, Sequence

import torch

from . import _progress
from .errors import Error

_PACKAGE = pathlib.Path(__file__).resolve().parent


def find_program() -> str:
    """The program that was built with this package, else the one that PATH names. Raises Error."""
    for path in (_PACKAGE / "bin" / "ipex-studio", _PACKAGE.parent.parent / "ipex-studio"):
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    found = shutil.which("ipex-studio")
    if found is None:
        raise Error("The program ipex-studio is not installed: build it (samples/quickstart.sh) or put it into PATH.",
                    exit_code=5)
    return found


def flags_of(options: Dict[str, Any]) -> List[str]:
    """Flags of the program: threads=1 is --threads 1, trust=True --trust, input=[a, b] --input a --input b, and any
    other list one word with commas. None and False are left out."""
    flags: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)) and name in ("input", "library"):
            flags += [word for part in value for word in (flag, str(part))]
        elif isinstance(value, (list, tuple)):
            flags += [flag, ",".join(map(str, value))]
        else:
            flags += [flag, str(value)]
    return flags


def environment() -> Dict[str, str]:
    """That of this process, in which the engine finds the torch of this Python and may read it, with what comes beside a
    torch for GPUs."""
    torch_folder = pathlib.Path(torch.__file__).parent
    folders = [torch_folder / "lib", *sorted(torch_folder.parent.glob("nvidia/*/lib"))]
    others = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join([*map(str, folders), *([others] if others else [])])}


class Answer(NamedTuple):
    """What the program wrote: the JSON object, and the lines of its messages."""
    data: Dict[str, Any]
    messages: List[str]
    exit_code: int


def ask(words: Sequence[str], answers: Sequence[int] = (0,)) -> Answer:
    """The answer of the program with --json. Raises Error, with the program's sentence, for an exit code that is not
    one of `answers`."""
    words = [find_program(), *words, "--json"]
    if _progress.is_shown():
        done = _progress.run_with_bar(words, environment())
    else:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, env=environment())
    messages = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode not in answers or not done.stdout.strip():
        raise Error(_sentence(messages, done.returncode), done.returncode)
    return Answer(json.loads(done.stdout), messages, done.returncode)


def tell(words: Sequence[str]) -> None:
    """Runs the program for what it writes into files. Raises Error."""
    done = subprocess.run([find_program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, env=environment())
    if done.returncode != 0:
        raise Error(_sentence(done.stderr.splitlines(), done.returncode), done.returncode)


def open_window(path: str) -> "subprocess.Popen[bytes]":
    """Starts the studio on a model or a database, and leaves it to the user."""
    return subprocess.Popen([find_program(), path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            start_new_session=True, env=environment())


def _sentence(messages: Sequence[str], exit_code: int) -> str:
    begin = "ipex-studio: "
    said = [line[len(begin):] for line in messages if line.startswith(begin)] or list(messages)
    return said[-1] if said else f"ipex-studio ended with exit code {exit_code}."
