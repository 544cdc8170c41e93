"""Workers that take turns: one process per engine, of which only the one whose turn it is runs at all."""

import contextlib
import ctypes
import dataclasses
import fcntl
import json
import os
import random
import select
import signal
import subprocess
import tempfile
import time
from typing import Dict, List, Optional

FOLDER = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """One process of worker.py. Raises RuntimeError with one sentence when it fails."""

    def __init__(self, interpreter: str, job: dict, environment: Dict[str, str], log: str, timeout_s: float):
        self.timeout_s = timeout_s
        self.log = log
        # Engines unpack models among temporary files; a process that is killed leaves them.
        self.scratch = tempfile.TemporaryDirectory(prefix="ipex-studio-")
        with open(log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [interpreter, "-B", os.path.join(FOLDER, "worker.py"), json.dumps(job)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=file, env={**os.environ, **environment, "TMPDIR": self.scratch.name},
                preexec_fn=die_with_parent)
        self.stopped = False

    def answer(self) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout_s)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.close()
            if not ready:
                raise RuntimeError(f"no answer within {self.timeout_s:g} s")
            with open(self.log, encoding="utf-8", errors="replace") as file:
                lines = [text for text in file.read().strip().splitlines() if text.strip()]
            raise RuntimeError(f"ended: {lines[-1].strip()[:200] if lines else 'no message'}")
        return json.loads(line)

    def stop(self) -> None:
        """Takes the process off the cores, threads that spin included."""
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self) -> None:
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
            self.stopped = False

    def take_precedence(self) -> None:
        """Real-time priority for every thread: other programs wait while a turn lasts. Needs root; else nothing happens."""
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with contextlib.suppress(OSError):
                os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))

    def begin_turn(self, duration_s: float) -> None:
        self.resume()
        self.process.stdin.write(f"{duration_s}\n".encode())
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.scratch.cleanup()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what was not sent is not needed
                stream.close()


@dataclasses.dataclass
class Measured:
    """Results of one engine in one scenario: `latency_ns[i]` was taken in turn `turn[i]`."""

    engine: str
    version: str = ""
    load_ns: int = 0
    first_run_ns: int = 0
    max_rel: float = 0.0
    cosine: float = 1.0
    peak_rss_bytes: int = 0
    latency_ns: List[int] = dataclasses.field(default_factory=list)
    turn: List[int] = dataclasses.field(default_factory=list)
    cpu_ns: int = 0
    wall_ns: int = 0
    error: Optional[str] = None


@contextlib.contextmanager
def held(lock: Optional[str]):
    """Holds a lock file that other busy programs of this machine take too."""
    if not lock:
        yield
        return
    with open(lock, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def take_turns(teams: Dict[str, List[Worker]], results: Dict[str, Measured], rounds: int, turn_s: float,
               pause_s: float, seed: int = 0) -> None:
    """Every engine gets one turn per round, in an order drawn anew each time; its instances run at the same time."""
    order = random.Random(seed)
    for turn in range(rounds):
        for name in order.sample(sorted(teams), len(teams)):
            result, team = results[name], teams[name]
            if result.error:
                continue
            try:
                for worker in team:
                    worker.begin_turn(turn_s)
                for worker in team:
                    answer = worker.answer()
                    result.latency_ns += answer["latency_ns"]
                    result.turn += [turn] * len(answer["latency_ns"])
                    result.cpu_ns += answer["cpu_ns"]
                    result.wall_ns += answer["wall_ns"]
            except (RuntimeError, OSError) as problem:
                result.error = str(problem)
                continue
            for worker in team:
                worker.stop()
            time.sleep(pause_s)
