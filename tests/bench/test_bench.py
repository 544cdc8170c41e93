"""Tests of bench.py with a stand-in for the program: the table, the targets, and every way an engine can fail."""

import argparse
import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import alarms  # noqa: E402
import bench  # noqa: E402
import fallbacks  # noqa: E402
import loads  # noqa: E402


def report(speedup=2.0, max_rel=1e-6, peak_rss_mb=300.0, schema=1):
    """The output of `ipex-studio bench --json`, as far as bench.py reads it."""
    def run(variant, p50_ms, peak):
        return {"variant": variant, "latency_ms": {"p50": p50_ms}, "compile_ms": 300.0, "first_run_ms": 100.0,
                "peak_rss_mb": peak, "accuracy": {"max_rel": max_rel, "sqnr_db": 120.0, "pass": True},
                "coverage": {"nodes": 0.9, "time": 0.99}}
    return {"schema": schema, "machine": {"isa": "avx2"}, "speedup_p50": speedup, "speedup_ci95": [1.9, 2.1],
            "runs": [run("baseline", 10.0, 200.0), run("optimized", 5.0, peak_rss_mb)]}


class FallbacksTest(unittest.TestCase):
    """What fallbacks.py makes of the tables of the program."""

    def test_shares_and_reasons(self):
        def step(operation, kernel, ms, device="cpu", copy="no", variant="optimized"):
            return {"operation": operation, "kernel": kernel, "time_ms": ms, "device": device, "copy": copy, "variant": variant}
        steps = [step("a", "linear_xpu", 8.0, "opencl:0"), step("copy", "cpu to opencl:0", 1.0, "opencl:0", "yes"),
                 step("b", "sort_simd", 0.75), step("c", "interpreter", 0.25), step("d", "relu_xpu", None, "opencl:0"),
                 step("a", "interpreter", 99.0, variant="baseline")]
        said = [{"operation": "b", "kernel": "opencl:0", "chosen": "no", "reason": "device"},
                {"operation": "b", "kernel": "sort_simd", "chosen": "yes", "reason": "chosen"}]
        lines = fallbacks.Survey(steps, said).lines()
        self.assertEqual(lines[0], " 80.00% on the device, 1 copies 10.00%")
        self.assertEqual(lines[1:], ["      7.50%  b (sort_simd): device", "      2.50%  c (interpreter): no plan"])


class LoadsTest(unittest.TestCase):
    """Tests of loads.py with a stand-in for the program, whose runs are what the file beside it says next."""

    def run_loads(self, *runs):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            for number, (ratio, lamp) in enumerate(((2.0, "quiet"), *runs)):
                result = {"speedup_p50": ratio, "speedup_ci95": [ratio - 0.1, ratio + 0.1], "noise": {"level": lamp, "text": lamp}}
                with open(os.path.join(folder, f"{number}.json"), "w", encoding="utf-8") as file:
                    json.dump(result, file)
            with open(program, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\ncd {folder}\nn=$(cat next 2>/dev/null || echo 0)\necho $((n + 1)) > next\ncat $n.json\n")
            os.chmod(program, stat.S_IRWXU)
            return subprocess.run([sys.executable, os.path.join(FOLDER, "loads.py"), "model.pt", "--runs", "1", "--program", program],
                                  capture_output=True, text=True, check=False)

    def test_a_wrong_ratio_needs_its_lamp(self):
        self.assertEqual(self.run_loads((2.0, "quiet"), (9.0, "busy"), (2.1, "quiet")).returncode, 0)
        for lamp in ("quiet", None):
            done = self.run_loads((2.0, "quiet"), (9.0, lamp), (2.1, "busy"))
            self.assertEqual(done.returncode, 1)
            self.assertIn("9.00x", done.stdout)
            self.assertIn("1 of 3 ratios are outside without a lamp", done.stdout)

    def test_without_quiet_runs_a_dark_lamp_cannot_be_judged(self):
        self.assertEqual(self.run_loads((9.0, "busy"), (9.0, None), (9.0, "busy")).returncode, loads.SKIPPED)
        self.assertEqual(self.run_loads((9.0, "busy"), (9.0, "throttled"), (9.0, "busy")).returncode, 0)

    def test_no_load_stays(self):
        busy = loads.Loads(2)
        with busy:
            self.assertEqual([process.poll() for process in busy.processes], [None, None])
        self.assertNotIn(None, [process.poll() for process in busy.processes])


class AlarmsTest(unittest.TestCase):
    def test_every_kind_comes_in_every_network(self):
        options = argparse.Namespace(equal=9, slower=3, share=0.05)
        jobs = list(alarms.wanted(options))
        self.assertEqual(sorted(jobs), sorted([(name, 0) for name in alarms.NETWORKS] * 3 +
                                              [(name, 1) for name in alarms.NETWORKS]))

    def test_more_blocks_change_nothing(self):
        for make in alarms.NETWORKS.values():
            results = []
            for more in (0, 1):
                alarms.torch.manual_seed(1)
                network = make(more).eval()
                alarms.torch.manual_seed(2)
                with alarms.torch.no_grad():
                    results.append(network(alarms.torch.randn([int(size) for size in make.shape.split("x")])))
            self.assertTrue(alarms.torch.allclose(results[0], results[1]))

    def test_totals_judge(self):
        def line(more, slower, seconds=20.0):
            return {"network": "layers", "more": more, "slower": slower, "seconds": seconds,
                    "speed": {"ratio": {"value": 1.0}}}
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(alarms.totals([line(0, False)] * 199 + [line(0, True)] + [line(1, True)] * 20))
            self.assertFalse(alarms.totals([line(0, False)] * 100 + [line(0, True)] * 2))
            self.assertFalse(alarms.totals([line(1, True)] * 18 + [line(1, False)] * 2))
            self.assertFalse(alarms.totals([line(1, True, 70.0)]))


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, body):
        """A stand-in for ipex-studio that runs the given shell lines."""
        path = self.path("program")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(path, stat.S_IRWXU)
        return path

    def measure(self, body, timeout_s=20.0):
        return bench.IpexStudio(self.program(body), timeout_s).measure(bench.Model("resnet50", "m.pt", []), 1, 0.1)

    def printing(self, value):
        return f"cat <<'END'\n{json.dumps(value)}\nEND\n"

    def test_row_holds_what_the_program_reports(self):
        row = self.measure(self.printing(report()))
        self.assertIsNone(row.error)
        self.assertEqual((row.baseline_p50_ms, row.p50_ms, row.speedup, row.isa), (10.0, 5.0, 2.0, "avx2"))
        self.assertAlmostEqual(row.first_result_s, 0.4)
        self.assertAlmostEqual(row.peak_ratio, 1.5)
        self.assertTrue(all(check.holds for check in bench.checks(row)))
        self.assertEqual(len(bench.checks(row)), 4)
        self.assertIn("| resnet50 | ipex-studio | 1 | avx2 | 10.00 | 5.00 | 2.00 [1.90, 2.10] | 0.40 | 1.50 |",
                      bench.markdown([row]))

    def test_each_missed_target_is_named(self):
        row = self.measure(self.printing(report(speedup=1.2, max_rel=1e-3, peak_rss_mb=400.0)))
        self.assertEqual([check.text for check in bench.checks(row) if not check.holds],
                         ["speedup 1.20, at least 1.3", "peak_ratio 2.00, at most 1.6", "max_rel 1.0e-03, at most 0.0001"])

    def test_unknown_accuracy_is_a_missed_target(self):
        for unknown in (None, float("nan")):
            row = self.measure(self.printing(report(max_rel=unknown)))
            self.assertEqual([check.holds for check in bench.checks(row)], [True, True, True, False])

    def test_failure_keeps_exit_code_and_last_message(self):
        row = self.measure("echo progress >&2; echo 'error: The file is not there.' >&2; exit 3\n")
        self.assertEqual(row.error, "exit code 3: error: The file is not there.")
        self.assertEqual(bench.checks(row), [bench.Check(row.error, False)])
        self.assertIn(row.error, bench.markdown([row]))

    def test_hang_is_a_failure(self):
        self.assertEqual(self.measure("exec sleep 60\n", timeout_s=0.2).error, "no answer within 0.2 s")

    def test_other_schema_is_refused(self):
        with self.assertRaisesRegex(ValueError, "schema 2"):
            self.measure(self.printing(report(schema=2)))

    def test_recorded_inputs_are_found_beside_the_model(self):
        for name in ("vad.pt", "vad.io.pt", "with space.pt"):
            with open(self.path(name), "w", encoding="utf-8"):
                pass
        model = bench.Model.parse(self.path("vad.pt") + " --input rate=16000")
        self.assertEqual(model.flags, ["--input", "rate=16000", "--inputs", self.path("vad.io.pt")])
        spaced = bench.Model.parse(self.path("with space.pt"))
        self.assertEqual((spaced.name, spaced.flags), ("with space", []))

    def test_check_says_pass_or_miss_line_by_line(self):
        # Exports nothing, so both forms are missing; the rest passes.
        program = self.program(f'case "$1" in run) echo "no space" >&2; exit 1;; esac\n{self.printing(report())}')
        with open(self.path("resnet50.pt"), "w", encoding="utf-8"), open(self.path("resnet50.io.pt"), "w", encoding="utf-8"):
            pass
        result = subprocess.run([sys.executable, os.path.join(FOLDER, "bench.py"), "--program", program, "--threads", "1",
                                 "--check", "-o", self.path("out"), self.path("resnet50.pt")],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("pass  resnet50, threads 1: speedup 2.00, at least 1.3\n", result.stdout)
        self.assertIn("MISS  resnet50: compiled export: no space\n", result.stdout)
        self.assertEqual((result.stdout.count("\npass  "), result.stdout.count("\nMISS  ")), (4, 2))

    def test_reload_compares_with_the_recording(self):
        import torch

        class Double(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return 2 * x

        class Recording(torch.nn.Module):
            def __init__(self, factor):
                super().__init__()
                self.register_buffer("case0_in0", torch.ones(3))
                self.register_buffer("case0_out0", factor * torch.ones(3))

        torch.jit.script(Double()).save(self.path("double.pt"))
        for factor, holds in ((2.0, True), (2.01, False)):
            torch.jit.script(Recording(factor)).save(self.path("double.io.pt"))
            program = self.program(f'while [ "$1" != -o ]; do shift; done; cp {self.path("double.pt")} "$2"\n')
            model = bench.Model.parse(self.path("double.pt"))
            check = bench.reload_check(model, "portable", program, 60.0)
            self.assertEqual(check.holds, holds, check.text)

    def test_command_writes_both_files_and_fails_with_a_failed_row(self):
        program = self.program(f'case "$2" in bad*) exit 1;; esac\n{self.printing(report())}')
        command = [sys.executable, os.path.join(FOLDER, "bench.py"), "--program", program, "--threads", "1",
                   "-o", self.path("out"), "resnet50.pt"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        self.assertEqual(result.returncode, 0)
        with open(self.path("out/bench.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), result.stdout)
        with open(self.path("out/bench.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["rows"][0]["raw"], report())
        failed = subprocess.run(command + ["bad.pt"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(failed.returncode, 1)


if __name__ == "__main__":
    unittest.main()
