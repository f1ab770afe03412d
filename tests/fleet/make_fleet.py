#!/usr/bin/env python3
"""Makes the documents of a fleet: copies of quick surveys of simulated machines, whose names and numbers vary, and
odd hosts among them.

    tests/fleet/make_fleet.py FOLDER [--hosts 16] [--kinds 1] [--distinct N] [--faults modules,latency] [--like 1234]

Prints each odd host with its fault. TIERMARK names another program than target/debug/tiermark.
"""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("TIERMARK", f"{ROOT}/target/debug/tiermark")

# Kinds of hardware: the simulated machine, product and processor. A product with a comma needs quotes in CSV.
KINDS = [
    ("synth:sockets=2,cores=16,smt=1,mem=64G", "PowerEdge R7525, 2U", "EPYC 7343"),
    ("synth:sockets=1,cores=32,smt=1,mem=128G", "PowerEdge R7515", "EPYC 7543P"),
    ("synth:sockets=2,cores=8,smt=1,mem=32G", "ProLiant DL380", "Xeon Gold 6334"),
    ("synth:sockets=1,cores=16,smt=2,mem=64G", "ProLiant DL325", "EPYC 7313P"),
    ("synth:sockets=2,cores=24,smt=1,mem=128G", "SR650", "Xeon Gold 6342"),
    ("synth:sockets=1,cores=8,smt=1,mem=32G", "RS500A", "EPYC 72F3"),
]
# Scatter between hosts, common to the figures of a tier, and of each figure.
SCATTER, OWN = 0.006, 0.008
# One host of so many is odd, unless the caller says how many faults there are.
ODD_IN = 40
DIMM = 32 << 30


def modules(document):
    """One module is missing."""
    empty = {"populated": False, "bytes": None, "rated_transfers": None, "configured_transfers": None}
    document["machine"]["dimms"][-1].update(empty)
    system = document["machine"]["system"]
    system["memory_bytes"] = system["memory_bytes"] // 16 * 15
    return {("bandwidth", "all"): 0.894}


def speed(document):
    """The modules run at a lower speed."""
    for dimm in document["machine"]["dimms"]:
        dimm["configured_transfers"] = 2.933e9
    return {("bandwidth", None): 0.926}


def slow(_):
    """Bandwidth is lower, and no fact says why."""
    return {("bandwidth", None): 0.91}


def latency(_):
    """Latency is higher, and no fact says why."""
    return {("latency", None): 1.19}


def firmware(document):
    """An older firmware, with which bandwidth is lower."""
    document["machine"]["system"]["bios"] = "2.10"
    return {("bandwidth", None): 0.93}


def errors(document):
    """Corrected memory errors, which cost nothing."""
    corrected, uncorrected = ({"before": count, "after": count, "grew": 0} for count in (1243, 0))
    counts = {"place": "mc0", "label": None, "corrected": corrected, "uncorrected": uncorrected}
    document["health"] = {"memory": [counts], "throttling": None, "up_seconds": 5 * 86_400}
    return {}


def governor(document):
    """A setting that costs nothing: the host is not odd."""
    document["machine"]["system"]["governor"] = "powersave"
    return {}


FAULTS = {fault.__name__: fault for fault in (modules, speed, slow, latency, firmware, errors, governor)}


def survey(program, machine):
    """The document of a simulated machine, as text."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/survey.json"
        words = ["survey", "--quick", "--simulate", machine, f"--json={path}", "-q", "--no-save"]
        subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            return file.read()


def scale(of, key, by):
    if of.get(key) is not None:
        of[key] *= by


def scale_figure(figure, by):
    """Multiplies a finding or an observation that has a value."""
    scale(figure, "value", by)
    if figure.get("interval"):
        scale(figure["interval"], "low", by)
        scale(figure["interval"], "high", by)


def vary(document, by, rng):
    """Multiplies the figures by what chance and the factors of a fault make of them."""
    common = {}
    for experiment in document["experiments"]:
        observations = {seen["step"]: seen for seen in experiment["observations"]}
        for finding in experiment["findings"]:
            if finding["value"] is None:
                continue
            metric, labels = finding["metric"], finding["labels"]
            tier = labels.get("tier", "")
            factor = math.exp(common.setdefault((metric, tier), rng.gauss(0, SCATTER)) + rng.gauss(0, OWN))
            if tier.startswith("DRAM"):
                factor *= math.prod(by.get(key, 1) for key in {(metric, None), (metric, labels.get("span"))})
            scale_figure(finding, factor)
            if metric in ("latency", "bandwidth") and len(finding["evidence"]) == 1:
                seen = observations[finding["evidence"][0]]
                scale_figure(seen, factor)
                scale(seen.get("per_cycle") or {}, "value", factor)


def document_of(base, name, product, cpu, fault, rng):
    """The document of a host, from a survey of its kind. `name` may be `None`."""
    document = json.loads(base)
    document.update(id=f"20261128T100000-{rng.getrandbits(24):06x}", started="2026-11-28T10:00:00Z", simulated=None)
    machine, system = document["machine"], document["machine"]["system"]
    machine["cpu_model"]["name"] = cpu
    system.update(hostname=name, product=product, kernel="6.8.0-60", bios="2.4", governor="performance")
    machine["dimms"] = [
        {
            "locator": f"{'AB'[slot // 8]}{slot % 8 + 1}", "bank": None, "bytes": DIMM, "populated": True,
            "kind": "DDR4", "form": "DIMM", "rated_transfers": 3.2e9, "configured_transfers": 3.2e9,
            "data_width": 64, "ranks": 2, "manufacturer": "S", "part": "M393", "edac_label": None,
        }
        for slot in range(16)
    ]
    vary(document, FAULTS[fault](document) if fault else {}, rng)
    return document


def make(folder, hosts=16, kinds=1, distinct=None, faults=None, like="node0000", program=PROGRAM):
    """Writes NAME.json of each host into a folder; the names of the hosts with a fault, and their faults.

    `like`: the name of the first host, whose last digits count. `faults`: a host has each of them; without, one host of
    40 has one. `distinct`: so many documents of each kind, and the other hosts are hard links to them; they have their
    names from their files then.
    """
    rng = random.Random(5)
    os.makedirs(folder, exist_ok=True)
    bases = [(survey(program, machine), product, cpu) for machine, product, cpu in KINDS[:kinds]]
    stem = like.rstrip("0123456789")
    first, width = int(like[len(stem):]), len(like) - len(stem)
    faults = faults or [list(FAULTS)[at % len(FAULTS)] for at in range(hosts // ODD_IN)]
    # Spread over the hosts, so that each kind has some.
    faulty = {(2 * at + 1) * hosts // (2 * len(faults)): fault for at, fault in enumerate(faults)}
    planted, written = {}, [[] for _ in bases]
    for at in range(hosts):
        name = f"{stem}{first + at:0{width}}"
        fault, path = faulty.get(at), f"{folder}/{name}.json"
        of_kind = written[at % kinds]
        if fault:
            planted[name] = fault
        elif distinct and len(of_kind) >= distinct:
            os.link(of_kind[at // kinds % distinct], path)
            continue
        base, product, cpu = bases[at % kinds]
        with open(path, "w") as file:
            json.dump(document_of(base, None if distinct else name, product, cpu, fault, rng), file)
        if not fault:
            of_kind.append(path)
    return planted


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--kinds", type=int, default=1, choices=range(1, len(KINDS) + 1), help="kinds of hardware")
    parser.add_argument("--distinct", type=int, help="documents of each kind; the other hosts are hard links to them")
    parser.add_argument("--faults", help=f"one host has each; of: {', '.join(FAULTS)}")
    parser.add_argument("--like", default="node0000", help="name of the first host; its last digits count")
    args = parser.parse_args()
    faults = args.faults.split(",") if args.faults else None
    for name, fault in make(args.folder, args.hosts, args.kinds, args.distinct, faults, args.like).items():
        print(name, fault)


if __name__ == "__main__":
    main()
