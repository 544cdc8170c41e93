#!/usr/bin/python3
"""The package as a wheel lays it out, apart from the build."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import torch

import ipex_studio
from networks import image, trained_net

BUILD = pathlib.Path(ipex_studio.__file__).resolve().parent.parent.parent
SCRIPT = """
import sys, torch, ipex_studio
from ipex_studio import _program
folder, model = sys.argv[1:]
assert ipex_studio.__file__.startswith(folder), ipex_studio.__file__
assert _program.find_program().startswith(folder), _program.find_program()
with open("/proc/self/maps") as file:
    libraries = {line.split()[-1] for line in file if "ipex_studio" in line}
assert all(path.startswith(folder) for path in libraries), libraries
run = ipex_studio.run(model, folder + "/fast.pt", inputs="x:2x3x8x8", db=folder + "/profile.db", iterations=3, warmup=0)
print(run.module().code.count("ipex_studio.region"))
"""


@unittest.skipUnless((BUILD / "cmake_install.cmake").exists(), "this package was installed, not built here")
class Installed(unittest.TestCase):
    def test_it_needs_nothing_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cmake", "--install", BUILD, "--component", "python", "--prefix", folder], check=True,
                           stdout=subprocess.DEVNULL)
            self.assertEqual(os.listdir(folder), ["ipex_studio"])
            self.assertEqual([path for path in pathlib.Path(folder).rglob("*") if path.is_symlink()], [])
            for path in [*pathlib.Path(folder).rglob("*.so*"), *pathlib.Path(folder).rglob("ipex-studio*")]:
                if path.is_file():  # an empty entry is the folder that a user happens to be in
                    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
                    for entries in re.findall(r"runpath: \[(.*)\]", said):
                        self.assertNotIn("", entries.split(":"), path)
            model = os.path.join(folder, "net.pt")
            torch.jit.save(torch.jit.trace(trained_net(), image()), model)
            done = subprocess.run([sys.executable, "-c", SCRIPT, folder, model], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": folder})
            self.assertEqual((done.stdout, done.returncode), ("1\n", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
