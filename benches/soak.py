#!/usr/bin/env python3
"""What a soak reaches of the bandwidth that `bandwidth` reports, and how much it checks beside stressapptest.

    benches/soak.py [--rounds 3] [--seconds 20] [--mib 4096]

In turn, so that all see the same minutes, by one cpu and by all: `bandwidth --op read,write.nt` on as much memory as
DRAM needs, `soak`, and stressapptest (Debian has it) with as much memory for as long. stressapptest reports what it
copies, reads and writes counted apart; a byte that it checks is read and written once, so its checked bytes are half of
that. Those of a soak are what its document says was compared. Ratios are of rounds; the median of them is printed.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

from common import TIERMARK


def document(*arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as kept:
        command = [TIERMARK, *arguments, "--force", "--allow-partial", "--no-save", "--quiet", f"--json={kept.name}"]
        subprocess.run(command, capture_output=True, timeout=900, check=False)
        return json.load(open(kept.name))


def bandwidth(cpus):
    """The best rates of reading and of writing past the caches, GB/s."""
    run = document("bandwidth", "--op", "read,write.nt,write", "--sizes", "1G", "--threads", str(len(cpus.split(","))),
                   "--cpus", cpus, "--max-time", "15")
    rates = {"read": 0.0, "write": 0.0}
    for seen in run["experiments"][0]["observations"]:
        op = "read" if seen["labels"].get("op") == "read" else "write"
        rates[op] = max(rates[op], (seen["value"] or 0.0) / 1e9)
    return rates


def soak(cpus, seconds, mib):
    run = document("soak", "--cpus", cpus, "--time", f"{seconds}s", "--max-mem", f"{mib}M")
    found = run["experiments"][0]["observations"][0]
    node = found["soak"]["memory"][0]
    return {"read": node["read"] / 1e9, "write": node["written"] / 1e9, "checked": node["checked"] / seconds / 1e9}


def stressapptest(cpus, seconds, mib):
    """Bytes copied a second, reads and writes counted apart, GB/s; 0 where it is not there."""
    if not shutil.which("stressapptest"):
        return 0.0
    command = ["taskset", "-c", cpus, "stressapptest", "-s", str(seconds), "-M", str(mib), "-W", "-m",
               str(len(cpus.split(",")))]
    text = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False).stdout
    rate = re.search(r"Memory Copy: [\d.]+M at ([\d.]+)MB/s", text)
    return float(rate.group(1)) / 1e3 if rate else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--mib", type=int, default=4096)
    own = parser.parse_args()
    allowed = sorted(os.sched_getaffinity(0))
    print("| cpus | soak reads, GB/s | of `bandwidth` | writes | of `bandwidth` | checks | of stressapptest |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for cpus in [str(allowed[0]), ",".join(map(str, allowed))]:
        rounds = []
        for _ in range(own.rounds):
            known, soaked = bandwidth(cpus), soak(cpus, own.seconds, own.mib)
            rival = stressapptest(cpus, own.seconds, own.mib) / 2
            rounds.append((soaked, soaked["read"] / known["read"], soaked["write"] / known["write"],
                           soaked["checked"] / rival if rival else float("nan")))
        middle = lambda of: statistics.median(map(of, rounds))
        print(f"| {len(cpus.split(','))} | {middle(lambda r: r[0]['read']):.1f} | {middle(lambda r: r[1]):.2f} "
              f"| {middle(lambda r: r[0]['write']):.1f} | {middle(lambda r: r[2]):.2f} "
              f"| {middle(lambda r: r[0]['checked']):.1f} | {middle(lambda r: r[3]):.2f} |", flush=True)


if __name__ == "__main__":
    main()
