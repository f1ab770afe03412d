#!/usr/bin/env python3
"""What `tiermark watch` costs, and what `watch --active` takes from a program beside it.

    benches/watch.py [--rounds 60] [--seconds 2] [--budget 1]

A Redis server and redis-benchmark run on the loopback all the time. `watch --active` beside them is stopped (SIGSTOP)
and goes on, in turn (A B A B …), and the server's own count of requests gives the throughput of each period. A ratio
is the throughput of a period with it over the mean of those before and after; the same ratio of three periods without
it (A A A) shows what chance does. The cpu time of a watch is that of its process, all threads, over the wall time.
Standard library only.
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


class Redis:
    """A server under a steady load of GET from 50 connections, both on the loopback."""

    def __enter__(self):
        port = free_port()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], **quiet
        )
        deadline = time.time() + 10
        while True:
            try:
                self.control = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                if time.time() > deadline:
                    sys.exit("redis-server does not start")
                time.sleep(0.1)
        # More requests than it ever gets to: it ends with the block.
        self.load = subprocess.Popen(
            ["redis-benchmark", "-p", str(port), "-t", "get", "-n", "2000000000", "-c", "50", "-q"], **quiet
        )
        time.sleep(2)
        return self

    def __exit__(self, *_):
        for process in (self.load, self.server):
            process.terminate()
            process.wait()

    def requests(self):
        self.control.sendall(b"INFO stats\r\n")
        answer = b""
        while b"total_commands_processed" not in answer or b"instantaneous" not in answer:
            answer += self.control.recv(1 << 16)
        return int(answer.split(b"total_commands_processed:")[1].split(b"\r")[0])

    def throughput(self, seconds):
        began, before = time.perf_counter(), self.requests()
        time.sleep(seconds)
        after = self.requests()
        return (after - before) / (time.perf_counter() - began)


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
        samples = [json.loads(line) for line in open(self.file)][3:]
        self.directory.cleanup()
        return [s["own"]["cpu_share"] for s in samples if s["own"]["cpu_share"] is not None]


def process_share(command):
    """Cpu time of a command over its wall time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / (time.time() - began)


def spread(ratios):
    """The median with its interval of 95 % (order statistics: the binomial distribution of ranks, in its normal
    limit).
    """
    ratios, n = sorted(ratios), len(ratios)
    reach = 0.98 * n**0.5
    low, high = max(0, int(n / 2 - reach)), min(n - 1, int(n / 2 + reach + 1))
    return f"{statistics.median(ratios):.4f} (95 %: {ratios[low]:.4f} to {ratios[high]:.4f}; {n} ratios)"


def beside_redis(rounds, seconds, budget):
    without, with_it = [], []
    with Redis() as redis:
        watch = Watch(budget)
        # Its own cost while it is never stopped.
        time.sleep(30)
        whole = watch.lines() - 3
        for _ in range(rounds):
            watch.process.send_signal(signal.SIGSTOP)
            without.append(redis.throughput(seconds))
            watch.process.send_signal(signal.SIGCONT)
            with_it.append(redis.throughput(seconds))
        shares = watch.end()[:whole]
    ratios = [b / ((a + c) / 2) for a, b, c in zip(without, with_it, without[1:])]
    chance = [b / ((a + c) / 2) for a, b, c in zip(without, without[1:], without[2:])]
    print(f"| throughput of redis-benchmark with `--active` at {budget} % over without | {spread(ratios)} | ≥ 0.99 |")
    print(f"| the same of periods without it, which are twice as far apart | {spread(chance)} | 1 |")
    print(f"| cpu share of `watch --active` beside it | {statistics.mean(shares):.4f} | ≤ {budget / 100} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--budget", type=float, default=1)
    asked = parser.parse_args()
    print("| what | measured | wanted |\n| --- | --- | --- |")
    plain = process_share([TIERMARK, "watch", "--json", "--samples", "31"])
    print(f"| cpu share of `watch --json`, 30 s at one sample a second | {plain:.4f} | ≤ 0.005 |", flush=True)
    beside_redis(asked.rounds, asked.seconds, asked.budget)


if __name__ == "__main__":
    main()
