#!/usr/bin/env python3
"""Latency and steadiness: L1 in cycles, DRAM beside a plain chase, repeated latencies, and quiet against beside busy
loops.

    benches/steady.py [--runs N] [--rounds N] [--parts LIST]

The plain chase (plain_chase.c) is one proven cycle with a timer around all accesses, as most tools do it. Debian has no
packaged tool that chases one proven cycle.
"""

import argparse
import os
import subprocess
import tempfile
import time

from common import (
    KIB,
    MIB,
    ROOT,
    document,
    header,
    likwid,
    mbw,
    median,
    need,
    row,
    run,
    sysbench,
    tiermark_bandwidth,
    tiermark_latency,
)

DRAM = 256 * MIB


def compile_plain():
    """Builds the plain chase; returns a function that gives its ns per access."""
    program = os.path.join(tempfile.mkdtemp(), "plain_chase")
    if run(["cc", "-O2", "-o", program, os.path.join(ROOT, "benches", "plain_chase.c")]) is None:
        raise SystemExit("plain_chase.c did not compile; install with: apt-get install gcc")
    return lambda: float(run(["taskset", "-c", "1", program, str(DRAM), "1"]) or "nan")


def cycles(rounds):
    header("L1 latency in cycles of the measured clock")
    values = []
    for _ in range(rounds):
        seen = document(["latency", "--sizes", str(16 * KIB)])["experiments"][0]["observations"][0]
        values.append(seen["value"] * seen["core_hz"] / 1e9)
    mid = median(values)
    print("cycles: " + ", ".join(f"{v:.3f}" for v in values))
    print(f"\nmedian {mid:.3f} cycles, off a whole number by **{abs(mid / round(mid) - 1) * 100:.1f} %**")


def beside_plain(rounds, plain):
    header(f"DRAM random chase at {DRAM // MIB} MiB with THP, beside a plain timer, A B A B")
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(tiermark_latency(DRAM)[0])
        theirs.append(plain())
    a, b = median(ours), median(theirs)
    print(f"tiermark {a:.1f} ns, plain {b:.1f} ns, ratio **{a / b:.3f}**")


def spread(values):
    return f"{(max(values) - min(values)) / median(values) * 100:.1f} %"


def repeat(runs, plain):
    header(f"Repeatability: {runs} runs of `latency` at {DRAM // MIB} MiB, each followed by a plain chase")
    results, plains = [], []
    for _ in range(runs):
        results.append(tiermark_latency(DRAM))
        plains.append(plain())
    values = [v for v, _ in results if v is not None]
    trusted = sum(grade == "trusted" for _, grade in results)
    print("tiermark ns: " + ", ".join(f"{v:.1f}" for v in values))
    print("plain ns: " + ", ".join(f"{v:.1f}" for v in plains))
    print(
        f"\nmedian {median(values):.1f} ns, spread (max − min)/median **{spread(values)}**, {trusted} of {runs} "
        f"trusted; "
        f"of the plain chase in between {spread(plains)}"
    )


def busy(loops):
    """Two busy loops, ended by the returned function."""
    process = subprocess.Popen(["stress-ng", "--cpu", str(loops), "--timeout", "300", "--quiet"])
    time.sleep(0.5)

    def end():
        process.terminate()
        process.wait(timeout=10)

    return end


def measures(cpus, plain):
    """What is measured quiet and busy: name, function giving (value, verdict)."""
    rows = [
        ("tiermark latency, DRAM (ns)", lambda: tiermark_latency(DRAM)),
        ("plain chase, DRAM (ns)", lambda: (plain(), "-")),
        ("tiermark read, 1 thread (GB/s)", lambda: tiermark_bandwidth("read", DRAM, 1)[::3]),
        (f"tiermark read, {cpus} threads (GB/s)", lambda: tiermark_bandwidth("read", DRAM, cpus)[::3]),
        ("tiermark copy, 1 thread (GB/s)", lambda: tiermark_bandwidth("copy", DRAM, 1)[::3]),
        ("likwid-bench load_avx512, 1 thread", lambda: (likwid("load_avx512", DRAM, 1), "-")),
        (f"likwid-bench load_avx512, {cpus} threads", lambda: (likwid("load_avx512", DRAM, cpus), "-")),
        ("likwid-bench copy_avx512, 1 thread", lambda: (likwid("copy_avx512", DRAM, 1), "-")),
        ("sysbench memory read, 1 thread", lambda: (sysbench("read", DRAM, 1), "-")),
        (f"sysbench memory read, {cpus} threads", lambda: (sysbench("read", DRAM, cpus), "-")),
        ("mbw memcpy", lambda: (mbw(DRAM, 0), "-")),
    ]
    return rows


def disturbed(rounds, plain):
    cpus = os.cpu_count()
    header(f"Quiet against beside `stress-ng --cpu {cpus}`, {rounds} rounds, A B A B")
    row("what", "quiet", "busy", "off by", "verdicts when busy")
    row(*["---"] * 5)
    for name, measure in measures(cpus, plain):
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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", default="cycles,plain,repeat,busy")
    args = parser.parse_args()
    need("likwid-bench", "mbw", "sysbench", "stress-ng", "cc")
    plain = compile_plain()
    parts = {
        "cycles": lambda: cycles(args.rounds),
        "plain": lambda: beside_plain(args.rounds, plain),
        "repeat": lambda: repeat(args.runs, plain),
        "busy": lambda: disturbed(args.rounds, plain),
    }
    for part in args.parts.split(","):
        parts[part]()


if __name__ == "__main__":
    main()
