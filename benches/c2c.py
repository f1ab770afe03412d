#!/usr/bin/env python3
"""Core to core beside core-to-core-latency (crates.io), A B A B in one run, medians.

    benches/c2c.py [--rounds N] [--cpus A,B] [--samples N]

The peer is installed with cargo, at a pinned version, into a directory of its own that is removed at the end (--root
DIR keeps it). It prints half of a round trip; tiermark prints a round trip, so that its value is halved here. The
peer measures the pair on one line, the same in all its samples, and prints the mean of its samples (300 of 1,000
round trips, some 20 ms, unless told): a single lost time slice moves it, so on a machine with other work ask for
fewer samples and more rounds. Every run of it is another process with another line. In a guest whose cpus the
hypervisor moves, both tools see two distances in turn: the median of the rounds' own ratios compares runs that are a
second apart, the ratio of medians may compare two distances.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from common import document, header, median, row, run

PEER, VERSION = "core-to-core-latency", "1.2.0"
# The peer's own numbers of its operations, and ours.
JOBS = {"cas": "1", "flag": "2", "one-way": "3"}
# Round trips of one of the peer's samples: its default.
ROUND_TRIPS = "1000"
# Building the peer takes some minutes on a small machine, seconds.
BUILD_LIMIT = 1200


def install(root):
    """Builds the peer under a root of its own; returns the program."""
    program = os.path.join(root, "bin", PEER)
    if not os.path.exists(program):
        command = ["cargo", "install", PEER, "--version", f"={VERSION}", "--locked", "--root", root]
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_LIMIT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-800:]}")
    return program


def theirs(program, cpus, job, samples):
    """ns one way, of one pair."""
    out = run([program, "--cores", cpus, "--bench", JOBS[job], "--csv", ROUND_TRIPS, str(samples)])
    found = re.findall(r"\d+\.\d+", out or "")
    return float(found[0]) if found else None


def ours(cpus, job):
    """ns one way and verdict of the same pair; a round trip is halved."""
    runs = document(["c2c", "--cpus", cpus, "--op", job, "--quick"])
    for experiment in runs["experiments"]:
        for f in experiment["findings"]:
            if f["metric"] == "c2c.pair" and f["labels"]["op"] == job and f["value"] is not None:
                return f["value"] / (1 if job == "one-way" else 2), f["verdict"]["grade"]
    return None, "invalid"


def compare(program, cpus, job, rounds, samples):
    a, b, grades = [], [], []
    for _ in range(rounds):
        value, grade = ours(cpus, job)
        a.append(value)
        grades.append(grade)
        b.append(theirs(program, cpus, job, samples))
    spread = lambda values: f"{min(values):.1f} to {max(values):.1f}" if values else "-"
    mine, peer = [v for v in a if v is not None], [v for v in b if v is not None]
    x, y = median(mine), median(peer)
    ratio = f"**{x / y:.3f}**" if x and y else "-"
    rounds_own = median([p / q for p, q in zip(a, b) if p and q])
    each = f"{rounds_own:.3f}" if rounds_own else "-"
    row(
        job,
        f"{x:.1f}" if x else "-",
        spread(mine),
        f"{y:.1f}" if y else "-",
        spread(peer),
        ratio,
        each,
        ", ".join(sorted(set(grades))),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpus", default="0,1")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--samples", type=int, default=300, help="of the peer, each 1,000 round trips")
    parser.add_argument("--root", help="keep the peer here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        program = install(args.root or scratch)
        header(f"Core to core beside {PEER} {VERSION}, cpus {args.cpus}")
        load = os.getloadavg()[0]
        print(
            f"ns one way (half a round trip), medians of {args.rounds} alternating runs, and their range; load "
            f"average {load:.1f} before.\n"
        )
        row("operation", "tiermark", "range", PEER, "range", "ratio", "of each round", "verdicts")
        row(*["---"] * 8)
        for job in args.jobs.split(","):
            compare(program, args.cpus, job, args.rounds, args.samples)


if __name__ == "__main__":
    main()
