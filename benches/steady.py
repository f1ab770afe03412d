#!/usr/bin/env python3
"""Steadiness: repeated latencies on the machine as it is, and quiet against beside two busy loops, peers beside ours.

    benches/steady.py [--runs N] [--rounds N]
"""

import argparse
import os
import subprocess
import time

from common import MIB, header, likwid, mbw, median, need, row, run, sysbench, tiermark_bandwidth, tiermark_latency

DRAM = 256 * MIB


def repeat(runs):
    header(f"Repeatability: {runs} runs of `latency` at {DRAM // MIB} MiB")
    results = [tiermark_latency(DRAM) for _ in range(runs)]
    values = [v for v, _ in results if v is not None]
    trusted = sum(grade == "trusted" for _, grade in results)
    mid = median(values)
    print("ns: " + ", ".join(f"{v:.1f}" for v in values))
    print(f"\nmedian {mid:.1f} ns, spread (max − min)/median **{(max(values) - min(values)) / mid * 100:.1f} %**, {trusted} of {runs} trusted")


def busy(loops):
    """Two busy loops, ended by the returned function."""
    process = subprocess.Popen(["stress-ng", "--cpu", str(loops), "--timeout", "300", "--quiet"])
    time.sleep(0.5)

    def end():
        process.terminate()
        process.wait(timeout=10)

    return end


def measures(cpus):
    """What is measured quiet and busy: name, function giving (value, verdict)."""
    rows = [
        ("tiermark latency, DRAM (ns)", lambda: tiermark_latency(DRAM)),
        ("tiermark read, 1 thread (GB/s)", lambda: tiermark_bandwidth("read", DRAM, 1)[::2]),
        (f"tiermark read, {cpus} threads (GB/s)", lambda: tiermark_bandwidth("read", DRAM, cpus)[::2]),
        ("tiermark copy, 1 thread (GB/s)", lambda: tiermark_bandwidth("copy", DRAM, 1)[::2]),
        ("likwid-bench load_avx512, 1 thread", lambda: (likwid("load_avx512", DRAM, 1), "-")),
        (f"likwid-bench load_avx512, {cpus} threads", lambda: (likwid("load_avx512", DRAM, cpus), "-")),
        ("likwid-bench copy_avx512, 1 thread", lambda: (likwid("copy_avx512", DRAM, 1), "-")),
        ("sysbench memory read, 1 thread", lambda: (sysbench("read", DRAM, 1), "-")),
        (f"sysbench memory read, {cpus} threads", lambda: (sysbench("read", DRAM, cpus), "-")),
        ("mbw memcpy by blocks", lambda: (mbw(DRAM, 2), "-")),
    ]
    return rows


def disturbed(rounds):
    cpus = os.cpu_count()
    header(f"Quiet against beside `stress-ng --cpu {cpus}`, {rounds} rounds, A B A B")
    row("what", "quiet", "busy", "off by", "verdicts when busy")
    row(*["---"] * 5)
    for name, measure in measures(cpus):
        quiet, noisy, grades = [], [], []
        for _ in range(rounds):
            quiet.append(measure()[0])
            end = busy(cpus)
            try:
                value, grade = measure()
            finally:
                end()
            noisy.append(value)
            grades.append(grade)
        a, b = median(quiet), median(noisy)
        off = f"**{(b / a - 1) * 100:+.1f} %**" if a and b else "-"
        row(name, f"{a:.1f}" if a else "-", f"{b:.1f}" if b else "-", off, ", ".join(sorted(set(grades))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    need("likwid-bench", "mbw", "sysbench", "stress-ng")
    repeat(args.runs)
    disturbed(args.rounds)


if __name__ == "__main__":
    main()
