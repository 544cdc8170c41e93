"""Tests of setup.sh, quickstart.sh and tests/run.sh with stand-ins for apt-get, dpkg, cmake, ninja, ctest and python."""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.join(folder.name, "a clone")  # a space, to find what is not quoted
        self.bin = os.path.join(folder.name, "bin")
        self.calls = os.path.join(folder.name, "calls")
        for path in (os.path.join(self.root, "samples"), os.path.join(self.root, "tests"), self.bin):
            os.makedirs(path)
        for name in ("samples/setup.sh", "samples/common.sh", "samples/quickstart.sh", "tests/run.sh"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.root, name))
        self.environment = {"PATH": f"{self.bin}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder.name,
                            "CALLS": self.calls}
        self.stand_in("sudo", '"$@"')
        self.stand_in("apt-get", "")
        self.installed()

    def stand_in(self, name, body, folder=None):
        """A program that logs its call and then runs the given shell lines."""
        path = os.path.join(folder or self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\necho "{name} $*" >>"$CALLS"\n{body}\n')
        os.chmod(path, stat.S_IRWXU)

    def installed(self, without=()):
        """Makes dpkg-query answer that all packages it is asked for are installed, except some."""
        self.stand_in("dpkg-query", f'for p in "${{@:4}}"; do case " {" ".join(without)} " in *" $p "*) ;; '
                                    '*) echo "installed $p";; esac; done')

    def run_script(self, name, *arguments):
        return subprocess.run([os.path.join(self.root, name), *arguments], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def called(self, program):
        if not os.path.exists(self.calls):
            return []
        with open(self.calls, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file if line.startswith(program + " ")]

    def test_setup_is_silent_when_all_is_there(self):
        result = self.run_script("samples/setup.sh", "--tests")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.called("apt-get"), [])

    def test_setup_installs_only_what_is_missing(self):
        self.installed(without=("ccache", "xvfb"))
        result = self.run_script("samples/setup.sh")
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = self.called("apt-get")
        self.assertEqual(len(calls), 1)
        self.assertIn("--no-install-recommends", calls[0])
        self.assertTrue(calls[0].endswith(" ccache"), calls[0])  # xvfb is for the tests only
        self.run_script("samples/setup.sh", "--tests")
        self.assertTrue(self.called("apt-get")[1].endswith(" ccache xvfb"))

    def test_setup_installs_drivers_where_they_are_asked_for(self):
        self.installed(without=("pocl-opencl-icd", "ocl-icd-libopencl1"))
        self.run_script("samples/setup.sh")
        self.assertEqual(self.called("apt-get"), [])
        self.run_script("samples/setup.sh", "--xpu")
        self.assertTrue(self.called("apt-get")[0].endswith(" ocl-icd-libopencl1 pocl-opencl-icd"))
        self.run_script("samples/setup.sh", "--tests")
        self.assertTrue(self.called("apt-get")[1].endswith(" pocl-opencl-icd"))

    def test_setup_updates_the_lists_only_when_the_first_try_fails(self):
        self.installed(without=("ccache",))
        self.stand_in("apt-get", 'if [[ $1 == update ]]; then touch "$CALLS.updated"; else [[ -e $CALLS.updated ]]; fi')
        result = self.run_script("samples/setup.sh")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call.split()[1] for call in self.called("apt-get")], ["install", "update", "install"])

    def test_setup_says_what_to_do_when_packages_cannot_be_had(self):
        self.installed(without=("ccache",))
        self.stand_in("apt-get", "echo 'E: no network' >&2; exit 100")
        result = self.run_script("samples/setup.sh")
        self.assertEqual(result.returncode, 1)
        self.assertIn("E: no network", result.stderr)
        self.assertTrue(result.stderr.splitlines()[-1].startswith("error: apt-get could not install"))

    def test_setup_refuses_unknown_arguments(self):
        result = self.run_script("samples/setup.sh", "--test")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "error: samples/setup.sh does not know --test; see --help.\n")

    def build_stand_ins(self):
        """cmake writes the build file, and ninja the program."""
        self.stand_in("cmake", "mkdir -p build && touch build/build.ninja")
        self.stand_in("ninja", "echo '[1/1] Linking CXX executable ipex-studio'")
        build = os.path.join(self.root, "build")
        os.makedirs(build)
        self.stand_in("ipex-studio", 'printf "%s\\n" "$@"', build)
        cache = os.path.join(self.root, "cache")
        models = os.path.join(cache, "ipex-studio", "models")
        os.makedirs(models)
        self.environment["XDG_CACHE_HOME"] = cache
        return os.path.join(models, "resnet50.pt")

    def export_before(self, model):
        for path in (model, model[:-3] + ".io.pt"):
            with open(path, "w", encoding="utf-8"):
                pass

    def test_quickstart_without_display_runs_headless_with_the_arguments(self):
        model = self.build_stand_ins()
        self.export_before(model)
        result = self.run_script("samples/quickstart.sh", "--threads", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines(), ["run", model, "--threads", "1"])
        self.assertEqual(result.stderr, "Building ipex-studio (some minutes the first time)\n")
        self.stand_in("ninja", "echo 'ninja: no work to do.'")
        again = self.run_script("samples/quickstart.sh")
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual(len(self.called("cmake")), 1)

    def test_quickstart_builds_what_the_readme_runs_next(self):
        self.export_before(self.build_stand_ins())
        self.run_script("samples/quickstart.sh")
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            files = set(re.findall(r"\bbuild/([\w.-]+)", file.read()))
        self.assertGreaterEqual(files, {"ipex-studio", "libipex_studio_ops.so"})
        targets = self.called("ninja")[0].split()
        for name in files:
            self.assertIn(re.sub(r"^lib(.*)\.so$", r"\1", name), targets)

    def test_quickstart_ignores_a_display_that_does_not_answer(self):
        model = self.build_stand_ins()
        self.export_before(model)
        self.environment["DISPLAY"] = ":54321"
        self.assertEqual(self.run_script("samples/quickstart.sh").stdout.splitlines(), ["run", model])

    def test_failures_show_the_log_and_stop(self):
        self.build_stand_ins()
        self.stand_in("ninja", "echo 'a.cpp:1: error: no such thing'; exit 1")
        result = self.run_script("samples/quickstart.sh")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("a.cpp:1: error: no such thing", result.stderr)
        self.assertIn("error: The build in build failed; the whole log is build/build.log.", result.stderr)

    def test_run_passes_on_the_result_and_the_arguments_of_ctest(self):
        self.build_stand_ins()
        self.stand_in("ctest", "exit 8")
        self.environment["CI"] = "true"
        result = self.run_script("tests/run.sh", "-R", "plan_tests")
        self.assertEqual(result.returncode, 8)
        self.assertRegex(self.called("ctest")[0],
                         r"^ctest --test-dir build --output-on-failure --parallel [1-9][0-9]* -R plan_tests$")
        self.assertIn("-DIPEX_STUDIO_WERROR=ON", self.called("cmake")[0])
        self.run_script("tests/run.sh", "--sanitize")
        self.assertIn("--test-dir build-asan", self.called("ctest")[1])
        self.assertIn("plan_tests", self.called("ninja")[1])

    def test_campaign_runs_every_program_and_fails_if_one_fails(self):
        self.build_stand_ins()
        build = os.path.join(self.root, "build")
        self.stand_in("a_tests", '[[ $IPEX_CAMPAIGN == 1 ]] && exit 1', build)
        self.stand_in("b_tests", "", build)
        self.stand_in("ctest", "")
        self.assertEqual(self.run_script("tests/run.sh", "--campaign", "--gtest_filter=X").returncode, 1)
        self.assertEqual(self.called("b_tests"), ["b_tests --gtest_brief=1 --gtest_filter=X"])
        self.assertEqual(self.called("ctest"), ["ctest --test-dir build -Q -R ^export_tiny_models$",
                                                 "ctest --test-dir build --output-on-failure -R ^deployment_tests$"])

    def test_databases_need_one_program_only(self):
        self.build_stand_ins()
        self.run_script("tests/run.sh", "--databases", "--sample", "5")
        self.assertIn("database_check", self.called("ninja")[-1])
        self.assertEqual(self.called("ctest"), [])


if __name__ == "__main__":
    unittest.main()
