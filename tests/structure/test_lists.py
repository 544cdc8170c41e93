#!/usr/bin/python3
"""What has to stand in a list to be found does: panels, passes, kernels and the cases of kernels."""
import re
import unittest

import rooms

LISTS = (  # folder, definition with the name in its group, file with the list, line of the list
    ("studio/panels", r"^const PanelEntry (\w+)\s*[{=]", "studio/panels/panel_list.cpp", r"^\s*PANEL\({}\)"),
    ("passes", r"^const Pass (\w+)\s*[{=]", "passes/pipeline.cpp", r"^\s*&{},"),
    ("kernels", r"^std::unique_ptr<Kernel> make(\w+)\(.*\{", "kernels/kernel_list.cpp", r"^\s*KERNEL(?:_ON)?\(\w+, {}[,)]"),
    ("tests/kernels", r"^const std::vector<Case>& (\w+)\(\) \{", "tests/kernels/cases.h", r"^\s*(?:LIST\(\w+, {}\)|const.* {}\()"),
)

MADE_FOR_EVERY_KIND = {"Reference"}


def unlisted(definition, sources, line, text):
    """Names that `sources` define and that no line of the text lists; and how many they define."""
    names = {name for source in sources for name in re.findall(definition, source, re.MULTILINE)}
    return sorted(name for name in names - MADE_FOR_EVERY_KIND if not re.search(line.replace("{}", name), text, re.MULTILINE)), len(names)


class Lists(unittest.TestCase):
    def test_all_that_is_defined_is_listed(self):
        for folder, definition, path, line in LISTS:
            sources = [file.read_text(encoding="utf-8") for file in sorted((rooms.ROOT / folder).rglob("*.cpp"))]
            missing, known = unlisted(definition, sources, line, (rooms.ROOT / path).read_text(encoding="utf-8"))
            self.assertGreater(known, 10, folder)
            self.assertEqual(missing, [], f"without a line in {path}")

    def test_the_check_sees_what_is_not_listed(self):
        _, definition, _, line = LISTS[0]
        source = "const PanelEntry kNewPanel{\n"
        self.assertEqual(unlisted(definition, [source], line, "  PANEL(kNewPanel) \\\n"), ([], 1))
        self.assertEqual(unlisted(definition, [source], line, "  PANEL(kNewPanels) \\\n"), (["kNewPanel"], 1))


if __name__ == "__main__":
    unittest.main()
