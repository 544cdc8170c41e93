#!/usr/bin/env python3
"""Runs torchvision's test_ops.py, unchanged, against torchvision's operators and against ours under their names.

  vision_tests.py CHECKOUT/test/test_ops.py --python PYTHON [--select EXPRESSION] [-o table.md] [--timeout 1800]

CHECKOUT is torchvision's of the version that PYTHON has; PYTHON also finds ipex_studio and pytest. Nothing is fetched. In
the run of ours, all of torchvision is its own but the library of its operators: where torchvision loads that, the names
torchvision::nms and so on are declared for ours instead. The table has a row a test that differs, and counts; exit status
1 if a test that passes with theirs does not with ours.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

NAMES = ("nms", "roi_align", "_roi_align_backward", "roi_pool", "_roi_pool_backward", "ps_roi_align", "_ps_roi_align_backward",
         "ps_roi_pool", "_ps_roi_pool_backward", "deform_conv2d", "_deform_conv2d_backward")
_OURS = "JUDGED_OPERATORS"  # in the environment of the run of ours
_LONGEST_REASON = 160
_libraries = []  # kept, for operators live as long as their library does


# ---- in pytest ----

def declare_ours():
    """Declares torchvision's names for our operators."""
    import torch
    import ipex_studio  # noqa: F401 - brings the operators
    library = torch.library.Library("torchvision", "DEF")
    for name in NAMES:
        operator = getattr(torch.ops.ipex_studio, name).default
        library.define(str(operator._schema).partition("::")[2])
        library.impl(name, operator, "CompositeImplicitAutograd")
    library.define("_cuda_version() -> int")
    library.impl("_cuda_version", lambda: -1, "CompositeImplicitAutograd")
    _libraries.append(library)


def take_their_place():
    """Declares ours where torchvision is about to load its operators."""
    import torch
    load = torch.ops.load_library

    def loaded(path):
        path = pathlib.Path(path)
        if path.parent.name != "torchvision" or not path.name.startswith("_C."):
            load(str(path))
        elif not _libraries:
            declare_ours()

    torch.ops.load_library = loaded


if os.environ.get(_OURS):
    take_their_place()


# ---- what judges ----

def run(options, ours, folder):
    """{test: (outcome, reason)} of one run."""
    report = folder / f"{'ours' if ours else 'theirs'}.xml"
    words = [options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "vision_tests", f"--junitxml={report}"]
    words += ["-k", options.select] if options.select else []
    paths = [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment.pop(_OURS, None)
    if ours:
        environment[_OURS] = "1"
    done = subprocess.run([*words, options.file.name], cwd=options.file.parent, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=options.timeout)
    if not report.exists():
        sys.exit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    rows = {}
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        outcome, reason = "passes", ""
        for kind, word in (("skipped", "skips"), ("failure", "fails"), ("error", "fails")):
            told = case.find(kind)
            if told is not None:
                outcome, reason = word, (told.get("message") or "").strip().partition("\n")[0][:_LONGEST_REASON]
        rows[f"{case.get('classname').rpartition('.')[2]}.{case.get('name')}"] = outcome, reason
    return rows


def write_table(theirs, ours, file):
    """A row for each class of tests, then a row for each test that differs; returns how many ours does not keep."""
    classes = collections.defaultdict(list)
    for test, (outcome, _) in theirs.items():
        classes[test.partition(".")[0]].append((outcome, ours.get(test, ("-", ""))[0]))
    file.write("| class | tests | theirs pass | ours pass | ours pass of those | skipped by both |\n|---|---|---|---|---|---|\n")
    for name, did in [*classes.items(), ("all", sum(classes.values(), []))]:
        counts = [len(did), sum(t == "passes" for t, _ in did), sum(o == "passes" for _, o in did),
                  sum(t == o == "passes" for t, o in did), sum(t == o == "skips" for t, o in did)]
        file.write(f"| {name} | {' | '.join(map(str, counts))} |\n")
    differing = [test for test in theirs if theirs[test][0] != ours.get(test, ("-", ""))[0]]
    if differing:
        file.write("\n| test | theirs | ours | reason |\n|---|---|---|---|\n")
    for test in differing:
        (their, _), (our, reason) = theirs[test], ours.get(test, ("-", "not run"))
        file.write("| {} | {} | {} | {} |\n".format(test, their, our, reason.replace("|", "\\|")))
    return sum(theirs[test][0] == "passes" for test in differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="test/test_ops.py of a checkout of torchvision")
    parser.add_argument("--python", required=True, help="the Python that finds torchvision, ipex_studio and pytest")
    parser.add_argument("--select", help="as pytest's -k")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that a run may take")
    parser.add_argument("-o", "--output", help="the table as Markdown")
    options = parser.parse_args()
    options.file = options.file.resolve()
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = (run(options, which, pathlib.Path(folder)) for which in (False, True))
    if not options.output:
        return 1 if write_table(theirs, ours, sys.stdout) else 0
    with open(options.output, "w", encoding="utf-8") as file:
        return 1 if write_table(theirs, ours, file) else 0


if __name__ == "__main__":
    sys.exit(main())
