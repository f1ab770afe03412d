#!/usr/bin/env python3
"""Do visits of 2 ms find the latency of a chase that goes on? Runs `tiermark selftest --continuous` several times.

    benches/continuous.py [RUNS]

Counts for each size how many of the judged figures agree. Ends with 1 if a trusted one does not.
"""

import re
import subprocess
import sys

from common import TIERMARK, header, need, row

# Size, unit, three numbers (a bound, a mark or a dash in the place of the second), grade, ratio, tolerance, position.
LINE = re.compile(
    r"\s*(\d+\s[KMG]iB)\s+(cycles|ns)\s.*\s(trusted|shared)\s+([\d.]+)\s+([\d.]+\s%)\s+(within|below|above)"
)


def main():
    need()
    runs, failed, sizes = int(sys.argv[1]) if len(sys.argv) > 1 else 5, 0, {}
    for _ in range(runs):
        done = subprocess.run([TIERMARK, "selftest", "--continuous", "--width=120"], capture_output=True, text=True)
        failed += done.returncode == 1
        for size, unit, grade, ratio, tolerance, position in filter(None, map(judged, done.stdout.splitlines())):
            sizes.setdefault((size, unit, tolerance), []).append((float(ratio), grade, position))
    header(f"Visits against a continuous chase, {runs} runs")
    row("size", "unit", "tolerance", "trusted, shared", "agree", "visits / nearer continuous run")
    row(*["---"] * 6)
    for (size, unit, tolerance), seen in sizes.items():
        grades = [grade for _, grade, _ in seen]
        agree = sum(position == "within" for *_, position in seen)
        ratios = [ratio for ratio, *_ in seen]
        counts = f"{grades.count('trusted')}, {grades.count('shared')}"
        row(size, unit, tolerance, counts, f"{agree} of {len(seen)}", f"{min(ratios):.3f} to {max(ratios):.3f}")
    sys.exit(failed > 0)


def judged(line):
    """Its columns, where a line has a figure that may be judged."""
    found = LINE.match(line)
    return found and (found[2] == "ns" or found[3] == "trusted") and found.groups()


if __name__ == "__main__":
    main()
