#!/usr/bin/python3
"""Slow models whose cause nothing can hide: advice names it, and results stay right. usage: test_slow_models.py BUILD"""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import advice  # noqa: E402
import slow_models  # noqa: E402

BUILD = sys.argv.pop()
FLAGS = ["--threads", "1", "--tune", "off"]


class SlowModels(unittest.TestCase):
    def answer(self, name):
        entry = slow_models.MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            slow_models.export(entry, folder)
            return entry, advice.run(BUILD, folder, entry, f"{name}.pt", FLAGS)[0]

    def test_the_cause_is_named(self):
        for name in ("float64", "one_hot", "repeated_subgraph", "sample_loop", "weights_recomputed", "denormals"):
            with self.subTest(name):
                entry, answer = self.answer(name)
                lines = [line["text"] for line in answer["advice"]]
                self.assertIn(advice.place_of(entry, answer["advice"]), range(1, advice.FIRST_LINES + 1), lines)

    def test_double_precision_is_offered_in_fp32(self):
        _, answer = self.answer("float64")
        self.assertIn("Try FP32", [line["offer"] for line in answer["advice"]])

    def test_names_of_models_are_theirs(self):
        for name, entry in slow_models.MODELS.items():
            self.assertEqual(name, entry.name)
            self.assertTrue(entry.words)


if __name__ == "__main__":
    unittest.main()
