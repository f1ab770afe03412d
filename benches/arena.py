#!/usr/bin/env python3
"""What a survey pays for its memory: system time, filling, and places, of `survey --quick` (or other arguments).

    benches/arena.py [--runs 3] [ARGUMENTS OF TIERMARK...]

For each run: wall time, cpu time in the kernel and its share of the wall time, what was filled and how long it took,
the fewest and the median visits of a figure, and the places in memory that figures had. The aim: at most 15 % of the
wall time in the kernel where the host gives memory at first touch.
"""

import argparse
import json
import re
import resource
import statistics
import subprocess
import tempfile
import time

from common import TIERMARK


def measured(arguments, path):
    """Wall seconds, seconds in the kernel, and what was said, of one run."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [TIERMARK, *arguments, "-v", "--force", "--allow-partial", "--no-save", f"--json={path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_stime - before.ru_stime, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    own, arguments = parser.parse_known_args()
    arguments = arguments or ["survey", "--quick"]
    print("| wall, s | kernel, s | share | filled | visits of a figure: least, median | places: least, most |")
    print("| ---: | ---: | ---: | --- | ---: | ---: |")
    for _ in range(own.runs):
        with tempfile.NamedTemporaryFile(suffix=".json") as kept:
            wall, kernel, said = measured(arguments, kept.name)
            run = json.load(kept)
        filled = re.findall(r"filling (.*? took .*?/s)", said)
        seen = [s for e in run["experiments"] for s in e["observations"]]
        figures = [s for s in seen if s["labels"].get("purpose") == "ladder" and s["allocations"]]
        visits = sorted(s["disturbance"]["shots"] for s in figures) or [0]
        places = sorted(s["allocations"] for s in figures) or [0]
        print(
            f"| {wall:.1f} | {kernel:.1f} | {kernel / wall:.0%} | {'; '.join(filled) or 'nothing'} "
            f"| {visits[0]}, {statistics.median(visits):.0f} | {places[0]}, {places[-1]} |"
        )


if __name__ == "__main__":
    main()
