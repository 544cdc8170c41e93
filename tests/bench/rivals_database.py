"""Puts what the engines gave into a profile database beside ipex-studio's own runs, in the tables of schema.sql.

The database is made by `ipex-studio run --db`; its rows for the model and the machine are used again. One scenario
becomes one job of the command "rivals"; variant is the engine: "baseline" and "optimized" as everywhere, the others
with their version, so that comparisons, the view job_speedup and the window work on them too.
"""

import contextlib
import json
import os
import sqlite3
import time
from typing import List

import page
from scenarios import Scenario
from turns import Measured


def variant(result: Measured) -> str:
    ours = {"baseline": "baseline", "optimized": "optimized", "exact": "optimized without winograd"}
    return ours.get(result.engine) or f"{result.engine} {result.version}"


def record(path: str, scenario: Scenario, results: List[Measured], rounds: int) -> None:
    """Does nothing where ipex-studio recorded no run of this network: then there is no model to refer to."""
    if not os.path.exists(path):
        return
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA foreign_keys = ON")
        last = database.execute(
            "SELECT job.id, model_id, machine_id, frozen_id FROM job JOIN model ON model.id = model_id "
            "WHERE command = 'run' AND path LIKE ? ORDER BY job.id DESC LIMIT 1", (f"%/{scenario.network}.pt",)).fetchone()
        if last is None:
            return
        source, model, machine, frozen = last
        options = {"mode": scenario.mode, "batch": scenario.batch, "rounds": rounds, "optimized_job": source}
        job = database.execute(
            "INSERT INTO job (model_id, machine_id, command, options, started_unix_ns, frozen_id) VALUES (?,?,?,?,?,?)",
            (model, machine, "rivals", json.dumps(options), time.time_ns(), frozen)).lastrowid
        database.execute("INSERT INTO job_input SELECT ?, position, name, description, guessed FROM job_input "
                         "WHERE job_id = ?", (job, source))
        for position, result in enumerate(r for r in results if r.latency_ns):
            record_run(database, job, position, scenario, result)


def record_run(database: sqlite3.Connection, job: int, position: int, scenario: Scenario, result: Measured) -> None:
    latency = sorted(result.latency_ns)
    row = {
        "job_id": job, "position": position, "variant": variant(result), "device": "cpu", "precision": "fp32" if result.engine == "baseline" else scenario.precision,
        "threads": scenario.threads, "instances": scenario.instances, "warmup_iterations": len(set(result.turn)),
        "samples": len(latency), "p50_ns": latency[(len(latency) * 50 + 99) // 100 - 1],
        "latency_ns": json.dumps(result.latency_ns), "turn": json.dumps(result.turn), "load_ns": result.load_ns,
        "compile_ns": 0, "tune_ns": 0, "first_run_ns": result.first_run_ns, "peak_rss_bytes": result.peak_rss_bytes,
        "cpu_per_wall": result.cpu_ns / result.wall_ns if result.wall_ns else None}
    run = database.execute(f"INSERT INTO run ({','.join(row)}) VALUES ({','.join('?' * len(row))})",
                           tuple(row.values())).lastrowid
    right, rule = page.is_right(result, scenario.precision), page.RULES[scenario.precision]
    database.execute(
        "INSERT INTO accuracy (run_id, position, origins, output, reference, max_rel, cosine, pass, text) "
        "VALUES (?,0,'[]',-1,?,?,?,?,?)",
        (run, "eager", result.max_rel if result.max_rel < float("inf") else None, result.cosine, int(right), rule))
