#!/usr/bin/python3
"""Jobs on files: results of the program as tables, and its refusals as errors."""
import os
import pathlib
import sqlite3
import stat
import tempfile
import unittest
from unittest import mock

import torch

import ipex_studio
from ipex_studio import _program, _tables, jobs
from networks import image, trained_net

QUICK = {"iterations": 3, "warmup": 0, "threads": 1, "tune": "off"}


class Tables(unittest.TestCase):
    def table(self):
        rows = [{"name": "a<b", "ms": 1.23456, "ok": True}, {"name": "long name", "ms": None, "ok": False}]
        return _tables.Table(["name", "ms", "ok"], rows, "two rows")

    def test_text(self):
        self.assertEqual(str(self.table()), "two rows\n\nname          ms  ok\na<b        1.235  yes\nlong name      –  no")
        self.assertEqual(len(self.table()), 2)
        self.assertEqual([row["ok"] for row in self.table()], [True, False])

    def test_html(self):
        text = self.table()._repr_html_()
        self.assertIn("<caption>two rows</caption>", text)
        self.assertIn("<td>a&lt;b</td><td>1.235</td>", text)

    def test_pandas_gets_numbers_as_measured(self):
        calls = []
        pandas = mock.Mock(DataFrame=lambda rows, columns: calls.append((rows, columns)) or "frame")
        with mock.patch.dict("sys.modules", pandas=pandas):
            self.assertEqual(self.table().to_pandas(), "frame")
        self.assertEqual((calls[0][0][0]["ms"], calls[0][1]), (1.23456, ["name", "ms", "ok"]))


class Flags(unittest.TestCase):
    def test_options_become_flags(self):
        options = {"threads": 1, "force_precision": True, "trust": False, "hint": None, "precision": ["fp32", "int8"],
                   "input": ["x:1x3", "y=2"]}
        self.assertEqual(_program.flags_of(options),
                         ["--threads", "1", "--force-precision", "--precision", "fp32,int8", "--input", "x:1x3",
                          "--input", "y=2"])

    def test_a_missing_program_is_a_sentence(self):
        with mock.patch.object(_program, "_PACKAGE", pathlib.Path("/nowhere/python/ipex_studio")):
            with mock.patch.dict(os.environ, PATH="/nowhere"), self.assertRaisesRegex(ipex_studio.Error, "not installed"):
                _program.find_program()


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.traced = torch.jit.trace(trained_net(), image())
        cls.model, cls.fast, cls.db = (os.path.join(cls.folder.name, name) for name in ("net.pt", "fast.pt", "profile.db"))
        torch.jit.save(cls.traced, cls.model)
        cls.run_of_net = ipex_studio.run(cls.model, cls.fast, inputs="x:2x3x8x8", db=cls.db, **QUICK)

    def test_load_looks_without_running(self):
        model = ipex_studio.load(self.model)
        self.assertIn("aten::batch_norm", [row["operator"] for row in model.operators])
        self.assertIn("net.pt", repr(model))
        torch.testing.assert_close(model.module()(image()), self.traced(image()))

    def test_run(self):
        run = self.run_of_net
        self.assertEqual([row["variant"] for row in run], ["baseline", "optimized"])
        self.assertGreater(run.speedup, 0)
        self.assertLessEqual(run.speedup_ci95[0], run.speedup_ci95[1])
        self.assertIn("net.pt on ", str(run))
        self.assertIn("times as fast", run._repr_html_())
        self.assertTrue(run[1]["accurate"])
        torch.testing.assert_close(run.module()(image()), self.traced(image()), rtol=1e-4, atol=1e-5)
        self.assertEqual((run.db, run.job), (self.db, 1))

    def test_it_is_recorded(self):
        (count,) = sqlite3.connect(self.db).execute("SELECT count(*) FROM job WHERE command = 'run'").fetchone()
        self.assertGreaterEqual(count, 1)

    def test_profile(self):
        profile = self.run_of_net.profile()
        self.assertTrue(any(row["kind"] == "convolution" for row in profile), str(profile))
        times = [row["p50_ms"] for row in profile]
        self.assertEqual(times, sorted(times, reverse=True))
        report = os.path.join(self.folder.name, "report.html")
        profile.report(report)
        self.assertTrue(os.path.exists(report))

    def test_profile_of_a_module_with_tensors(self):
        profile = ipex_studio.profile(self.traced, inputs=image(), db=self.db, **QUICK)
        self.assertGreater(len(profile), 0)
        self.assertEqual(len(profile.run), 2)

    def test_verify(self):
        good = ipex_studio.verify(self.model, self.fast, inputs=["x:2x3x8x8"])
        self.assertTrue(good)
        self.assertTrue(good.passed)
        other = torch.jit.trace(trained_net(seed=9), image())
        bad = ipex_studio.verify(self.model, other, inputs=(image(),))
        self.assertFalse(bad)
        self.assertGreater(bad[0]["max_abs"], 1e-3)

    def test_compare(self):
        again = ipex_studio.run(self.model, inputs="x:2x3x8x8", db=self.db, **QUICK)
        comparison = ipex_studio.compare(self.run_of_net, again)
        self.assertGreater(comparison.ratio, 0)
        self.assertIn("convolution", [row["kind"] for row in comparison])
        self.assertIn("times as fast", str(ipex_studio.compare(1, 2, db=self.db)))
        with self.assertRaisesRegex(ipex_studio.Error, "one database"):
            ipex_studio.compare(1, 2)

    def test_export(self):
        path = os.path.join(self.folder.name, "portable.pt")
        exported = ipex_studio.export(self.model, path, inputs="x:2x3x8x8", form="portable", db=self.db, threads=1, tune="off")
        self.assertNotIn("ipex_studio", exported.module().code)

    def test_quantize_and_tune(self):
        small = os.path.join(self.folder.name, "small.pt")
        quantized = ipex_studio.quantize(self.model, small, inputs="x:2x3x8x8", recipe="weight-only", db=self.db, threads=1)
        with torch.no_grad():
            torch.testing.assert_close(quantized.module()(image()), self.traced(image()), rtol=0.05, atol=0.02)
        data = os.path.join(self.folder.name, "data.pt")
        torch.save(image(batch=4), data)
        tuned = ipex_studio.tune(self.model, os.path.join(self.folder.name, "tuned.pt"), data, db=self.db, threads=1,
                                 time_budget=10)
        self.assertIn("tradeoffs", tuned.data)
        self.assertTrue(all(row["accurate"] for row in tuned if row["variant"] == "optimized"))

    def test_refusals_are_errors_with_the_programs_sentence(self):
        for job, sentence, exit_code in (
                (lambda: ipex_studio.run("nofile.pt"), "There is no file 'nofile.pt'.", 3),
                (lambda: ipex_studio.load(__file__), "is no ZIP archive", 3),
                (lambda: ipex_studio.run(self.model, inputs="x:2x5x8x8", db=self.db, **QUICK), "", 2),
                (lambda: ipex_studio.run(self.model, no_such_flag=1), "no-such-flag", 2),
                (lambda: ipex_studio.compare(1, 99, db=self.db), "99", 6)):
            with self.assertRaisesRegex(ipex_studio.Error, sentence) as caught:
                job()
            self.assertEqual(caught.exception.exit_code, exit_code, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "torch.jit.trace"):
            ipex_studio.run(trained_net())
        with self.assertRaisesRegex(ipex_studio.Error, "give run\\(\\) an output"):
            ipex_studio.run(self.model, inputs="x:2x3x8x8", db=self.db, **QUICK).module()

    def test_open_starts_the_studio(self):
        with tempfile.TemporaryDirectory() as folder:
            program, seen = os.path.join(folder, "ipex-studio"), os.path.join(folder, "seen")
            with open(program, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\necho "$@" > {seen}\n')
            os.chmod(program, stat.S_IRWXU)
            with mock.patch.object(_program, "find_program", lambda: program):
                self.assertEqual(self.run_of_net.open().wait(), 0)
                with open(seen, encoding="utf-8") as file:
                    self.assertEqual(file.read().strip(), self.db)
                self.assertEqual(jobs.load.__module__, "ipex_studio.jobs")
                self.assertEqual(jobs.Model(self.model, {}).open().wait(), 0)


if __name__ == "__main__":
    unittest.main()
