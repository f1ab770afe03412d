#!/usr/bin/env python3
"""Operating-system primitives beside `perf bench`, `stress-ng` and a bare loop in C (benches/os_bare.c), A B A B,
medians.

    benches/primitives.py [--rounds N] [--seconds S] [--only TEXT,...] [--fifo]

Needs a C compiler, linux-perf and stress-ng; strace, where it is there, counts what stress-ng does besides.
Everything runs on the cpu that tiermark chooses, and on the nearest other one. All values are ns of an operation, a
ratio is ours over theirs: at most 1.02 is the goal where the same thing is done. Peers print the mean of a whole run,
tiermark and the bare loop the median of blocks of at least 20 us: on a machine with other work a mean holds what
others did, so the bare loop's own mean stands beside its median. --fifo gives everything a real-time policy (chrt -f
1), for such machines.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

from common import KIB, LIMIT, MIB, ROOT, TIERMARK, document, header, median, need, row, run

# Memory that the forks of the table copy.
RESIDENT = 64 * MIB
# What a bare process has written by itself.
BARE_KIB = 170


class Ours:
    """tiermark's numbers of one round; a primitive is measured once a round."""

    def __init__(self):
        self.known = {}

    def next_round(self):
        self.known.clear()

    def get(self, primitive, wanted, size=None):
        """ns and verdict of the point whose labels are those wanted; a bandwidth becomes the time of so many bytes."""
        if primitive not in self.known:
            runs = document(["os", "--only", primitive])["experiments"]
            self.known[primitive] = [
                f for e in runs for f in e["findings"] if f["metric"] in ("os.latency", "os.bandwidth")
            ]
        for found in self.known[primitive]:
            if found["value"] is None or any(found["labels"].get(key) != value for key, value in wanted.items()):
                continue
            value = size / found["value"] * 1e9 if found["metric"] == "os.bandwidth" else found["value"]
            return value, found["verdict"]["grade"]
        return None, "invalid"

    @staticmethod
    def cpus():
        """The cpu that it chooses, and where a partner is nearest."""
        runs = document(["os", "--only", "process switch pipe", "--quick"])["experiments"]
        labels = [f["labels"] for e in runs for f in e["findings"]]
        own = int(labels[0]["cpus"])
        return own, next((int(l["to"]) for l in labels if int(l["to"]) != own), own)


def simple(out):
    """Seconds as `perf bench -f simple` prints them, in ns."""
    found = re.search(r"^\s*([\d.]+)\s*$", out or "", re.M)
    return float(found.group(1)) * 1e9 if found else None


def pin_sides(pid, threads, cpus):
    """Pins the two sides of perf's pipe, parent and child or its two threads. Whether both were there within a
    second.
    """
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            tasks = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
            children = open(f"/proc/{pid}/task/{pid}/children").read().split()
            sides = tasks[1:] if threads else [pid, *map(int, children)]
            if len(sides) == 2:
                for side, cpu in zip(sides, cpus):
                    os.sched_setaffinity(side, {cpu})
                return True
        except OSError:
            return False
        time.sleep(0.001)
    return False


@dataclass
class Peers:
    """The peers' commands, on these cpus. All return ns of an operation, or None."""

    bare_program: str
    cpu: int
    other: int
    # A bare process as large as the one from which tiermark forks.
    own: list = field(default_factory=list)

    def on(self, *command):
        return run(["taskset", "-c", str(self.cpu), *command])

    def bare(self, job, *more):
        """The median block's and the mean."""
        at = [] if "-c" in more else ["-c", str(self.cpu)]
        found = re.match(r"median ([\d.]+) mean ([\d.]+)", run([self.bare_program, job, *at, *more]) or "")
        return [float(v) for v in found.groups()] if found else [None, None]

    def getppid(self):
        loops = 3_000_000
        whole = simple(self.on("perf", "bench", "-f", "simple", "syscall", "basic", "-l", str(loops)))
        return whole and whole / loops

    def pipe(self, two_cpus, *kind):
        """There and back. On two cpus, each side is pinned as soon as it is there."""
        loops = 20_000 if two_cpus else 120_000
        cpus = f"{self.cpu},{self.other}" if two_cpus else str(self.cpu)
        command = ["taskset", "-c", cpus, "perf", "bench", "-f", "simple", "sched", "pipe", "-l", str(loops), *kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
            pinned = not two_cpus or pin_sides(bench.pid, "-T" in kind, (self.cpu, self.other))
            whole = simple(bench.communicate(timeout=LIMIT)[0])
        return whole / loops if whole and pinned else None

    def memory(self, what, size):
        """The C library's function; bytes of a copy are counted once. With -f simple it prints bytes a second."""
        loops = max(64, int(2e10 / size))
        out = self.on("perf", "bench", "-f", "simple", "mem", what, "-s", f"{size}B", "-l", str(loops), "-f", "default")
        found = re.search(r"^\s*([\d.]+)\s*$", out or "", re.M)
        return size / float(found.group(1)) * 1e9 if found else None

    def stress(self, what, operations, pattern=None, more=(), a_second=None):
        """The real time of a bogo operation, or what the pattern finds among the metrics: ns, or calls a second, of
        which ours are so many.
        """
        command = ["stress-ng", f"--{what}", "1", f"--{what}-ops", str(operations), *more, "--metrics"]
        done = subprocess.run(["taskset", "-c", str(self.cpu), *command], capture_output=True, text=True, timeout=LIMIT)
        found = re.search(pattern or rf"\b{what}\s+(\d+)\s+([\d.]+)\s", done.stdout + done.stderr)
        if not found:
            sys.stderr.write(f"{' '.join(command)}: {(done.stdout + done.stderr)[-300:]}\n")
            return None
        if not pattern:
            return float(found.group(2)) / float(found.group(1)) * 1e9
        return a_second * 1e9 / float(found.group(1)) if a_second else float(found.group(1))


@dataclass
class Row:
    """One comparison: the point of ours, and what stands beside it."""

    name: str
    primitive: str
    bare: tuple
    wanted: dict = field(default_factory=dict)
    size: int | None = None
    peers: dict = field(default_factory=dict)


def rows(p):
    """What is compared."""
    both = f"{p.cpu},{p.other}"
    here, there = ({"to": str(cpu), "working set": 0} for cpu in (p.cpu, p.other))
    resident = {"resident": RESIDENT, "page": "base"}
    table = [
        Row("getppid", "getppid", ("getppid",), peers={"perf syscall basic": p.getppid}),
        Row(
            "clock_gettime",
            "clock_gettime",
            ("clock_gettime",),
            peers={
                "stress-ng vdso": lambda: p.stress(
                    "vdso", 10_000_000, r"vdso\s+([\d.]+) nanosecs per call", ("--vdso-func", "clock_gettime")
                )
            },
        ),
        Row("read 4 KiB", "read", ("read", "-b", "4096"), {"size": 4 * KIB}, 4 * KIB),
        Row("write 1 B", "write", ("write", "-b", "1"), {"size": 1}),
        Row("open+close", "open+close", ("open+close",)),
        Row("fault anonymous", "fault anonymous", ("fault",), {"page": "base"}),
        Row(
            "fork+exit, 64 MiB",
            "fork+exit",
            ("fork", *p.own),
            resident,
            peers={"bare, 64 MiB and nothing else": lambda: p.bare("fork", "-r", str(RESIDENT // KIB))[0]},
        ),
        Row("fork+exec, 64 MiB", "fork+exec", ("exec", "-x", TIERMARK, *p.own), resident),
        Row(
            "vfork+exit",
            "vfork+exit",
            ("vfork", *p.own[4:]),
            {"resident": MIB},
            peers={
                "stress-ng vfork": lambda: p.stress("vfork", 20_000),
                "bare, a single thread": lambda: p.bare("vfork")[0],
            },
        ),
        Row("posix_spawn", "posix_spawn", ("spawn", "-x", TIERMARK), {"resident": MIB}),
        Row("thread create+join", "thread create+join", ("thread",)),
        Row(
            "swapcontext",
            "swapcontext pair",
            ("swapcontext",),
            peers={
                "stress-ng context": lambda: p.stress(
                    "context", 1_500, r"context\s+([\d.]+) swapcontext calls per sec", a_second=2
                )
            },
        ),
        Row(
            "process pipe, one cpu",
            "process switch pipe",
            ("pipe-process",),
            here,
            peers={"perf sched pipe": lambda: p.pipe(False)},
        ),
        Row(
            "process pipe, two cpus",
            "process switch pipe",
            ("pipe-process", "-c", both),
            there,
            peers={"perf sched pipe": lambda: p.pipe(True)},
        ),
        Row(
            "thread pipe, one cpu",
            "thread switch pipe",
            ("pipe-thread",),
            here,
            peers={"perf sched pipe -T": lambda: p.pipe(False, "-T")},
        ),
        Row(
            "thread pipe, two cpus",
            "thread switch pipe",
            ("pipe-thread", "-c", both),
            there,
            peers={"perf sched pipe -T": lambda: p.pipe(True, "-T")},
        ),
        Row(
            "pipe of 64 KiB blocks, one cpu",
            "pipe",
            ("pipe-stream", "-b", "65536"),
            {"size": 64 * KIB, "capacity": 64 * KIB, "to": str(p.cpu)},
            64 * KIB,
        ),
        Row(
            "pipe of 64 KiB blocks, two cpus",
            "pipe",
            ("pipe-stream", "-b", "65536", "-c", both),
            {"size": 64 * KIB, "capacity": 64 * KIB, "to": str(p.other)},
            64 * KIB,
        ),
    ]
    for what in ("memcpy", "memset"):
        for size, text in ((4 * KIB, "4 KiB"), (256 * KIB, "256 KiB")):
            table.append(
                Row(
                    f"{what} {text}",
                    what,
                    (what, "-b", str(size)),
                    {"size": size},
                    size,
                    {f"perf mem {what}": lambda w=what, s=size: p.memory(w, s)},
                )
            )
    return table


def own_memory():
    """Arguments that make a bare process as large as the one from which tiermark forks with 64 MiB: memory that is
    copied, mappings, threads.
    """
    seen, over = [], threading.Event()

    def look(pid):
        while not over.wait(0.03):
            try:
                # Its only child holds the memory.
                holder = open(f"/proc/{pid}/task/{pid}/children").read().split()[0]
                status, maps = (open(f"/proc/{holder}/{name}").read() for name in ("status", "smaps"))
            except (OSError, IndexError):
                continue
            areas = zip(re.findall(r"^Anonymous:\s+(\d+)", maps, re.M), re.findall(r"^VmFlags:(.*)", maps, re.M))
            # Without what a fork leaves out ("dc").
            copied = [int(kib) for kib, flags in areas if "dc" not in flags.split()]
            if max(copied, default=0) == RESIDENT // KIB:
                seen.append((sum(copied), len(copied), int(re.search(r"Threads:\s+(\d+)", status).group(1))))

    command = [TIERMARK, "os", "--only", "fork+exit", "--quick", "--force", "--no-save", "-q"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as ours:
        thread = threading.Thread(target=look, args=(ours.pid,))
        thread.start()
        ours.wait(LIMIT)
        over.set()
        thread.join()
    if not seen:
        sys.exit("no child of tiermark was ever seen with 64 MiB to be copied")
    kib, mappings, threads = (int(statistics.median(column)) for column in zip(*seen))
    # The bare loop's first thread is one of them.
    return ["-r", str(kib - BARE_KIB), "-m", str(mappings), "-t", str(threads - 1)]


def shown(values):
    digits = lambda v: f"{v:.1f}" if v < 1_000 else f"{v:.0f}"
    return " ".join(digits(v) if v is not None else "-" for v in values)


def compare(table, p, rounds, end):
    """Runs the rounds, as many as begin before the end, and prints the table."""
    ours = Ours()
    values, theirs, grades = {r.name: [] for r in table}, {r.name: {} for r in table}, {r.name: [] for r in table}
    for number in range(rounds):
        if number and time.monotonic() > end:
            break
        ours.next_round()
        for r in table:
            value, grade = ours.get(r.primitive, r.wanted, r.size)
            values[r.name].append(value)
            grades[r.name].append(grade)
            for name, peer in r.peers.items():
                theirs[r.name].setdefault(name, []).append(peer())
            for name, value in zip(("bare loop", "its mean"), p.bare(*r.bare)):
                theirs[r.name].setdefault(name, []).append(value)
    row("what", "tiermark", "rounds", "beside", "theirs", "rounds", "ratio", "of each round")
    row(*["---"] * 8)
    for r in table:
        mine = values[r.name]
        for name, peer in theirs[r.name].items():
            a, b = median(mine), median(peer)
            each = median([x / y for x, y in zip(mine, peer) if x and y])
            ratios = (f"**{a / b:.3f}**", f"{each:.3f}") if a and b else ("-", "-")
            row(r.name, shown([a]), shown(mine), name, shown([b]), shown(peer), *ratios)
    verdicts = [g for each in grades.values() for g in each]
    print("\nverdicts: " + ", ".join(f"{verdicts.count(g)} {g}" for g in sorted(set(verdicts))))


def switches(command):
    """What a command prints, its context switches, and its seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    count = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
    return done.stdout + done.stderr, count, seconds


def calls(stressor, operations):
    """System calls of a stressor by name, as often as an operation makes them."""
    with tempfile.NamedTemporaryFile("r") as counts:
        command = [
            "strace",
            "-f",
            "-c",
            "-o",
            counts.name,
            "stress-ng",
            f"--{stressor}",
            "1",
            f"--{stressor}-ops",
            str(operations),
        ]
        subprocess.run(command, capture_output=True, timeout=LIMIT, check=False)
        found = [line.split() for line in counts.read().splitlines()[2:]]
    times = {f[-1]: int(f[3]) / operations for f in found if len(f) > 4 and f[3].isdigit()}
    often = sorted(((n, name) for name, n in times.items() if n >= 0.9 and name != "total"), reverse=True)
    return ", ".join(f"{name} {n:.0f}" for n, name in often)


def harness(p):
    """What the peers do besides, in numbers: the ones that do not do the same thing."""
    print("\nWhat peers do that ours does not:\n")
    cpu = ["taskset", "-c", str(p.cpu)]
    loops, sides = 500, 20
    for name, more in (("sockets", []), ("pipes", ["-p"])):
        out, count, _ = switches(
            [*cpu, "perf", "bench", "-f", "simple", "sched", "messaging", "-g", "1", "-l", str(loops), *more]
        )
        messages = sides * sides * loops
        print(
            f"* `perf bench sched messaging`, {name}: {simple(out) / messages:.0f} ns a message of 100 bytes, "
            f"{count / messages:.3f} "
            f"switches a message ({messages} messages from {sides} senders to {sides} receivers on one cpu)"
        )
    loops = 50_000
    _, count, _ = switches([*cpu, "perf", "bench", "-f", "simple", "sched", "pipe", "-l", str(loops)])
    print(f"* `perf bench sched pipe`: {count / loops:.2f} switches an operation, as ours")
    operations = 100_000
    out, count, _ = switches([*cpu, "stress-ng", "--switch", "1", "--switch-ops", str(operations), "--metrics"])
    each = re.search(r"switch\s+([\d.]+) nanosecs per context switch", out)
    print(
        f'* `stress-ng --switch`: {each.group(1) if each else "-"} ns "per context switch", '
        f"{count / operations:.2f} switches an operation: one byte one way"
    )
    if shutil.which("strace"):
        for stressor, operations in (("fork", 300), ("vfork", 500), ("null", 500), ("zero", 200)):
            print(f"* `stress-ng --{stressor}`, calls an operation: {calls(stressor, operations)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=300, help="no round begins after so long")
    parser.add_argument("--only", default="", help="rows whose names hold one of these")
    parser.add_argument("--fifo", action="store_true")
    args = parser.parse_args()
    need("perf", "stress-ng", "cc", "taskset")
    if args.fifo and os.sched_getscheduler(0) != os.SCHED_FIFO:
        os.execvp("chrt", ["chrt", "-f", "1", sys.executable, *sys.argv])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "os_bare")
        source = os.path.join(ROOT, "benches", "os_bare.c")
        subprocess.run(["cc", "-O2", "-pthread", "-Wl,-z,now", "-o", program, source], check=True)
        peers = Peers(program, *Ours.cpus())
        peers.own = own_memory()
        header("Operating-system primitives beside perf bench, stress-ng and a bare loop")
        policy = "real-time policy (chrt -f 1)" if args.fifo else "usual policy"
        print(
            f"ns of an operation, medians of up to {args.rounds} alternating rounds; cpus {peers.cpu} and "
            f"{peers.other}, {policy}, load average "
            f"{os.getloadavg()[0]:.1f} before. The bare forks copy {int(peers.own[1]) + BARE_KIB} KiB in "
            f"{peers.own[3]} mappings, beside {peers.own[5]} other threads, as tiermark's.\n"
        )
        table = [r for r in rows(peers) if any(text in r.name for text in args.only.split(","))]
        compare(table, peers, args.rounds, began + args.seconds)
        harness(peers)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
