#!/usr/bin/python3
"""What an installed ipex-studio gives to other projects: test_deployment.py BUILD_FOLDER"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
LIBRARY = os.path.join(BUILD, "libipex_studio_ops.so")

# The parts of a torch that the loader reads: the name of its library and one function.
OTHER_TORCH = """
#include <string>
namespace at {
std::string show_config() { return "PyTorch built with:\\n  - Build settings: BLAS_INFO=open, TORCH_VERSION=2.97.1, USE_CUDA=OFF, \\n"; }
}
"""


def run(*command, status=0, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=560, check=False, **options)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


class Deployment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def test_other_torch_is_refused_with_one_sentence(self):
        for abi in ("1", "0"):  # both layouts of std::string
            with self.subTest(abi=abi):
                source = self.path("torch.cpp")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(OTHER_TORCH)
                fake = self.path(f"abi{abi}", "libtorch_cpu.so")
                os.makedirs(os.path.dirname(fake))
                run("g++", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", source, "-o", fake)
                code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); ctypes.CDLL(sys.argv[2])"
                done = run(sys.executable, "-c", code, fake, LIBRARY)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("cannot run in torch 2.97.1", done.stderr)
                self.assertRegex(done.stderr, r"built for torch [0-9]+\.[0-9]+")

    def test_installed_tree_serves_a_consumer(self):
        prefix = self.path("prefix")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
            torch = next((line.split("=", 1)[1].strip() for line in cache if line.startswith("Torch_DIR:")), "")
        run("cmake", "-S", os.path.join(ROOT, "samples", "consumer"), "-B", self.path("consumer"), "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTorch_DIR={torch}", "-DCMAKE_CXX_FLAGS=-O0")
        run("ninja", "-C", self.path("consumer"))
        model = os.path.join(BUILD, "models", "tiny_resnet.pt")
        out = self.path("fast.pt")
        done = run(self.path("consumer", "optimize_model"), model, out, "input:2x3x64x64")
        self.assertIn("results agree", done.stdout)
        # The operators come from the installed tree, not from the build.
        done = run(self.path("consumer", "run_compiled"), out, "2x3x64x64", env={**os.environ, "LD_DEBUG": "files"})
        self.assertIn("third run", done.stdout)
        self.assertIn(os.path.join(prefix, "lib"), done.stderr)
        self.assertNotIn(BUILD + "/", done.stderr)
        library = next(os.path.join(folder, "libipex_studio_ops.so") for folder, _, files in os.walk(prefix)
                       if "libipex_studio_ops.so" in files)
        self.assertIn(".so.", os.path.realpath(library))
        done = run(sys.executable, os.path.join(ROOT, "samples", "run_compiled.py"), library, out, "2x3x64x64")
        self.assertTrue(done.stdout.startswith("(2, "), done.stdout)

        self.check_headers_compile(prefix, torch)

    def check_headers_compile(self, prefix, torch):
        """Installed headers are those of core/public_headers.txt, and any may be the first that a file includes.

        All of them are compiled in both orders; in a campaign also each on its own, which takes minutes.
        """
        with open(os.path.join(ROOT, "core", "public_headers.txt"), encoding="utf-8") as file:
            listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
        include = os.path.join(prefix, "include", "ipex_studio")
        installed = {os.path.relpath(os.path.join(folder, name), include)
                     for folder, _, names in os.walk(include) for name in names}
        self.assertEqual(installed, listed)
        ordered = sorted(installed)
        files = {"forwards": ordered, "backwards": ordered[::-1]}
        if os.environ.get("IPEX_CAMPAIGN"):
            files.update({header.replace("/", "_"): [header] for header in ordered})
        sources = []
        os.makedirs(self.path("headers"))
        for name, headers in files.items():
            sources.append(self.path("headers", name + ".cpp"))
            with open(sources[-1], "w", encoding="utf-8") as file:
                file.writelines(f'#include "{header}"\n' for header in headers)
        with open(self.path("headers", "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.20)\nproject(headers LANGUAGES CXX C)\nset(CMAKE_CXX_STANDARD 17)\n"
                       "find_package(ipex_studio REQUIRED)\n"
                       f"add_library(headers OBJECT {' '.join(sources)})\n"
                       "target_link_libraries(headers PRIVATE ipex_studio::ipex_studio ipex_studio::ops)\n")
        run("cmake", "-S", self.path("headers"), "-B", self.path("headers", "build"), "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTorch_DIR={torch}", "-DCMAKE_CXX_FLAGS=-O0")
        run("ninja", "-C", self.path("headers", "build"))


if __name__ == "__main__":
    unittest.main()
