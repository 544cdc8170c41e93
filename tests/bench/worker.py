"""One engine in one process: loads a network, says it is ready, then runs for a while each time it is told to.

  worker.py '{"engine": …, "precision": …, "files": {…}, "io": FILE, "threads": N, "cores": […], "expected": "out"}'

Standard output carries one JSON object per line: first what loading cost and how far the results are from eager's, then
per turn the nanoseconds of every timed forward. A line on standard input is the length of a turn in seconds; its end
ends the process.
"""

import json
import os
import resource
import sys
import time

import engines


def take_turn(engine: engines.Engine, duration_s: float) -> list:
    engine.forward()  # not timed: brings weights and activations back into the caches
    samples = []
    begin = now = time.perf_counter_ns()
    while not samples or now - begin < duration_s * 1e9:
        engine.forward()
        after = time.perf_counter_ns()
        samples.append(after - now)
        now = after
    return samples


def main() -> None:
    job = json.loads(sys.argv[1])
    # The channel keeps the real standard output; libraries that print get standard error.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engines.limit_to_cores(job["cores"])
    kind = engines.TABLES[job["precision"]][job["engine"]]
    inputs = engines.read_arrays(job["io"], "in")
    begin = time.perf_counter_ns()
    with kind.context():
        engine = kind(job["files"], inputs, job["threads"])
        loaded = time.perf_counter_ns()
        results = engine.outputs()
        first = time.perf_counter_ns()
        expected = engines.read_arrays(job["io"], job.get("expected", "out"))
        error, cosine = engines.largest_relative_error(results, expected), engines.smallest_cosine(results, expected)
        del results, expected
        for _ in range(3):  # profiling executors and lazy layouts settle
            engine.forward()
        ready = {"version": kind.version(), "load_ns": loaded - begin, "first_run_ns": first - loaded,
                 "max_rel": error, "cosine": cosine,
                 "peak_rss_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
        print(json.dumps(ready), file=channel, flush=True)
        for line in sys.stdin:
            cpu, wall = time.process_time_ns(), time.perf_counter_ns()
            samples = take_turn(engine, float(line))
            turn = {"latency_ns": samples, "cpu_ns": time.process_time_ns() - cpu,
                    "wall_ns": time.perf_counter_ns() - wall}
            print(json.dumps(turn), file=channel, flush=True)


if __name__ == "__main__":
    main()
