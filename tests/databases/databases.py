#!/usr/bin/python3
"""Optimizes the samples of PyTorch's operator and module databases and compares each with the original.

  databases.py DRIVER                         everything (an hour)
  databases.py DRIVER --sample 300 --seed 1   a random part
  databases.py DRIVER --operators '^(gather|norm)'
  databases.py DRIVER --random 1000 --seed 1  instead: random models (random_models.py), also on inputs of other sizes

DRIVER is the program database_check. Run by a newer PyTorch's Python, the samples are those of its databases, as files that
it wrote; what the driver's libtorch cannot read is counted. Prints every sample that is not right and the totals; exit status 1 if any sample
is wrong, crashes, cannot be optimized or cannot be run.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import random_models
import samples as db

# What PyTorch leaves undefined: results need not be equal.
UNDEFINED = (
    (r"^(new_)?empty(_like|_strided)?__", "elements of new memory are arbitrary"),
    (r"^index_select__.*__empty$", "an empty index into a tensor without dimensions leaves the result as it was"),
)
# What plans make is row-major where libtorch keeps the order of an operand. That shows to operators that read the order,
# whose own results have to agree.
STRIDES = re.compile(r"^as_strided(?!.*__inside$)")
BATCH = 150
BAD = ("wrong", "refused", "failed", "crashed", "late", "unsteady")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driver")
    parser.add_argument("--operators", default="", help="a regular expression that names have to match")
    parser.add_argument("--dtypes", nargs="+", default=["f32", "i64", "bool"], choices=list(db.DTYPES))
    parser.add_argument("--forms", nargs="+", default=list(db.FORMS), choices=db.FORMS)
    parser.add_argument("--most", type=int, default=40, help="samples of an operator, dtype and form")
    parser.add_argument("--sample", type=int, help="so many samples, chosen at random")
    parser.add_argument("--random", type=int, help="so many random models instead")
    parser.add_argument("--statements", type=int, default=20, help="of a random model at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="a folder in which the batches and their answers stay")
    return parser.parse_args()


def undefined(name):
    return next((why for pattern, why in UNDEFINED if re.search(pattern, name)), None)


def check(driver, path):
    """The driver's answers on one batch, which are also written beside it. Raises RuntimeError."""
    done = subprocess.run([driver, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{driver} {path}: {done.stderr.decode(errors='replace')}")
    with open(path + ".json", "wb") as file:
        file.write(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def check_readable(driver, path, batch):
    """check() of samples that a newer PyTorch made: those that the driver's libtorch cannot read are left out, and said."""
    db.write_batch(path, batch)
    try:
        return check(driver, path)
    except RuntimeError as problem:
        if "cannot be read" not in str(problem):
            raise
        unknown = re.search(r"Unknown builtin op: ([\w:]+)", str(problem))
    without = [sample for sample in batch if unknown and f"{unknown[1]}(" in str(sample.module.inlined_graph)]
    if not without and len(batch) > 1:
        half = len(batch) // 2
        return check_readable(driver, path + "a", batch[:half]) + check_readable(driver, path + "b", batch[half:])
    without = without or batch
    rest = [sample for sample in batch if sample not in without]
    answers = [{"name": sample.name, "verdict": "unreadable", "why": "an operator or form that libtorch lacks"} for sample in without]
    return answers + (check_readable(driver, path, rest) if rest else [])


def batches(found):
    batch = []
    for sample in found:
        batch.append(sample)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def run_all(options, found, folder):
    """The driver's answers on all samples, and how many others there are not, by reason."""
    none = collections.Counter()

    def made():
        for sample in found:
            if isinstance(sample, db.Sample):
                yield sample
            else:
                none[sample[1]] += 1

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = []
        for number, batch in enumerate(batches(made())):
            path = os.path.join(folder, f"batch_{number:03}")
            runs.append(pool.submit(check_readable, options.driver, path, batch))
        return [answer for run in runs for answer in run.result()], none


def run_random(options, folder):
    """The driver's answers on random models."""
    def batch(first):
        path = os.path.join(folder, f"random_{first}")
        random_models.write_batch(path, range(first, min(first + BATCH, end)), options.statements)
        return check(options.driver, path)

    begin = options.seed * 1000000
    end = begin + options.random
    # One after the other: importing what was generated is not for several threads.
    return [answer for first in range(begin, end, BATCH) for answer in batch(first)]


def report(answers, none):
    """Prints what is not right and the totals. Returns the number of bad samples."""
    for answer in answers:
        if answer["verdict"] == "strides" and STRIDES.search(answer["name"]):
            answer["verdict"] = "wrong"
        if answer["verdict"] in BAD and undefined(answer["name"]):
            answer["verdict"] = "undefined"
        if answer["verdict"] in BAD:
            print(f"{answer['verdict']:9} {answer['name']}: {answer['why']}")
    totals = collections.Counter(answer["verdict"] for answer in answers)
    planned = sum(answer.get("regions", 0) > 0 for answer in answers)
    print(f"{len(answers)} samples, {planned} of them planned in part: "
          + ", ".join(f"{count} {verdict}" for verdict, count in totals.most_common()))
    if none:
        print("not made: " + ", ".join(f"{count} {reason}" for reason, count in none.most_common(12)))
    return sum(totals[verdict] for verdict in BAD)


def main():
    options = arguments()
    pattern = re.compile(options.operators)
    sources = db.sources(pattern.search, options.dtypes, options.forms)
    found = (db.random_samples(sources, options.sample, options.seed) if options.sample
             else db.all_samples(sources, options.most))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        if options.random:
            answers, none = run_random(options, folder), {}
        else:
            answers, none = run_all(options, found, folder)
    return 1 if report(answers, none) else 0


if __name__ == "__main__":
    sys.exit(main())
