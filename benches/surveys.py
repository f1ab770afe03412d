#!/usr/bin/env python3
"""How well surveys of one machine agree: runs some, minutes apart, and holds the numbers of each against the others.

    benches/surveys.py --runs 10 --every 360            standard surveys
    benches/surveys.py --runs 10 --every 300 --quick
    benches/surveys.py --beside 'stress-ng --cpu 2'     A B A B: without and with other work
    benches/surveys.py DOCUMENT...                      documents that are there already
    benches/surveys.py --compare DOCUMENT...            and `compare` on all ordered pairs: which of them fail at 5 %

Prints of each survey how many figures are trusted, shared, bounds or missing; of pairs of surveys how many numbers of L1
and L2 lie within 1 % (per cycle), how many others within twice the scatter between runs that intervals assume (L3: rates
2 %, latency 5 %; DRAM 3 %, at random or around the caches 8 %), and how often the interval
of one holds the number of the other. A pair in different states of the cpus is left out. Documents are kept in --keep.
"""

import argparse
import collections
import dataclasses
import itertools
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# Pairs of L1 and L2 have to be this close; others within so many times the scatter between runs that is assumed.
CORE = 0.01
SCATTERS = 2.0
# Half-widths of the assumed scatter, as crates/engine/src/estimate/between_runs.rs has them.
CACHE_RATE, CACHE_LATENCY, MEMORY, LEVELS = 0.01, 0.025, 0.015, 0.04


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", help="saved documents instead of new runs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--every", type=float, default=360.0, help="seconds from one start to the next")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--beside", help="other work, run beside every second survey")
    parser.add_argument("--compare", action="store_true", help="compare each document with each other one")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for the documents")
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/tiermark"))
    return parser.parse_args()


def survey(args, path, beside):
    command = [args.binary, "survey", "--force", "--no-save", "--no-record", "-q", f"--json={path}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    other = subprocess.Popen(shlex.split(args.beside), **quiet) if beside else None
    try:
        subprocess.run(command + (["--quick"] if args.quick else []), **quiet, check=False, timeout=300)
    finally:
        if other:
            other.terminate()
            other.wait(timeout=30)


@dataclasses.dataclass
class Figure:
    tier: str
    value: float | None
    low: float
    high: float
    grade: str
    state: str
    kernel: str
    is_time: bool
    in_cycles: bool

    @property
    def is_of_core(self):
        return self.tier in ("L1", "L2")

    @property
    def scatter(self):
        """The scatter between runs that is assumed."""
        if "nt" in self.kernel or self.tier.endswith("random"):
            return LEVELS
        if self.tier.startswith("L"):
            return CACHE_LATENCY if self.is_time else CACHE_RATE
        return MEMORY

    @property
    def limit(self):
        return CORE if self.is_of_core else SCATTERS * self.scatter


def figures(path):
    """The ladder of a survey by name; L1 and L2 per cycle where the clock is known."""
    document, found = json.loads(path.read_text()), {}
    seen = (seen for experiment in document["experiments"] for seen in experiment["observations"])
    for one in seen:
        labels, value = one["labels"], one["value"]
        if labels.get("purpose") != "ladder":
            continue
        names = (labels["tier"], labels.get("op") or "latency", labels.get("span"), labels.get("data"))
        page = labels.get("page") if labels["tier"].endswith("random") else None
        interval, cycles = one.get("interval") or {}, one.get("per_cycle") or {}
        scale = cycles["value"] / value if value and cycles.get("value") else 1.0
        ends = [scale * (end or 0.0) for end in (interval.get("low", value), interval.get("high", value))]
        found[" ".join(str(word) for word in (*names, page) if word)] = Figure(
            labels["tier"],
            scale * value if value else None,
            *ends,
            one["verdict"]["grade"] if value else "missing",
            (one.get("state") or {}).get("kind", ""),
            labels.get("kernel", ""),
            one["metric"] == "latency",
            scale != 1.0,
        )
    return found


def share(part):
    part = list(part)
    return f"{sum(part) / len(part):.1%} of {len(part)}" if part else "none"


def show_grades(runs):
    for label, run in runs:
        grades = collections.Counter(figure.grade for figure in run.values())
        core = [figure.grade == "trusted" for figure in run.values() if figure.is_of_core]
        print(f"{label:<20} {sum(core)} of {len(core)} of L1 and L2 trusted; all {len(run)}: ", end="")
        print(", ".join(f"{count} {grade}" for grade, count in grades.most_common()))


def show_pairs(runs):
    core, others, held, far = [], [], [], []
    kernels = collections.defaultdict(set)
    for (label_a, one), (label_b, other) in itertools.combinations(runs, 2):
        for name in one.keys() & other.keys():
            a, b = one[name], other[name]
            numbers = a.grade in ("trusted", "shared") and b.grade in ("trusted", "shared")
            if not numbers or a.in_cycles != b.in_cycles or (a.state and b.state and a.state != b.state):
                continue
            kernels[name] |= {a.kernel, b.kernel}
            apart = max(a.value, b.value) / min(a.value, b.value) - 1
            is_near = apart <= max(a.limit, b.limit)
            (core if a.is_of_core else others).append(is_near)
            held += [a.low <= b.value <= a.high, b.low <= a.value <= b.high]
            if not is_near:
                far.append((apart / max(a.limit, b.limit), apart, name, label_a, label_b))
    print(f"pairs of L1 and L2 within {CORE:.0%}: {share(core)}")
    print(f"other pairs within twice the assumed scatter: {share(others)}")
    print(f"the interval of one holds the number of the other: {share(held)}")
    names = collections.Counter(name for *_, name, _, _ in far)
    print("further apart:", ", ".join(f"{name} ({count})" for name, count in names.most_common(12)) or "none")
    for _, apart, name, a, b in sorted(far, reverse=True)[:6]:
        print(f"  {apart:.1%} {name} ({a}, {b})")
    chosen = [f"{name}: {', '.join(sorted(all_))}" for name, all_ in sorted(kernels.items()) if len(all_) > 1]
    print("kernels that differ:", "; ".join(chosen) or "none")


def show_scatter(runs):
    """Half the range of each number, as a share of its middle."""
    names = sorted({name for _, run in runs for name in run})
    for name in names:
        values = [run[name].value for _, run in runs if name in run and run[name].value]
        if len(values) > 1:
            middle = statistics.median(values)
            print(f"  {name:<32} {middle:>12.4g}  ±{(max(values) - min(values)) / 2 / middle:.1%}  {len(values)} runs")


def show_alarms(args):
    """How often `compare` finds an unchanged machine worse by more than 5 %, and in what."""
    alarms, unclear, pairs, names = 0, 0, 0, collections.Counter()
    for one, other in itertools.permutations(args.documents, 2):
        command = [args.binary, "compare", one, other, "--fail-over", "5%", "--json"]
        found = subprocess.run(command, capture_output=True, check=False, timeout=120)
        pairs += 1
        alarms += found.returncode == 3
        unclear += found.returncode not in (0, 3)
        if found.returncode == 3:
            for figure in json.loads(found.stdout)["others"][0]["figures"]:
                if figure["verdict"] == "worse":
                    labels = figure["labels"]
                    names[" ".join(labels[key] for key in ("tier", "op", "span", "page") if labels.get(key))] += 1
    print(f"compare at 5 %: {alarms} of {pairs} ordered pairs have an alarm, {unclear} have no verdict")
    for name, times in names.most_common(10):
        print(f"  {times:>3} x {name}")


def show(runs):
    show_grades(runs)
    show_pairs(runs)
    show_scatter(runs)


def main():
    args = arguments()
    if args.documents:
        show([(pathlib.Path(path).stem, figures(pathlib.Path(path))) for path in args.documents])
        if args.compare:
            show_alarms(args)
        return
    keep = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="surveys-"))
    keep.mkdir(parents=True, exist_ok=True)
    runs = []
    for index in range(args.runs):
        began = time.monotonic()
        beside = bool(args.beside) and index % 2 == 1
        label = f"{index:02} {time.strftime('%H:%M')}{' beside' if beside else ''}"
        path = keep / f"{label.replace(' ', '-').replace(':', '')}.json"
        survey(args, path, beside)
        runs.append((label, figures(path)))
        print(f"{label}: done in {time.monotonic() - began:.0f} s", file=sys.stderr)
        if index + 1 < args.runs:
            time.sleep(max(0.0, args.every - (time.monotonic() - began)))
    show(runs)


if __name__ == "__main__":
    main()
