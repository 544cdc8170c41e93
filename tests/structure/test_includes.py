#!/usr/bin/python3
"""What stands where: #include lines are those that core/rooms.txt allows, rooms have no cycles and stay small."""
import collections
import graphlib
import unittest

import rooms

ROOT = rooms.ROOT
MOST_FILES = 40  # of code in one room
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
             "core", "passes", "kernels", "studio", "profiler", "tests", "samples"}


class Structure(unittest.TestCase):
    def test_includes_are_those_of_the_allowlist(self):
        table = rooms.read_rooms()
        wrong = []
        files = rooms.source_files()
        for path in files:
            room = table[rooms.room_of(path)]
            wrong += [f"{path}:{number}: {included}" for number, included in rooms.includes_of(path)
                      if rooms.forbidden(room, included)]
        self.assertGreater(len(files), 500)
        self.assertEqual(wrong, [])

    def test_the_check_sees_a_forbidden_include(self):
        table = rooms.read_rooms()
        self.assertTrue(rooms.forbidden(table["core/plan"], "torch/script.h"))
        self.assertTrue(rooms.forbidden(table["core/plan"], "core/tune/tuner.h"))
        self.assertTrue(rooms.forbidden(table["kernels/common"], "oneapi/dnnl/dnnl.hpp"))
        self.assertTrue(rooms.forbidden(table["studio/cli"], "core/model/model.h"))
        self.assertTrue(rooms.forbidden(table["studio/panels"], "sqlite3.h"))
        self.assertTrue(rooms.forbidden(table["studio/job"], "CL/cl.h"))
        self.assertFalse(rooms.forbidden(table["core/plan"], "core/plan/plan.h"))
        self.assertFalse(rooms.forbidden(table["core/plan"], "fmt/format.h"))
        self.assertFalse(rooms.forbidden(table["studio/engine"], "core/model/model.h"))

    def test_a_damaged_allowlist_is_refused(self):
        for text in ("core/base core/record", "a: b", "a:\na:", "a: | boost"):
            with self.assertRaises(ValueError):
                rooms.parse_rooms(text)

    def test_rooms_have_no_cycles(self):
        # A folder's root lists the contents of its rooms, which include its headers, so only the includes count.
        arrows = {room.name: room.rooms for room in rooms.read_rooms().values()}
        self.assertEqual(len(list(graphlib.TopologicalSorter(arrows).static_order())), len(arrows))

    def test_every_folder_of_code_is_a_room_and_small(self):
        sizes = collections.Counter(rooms.room_of(path) for path in rooms.source_files())
        self.assertEqual(set(sizes) - set(rooms.read_rooms()), set())
        self.assertEqual({room: size for room, size in sizes.items() if size > MOST_FILES}, {})

    def test_samples_and_public_headers_include_public_headers_only(self):
        lines = (ROOT / "core/public_headers.txt").read_text(encoding="utf-8").splitlines()
        public = {line for line in lines if line and not line.startswith("#")}
        files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "samples").rglob("*.cpp"))] + sorted(public)
        wrong = [f"{path}: {included}" for path in files for _, included in rooms.includes_of(path)
                 if included.split("/")[0] in rooms.TOP_FOLDERS and included not in public]
        self.assertEqual(wrong, [])

    def test_the_top_level_holds_nothing_else(self):
        names = {path.name for path in ROOT.iterdir()
                 if not path.name.startswith(".") and not path.name.startswith("build")}
        self.assertEqual(names - TOP_LEVEL, set())

    def test_every_pass_file_has_a_case_file(self):
        missing = []
        for path in (ROOT / "passes").rglob("*.cpp"):
            verb = path.stem.split("_")[0]
            if verb in {"canonicalize", "fold", "fuse", "eliminate", "propagate", "insert"}:
                case = ROOT / "tests" / path.relative_to(ROOT).with_suffix(".ir")
                if not case.exists():
                    missing.append(case.relative_to(ROOT).as_posix())
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
