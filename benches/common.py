"""What the benchmark scripts share: running tiermark and its peers, medians, tables. Python standard library only."""

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIERMARK = os.environ.get("TIERMARK", os.path.join(ROOT, "target", "release", "tiermark"))
KIB, MIB = 1 << 10, 1 << 20
# No single command of a comparison may take longer than this, seconds.
LIMIT = 120


def run(command, **more):
    """Runs a command, returns its stdout; stderr is shown when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, **more)
    if done.returncode != 0:
        sys.stderr.write(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-500:]}\n")
        return None
    return done.stdout


def document(arguments):
    """Runs tiermark with these arguments and returns its document."""
    out = run([TIERMARK, *arguments, "--json=-", "--no-save", "-q", "--force", "--allow-partial"])
    return json.loads(out) if out else {"experiments": []}


def findings(arguments):
    """The findings of such a run."""
    return [f for experiment in document(arguments)["experiments"] for f in experiment["findings"]]


def tiermark_bandwidth(op, size, threads):
    """GB/s of the figure, GB/s that was sustained (the best whole pass over memory; in caches the median visit),
    winner and verdict of one step; the
    footprint is each thread's. An operation may end in ` of zeros`."""
    data = ["--data", "zeros"] if op.endswith(" of zeros") else []
    op = op.removesuffix(" of zeros")
    seen = document(
        [
            "bandwidth",
            "--sizes",
            str(size),
            "--op",
            op,
            "--threads",
            "one" if threads == 1 else "cores",
            "--max-time",
            "2s",
            *data,
        ]
    )
    seen = [o for e in seen["experiments"] for o in e["observations"] if o["metric"] == "bandwidth"]
    if not seen or seen[0].get("value") is None:
        return None, None, "", "invalid"
    o = seen[0]
    sustained = (o.get("passes") or {}).get("best") or o["typical"]["median"]
    return o["value"] / 1e9, sustained / 1e9, o["labels"].get("kernel", op), o["verdict"]["grade"]


def tiermark_latency(size, *more):
    """ns and verdict of a random chase."""
    found = [f for f in findings(["latency", "--sizes", str(size), *more]) if f["metric"] == "latency"]
    if not found or found[0]["value"] is None:
        return None, "invalid"
    return found[0]["value"], found[0]["verdict"]["grade"]


def likwid(test, size, threads):
    """GB/s of one likwid-bench kernel; its size is the whole group's. About 0.4 s of work."""
    # Its own calibration takes several seconds; the rates of these tiers are known well enough to choose the passes.
    rate = 300e9 if size <= 64 * KIB else 200e9 if size <= MIB else 100e9 if size <= 16 * MIB else 40e9
    passes = max(10, int(0.4 * rate / size))
    out = run(["likwid-bench", "-t", test, "-i", str(passes), "-w", f"S0:{size * threads // 1000}kB:{threads}"])
    found = re.search(r"MByte/s:\s+([\d.]+)", out or "")
    return float(found.group(1)) / 1e3 if found else None


def sysbench(oper, size, threads):
    """GB/s of sysbench memory, one local block of `size` a thread."""
    out = run(
        [
            "sysbench",
            "memory",
            f"--threads={threads}",
            f"--memory-block-size={size}",
            "--memory-scope=local",
            f"--memory-oper={oper}",
            "--memory-total-size=100T",
            "--time=1",
            "run",
        ]
    )
    found = re.search(r"\(([\d.]+) MiB/sec\)", out or "")
    return float(found.group(1)) * MIB / 1e9 if found else None


def perf_mem(what, size, function):
    """GB/s of perf bench mem; it prints 2^30-based GB and counts a copy once."""
    # The first loop of memset stores zeros, which some memory systems carry faster than data: one of 64 loops moves
    # the mean by 1 %.
    loops = max(64, int(4e9 / size))
    streams = 2 if what == "memcpy" else 1
    out = run(
        [
            "perf",
            "bench",
            "-f",
            "simple",
            "mem",
            what,
            "-s",
            f"{max(1, size // streams)}B",
            "-l",
            str(loops),
            "-f",
            function,
        ]
    )
    found = re.search(r"([\d.]+)\s*(MB|GB)/sec", out or "") or re.search(r"^\s*([\d.]+)\s*$", out or "", re.M)
    if not found:
        return None
    unit = found.group(2) if found.lastindex and found.lastindex > 1 else None
    value = float(found.group(1)) * (MIB if unit == "MB" else 1 << 30 if unit == "GB" else 1)
    return value * streams / 1e9


def mbw(size, method):
    """GB/s of mbw (method 0 memcpy, 1 a loop); it counts a copy once."""
    out = run(["mbw", "-q", "-n", "5", "-a", f"-t{method}", str(max(1, size // 2 // MIB))])
    values = [float(v) for v in re.findall(r"Copy:\s+([\d.]+) MiB/s", out or "")]
    return statistics.median(values) * MIB * 2 / 1e9 if values else None


def need(*programs):
    """Ends with a cure when a program is missing."""
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        names = {"perf": "linux-perf", "cc": "gcc", "redis-benchmark": "redis-tools", "taskset": "util-linux"}
        sys.exit(
            f"missing: {', '.join(missing)}; install with: apt-get install {' '.join(names.get(m, m) for m in missing)}"
        )
    if not os.path.exists(TIERMARK):
        sys.exit(f"{TIERMARK} is not built; run: cargo build --release")


def header(title):
    """A heading with machine and date."""
    model = re.search(r"model name\s*:\s*(.+)", open("/proc/cpuinfo").read())
    name = model.group(1) if model else platform.machine()
    print(f"\n### {title}\n")
    print(f"{name}, {os.cpu_count()} cpus, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}\n")


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def size_name(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
