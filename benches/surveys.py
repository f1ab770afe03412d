#!/usr/bin/env python3
"""How well surveys of one machine agree: runs some, minutes apart, and holds every trusted figure against the others.

    benches/surveys.py --runs 10 --every 360            standard surveys
    benches/surveys.py --runs 10 --every 300 --quick
    benches/surveys.py --beside 'stress-ng --cpu 2'     A B A B: without and with other work
    benches/surveys.py DOCUMENT...                      documents that are there already

Prints the share of trusted figures of each survey, how far trusted values of pairs of surveys are apart, and whether any
trusted value contradicts a bound. Documents are kept in --keep.
"""
import argparse
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


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", help="saved documents instead of new runs")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--every", type=float, default=360.0, help="seconds from one start to the next")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--beside", help="other work, run beside every second survey")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for the documents")
    parser.add_argument("--binary", default=str(HERE.parent / "target/release/tiermark"))
    return parser.parse_args()


def survey(args, path, beside):
    command = [args.binary, "survey", "--force", "--no-save", "--no-record", "-q", f"--json={path}"]
    other = subprocess.Popen(shlex.split(args.beside), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if beside else None
    try:
        subprocess.run(command + (["--quick"] if args.quick else []), stdout=subprocess.DEVNULL, check=False, timeout=300)
    finally:
        if other:
            other.terminate()
            other.wait(timeout=30)


def figures(path):
    """The ladder of a survey: name -> (value, grade, whether it is a time)."""
    document = json.loads(pathlib.Path(path).read_text())
    found = {}
    for experiment in document["experiments"]:
        for seen in experiment["observations"]:
            labels = seen["labels"]
            if labels.get("purpose") != "ladder" or labels.get("data") == "zeros":
                continue
            what = labels.get("op") or "latency"
            name = " ".join(str(word) for word in (labels["tier"], what, labels.get("span")) if word)
            # Rungs lie where each run has found the tier: figures of other footprints are other figures.
            found[name] = (seen["value"], seen["verdict"]["grade"], seen["metric"] == "latency")
    return found


def apart(a, b):
    return max(a, b) / min(a, b) - 1


def show(runs):
    shares = []
    for label, run in runs:
        trusted = sum(grade == "trusted" for _, grade, _ in run.values())
        lost = sum(value is None for value, _, _ in run.values())
        shares.append(trusted / max(len(run), 1))
        print(f"{label:<28} {trusted:>3} of {len(run)} trusted, {lost} withheld")
    print(f"share of trusted figures: median {statistics.median(shares):.0%}, worst {min(shares):.0%}")
    distances, against = [], []
    for (label_a, one), (label_b, other) in itertools.combinations(runs, 2):
        for name in one.keys() & other.keys():
            (a, grade_a, is_time), (b, grade_b, _) = one[name], other[name]
            if a is None or b is None:
                continue
            if grade_a == grade_b == "trusted":
                distances.append((apart(a, b), name, label_a, label_b))
            elif "trusted" in (grade_a, grade_b) and "bound" in (grade_a, grade_b):
                trusted, bound = (a, b) if grade_a == "trusted" else (b, a)
                # A rate is at least its bound, a time at most.
                short = trusted / bound - 1 if is_time else bound / trusted - 1
                if short > 0.02:
                    against.append((short, name, label_a, label_b))
    if distances:
        for limit in (0.02, 0.04, 0.05):
            share = sum(distance <= limit for distance, *_ in distances) / len(distances)
            print(f"pairs of trusted values within {limit:.0%}: {share:.1%} of {len(distances)}")
        print("furthest apart:", *(f"{d:.1%} {name} ({a}, {b})" for d, name, a, b in sorted(distances, reverse=True)[:6]), sep="\n  ")
    print(f"trusted values that contradict a bound by more than 2 %: {len(against)}")
    for short, name, a, b in sorted(against, reverse=True)[:6]:
        print(f"  {short:.1%} {name} ({a}, {b})")


def main():
    args = arguments()
    if args.documents:
        show([(pathlib.Path(path).stem, figures(path)) for path in args.documents])
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
