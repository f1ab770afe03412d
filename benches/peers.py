#!/usr/bin/env python3
"""Bandwidth beside the peers, A B A B in one run: ours over the best of likwid-bench, mbw, sysbench and perf bench mem.

    benches/peers.py [--rounds N] [--jobs LIST] [--sizes LIST] [--threads LIST]

Bytes are counted alike: read and write once, copy read + written, triad three arrays. Each cell first runs every
variant of every peer once; the two best then alternate with tiermark for N rounds, 2 s of ours and about as much of
each of theirs. Two ratios are printed: best against best (the best rate that ours sustained: a whole pass over memory;
in caches the median visit of a run), and median against median of the rounds, of the peer whose median is higher, with
its 95 % interval (bootstrap over rounds). The last line says what was aimed at: no interval below 1, the median of all
ratios at least 1.

Like is compared with like: perf bench mem memcpy copies zeros (its source is never filled), which this memory system
carries faster than data, so it stands against `--data zeros`. mbw's third method (-t2) is left out: it copies one 256
KiB block again and again (its source pointer never moves), so that it measures stores with a cached source.
"""

import argparse
import os
import random
import statistics

from common import KIB, MIB, header, likwid, mbw, need, perf_mem, row, size_name, sysbench, tiermark_bandwidth

SIZES = [16 * KIB, 512 * KIB, 8 * MIB, 512 * MIB]
ISAS = ["avx512", "avx", "sse"]
# Of each cell: best against best, median against median, and the end of its interval.
CELLS = []
# Our operation, likwid-bench's kernels, and what else does the same.
JOBS = {
    "read": [f"load_{isa}" for isa in ISAS],
    "write": [f"store_{isa}" for isa in ISAS] + [f"store_mem_{isa}" for isa in ISAS],
    "copy": [f"copy_{isa}" for isa in ISAS] + [f"copy_mem_{isa}" for isa in ISAS],
    "triad": [f"stream_{isa}" for isa in ISAS]
    + [f"stream_{i}_fma" for i in ("avx512", "avx", "sse")]
    + [f"stream_mem_{isa}" for isa in ISAS],
    "copy of zeros": [],
    "write.nt": [f"store_mem_{isa}" for isa in ISAS],
    "copy.nt": [f"copy_mem_{isa}" for isa in ISAS],
    "triad.nt": [f"stream_mem_{isa}" for isa in ISAS],
}


def rivals(job, size, threads):
    """Peers of a cell by name: functions that give GB/s."""
    peers = {f"likwid {t}": (lambda t=t: likwid(t, size, threads)) for t in JOBS[job]}
    if job in ("read", "write"):
        peers[f"sysbench {job}"] = lambda: sysbench(job, size, threads)
    if threads == 1 and job in ("write", "copy of zeros"):
        what = "memset" if job == "write" else "memcpy"
        functions = ["default", "x86-64-unrolled", "x86-64-stosb" if job == "write" else "x86-64-movsb"]
        for function in functions:
            peers[f"perf {what} {function}"] = lambda f=function: perf_mem(what, size, f)
    if threads == 1 and job == "copy" and size >= 4 * MIB:
        for method in (0, 1):
            peers[f"mbw -t{method}"] = lambda m=method: mbw(size, m)
    return peers


def cell(job, size, threads, rounds):
    peers = rivals(job, size, threads)
    first = {name: peer() for name, peer in peers.items()}
    known = {name: value for name, value in first.items() if value is not None}
    if not known:
        return
    # The two best of the first look go on: one look may have been disturbed.
    finalists = sorted(known, key=known.get, reverse=True)[:2]
    ours, sustained, theirs, kernels, grades = [], [], {name: [] for name in finalists}, [], []
    for _ in range(rounds):
        value, lasting, kernel, grade = tiermark_bandwidth(job, size, threads)
        ours.append(value)
        sustained.append(lasting)
        kernels.append(kernel)
        grades.append(grade)
        for name in finalists:
            theirs[name].append(peers[name]())
    known = {name: [value for value in values if value] for name, values in theirs.items()}
    known = {name: values for name, values in known.items() if values}
    mine, lasting = [value for value in ours if value], [value for value in sustained if value]
    if not mine or not lasting or not known:
        return
    rival = max(known, key=lambda name: statistics.median(known[name]))
    strongest = max(known, key=lambda name: max(known[name]))
    best = max(lasting) / max(known[strongest])
    middle, low, high = interval(mine, known[rival])
    row(
        size_name(size),
        threads,
        job,
        f"{statistics.median(mine):.1f}",
        max(set(kernels), key=kernels.count),
        max(set(grades), key=grades.count),
        f"{statistics.median(known[rival]):.1f}",
        rival,
        f"**{best:.2f}**",
        f"**{middle:.2f}** ({low:.2f} to {high:.2f})",
    )
    CELLS.append((best, middle, high))


def interval(ours, theirs, resamples=2000):
    """The ratio of medians, and its 95 % interval."""
    chance = random.Random(1)
    drawn = lambda values: statistics.median(chance.choices(values, k=len(values)))
    ratios = sorted(drawn(ours) / drawn(theirs) for _ in range(resamples))
    middle = statistics.median(ours) / statistics.median(theirs)
    return middle, ratios[int(0.025 * resamples)], ratios[int(0.975 * resamples)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes of each thread")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    args = parser.parse_args()
    need("likwid-bench", "mbw", "sysbench", "perf")
    header("Bandwidth beside the peers")
    print(
        f"GB/s (10⁹) of {args.rounds} alternating runs: medians, and the ratios best against best and median against "
        "median with its 95 % interval.\n"
    )
    row(
        "footprint a thread",
        "threads",
        "job",
        "tiermark",
        "kernel",
        "verdict",
        "best peer",
        "which",
        "best",
        "median",
    )
    row(*["---"] * 10)
    for threads in dict.fromkeys(int(t) for t in args.threads.split(",")):
        for size in map(int, args.sizes.split(",")):
            for job in args.jobs.split(","):
                cell(job, size, threads, args.rounds)
    if CELLS:
        below = sum(high < 1.0 for *_, high in CELLS)
        medians = [statistics.median(part) for part in list(zip(*CELLS))[:2]]
        print(f"\n{len(CELLS)} cells, median ratios {medians[0]:.2f} and {medians[1]:.2f}, {below} intervals below 1.00")


if __name__ == "__main__":
    main()
