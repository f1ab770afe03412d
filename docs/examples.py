#!/usr/bin/env python3
"""Real output for docs/EXAMPLES.md, and the sample in README.md. Every command runs on this machine, one after the
other.

    docs/examples.py [--binary FILE] [--only WORD]

Run it on a machine that is otherwise idle, as root (`capacity` needs it); it takes about a minute. --only runs the
commands that contain a word and leaves the other outputs as they are.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Heading, command, what a reader should know.
EXAMPLES = [
    ("The whole ladder", "tiermark survey", "The main job: every tier's size, latency and bandwidth."),
    (
        "Tenants, before a run",
        "tiermark capacity --scenario mini --tiers dram,zram:lz5,node:1 --dry-run",
        "How many Redis servers fit on 512 MiB of DRAM, and on other tiers: the scenario, what the run will do, and what\n"
        "is missing for it. All that is missing is reported before the first probe. Exit code 4 here.",
    ),
    (
        "Many servers",
        "tiermark fleet rack7",
        "40 hosts: five have a fault, and one has a setting that costs nothing. `tests/fleet/make_fleet.py` generated\n"
        "their documents: copies of one survey of a simulated machine, with random changes to the numbers.",
    ),
]
# Servers and faults of rack7.
RACK = ["--hosts", "40", "--like", "node01", "--faults", "modules,slow,speed,latency,governor,errors"]
HEAD = """# Examples

Real output, made by `docs/examples.py`; `survey` ran with `--force --quiet`. Do not edit this page: run the script
again.
"""


def output(binary, command, home):
    words = command.split()
    words[0] = str(binary)
    if "rack7" in words:
        made = [sys.executable, ROOT / "tests/fleet/make_fleet.py", f"{home}/rack7", *RACK]
        subprocess.run(made, check=True, stdout=sys.stderr, env={**os.environ, "TIERMARK": str(binary)})
    # The examples show what a user sees in a pipe of 80 columns; work beside them is reported, not refused.
    if words[1] == "survey":
        words += ["--force", "--quiet"]
    environment = {**os.environ, "TIERMARK_HOME": str(home), "COLUMNS": "80"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=900, check=False,
                          cwd=home if "rack7" in words else None)
    # 3: an odd host was found; 4: a tier is missing; 5: a number is missing, which the output says.
    if done.returncode not in (0, 3, 4, 5):
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr}")
    text = (done.stdout if done.stdout.strip() else done.stderr).rstrip()
    return text.replace(str(home), "~/.local/share/tiermark")


def kept(page):
    """The sections of a page by command."""
    return dict(re.findall(r"    \$ (tiermark [^\n]*)\n\n(```text\n.*?\n```\n\nMade [^\n]*)", page, re.S))


def sample(text):
    """The ladder and the states of a survey, without curves, marks, notes and what few readers ask for first."""
    ladder = text.split("\n\nLatency by size")[0]
    ladder = ladder.split("\n≥ at least")[0].split("\nCold (after")[0]
    states = re.search(r"\nStates .*?(?=\n\n)", text, re.S)
    return ladder + ("\n" + states.group(0) if states else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/tiermark")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    page = ROOT / "docs/EXAMPLES.md"
    known = kept(page.read_text()) if page.exists() else {}
    version = (
        subprocess.run([args.binary, "--version"], capture_output=True, text=True, check=True).stdout.split(",")[0]
        + ")"
    )
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as home:
        for heading, command, about in EXAMPLES:
            if args.only in command or command not in known:
                print(command, file=sys.stderr)
                text = output(args.binary, command, home)
                known[command] = f"```text\n{text}\n```\n\nMade on {time.strftime('%Y-%m-%d')} by {version}."
                if command == "tiermark survey":
                    readme = ROOT / "README.md"
                    block = f"<!-- docs/examples.py writes this -->\n```text\n{sample(text)}\n```\n<!-- until here -->"
                    marked = r"<!-- docs/examples.py writes this -->.*?<!-- until here -->"
                    readme.write_text(re.sub(marked, lambda _: block, readme.read_text(), count=1, flags=re.S))
            parts.append(f"## {heading}\n\n{about}\n\n    $ {command}\n\n{known[command]}\n")
    page.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
