"""Tests of the model exporters: whole files, true recordings, the same numbers each time, refusals."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPORTER = os.path.join(ROOT, "samples", "export_models.py")


def run_exporter(*arguments):
    return subprocess.run([sys.executable, EXPORTER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


def tensors(values):
    if isinstance(values, torch.Tensor):
        return [values]
    return [t for value in values for t in tensors(value)] if isinstance(values, (tuple, list)) else []


class ExporterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        result = run_exporter("--all-tiny", "-o", cls.folder.name)
        assert result.returncode == 0, result.stderr
        with open(os.path.join(cls.folder.name, "models.json"), encoding="utf-8") as file:
            cls.manifest = json.load(file)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_every_file_gives_its_recorded_outputs(self):
        self.assertGreaterEqual(len(self.manifest), 12)
        for entry in self.manifest:
            with self.subTest(entry["name"]):
                model = torch.jit.load(self.path(entry["file"])).eval()
                recorded = dict(torch.jit.load(self.path(entry["io"])).named_buffers())
                if entry["reset"]:
                    getattr(model, entry["reset"])()
                self.check_recording(entry, model, recorded)

    def check_recording(self, entry, model, recorded):
        prefix = "step" if entry["reset"] else "case"
        values = [int(flag.split("=")[1]) for flag in entry["flags"] if "=" in flag]
        for index in range(2):
            inputs = [recorded[name] for name in sorted(recorded) if name.startswith(f"{prefix}{index}_in")]
            with torch.no_grad():
                outputs = tensors(model(*inputs, *values))
            self.assertGreater(len(outputs), 0)
            for position, output in enumerate(outputs):
                expected = recorded[f"{prefix}{index}_out{position}"]
                self.assertLessEqual(float((output - expected).abs().max()), 1e-5 * float(expected.abs().max()))

    def test_state_matters_until_it_is_reset(self):
        model = torch.jit.load(self.path("tiny_lstm_stateful.pt")).eval()
        sound = torch.randn(1, 256, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            first, second = model(sound, 16000), model(sound, 16000)
            model.reset_states()
            again = model(sound, 16000)
        self.assertGreater(abs(float(first) - float(second)), 1e-3)
        self.assertEqual(float(first), float(again))

    def test_same_command_writes_the_same_numbers(self):
        result = run_exporter("tiny_resnet", "-o", self.path("again.pt"))
        self.assertEqual(result.returncode, 0, result.stderr)
        first, second = (torch.jit.load(self.path(name)).state_dict() for name in ("tiny_resnet.pt", "again.pt"))
        self.assertEqual(first.keys(), second.keys())
        self.assertTrue(all(torch.equal(first[name], second[name]) for name in first))

    def test_ids_are_of_the_rows_that_tables_have(self):
        result = run_exporter("dlrm", "--rows", "40", "-o", self.path("dlrm.pt"), "--io", self.path("dlrm.io.pt"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("int64[0,39]", result.stdout)

    def test_bad_arguments_are_refused(self):
        for arguments, code, message in (
                (["no_such_network", "-o", self.path("x.pt")], 2, "invalid choice"),
                (["tiny_resnet"], 2, "-o is missing"),
                (["-o", self.path("x.pt")], 2, "name is missing"),
                (["tiny_resnet", "-o", self.path("x.pt"), "--rows", "5"], 2, "--rows is for dlrm only"),
                (["tiny_resnet", "-o", self.path("no/folder/x.pt")], 1, "error: ")):
            with self.subTest(arguments):
                result = run_exporter(*arguments)
                self.assertEqual(result.returncode, code)
                self.assertIn(message, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
        self.assertFalse(os.path.exists(self.path("x.pt")))


if __name__ == "__main__":
    unittest.main()
