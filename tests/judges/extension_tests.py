#!/usr/bin/env python3
"""Runs the tests of Intel Extension for PyTorch, from a checkout of it, under the alias and under the real thing.

  extension_tests.py CHECKOUT/tests/cpu --ours PYTHON [--real PYTHON] [--group public] [--files test_emb test_check]
                     [--baseline earlier.json] [-o table.md] [--json table.json] [--timeout 120]

Each PYTHON is an interpreter: one that finds ipex_studio and not the extension, one that finds the extension. The tests are
written for the torch of their tag (v2.8.0+cpu: torch 2.8, expecttest, torchvision; some take transformers). Nothing is
fetched. `python`, which some tests start, is the interpreter under judgement, and finds the alias, too. Each file runs in
processes of its own, test by test; a test that ends its process or takes too long is one row, and the next process goes on
behind it. `--baseline` takes the real thing's results from an earlier --json.

The table has a row a test: what it did under either, and the reason where the two differ. Its head says how many of the
tests that the extension passes itself ipex_studio passes, group by group; exit status 1 if those are fewer than --least
(default 0) percent of the group public.
"""
import argparse
import json
import os
import pathlib
import selectors
import shlex
import subprocess
import sys
import tempfile
import time

# What the tests ask for: the public interface; operators by their names; kinds of graph nodes; internals.
GROUPS = {
    "public": """quantization_default_recipe ipex_optimize runtime_api_jit runtime_api ipex_llm_module check
        ipex_optimize_transformers ipex_optimize_transformers_nightly launcher auto_channels_last shared_param fake_tensor
        fpmath_mode fx_optimization tpp_ops code_free_optimization emb punica dropout flash_attention_varlen
        frozen_batch_norm merged_embeddingbag paged_attention paged_attention_fp8 roialign torch_compile verbose
        add_layernorm distributed_merged_emb import init_on_device interaction ipex_llm_quantization layer_norm lru_cache
        profile tensor_method weight_cast""",
    "operators": """cpu_ops torch_compile_nightly optimizer tpp_linear fp8 deepseek_ops nms ipex_custom_op rmsnorm rnnt rope
        cumsum masked_mha masked_mha_fp8""",
    "nodes": """jit ao_jit_llga jit_llga_fuser ao_jit_ipex_quantization graph_capture mha deepspeed transfree_bmm softmax
        llga_throughput""",
    "internals": """autocast weight_prepack dyndisp fp8_autocast inductor linear_fuse_eltwise fp8_cast toolkit conv_reorder
        linear_reorder""",
}
_GROUP_OF = {"test_" + name: group for group, names in GROUPS.items() for name in names.split()}
_LONGEST_REASON = 160


# ---- what runs in the interpreter under judgement ----

def child(path, skip, alias):
    """Runs the tests of one file from number `skip` on, and prints a JSON line when one begins and when it ends."""
    import importlib
    import unittest
    if alias:
        import ipex_studio.alias
        ipex_studio.alias.activate()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what tests print is no answer

    def say(**facts):
        out.write(json.dumps(facts) + "\n")

    folder, name = os.path.split(path)
    sys.path.insert(0, folder)
    sys.argv = [path]
    try:
        module = importlib.import_module(name[:-3])
        found = unittest.defaultTestLoader.loadTestsFromModule(module)
    except BaseException as problem:  # whatever a file does while it is imported
        say(total=0, problem=_first_line(problem))
        return
    tests = list(_flat(found))
    say(total=len(tests))
    for number, test in enumerate(tests[skip:], skip):
        say(begins=number, test=".".join(test.id().split(".")[-2:]))
        result = unittest.TestResult()
        begin = time.monotonic()
        test.run(result)
        outcome, reason = _outcome(result)
        say(ends=number, outcome=outcome, reason=reason, seconds=round(time.monotonic() - begin, 2))


def _flat(suite):
    for part in suite:
        if hasattr(part, "__iter__"):
            yield from _flat(part)
        else:
            yield part


def _outcome(result):
    problems = result.errors + result.failures
    if problems:
        lines = [line for line in problems[0][1].strip().splitlines() if line.strip()]
        said = [line for line in lines if not line.startswith(" ") and ": " in line]
        return "fails", (said or lines or [""])[-1][:_LONGEST_REASON]
    if result.skipped:
        return "skips", result.skipped[0][1].strip().splitlines()[0][:_LONGEST_REASON]
    return ("fails", "an expected failure passed") if result.unexpectedSuccesses else ("passes", "")


def _first_line(problem):
    return f"{type(problem).__name__}: {(str(problem).strip().splitlines() or [''])[0]}"[:_LONGEST_REASON]


# ---- what judges ----

def run_file(python, path, alias, timeout):
    """{test: {"outcome", "reason"}} of one file."""
    rows, skip, total = {}, 0, None
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(python, alias, pathlib.Path(folder))
        while total is None or skip < total:
            total, ended = run_from(python, path, alias, timeout, skip, rows, environment)
            if ended is None:
                break
            skip = ended
    return rows


def environment_of(python, alias, folder):
    """Variables by which processes that a test starts find the interpreter as `python`, and the alias. `folder` is empty."""
    variables = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2")}
    starter = folder / "python"
    starter.write_text(f"#!/bin/sh\nexec {shlex.quote(python)} \"$@\"\n", encoding="utf-8")
    starter.chmod(0o755)
    variables["PATH"] = os.pathsep.join([str(folder), os.path.dirname(python) or os.curdir, os.environ.get("PATH", os.defpath)])
    if alias:
        install = "import pathlib, sys; from ipex_studio import alias; alias.install(pathlib.Path(sys.argv[1]))"
        subprocess.run([python, "-c", install, str(folder)], check=True, stdout=subprocess.DEVNULL)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return variables


def run_from(python, path, alias, timeout, skip, rows, environment):
    """Fills rows from test number `skip` on; returns the number of tests, and where to go on, or None."""
    words = [python, os.path.abspath(__file__), "--child", str(path), "--skip", str(skip)] + (["--alias"] if alias else [])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env=environment, cwd=os.path.dirname(path)) as process:
        running, number, total = "(import)", skip, None
        for facts in answers(process, timeout):
            if "total" in facts:
                total = facts["total"]
                if "problem" in facts:
                    rows["(import)"] = {"outcome": "fails", "reason": facts["problem"]}
                    return total, None
                running = None
            elif "begins" in facts:
                running, number = facts["test"], facts["begins"]
            else:
                rows[running] = {key: facts[key] for key in ("outcome", "reason", "seconds")}
                running = None
        late = process.poll() is None
        process.kill()
        process.wait()
    if running is None:
        return total, None
    reason = f"took longer than {timeout} s" if late else f"the process ended with {process.returncode}"
    rows[running] = {"outcome": "late" if late else "crashes", "reason": reason}
    return total, None if total is None else number + 1


def answers(process, timeout):
    """JSON lines of a child until it ends, or says nothing for too long."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        rest = b""
        while selector.select(timeout):
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                process.wait()
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield json.loads(line)


def files_of(folder, options):
    for path in sorted(folder.glob("test_*.py")):
        group = _GROUP_OF.get(path.stem, "others")
        if (options.files and path.stem not in options.files) or (options.group and group not in options.group):
            continue
        if not options.files and group == "others":
            continue  # helpers that others import
        yield path, group


def compare(folder, options):
    """Rows of the table: file, group, test, what it did under either."""
    baseline = {}
    if options.baseline:
        with open(options.baseline, encoding="utf-8") as file:
            baseline = {(row["file"], row["test"]): row["real"] for row in json.load(file)}
    table = []
    for path, group in files_of(folder, options):
        ours = run_file(options.ours, path, True, options.timeout)
        real = run_file(options.real, path, False, options.timeout) if options.real else \
            {test: row for (file, test), row in baseline.items() if file == path.stem and row}
        whole = ours.get("(import)")  # a file that cannot be imported fails in every test
        for test in real if whole and real else dict.fromkeys([*real, *ours]):
            table.append({"file": path.stem, "group": group, "test": test, "ours": ours.get(test) or whole,
                          "real": real.get(test)})
        print(f"{path.stem}: {summary([row for row in table if row['file'] == path.stem])}", file=sys.stderr, flush=True)
    return table


def did(row, whose):
    return (row[whose] or {}).get("outcome", "-")


def summary(rows):
    judged = [row for row in rows if did(row, "real") == "passes"]
    kept = [row for row in judged if did(row, "ours") == "passes"]
    passed = sum(did(row, "ours") == "passes" for row in rows)
    share = f" ({100 * len(kept) / len(judged):.1f} %)" if judged else ""
    return f"{len(kept)} of {len(judged)} that the extension passes{share}; {passed} of all {len(rows)}"


def share_of(rows):
    judged = [row for row in rows if did(row, "real") == "passes"]
    return 100 * sum(did(row, "ours") == "passes" for row in judged) / len(judged) if judged else 100.0


def write_table(table, file):
    file.write("| group | ipex_studio passes |\n|---|---|\n")
    for group in [*GROUPS, "others"]:
        rows = [row for row in table if row["group"] == group]
        if rows:
            file.write(f"| {group} | {summary(rows)} |\n")
    file.write("\n| file | test | extension | ipex_studio | reason |\n|---|---|---|---|---|\n")
    for row in table:
        reason = "" if did(row, "ours") == "passes" else (row["ours"] or {}).get("reason", "")
        reason = reason.replace("|", "\\|")
        file.write(f"| {row['file']} | {row['test']} | {did(row, 'real')} | {did(row, 'ours')} | {reason} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="tests/cpu of a checkout")
    parser.add_argument("--ours", help="the Python that finds ipex_studio")
    parser.add_argument("--real", help="the Python that finds the extension")
    parser.add_argument("--baseline", help="an earlier --json, for the extension's results")
    parser.add_argument("--group", nargs="+", choices=list(GROUPS))
    parser.add_argument("--files", nargs="+", help="names such as test_emb")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a test may take")
    parser.add_argument("--least", type=float, default=0, help="percent of the group public that is asked for")
    parser.add_argument("-o", "--output", help="the table as Markdown")
    parser.add_argument("--json", help="the table as JSON")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--alias", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.skip, options.alias)
        return 0
    if options.folder is None or not options.folder.is_dir():
        parser.error("name the folder tests/cpu of a checkout of the extension")
    if not options.ours:
        parser.error("name the Python that finds ipex_studio: --ours")
    table = compare(options.folder.resolve(), options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            write_table(table, file)
    else:
        write_table(table, sys.stdout)
    return 1 if share_of([row for row in table if row["group"] == "public"]) < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
