"""Tests of the comparison with other engines, without those engines: statistics, turns, database, page, limits."""

import argparse
import contextlib
import json
import os
import sqlite3
import stat
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import chart  # noqa: E402
import engines  # noqa: E402
import limits  # noqa: E402
import numpy as np  # noqa: E402
import page  # noqa: E402
import ratios  # noqa: E402
import rivals  # noqa: E402
import rivals_database  # noqa: E402
import scenarios  # noqa: E402
import turns  # noqa: E402

SCHEMA = os.path.join(FOLDER, "..", "..", "profiler", "schema.sql")
SCENARIO = scenarios.Scenario("resnet50", "latency", 1, 2)


def measured(engine, latency_ns, version="1.0", **fields):
    return turns.Measured(engine, version, latency_ns=latency_ns, turn=[i // 2 for i in range(len(latency_ns))], **fields)


class Ratios(unittest.TestCase):
    def test_interval_holds_the_ratio_and_shrinks_with_the_noise(self):
        generator = np.random.default_rng(1)
        turn = [i // 10 for i in range(200)]
        widths = []
        for noise in (0.2, 0.02):
            a, b = (list(base * (1 + noise * generator.standard_normal(200))) for base in (200.0, 100.0))
            ratio, low, high = ratios.median_ratio((a, turn), (b, turn))
            self.assertTrue(low <= ratio <= high and 1.9 < ratio < 2.1, (low, ratio, high))
            widths.append(high - low)
        self.assertLess(widths[1], widths[0])

    def test_a_slow_round_slows_both_and_leaves_the_ratio(self):
        turn = [0, 0, 1, 1, 2, 2]
        a, b = [20, 20, 200, 200, 20, 20], [10, 10, 100, 100, 10, 10]
        self.assertEqual(ratios.median_ratio((a, turn), (b, turn)), (2.0, 2.0, 2.0))

    def test_geometric_mean(self):
        self.assertAlmostEqual(ratios.geometric_mean([2.0, 0.5, 1.0]), 1.0)


class Turns(unittest.TestCase):
    def worker(self, folder, body):
        """A stand-in for the interpreter; it ignores the script that it is given."""
        path = tempfile.mktemp(dir=folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(path, stat.S_IRWXU)
        worker = turns.Worker(path, {}, {}, os.path.join(folder, "log"), 20.0)
        self.addCleanup(worker.close)
        return worker

    def test_every_engine_gets_every_round(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = '{"latency_ns": [5, 6], "cpu_ns": 1, "wall_ns": 2}'
            teams = {name: [self.worker(folder, f"while read -r s; do echo '{answer}'; done\n") for _ in range(count)]
                     for name, count in (("a", 1), ("b", 2))}
            results = {name: turns.Measured(name) for name in teams}
            turns.take_turns(teams, results, rounds=3, turn_s=0.01, pause_s=0.0)
            self.assertEqual(results["a"].turn, [0, 0, 1, 1, 2, 2])
            self.assertEqual(len(results["b"].latency_ns), 12)
            self.assertTrue(all(worker.stopped for team in teams.values() for worker in team))

    def test_an_engine_that_dies_is_named_and_the_others_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            teams = {"dead": [self.worker(folder, "echo 'out of luck' >&2; exit 1\n")],
                     "alive": [self.worker(folder, 'while read -r s; do echo \'{"latency_ns": [1], "cpu_ns": 1, "wall_ns": 1}\'; done\n')]}
            results = {name: turns.Measured(name) for name in teams}
            turns.take_turns(teams, results, rounds=2, turn_s=0.01, pause_s=0.0)
            self.assertIsNotNone(results["dead"].error)
            self.assertEqual(results["alive"].latency_ns, [1, 1])


class Page(unittest.TestCase):
    def rows(self):
        return [page.Row(SCENARIO, [measured("baseline", [400, 420, 410, 400]), measured("openvino", [200] * 4),
                                    measured("ipex", [50] * 4, max_rel=0.5), measured("inductor", [], error="no compiler"),
                                    measured("optimized", [100] * 4)])]

    def test_best_rival_is_the_fastest_whose_results_are_right(self):
        row = self.rows()[0]
        self.assertEqual(row.against_best(), ("openvino", 2.0, 2.0, 2.0))
        self.assertEqual(row.against_baseline()[0], 4.05)

    def test_page_shows_ratios_mean_and_failures(self):
        text = page.markdown(self.rows())
        self.assertIn("2.00 [2.00, 2.00] | OpenVINO |", text)
        self.assertIn("Geometric mean of best rival ÷ ours: **2.000**", text)
        self.assertIn("(off by 5e-01)", text)
        self.assertIn("Inductor: no compiler", text)

    def test_totals_without_winograd_are_told_apart(self):
        row = page.Row(SCENARIO, [measured("openvino", [110] * 4), measured("exact", [105] * 4), measured("optimized", [100] * 4)])
        self.assertEqual([rival.engine for rival in row.rivals()], ["openvino"])
        self.assertIn("Without Winograd the mean is **1.048**.", page.markdown([row]))

    def test_integers_are_judged_by_their_cosine(self):
        scenario = scenarios.Scenario("resnet50", "latency", 1, 2, precision="int8")
        row = page.Row(scenario, [measured("onnxruntime", [50] * 4, max_rel=2.0, cosine=0.2),
                                  measured("openvino", [90] * 4, max_rel=0.05, cosine=0.95),
                                  measured("optimized", [60] * 4, max_rel=0.02, cosine=0.999)])
        self.assertEqual(row.against_best(), ("openvino", 1.5, 1.5, 1.5))
        text = page.markdown([row])
        self.assertIn("INT8 by each engine's own", text)
        self.assertIn("(cosine 0.20)", text)
        self.assertIn("(cosine 0.95)", text)
        self.assertNotIn("(off by", text)

    def test_accuracy_of_every_engine_is_shown(self):
        scenario = scenarios.Scenario("resnet50", "latency", 1, 2, precision="bf16")
        row = page.Row(scenario, [measured("baseline", [400] * 4), measured("openvino", [50] * 4, cosine=0.4),
                                  measured("inductor", [80] * 4, cosine=0.9995), measured("optimized", [60] * 4, cosine=0.9999)])
        self.assertEqual(row.against_best()[0], "inductor")
        text = page.markdown([row])
        self.assertIn("BF16 by each engine's own mixed precision", text)
        self.assertIn("| network | batch | frozen, Debian's PyTorch | OpenVINO | Inductor | ipex-studio |", text)
        self.assertIn("| resnet50 | 1 | 1.00000 | **0.40000** | 0.99950 | 0.99990 |", text)

    def test_who_is_as_far_off_as_we_are_is_a_rival(self):
        scenario = scenarios.Scenario("resnet50", "latency", 1, 2, precision="int8")
        row = page.Row(scenario, [measured("onnxruntime", [50] * 4, cosine=0.5), measured("openvino", [90] * 4, cosine=0.75),
                                  measured("optimized", [60] * 4, cosine=0.8)])
        self.assertEqual(row.against_best()[0], "openvino")

    def test_lost_networks_are_named(self):
        row = page.Row(SCENARIO, [measured("openvino", [90] * 4), measured("optimized", [100] * 4)])
        self.assertIn("Slower than 0.97 × the best rival: resnet50 0.90.", page.markdown([row]))

    def test_scenarios_of_each_mode(self):
        found = scenarios.scenarios(["resnet50"], ["latency", "offline", "realtime"], [1, 16], 16)
        self.assertEqual([(s.mode, s.batch, s.threads, s.instances) for s in found],
                         [("latency", 1, 1, 1), ("latency", 1, 16, 1), ("offline", 16, 1, 1), ("offline", 16, 16, 1),
                          ("realtime", 1, 4, 4)])
        self.assertEqual([s.batch for s in scenarios.scenarios(["dlrm"], ["sweep"], [2], 2)],
                         [128 * factor for factor in scenarios.SWEEP])

    def test_chart_is_well_formed_and_has_every_line(self):
        svg = chart.throughput_svg("a < b", {"ours": [(1, 10.0), (64, 90.0)], "theirs": [(1, 8.0), (64, 89.0)]})
        lines = xml.etree.ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 2)


class Rows(unittest.TestCase):
    """Rows in a database made from the project's own schema."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "rivals.db")
        graph = {"values": [{"type": "Float(1, 3, 8, 8)", "producer": -1, "constant": ""},
                            {"type": "Float(4, 3, 3, 3)", "producer": -1, "constant": "Float(4, 3, 3, 3)"},
                            {"type": "Float(1, 4, 6, 6)", "producer": 0, "constant": ""}],
                 "nodes": [{"kind": "aten::_convolution", "name": "conv", "inputs": [0, 1], "outputs": [2], "origins": [7],
                            "attributes": [["stride", "[1, 1]"], ["padding", "[0, 0]"], ["dilation", "[1, 1]"]]}]}
        with open(SCHEMA, encoding="utf-8") as file, contextlib.closing(sqlite3.connect(self.path)) as db, db:
            db.executescript(file.read())
            db.execute("INSERT INTO model VALUES (1, 'aa', '/m/resnet50.pt', 1, 1, 1)")
            db.execute("INSERT INTO machine VALUES (1, 'cpu', 'avx2', '[]', 2, '1', '2', 'os', '', 1)")
            db.execute("INSERT INTO snapshot VALUES (1, 1, ?)", (json.dumps(graph),))
            db.execute("INSERT INTO job VALUES (1, 1, 1, 'run', '{}', 1, 1)")
            db.execute("INSERT INTO job_input VALUES (1, 0, 'x', '1x3x8x8:float32', 0)")
            db.execute("INSERT INTO run (id, job_id, position, variant, device, precision, threads, instances, "
                       "warmup_iterations, samples, p50_ns, latency_ns, turn, load_ns, compile_ns, tune_ns, first_run_ns, "
                       "peak_rss_bytes) VALUES (1, 1, 0, 'optimized', 'cpu', 'fp32', 2, 1, 0, 1, 1000, '[1000]', '[]', "
                       "0, 0, 0, 0, 0)")
            db.execute("INSERT INTO plan_step VALUES (1, 0, 0, 0, 'conv', 'convolution', '', 'k', '', '', '', '', 'fp32', "
                       "'[7]', 7776, 1, 0, 0, 0, 1, 1, 'cpu')")
            db.execute("INSERT INTO step_time VALUES (1, 0, 0, 'conv', 'convolution', '[7]', 0, '[0]', '[900]', '[]')")

    def test_recorded_engines_are_runs_of_one_job(self):
        results = [measured("baseline", [400, 410]), measured("openvino", [200, 210], "2026.4"),
                   measured("optimized", [100, 110]), measured("ipex", [], error="gone")]
        rivals_database.record(self.path, SCENARIO, results, rounds=1)
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT variant, p50_ns, threads FROM run WHERE job_id = 2 ORDER BY position").fetchall(),
                             [("baseline", 400, 2), ("openvino 2026.4", 200, 2), ("optimized", 100, 2)])
            self.assertEqual(db.execute("SELECT speedup_p50 FROM job_speedup WHERE job_id = 2").fetchall(), [(4.0,)])
            self.assertEqual(db.execute("SELECT count(*) FROM pragma_foreign_key_check").fetchone(), (0,))

    def test_recorded_integers_keep_their_precision_and_rule(self):
        scenario = scenarios.Scenario("resnet50", "latency", 1, 2, precision="int8")
        rivals_database.record(self.path, scenario, [measured("baseline", [400]), measured("ipex", [90], cosine=0.97)], rounds=1)
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT precision FROM run WHERE job_id = 2 ORDER BY position").fetchall(),
                             [("fp32",), ("int8",)])
            self.assertEqual(db.execute("SELECT cosine, pass FROM accuracy JOIN run ON run.id = run_id WHERE job_id = 2 "
                                        "AND variant LIKE 'ipex%'").fetchall(), [(0.97, 0)])

    def test_account_and_layers_come_from_the_run(self):
        account, layers = limits.read(self.path, "resnet50", 2, "1x3x8x8")
        self.assertEqual([layer.line for layer in layers], ["convolution 1 3 8 8 4 3 3 1 1 0 0 0 0 1"])
        self.assertAlmostEqual(account.share("convolution"), 0.9)
        self.assertAlmostEqual(account.share(limits.UNATTRIBUTED), 0.1)
        limit = limits.Limit({layers[0]: 450.0}, {layers[0]: "direct"}, 450, 450, 400, 100, 10)
        (step, raw, best), = limits.widest_gaps(account, limit)
        self.assertEqual((step.name, raw, best), ("conv", 450.0, "direct"))
        row = page.Row(SCENARIO, [measured("optimized", [1000, 1000])], account=account, limit=limit)
        self.assertIn("| resnet50, batch 1, 2 threads | 90.0 % |", page.markdown([row]))

    def test_other_batches_and_threads_are_not_taken(self):
        self.assertEqual(limits.read(self.path, "resnet50", 1, "1x3x8x8"), (None, []))
        self.assertEqual(limits.read(self.path, "resnet50", 2, "16x3x8x8"), (None, []))


def pretend_python(folder, name, body):
    """An interpreter of an environment that runs this script instead."""
    os.makedirs(os.path.join(folder, name, "bin"))
    path = os.path.join(folder, name, "bin", "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{body}\n")
    os.chmod(path, stat.S_IRWXU)


class Environments(unittest.TestCase):
    def test_every_engine_has_one_and_every_precision_knows_its_engines(self):
        for precision, known in engines.BY_PRECISION.items():
            self.assertLessEqual(set(known), set(engines.ENGINES), precision)
            self.assertIn(precision, page.RULES)
        self.assertEqual({name: engines.environment_of(name) for name in ("optimized", "openvino", "aotinductor", "litert")},
                         {"optimized": "debian", "openvino": "rivals", "aotinductor": "rivals-2.15", "litert": "rivals-litert"})
        self.assertEqual(set(page.TITLES), set(engines.ENGINES))

    def test_a_conversion_that_fails_leaves_the_other_engines(self):
        with tempfile.TemporaryDirectory() as folder:
            pretend_python(folder, "rivals", 'for last; do :; done; echo > "$last"')
            pretend_python(folder, "rivals-litert", 'echo "no such operator" >&2; exit 1')
            bench = rivals.Bench(argparse.Namespace(environments=folder, cache=folder, out=folder, timeout=20.0,
                                                    engines=["onnxruntime", "openvino", "litert", "optimized"]))
            files = {"torchscript": "resnet50.pt", "io": "resnet50.npz"}
            self.assertEqual(list(bench.convert(SCENARIO, files)), ["litert"])
            self.assertEqual(set(files), {"torchscript", "io", "module", "onnx"})


    def test_files_are_made_where_their_engine_lives(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("rivals", "rivals-2.15", "rivals-litert"):
                pretend_python(folder, name, f'for last; do :; done; echo {name} $3 > "$last"')
            bench = rivals.Bench(argparse.Namespace(environments=folder, cache=folder, out=folder, timeout=20.0,
                                                    engines=["onnxruntime", "aotinductor", "litert"]))
            bench.debian_python = bench.rivals_python
            files = {"torchscript": "resnet50.pt", "io": "resnet50.npz"}
            self.assertEqual({**bench.convert(SCENARIO, files), **bench.compile_ahead(SCENARIO, files),
                              **bench.quantize(SCENARIO, files)}, {})
            made = {}
            for kind in ("qdq", "aotinductor", "litert_int8"):
                with open(files[kind], encoding="utf-8") as file:
                    made[kind] = file.read().split()
            self.assertEqual(made, {"qdq": ["rivals", "qdq"], "aotinductor": ["rivals-2.15", "aotinductor"],
                                    "litert_int8": ["rivals-litert", "litert_int8"]})
            self.assertNotIn("nncf", files)


class Exports(unittest.TestCase):
    def test_an_export_that_fails_leaves_the_other(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "ipex-studio")
            with open(program, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\ncase "$*" in *--no-winograd*) echo "not here" >&2; exit 5;; esac\necho \'{"schema": 1}\'\n')
            os.chmod(program, stat.S_IRWXU)
            bench = rivals.Bench(argparse.Namespace(
                environments=folder, cache=folder, out=folder, program=program, engines=list(engines.ENGINES), profile=1.0,
                precedence=False, studio_flags=[], timeout=20.0))
            bench.flags = lambda scenario: ["--input", "x:1x3x8x8"]
            row, files = page.Row(SCENARIO), {"torchscript": "resnet50.pt"}
            self.assertEqual(bench.exports(row, files), {"exact": "ipex-studio run: not here"})
            self.assertEqual(row.report, {"schema": 1})
            self.assertEqual(set(files), {"torchscript", "compiled"})


class Layers(unittest.TestCase):
    def test_lines_of_products(self):
        self.assertEqual(limits.product_line([2, 5, 3], [3, 7], True), "linear 10 3 7")
        self.assertEqual(limits.product_line([2, 4, 5, 3], [2, 4, 3, 6], False), "matmul 8 5 3 6")
        self.assertEqual(limits.product_line([2, 4, 5, 3], [1, 4, 3, 6], False), "matmul 8 5 3 6")

    def test_lines_of_convolutions(self):
        line = limits.convolution_line("_convolution", {"stride": "[2, 2]", "padding": "[1, 1]", "dilation": "[1, 1]"},
                                       [1, 32, 8, 8], [32, 1, 3, 3], [1, 32, 4, 4])
        self.assertEqual(line, "convolution 1 32 8 8 32 3 3 2 2 1 1 0 0 32")
        line = limits.convolution_line("conv_transpose2d", {"stride": "[2, 2]"}, [1, 8, 4, 4], [8, 6, 2, 2], [1, 6, 8, 8])
        self.assertEqual(line, "deconvolution 1 8 4 4 6 2 2 2 2 0 0 0 0 1 8 8")

    def test_error_against_eager(self):
        one = np.ones(3, dtype=np.float32)
        self.assertEqual(engines.largest_relative_error([one], [one]), 0.0)
        self.assertAlmostEqual(engines.largest_relative_error([1.5 * one], [one]), 0.5)
        self.assertEqual(engines.largest_relative_error([one], [one, one]), float("inf"))
        self.assertEqual(engines.largest_relative_error([one[:2]], [one]), float("inf"))
        self.assertNotEqual(*[engines.largest_relative_error([np.nan * one], [one])] * 2)  # not a number

    def test_cosine_with_eager(self):
        one, other = np.ones(4, dtype=np.float32), np.array([1, 1, 1, -1], dtype=np.float32)
        self.assertAlmostEqual(engines.smallest_cosine([one, one], [3 * one, other]), 0.5)
        self.assertEqual(engines.smallest_cosine([one], [one, one]), 0.0)
        self.assertEqual(engines.smallest_cosine([np.nan * one], [one]), 0.0)
        self.assertEqual(engines.smallest_cosine([0 * one], [0 * one]), 1.0)


if __name__ == "__main__":
    unittest.main()
