#!/usr/bin/env python3
"""What `tiermark watch` costs, and what `watch --active` takes from a program beside it.

    benches/watch.py [--rounds 10] [--seconds 10] [--budget 1]

A Redis server and redis-benchmark run on the loopback, without and with `watch --active` beside them, in turn (A B A B …). A ratio is
the throughput with it over the mean of the runs before and after without it; the same ratio of three runs without it (A A A) shows
what chance does. The cpu time of a watch is that of its process, all threads, over the wall time. Standard library only.
"""

import argparse
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import TIERMARK


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def requests_a_second(port, requests):
    """Throughput of GET over 50 connections, as redis-benchmark prints it."""
    command = ["redis-benchmark", "-p", str(port), "-t", "get", "-n", str(requests), "-c", "50", "--csv"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return float(out.strip().splitlines()[-1].split(",")[1].strip('"'))


class Watch:
    """`watch --active` beside a program; its samples are read at the end."""

    def __init__(self, budget):
        self.directory = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.directory.name, "samples.jsonl")
        command = [TIERMARK, "watch", "--active", "--budget", str(budget), "--quiet", "--record", self.file]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Preparing memory is not part of watching.
        deadline = time.time() + 30
        while self.lines() < 3:
            if time.time() > deadline or self.process.poll() is not None:
                sys.exit("watch --active does not start")
            time.sleep(0.2)

    def lines(self):
        return sum(1 for _ in open(self.file)) if os.path.exists(self.file) else 0

    def end(self):
        """The shares of a cpu that it used, sample by sample."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        samples = [json.loads(line) for line in list(open(self.file))[3:]]
        self.directory.cleanup()
        return [s["own"]["cpu_share"] for s in samples if s["own"]["cpu_share"] is not None]


def process_share(command):
    """Cpu time of a command over its wall time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / (time.time() - began)


def spread(values):
    values = sorted(values)
    return f"{statistics.median(values):.4f} (from {values[0]:.4f} to {values[-1]:.4f}, {len(values)})"


def beside_redis(rounds, seconds, budget):
    port = free_port()
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL)
    try:
        deadline = time.time() + 10
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0 and time.time() < deadline:
            time.sleep(0.1)
        requests = int(seconds * requests_a_second(port, 50_000))
        without, with_it, shares = [requests_a_second(port, requests)], [], []
        for _ in range(rounds):
            watch = Watch(budget)
            with_it.append(requests_a_second(port, requests))
            shares.extend(watch.end())
            without.append(requests_a_second(port, requests))
        ratios = [b / ((a + c) / 2) for a, b, c in zip(without, with_it, without[1:])]
        chance = [b / ((a + c) / 2) for a, b, c in zip(without, without[1:], without[2:])]
        print(f"| throughput of redis-benchmark with `--active` at {budget} % over without | {spread(ratios)} | ≥ 0.99 |")
        if chance:
            print(f"| the same of runs without it | {spread(chance)} | 1 |")
        print(f"| cpu share of `watch --active` beside it | {statistics.mean(shares):.4f} | ≤ {budget / 100} |")
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--budget", type=float, default=1)
    asked = parser.parse_args()
    print("| what | measured | wanted |\n| --- | --- | --- |")
    plain = process_share([TIERMARK, "watch", "--json", "--samples", "31"])
    print(f"| cpu share of `watch --json`, 30 s at one sample a second | {plain:.4f} | ≤ 0.005 |", flush=True)
    beside_redis(asked.rounds, asked.seconds, asked.budget)


if __name__ == "__main__":
    main()
