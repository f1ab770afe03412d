#!/usr/bin/env python3
"""Do visits of 2 ms find the latency of a chase that nothing interrupts? A B A: continuous.c, tiermark, continuous.c.

    benches/continuous.py [--sizes LIST] [--reads 0|1|3] [--pages huge|base] [--seconds N] [--cpu N] [--max-time N]

A value of tiermark agrees if it lies between the lower 2nd percentile of the two continuous runs - 5 % and the higher
median + 5 %. --reads is how often all lines are read in order before each continuous chase: some last-level caches keep
only what is used again, and there the answer depends on it. Ends with 1 if a trusted value does not agree.
"""

import argparse
import os
import re
import sys
import tempfile

from common import KIB, MIB, ROOT, document, header, need, row, run, size_name

TOLERANCE = 0.05
UNITS = {"K": KIB, "M": MIB, "G": 1 << 30}


def size_bytes(text):
    found = re.fullmatch(r"(\d+)([KMG])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 16K, 8M or 1G")
    return int(found.group(1)) * UNITS[found.group(2)]


def sizes_list(text):
    return [size_bytes(part) for part in text.split(",")]


def compile_reference():
    """Builds continuous.c; returns its path."""
    program = os.path.join(tempfile.mkdtemp(), "continuous")
    if run(["cc", "-O2", "-o", program, os.path.join(ROOT, "benches", "continuous.c")]) is None:
        sys.exit("continuous.c did not compile; install with: apt-get install gcc")
    return program


def continuous(program, args):
    """2nd percentile and median of each size, ns."""
    options = [str(args.cpu), str(args.seconds), str(args.reads), args.pages]
    out = run([program, *options, *map(str, args.sizes)])
    if out is None:
        sys.exit("the continuous chase failed: choose smaller --sizes, or another --cpu")
    lines = [line.split() for line in out.splitlines()]
    return {int(size): (float(low), float(median)) for size, low, median in lines}


def visits(args):
    """Value and grade of each size, as `tiermark latency` finds them."""
    pages = "thp" if args.pages == "huge" else "base"
    arguments = ["latency", "--sizes", ",".join(map(str, args.sizes)), "--pages", pages, "--cpus", str(args.cpu)]
    arguments += ["--max-time", str(args.max_time), "--no-record"]
    found = [f for e in document(arguments)["experiments"] for f in e["findings"] if f["metric"] == "latency"]
    return {int(f["labels"]["size"]): (f["value"], f["verdict"]["grade"]) for f in found}


def position(value, runs):
    """Where a value lies beside the continuous runs."""
    if value is None:
        return "missing"
    if value < min(low for low, _ in runs) * (1 - TOLERANCE):
        return "below"
    if value > max(median for _, median in runs) * (1 + TOLERANCE):
        return "above"
    return "within"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes_list, default=sizes_list("16K,256K,1M,8M,16M,1G"))
    parser.add_argument("--reads", type=int, default=3, choices=[0, 1, 3])
    parser.add_argument("--pages", default="huge", choices=["huge", "base"])
    parser.add_argument("--seconds", type=float, default=1.0, help="length of each continuous chase")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--max-time", type=float, default=15.0, help="seconds of all visits together")
    args = parser.parse_args()
    need("cc")
    program = compile_reference()
    before, seen, after = continuous(program, args), visits(args), continuous(program, args)
    header(f"Visits against a continuous chase, {args.pages} pages, lines read {args.reads} times before, ns")
    columns = ["before: p2", "median", "tiermark", "grade", "after: p2", "median", "tiermark / lower median"]
    row("size", *columns, "position")
    row(*["---"] * 9)
    wrong, trusted = [], 0
    for size in args.sizes:
        runs = [before[size], after[size]]
        value, grade = seen.get(size, (None, "missing"))
        where = position(value, runs)
        ratio = f"{value / min(median for _, median in runs):.2f}" if value else "-"
        shown = [f"{number:.2f}" for pair in runs for number in pair]
        row(size_name(size), *shown[:2], f"{value:.2f}" if value else "-", grade, *shown[2:], ratio, where)
        trusted += grade == "trusted"
        if grade == "trusted" and where != "within":
            wrong.append(size_name(size))
    others = f"; not: {', '.join(wrong)}" if wrong else ""
    print(f"\n**{trusted - len(wrong)} of {trusted}** trusted values agree{others}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
