#!/usr/bin/env python3
"""How well surveys of one machine agree: runs some, minutes apart, and holds every trusted figure against the others.

    benches/surveys.py --runs 10 --every 360            standard surveys
    benches/surveys.py --runs 10 --every 300 --quick
    benches/surveys.py --beside 'stress-ng --cpu 2'     A B A B: without and with other work
    benches/surveys.py DOCUMENT...                      documents that are there already
    benches/surveys.py --compare DOCUMENT...            and `compare` on all ordered pairs: which of them fail at 5 %

Prints the share of trusted figures of each survey, how far trusted values of pairs of surveys are apart, and whether
any trusted value contradicts a bound; then the same as a machine with a record has it, where a figure that falls
short of what an earlier survey has proven is a bound. Documents are kept in --keep. Estimates are made again by
--binary from the saved windows.
"""

import argparse
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
reference = None


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
    other = (
        subprocess.Popen(shlex.split(args.beside), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if beside
        else None
    )
    try:
        subprocess.run(
            command + (["--quick"] if args.quick else []), stdout=subprocess.DEVNULL, check=False, timeout=300
        )
    finally:
        if other:
            other.terminate()
            other.wait(timeout=30)


@dataclasses.dataclass
class Figure:
    value: float | None
    grade: str
    is_time: bool
    state: str
    proven: bool
    low: float | None = None
    high: float | None = None

    def short_of(self, other, share):
        """Whether it is worse than another by more than a share."""
        ratio = self.value / other.value if self.is_time else other.value / self.value
        return ratio > 1 + share


def figures(args, path):
    """The ladder of a survey by name, as if the cores had run at the clock of the first survey."""
    global reference
    command = [args.binary, "show", str(path), "--reanalyse", "--json"]
    document = json.loads(subprocess.run(command, capture_output=True, check=False, timeout=120).stdout)
    found = {}
    for experiment in document["experiments"]:
        clock = [finding["value"] for finding in experiment["findings"] if finding["metric"] == "core.clock"]
        for seen in experiment["observations"]:
            labels = seen["labels"]
            if labels.get("purpose") != "ladder" or labels.get("data") == "zeros":
                continue
            what = labels.get("op") or "latency"
            page = labels.get("page") if labels["tier"].endswith("random") else None
            name = " ".join(str(word) for word in (labels["tier"], what, labels.get("span"), page) if word)
            verdict, state = seen["verdict"], seen.get("state") or {}
            reasons = {reason["reason"] for reason in verdict["reasons"]}
            proven = verdict["grade"] in ("trusted", "bound") and not reasons & {"too_few", "not_reproduced"}
            # What follows the core's clock is held against each other at one clock: of L1 and L2 that is per cycle.
            value, interval = seen["value"], seen.get("interval") or {}
            reference = reference or (clock[0] if clock else None)
            slower = (clock[0] / reference) ** (seen.get("clock_slope") or 0.0) if clock else 1.0
            scale = slower if seen["metric"] == "latency" else 1.0 / slower
            ends = [
                end * scale if end is not None else None for end in (value, interval.get("low"), interval.get("high"))
            ]
            found[name] = Figure(
                ends[0], verdict["grade"], seen["metric"] == "latency", state.get("kind", ""), proven, *ends[1:]
            )
    return found


def with_record(runs):
    """The same surveys in their order, each held against the best that earlier ones have proven."""
    best, held = {}, []
    for label, run in runs:
        now = {}
        for name, figure in run.items():
            known = best.get(name)
            short = known and figure.value is not None and figure.short_of(known, 0.03)
            now[name] = dataclasses.replace(figure, grade="bound") if short and figure.grade == "trusted" else figure
            if figure.proven and figure.value is not None and (not known or known.short_of(figure, 0)):
                best[name] = figure
        held.append((label, now))
    return held


def apart(a, b):
    return max(a, b) / min(a, b) - 1


def show(runs):
    shares = []
    for label, run in runs:
        trusted = sum(figure.grade == "trusted" for figure in run.values())
        lost = sum(figure.value is None for figure in run.values())
        shares.append(trusted / max(len(run), 1))
        print(f"{label:<28} {trusted:>3} of {len(run)} trusted, {lost} withheld")
    inner = [[f.grade == "trusted" for name, f in run.items() if name[:2] in ("L1", "L2")] for _, run in runs]
    print("trusted of L1 and L2:", *(f"{sum(grades)}/{len(grades)}" for grades in inner))
    halves = [
        (f.high - f.low) / 2 / f.value
        for _, run in runs
        for f in run.values()
        if f.grade == "trusted" and f.low is not None
    ]
    if halves:
        print(f"half-width of trusted figures: median {statistics.median(halves):.1%}, widest {max(halves):.1%}")
    print(f"share of trusted figures: median {statistics.median(shares):.0%}, worst {min(shares):.0%}")
    distances, elsewhere, against, overlaps = [], 0, [], []
    for (label_a, one), (label_b, other) in itertools.combinations(runs, 2):
        for name in one.keys() & other.keys():
            a, b = one[name], other[name]
            if a.value is None or b.value is None:
                continue
            # Cpus on one cache and on two are two conditions, and the report says which.
            apart_in_state = bool(a.state and b.state and a.state != b.state)
            if a.grade == b.grade == "trusted":
                if apart_in_state:
                    elsewhere += 1
                else:
                    distances.append((apart(a.value, b.value), name, label_a, label_b))
                    overlaps.append(a.low <= b.high and b.low <= a.high)
            elif {a.grade, b.grade} == {"trusted", "bound"}:
                trusted, bound = (a, b) if a.grade == "trusted" else (b, a)
                # A rate is at least its bound, a time at most.
                if trusted.short_of(bound, 0.02):
                    against.append((apart(a.value, b.value), name, label_a, label_b, apart_in_state))
    if distances:
        print(f"95 % intervals of pairs of trusted values that overlap: {sum(overlaps) / len(overlaps):.1%}")
        for limit in (0.02, 0.04, 0.05):
            share = sum(distance <= limit for distance, *_ in distances) / len(distances)
            print(
                f"pairs of trusted values within {limit:.0%}: {share:.1%} of {len(distances)} ({elsewhere} more in "
                f"different states)"
            )
        print(
            "furthest apart:",
            *(f"{d:.1%} {name} ({a}, {b})" for d, name, a, b in sorted(distances, reverse=True)[:6]),
            sep="\n  ",
        )
    print(
        f"trusted values that contradict a bound by more than 2 %: {len(against)}, "
        f"{sum(case[-1] for case in against)} of them in different states"
    )
    for short, name, a, b, in_states in sorted(against, reverse=True)[:6]:
        print(f"  {short:.1%} {name} ({a}, {b}){' in different states' if in_states else ''}")


def show_both(runs):
    show(runs)
    print("\nWith the record of the surveys before each:")
    show(with_record(runs))


def show_alarms(args):
    """How often `compare` finds an unchanged machine worse by more than 5 %, and in what."""
    alarms, unclear, pairs, names = 0, 0, 0, {}
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
                    name = " ".join(labels[key] for key in ("tier", "op", "span", "page") if labels.get(key))
                    names[name] = names.get(name, 0) + 1
    print(f"compare at 5 %: {alarms} of {pairs} ordered pairs have an alarm, {unclear} have no verdict")
    for name, times in sorted(names.items(), key=lambda item: -item[1])[:10]:
        print(f"  {times:>3} x {name}")


def main():
    args = arguments()
    if args.documents:
        show_both([(pathlib.Path(path).stem, figures(args, path)) for path in args.documents])
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
        runs.append((label, figures(args, path)))
        print(f"{label}: done in {time.monotonic() - began:.0f} s", file=sys.stderr)
        if index + 1 < args.runs:
            time.sleep(max(0.0, args.every - (time.monotonic() - began)))
    show_both(runs)


if __name__ == "__main__":
    main()
