#!/usr/bin/env python3
"""How long `tiermark fleet` takes over many hosts, and its peak memory.

    benches/fleet.py [--hosts 1000,10000] [--distinct 100]

The hosts are of six kinds of hardware, and one of 40 has a fault. Of the sound hosts of a kind so many documents are
distinct, and the other hosts are hard links to them: 10,000 hosts take below 1 GiB in the temporary directory, and are
read from memory. Ends with 1 if an aim is missed. TIERMARK names another program than the release build.
"""

import argparse
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from common import MIB, ROOT, TIERMARK

sys.path.append(f"{ROOT}/tests/fleet")
from make_fleet import KINDS, ODD_IN, make

# By the number of hosts: seconds and MiB at most, on two cores.
AIMS = {1000: (5, 300), 10000: (60, 1024)}
# What a document of a quick survey takes on disk at most.
DOCUMENT = 1 * MIB
# Exit codes of a fleet that was judged: hosts alike, odd, or not judged.
JUDGED = (0, 3, 5)


def measured(words):
    """Runs a command: its exit code, seconds, seconds of processor time, and peak memory in MiB."""
    begun = time.monotonic()
    actions = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    child = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
    _, status, used = os.wait4(child, 0)
    seconds = time.monotonic() - begun
    return os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def report(hosts, distinct, folder):
    """Prints a row for each command; whether the aims were met."""
    documents = min(hosts, hosts // ODD_IN + distinct * len(KINDS))
    filesystem = os.statvfs(folder)
    if filesystem.f_bavail * filesystem.f_frsize < 2 * documents * DOCUMENT:
        sys.exit(f"{folder} lacks room for {documents} documents; set TMPDIR, or --distinct lower")
    fleet = f"{folder}/{hosts}"
    odd = len(make(fleet, hosts, kinds=len(KINDS), distinct=distinct, program=TIERMARK))
    sizes = {entry.inode(): entry.stat().st_size for entry in os.scandir(fleet)}
    total = sum(entry.stat().st_size for entry in os.scandir(fleet))
    print(f"\n{hosts} hosts, {odd} with a fault; documents {total / MIB:.0f} MiB, {len(sizes)} distinct with "
          f"{sum(sizes.values()) / MIB:.0f} MiB on disk")
    aim = AIMS.get(hosts, (None, None))
    aimed = "   aim {} s, {} MiB".format(*aim) if aim[0] else ""
    print(f"{'tiermark fleet':20}{'s':>8}{'cpu s':>8}{'MiB':>8}{aimed}")
    met = True
    for more in ([], ["--html", f"{folder}/{hosts}.html"], ["--format", "csv"]):
        code, seconds, of_cpu, peak = measured([TIERMARK, "fleet", fleet, *more])
        if code not in JUDGED:
            sys.exit(f"tiermark fleet {' '.join(more)}: exit {code}")
        missed = aim[0] is not None and (seconds > aim[0] or peak > aim[1])
        met &= not missed
        print(f"{' '.join(more).replace(folder, '…'):20}{seconds:8.2f}{of_cpu:8.2f}{peak:8.0f}"
              f"{'   missed' if missed else ''}", flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--hosts", default="1000,10000", help="numbers of hosts (default 1000,10000)")
    parser.add_argument("--distinct", type=int, default=100, help="documents of each kind (default 100)")
    args = parser.parse_args()
    print(f"{TIERMARK}, {len(os.sched_getaffinity(0))} cpus, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="tiermark-fleet-") as folder:
        met = [report(int(hosts), args.distinct, folder) for hosts in args.hosts.split(",")]
    sys.exit(0 if all(met) else 1)


main()
