#!/usr/bin/python3
"""Prepared weights beside a compiled export, seen from programs that load it: test_prepared.py BUILD_FOLDER"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "build")

# Weights of 36 MB, each layer's packed for its kernel.
MAKE_MODEL = """
import sys, torch
torch.manual_seed(int(sys.argv[2]))
layers = [layer for _ in range(4) for layer in (torch.nn.Conv2d(512, 512, 3, padding=1), torch.nn.ReLU())]
torch.jit.save(torch.jit.trace(torch.nn.Sequential(*layers).eval(), torch.randn(1, 512, 14, 14)), sys.argv[1])
"""

# Loads, runs, and reports its results and where its memory lies; stays until its input ends, so that several run at
# once.
LOADER = """
import hashlib, json, sys, torch
torch.set_num_threads(1)
torch.ops.load_library(sys.argv[1])
copies = [torch.jit.load(sys.argv[2]) for _ in range(int(sys.argv[3]))]
torch.manual_seed(1)
x = torch.randn(1, 512, 14, 14)
with torch.no_grad():
    results = {hashlib.sha256(model(x).numpy().tobytes()).hexdigest() for model in copies}
own_kb, maps, shared_kb = 0, 0, 0
for line in open("/proc/self/smaps", encoding="utf-8"):
    words = line.split()
    if "-" in words[0]:
        mapped = line.rstrip().endswith(".weights")
        maps += mapped and int(words[2], 16) == 0  # its beginning
    elif words[0] == "Anonymous:":
        own_kb += int(words[1])  # of no file: this process's own
        assert not mapped or words[1] == "0", line
    elif words[0] == "Rss:" and mapped:
        shared_kb += int(words[1])
print(json.dumps({"results": sorted(results), "own_kb": own_kb, "maps": maps, "shared_kb": shared_kb}), flush=True)
sys.stdin.read()
"""


def run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


class Loader:
    """A process that has loaded the export and run it."""

    def __init__(self, export, copies=1, **environment):
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOADER, os.path.join(BUILD, "libipex_studio_ops.so"), export, str(copies)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1", **environment})
        line = self.process.stdout.readline()
        self.said = json.loads(line) if line else None

    def end(self):
        _, self.stderr = self.process.communicate(timeout=60)
        if self.process.returncode != 0 or self.said is None:
            raise AssertionError(f"the loader ended with {self.process.returncode}:\n{self.stderr[-3000:]}")
        return self


class PreparedWeights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.first = cls.export_network(folder.name, seed=0)
        cls.retrained = cls.export_network(folder.name, seed=1)
        cls.packed_kb = os.path.getsize(cls.first + ".weights") // 1024
        alone = os.path.join(folder.name, "alone")
        os.mkdir(alone)
        shutil.copy(cls.first, os.path.join(alone, "fast.pt"))
        cls.without = Loader(os.path.join(alone, "fast.pt")).end()

    @classmethod
    def export_network(cls, folder, seed):
        """The network with weights of that seed, as an export with prepared weights."""
        model, export = (os.path.join(folder, f"{name}{seed}.pt") for name in ("model", "fast"))
        run(sys.executable, "-c", MAKE_MODEL, model, str(seed))
        done = run(os.path.join(BUILD, "ipex-studio"), "run", model, "--input", "input:1x512x14x14", "--threads", "1", "--tune", "off",
                   "--iterations", "1", "--warmup", "0", "-o", export, "--prepared", "--db", os.path.join(folder, "profile.db"))
        assert os.path.basename(export) + ".weights" in done.stderr, done.stderr
        return export

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.export = os.path.join(folder.name, "fast.pt")
        self.weights = self.export + ".weights"
        shutil.copy(self.first, self.export)
        shutil.copy(self.first + ".weights", self.weights)

    def expect_packing(self, sentence, **environment):
        """The file is not used, which is said in one sentence, and the results are those without it."""
        loaded = Loader(self.export, **environment).end()
        self.assertRegex(loaded.stderr, sentence)
        self.assertEqual(len(re.findall("packed again", loaded.stderr)), 1, loaded.stderr)
        if not environment:
            self.assertEqual(loaded.said["results"], self.without.said["results"])
        return loaded

    def test_same_bits_and_no_second_copy(self):
        loaded = Loader(self.export).end()
        self.assertEqual(loaded.said["results"], self.without.said["results"])
        self.assertEqual((loaded.said["maps"], self.without.said["maps"]), (1, 0))
        self.assertNotIn("Warning", loaded.stderr)
        saved = self.without.said["own_kb"] - loaded.said["own_kb"]
        self.assertGreater(saved, 0.8 * self.packed_kb, "the packed weights are still the process's own")

    def test_processes_and_models_share_one_copy(self):
        first, second = Loader(self.export), Loader(self.export, copies=2)
        for loader in (first, second):
            self.assertEqual(loader.said["maps"], 1, "one process maps a file once")
            self.assertGreater(loader.said["shared_kb"], 0.8 * self.packed_kb)
        self.assertEqual(first.end().said["results"], second.end().said["results"])

    def test_replacing_the_file_leaves_who_mapped_it_alone(self):
        loader = Loader(self.export)
        os.replace(shutil.copy(self.first, self.export + ".new"), self.weights)
        self.assertEqual(loader.end().said["maps"], 1)
        self.expect_packing("is no file of prepared weights")

    def test_read_only_folder(self):
        folder = os.path.dirname(self.export)
        for path, mode in ((self.export, 0o444), (self.weights, 0o444), (folder, 0o555)):
            os.chmod(path, mode)
        self.addCleanup(os.chmod, folder, 0o755)
        loaded = Loader(self.export).end()
        self.assertEqual((loaded.said["maps"], loaded.said["results"]), (1, self.without.said["results"]))

    def test_what_others_may_write_is_copied(self):
        os.chmod(self.weights, 0o666)
        loaded = Loader(self.export).end()
        self.assertEqual((loaded.said["maps"], loaded.said["results"]), (0, self.without.said["results"]))

    def test_damaged_files_are_packed_instead(self):
        size = os.path.getsize(self.weights)
        os.truncate(self.weights, size // 2)
        self.expect_packing("is damaged")
        shutil.copy(self.first + ".weights", self.weights)
        with open(self.weights, "r+b") as file:
            file.seek(size // 2)
            byte = file.read(1)
            file.seek(size // 2)
            file.write(bytes([byte[0] ^ 1]))
        self.expect_packing("is damaged; what is damaged in it")

    def test_weights_of_another_training_are_noticed(self):
        shutil.copy(self.retrained + ".weights", self.weights)
        self.expect_packing("belongs to another export")
        # The export of the same weights uses the file.
        self.assertEqual(Loader(self.retrained).end().said["maps"], 1)

    def test_other_instructions_are_noticed(self):
        limited = self.expect_packing("made for another machine", ONEDNN_MAX_CPU_ISA="SSE41")
        self.assertEqual(limited.said["maps"], 0)

    def test_flag_is_refused_without_a_compiled_export(self):
        for flags in (["--prepared"], ["--prepared", "-o", self.export + ".other", "--form", "portable"]):
            done = subprocess.run([os.path.join(BUILD, "ipex-studio"), "run", self.export, *flags], text=True, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--prepared", done.stderr)


if __name__ == "__main__":
    unittest.main()
