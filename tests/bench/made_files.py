"""Programs that are run to their end, and files that they make once."""

import os
import shutil
import subprocess
import sys
from typing import List


def output_of(words: List[str], what: str, timeout_s: float) -> str:
    """Runs a program to its end; its standard output. Raises RuntimeError with its last line where it fails."""
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            timeout=timeout_s, check=False)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        raise RuntimeError(f"{what}: {lines[-1] if lines else f'exit code {result.returncode}'}")
    return result.stdout


def made(path: str, words: List[str], timeout_s: float) -> str:
    """Makes a file or folder unless it is there; OUT among the words stands for it."""
    if not os.path.exists(path):
        print(f"  making {os.path.basename(path)}", file=sys.stderr, flush=True)
        partial = f"{path}.{os.getpid()}.partial{os.path.splitext(path)[1]}"
        try:
            output_of([partial if word == "OUT" else word for word in words], f"making {os.path.basename(path)}", timeout_s)
            os.replace(partial, path)
        finally:
            if os.path.isdir(partial):
                shutil.rmtree(partial)
            elif os.path.exists(partial):
                os.remove(partial)
    return path
