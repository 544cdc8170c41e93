#!/usr/bin/python3
"""The allowed directions of #include between folders, and the few rules about what stands where.

The table is the one of README.md, section Architecture. General libraries (fmt, json, CLI11 …) may go anywhere.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = r"(torch/|ATen/|c10/)"
ONEDNN = r"(dnnl|oneapi/)"
TORCH_ROOMS = r"core/(torch|graph|lower|export|model|quantization|data)/"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# Folder (longest match wins) -> what it must not include.
FORBIDDEN = {
    "core": rf"^({TORCH}|{ONEDNN}|sqlite3|imgui|GLFW|{TORCH_ROOMS}|passes/|kernels/|profiler/|studio/)",
    **{f"core/{room}": rf"^({ONEDNN}|sqlite3|imgui|GLFW|passes/|kernels/|profiler/|studio/)"
       for room in ("torch", "graph", "lower", "export", "model", "quantization", "data")},
    "passes": rf"^({ONEDNN}|sqlite3|imgui|GLFW|kernels/|profiler/|studio/)",
    "kernels": rf"^({TORCH}|sqlite3|imgui|GLFW|{TORCH_ROOMS}|passes/|profiler/|studio/)",
    "kernels/torch": r"^(sqlite3|imgui|GLFW|passes/|profiler/|studio/)",
    "profiler": rf"^({TORCH}|{ONEDNN}|imgui|GLFW|{TORCH_ROOMS}|passes/|kernels/|studio/)",
    "studio": rf"^({TORCH}|{ONEDNN}|sqlite3|{TORCH_ROOMS}|passes/|kernels/)",
    "studio/engine": r"^(sqlite3|imgui|GLFW|profiler/)",
    # The operator library has a public header of its own.
    "samples": r"^(kernels/(?!torch/loader/)|profiler/|studio/|sqlite3|imgui|GLFW)",
}
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
             "core", "passes", "kernels", "studio", "profiler", "tests", "samples"}


def sources(folder):
    return [path for pattern in ("*.h", "*.cpp") for path in (ROOT / folder).rglob(pattern)]


def rule_for(path):
    name = path.relative_to(ROOT).as_posix()
    folders = [folder for folder in FORBIDDEN if name.startswith(folder + "/")]
    return max(folders, key=len)


def violations(path, forbidden):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if found and re.match(forbidden, found.group(1)):
            yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


class Structure(unittest.TestCase):
    def test_includes_follow_the_allowed_directions(self):
        wrong = []
        seen = 0
        for folder in ("core", "passes", "kernels", "profiler", "studio", "samples"):
            for path in sources(folder):
                seen += 1
                wrong += violations(path, FORBIDDEN[rule_for(path)])
        self.assertGreater(seen, 100)
        self.assertEqual(wrong, [])

    def test_the_check_sees_a_forbidden_arrow(self):
        self.assertTrue(re.match(FORBIDDEN[rule_for(ROOT / "core/plan/plan.h")], "torch/script.h"))
        self.assertTrue(re.match(FORBIDDEN["studio"], "core/model/model.h"))
        self.assertFalse(re.match(FORBIDDEN["studio/engine"], "core/model/model.h"))

    def test_the_top_level_holds_nothing_else(self):
        names = {path.name for path in ROOT.iterdir()
                 if not path.name.startswith(".") and not path.name.startswith("build")}
        self.assertEqual(names - TOP_LEVEL, set())

    def test_every_pass_file_has_a_case_file(self):
        missing = []
        for path in (ROOT / "passes").rglob("*.cpp"):
            verb = path.stem.split("_")[0]
            if verb in {"canonicalize", "fold", "fuse", "eliminate", "propagate", "insert"}:
                if not (ROOT / "tests/passes" / f"{path.stem}.ir").exists():
                    missing.append(path.name)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
