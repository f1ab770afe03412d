#!/usr/bin/env python3
"""Loaded latency beside the probes it must agree with, A B A B: the unloaded point beside `latency` on the same
footprint, and all cores' rate beside `bandwidth`; the time a curve takes, its points and their verdicts.

    benches/loaded.py [--rounds N]
"""

import argparse
import time

from common import document, header, median, need, row


def value(run, metric, **labels):
    """The value and verdict of a finding."""
    for experiment in run["experiments"]:
        for found in experiment["findings"]:
            if found["metric"] == metric and all(found["labels"].get(k) == v for k, v in labels.items()):
                return found["value"], found["verdict"]["grade"]
    return None, "missing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    need()
    header("Loaded latency beside latency and bandwidth, A B A B")
    idle, alone, peak, all_cores, seconds, points, trusted = [], [], [], [], [], [], []
    row("round", "unloaded ns", "latency ns", "all cores GB/s", "bandwidth GB/s", "seconds", "points", "trusted")
    row(*["---"] * 8)
    for number in range(rounds):
        began = time.monotonic()
        loaded = document(["loaded-latency", "--quick", "--mix", "read"])
        seconds.append(time.monotonic() - began)
        seen = [
            o
            for e in loaded["experiments"]
            for o in e["observations"]
            if o["labels"].get("purpose") in ("load", "unloaded")
        ]
        size = next(o["labels"]["size"] for o in seen if o["labels"]["purpose"] == "unloaded")
        points.append(sum(o["value"] is not None for o in seen))
        trusted.append(sum(o["verdict"]["grade"] == "trusted" for o in seen))
        idle.append(value(loaded, "loaded.unloaded")[0])
        peak.append(value(loaded, "loaded.peak", mix="read")[0])
        alone.append(value(document(["latency", "--quick", "--sizes", str(size)]), "latency")[0])
        each = next(
            o["labels"]["size"]
            for e in loaded["experiments"]
            for o in e["observations"]
            if o["labels"].get("purpose") == "peak"
        )
        plain = document(["bandwidth", "--quick", "--op", "read", "--threads", "cores", "--sizes", str(each)])
        all_cores.append(value(plain, "bandwidth")[0])
        show = lambda v, scale=1.0: f"{v / scale:.1f}" if v is not None else "-"
        row(
            number + 1,
            show(idle[-1]),
            show(alone[-1]),
            show(peak[-1], 1e9),
            show(all_cores[-1], 1e9),
            f"{seconds[-1]:.1f}",
            points[-1],
            trusted[-1],
        )
    # If the machine changes between two states, the ratio of the medians may compare one state with the other: the
    # ratios of single rounds say more.
    each = lambda ours, theirs: median([a / b for a, b in zip(ours, theirs) if a and b])
    print(
        f"\nunloaded / latency **{median(idle) / median(alone):.3f}** (median of the rounds' own "
        f"{each(idle, alone):.3f}), "
        f"all cores / bandwidth **{median(peak) / median(all_cores):.3f}** ({each(peak, all_cores):.3f}), "
        f"{median(seconds):.1f} s a curve of {median(points)} points, {median(trusted)} of them trusted"
    )


if __name__ == "__main__":
    main()
