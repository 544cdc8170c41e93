#!/usr/bin/python3
"""Documents are true: printed tables, paths and links; the README stays short; retired terms stay retired."""
import os
import re
import unittest

import rooms

ROOT = rooms.ROOT
DOCUMENTS = sorted(path for path in ROOT.rglob("*.md") if not any(part.startswith("build") for part in path.parts))
MOST_README_LINES = 230
TABLE = re.compile(r"(<!-- rooms\.txt begins[^\n]*\n```\n)(.*?)(```\n<!-- rooms\.txt ends -->)", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)\)")
PATH = re.compile(r"`((?:core|passes|kernels|studio|profiler|tests|samples|\.github)/[\w./-]+)`")
RETIRED = re.compile(r"narrow (floats?|weights?)|\bwidened\b|integer.chain|quantize.chain|expand.depthwise|batch rows|"
                     r"\bextremum\b|\bcensus\b|\bcore sets?\b|\bk(Least|Most|Fewest)[A-Z]|"
                     r"VNNI-[24] words?|\bwords? of (four bytes|32 bits)|int8.words|word.ring|attention.pairs|kWordBytes|"
                     r"session.aside|\baside[_(]", re.IGNORECASE)
RETIRED_UNQUOTED = re.compile(r"\bin turns\b", re.IGNORECASE)  # messages keep it
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')


def is_retired(line):
    """True if a line uses a term that was given up."""
    return bool(RETIRED.search(line) or RETIRED_UNQUOTED.search(QUOTED.sub('""', line)))


class Documents(unittest.TestCase):
    def test_the_allowlist_is_printed(self):
        path = ROOT / "core/ARCHITECTURE.md"
        text = path.read_text(encoding="utf-8")
        printed = TABLE.sub(lambda found: found.group(1) + rooms.ROOMS_FILE.read_text(encoding="utf-8") + found.group(3), text)
        if os.environ.get("IPEX_BLESS") == "1":
            path.write_text(printed, encoding="utf-8")
        self.assertIsNotNone(TABLE.search(text))
        self.assertEqual(path.read_text(encoding="utf-8"), printed, "run with IPEX_BLESS=1")

    def test_links_lead_somewhere(self):
        broken = [f"{path.relative_to(ROOT)}: {target}" for path in DOCUMENTS
                  for target in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / target).exists()]
        self.assertEqual(broken, [])

    def test_named_files_exist(self):
        missing = [f"{path.relative_to(ROOT)}: {name}" for path in DOCUMENTS
                   for name in PATH.findall(path.read_text(encoding="utf-8"))
                   if "NAME" not in name and not (ROOT / name).exists()]
        self.assertEqual(missing, [])

    def test_the_readme_is_short(self):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), MOST_README_LINES)

    def test_retired_terms_stay_retired(self):
        files = [ROOT / path for path in rooms.source_files()] + DOCUMENTS
        # The two files that read names of earlier versions.
        readers = {ROOT / "core/op/op_kinds.cpp", ROOT / "core/record/tuning_store.cpp"}
        found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}" for path in files if path not in readers
                 for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if is_retired(line)]
        self.assertEqual(found, [])

    def test_the_check_tells_retired_terms_from_plain_words(self):
        for line in ("// Words of four bytes.", "rows in VNNI-4 words", '#include "kernels/int8/int8_words-inl.h"',
                     "measured in turns", "session_aside.cpp", "of the narrow weights"):
            self.assertTrue(is_retired(line), line)
        for line in ("const char* const words[] = {", "pairs of steps", 'fmt("took {} in turns with it", x)',
                     "one step of rounding aside", "every word of the message", "a narrow strip"):
            self.assertFalse(is_retired(line), line)

    def test_every_top_folder_says_what_it_is(self):
        for folder in rooms.TOP_FOLDERS + ("tests", "samples"):
            self.assertTrue((ROOT / folder / "README.md").exists(), folder)


if __name__ == "__main__":
    unittest.main()
