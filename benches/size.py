#!/usr/bin/env python3
"""How large the project is: lines of production code and of tests by crate, tokens beside them, lines too long.

    benches/size.py [--long]

A line counts if it is neither blank nor a comment. Tests are what `#[cfg(test)]` leaves out of a build, and all below
`tests`, `benches`, `examples` and `fuzz`. Tokens are counted beside, so that packing more into a line is seen.
"""

import argparse
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDEST = 120
TOKEN = re.compile(r"'\w+(?!')|b?r?\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^'\\])'|\w+|[^\w\s]")
BELOW = {"tests", "benches", "examples", "fuzz"}


def tracked(*patterns):
    found = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in found.stdout.splitlines()]


def modules_of_tests(files):
    """Files and folders of modules that are declared under `#[cfg(test)]`."""
    found = set()
    declared = re.compile(
        r"#\[cfg\((?:test|any\(test[^\n]*)\)\]\n\s*(?:#\[[^\n]*\n\s*)*(?:pub(?:\([^)]*\))? )?mod (\w+);"
    )
    for file in files:
        parent = file.parent if file.stem in ("mod", "lib", "main") else file.with_suffix("")
        found |= {parent / name for name in declared.findall((ROOT / file).read_text())}
    return found


def counted(text):
    """Lines that are code, and their tokens."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//")]
    return len(lines), sum(len(TOKEN.findall(line)) for line in lines)


def halves(text):
    """Production code, and the module of tests at the end of a file."""
    at = re.search(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub\S* )?mod \w+ \{", text, flags=re.M)
    return (text[: at.start()], text[at.start() :]) if at else (text, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help=f"name the lines beyond {WIDEST} columns")
    args = parser.parse_args()
    files = tracked("*.rs")
    of_tests = modules_of_tests(files)
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for file in files:
        text = (ROOT / file).read_text()
        is_test = (
            file.stem.endswith("_tests")
            or BELOW & set(file.parts[:-1])
            or of_tests & {file.with_suffix(""), *file.parents}
        )
        production, tests = ("", text) if is_test else halves(text)
        crate = file.parts[1] if file.parts[0] == "crates" else file.parts[0]
        sums[crate] = [a + b for a, b in zip(sums[crate], [*counted(production), *counted(tests)])]
    rows = sorted(sums.items(), key=lambda row: -row[1][0])
    rows.append(("all", [sum(column) for column in zip(*sums.values())]))
    print(f"{'crate':<12}{'production':>11}{'tokens':>9}{'tests':>8}{'tokens':>9}")
    for crate, (lines, tokens, test_lines, test_tokens) in rows:
        print(f"{crate:<12}{lines:>11}{tokens:>9}{test_lines:>8}{test_tokens:>9}")
    scripts = ["*.py", "*.sh", "*.c", "test", "dist", ".ci/run", "fuzz/run"]
    ours = tracked("*.rs", "*.md", "*.js", "*.css", "*.toml", *scripts, ":!*/vendor/*")
    long = [
        (file, number)
        for file in ours
        for number, line in enumerate((ROOT / file).read_text().splitlines(), 1)
        # In Markdown, neither a row of a table nor what a program printed can be wrapped.
        if len(line) > WIDEST and not (file.suffix == ".md" and line.startswith(("|", "    ")))
    ]
    print(f"lines beyond {WIDEST} columns: {len(long)}")
    if args.long:
        for file, number in long:
            print(f"{file}:{number}")


if __name__ == "__main__":
    main()
