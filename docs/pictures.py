#!/usr/bin/env python3
"""Pictures of README.md: the page and the terminal report of the last saved survey.

    docs/pictures.py [--binary FILE] [--run RUN]

Needs chromium, aha and pngquant (apt-get install chromium aha pngquant). Run it after docs/examples.py, or name a run:
the numbers are those of that run.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
FRAME = """<!doctype html><meta charset="utf-8"><title>terminal</title>
<style>body{margin:0;background:#1a1e22;color:#e6e9ec}
pre{margin:18px;font:14px/1.32 "DejaVu Sans Mono",monospace}</style>
"""


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120, **more).stdout


def screenshot(page, picture, size, scale=1):
    with tempfile.TemporaryDirectory() as profile:
        run(
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--force-device-scale-factor={scale}",
            f"--window-size={size}",
            "--virtual-time-budget=5000",
            f"--screenshot={picture}",
            page.as_uri(),
        )
    # 256 colours are enough for text and lines, and a third of the bytes.
    run("pngquant", "--force", "--skip-if-larger", "--output", str(picture), "256", str(picture))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", default=ROOT / "target/release/tiermark", type=pathlib.Path)
    arguments.add_argument("--run", default="last")
    chosen = arguments.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        page = directory / "page.html"
        run(chosen.binary, "report", chosen.run, "--redact", "--html", str(page))
        screenshot(page, PICTURES / "page.png", "1240,1500")
        wide = {**os.environ, "COLUMNS": "80", "CLICOLOR_FORCE": "1"}
        text = run(chosen.binary, "show", chosen.run, "--color", "always", env=wide)
        coloured = run("aha", "--no-header", "--black", input=text)
        frame = directory / "terminal.html"
        frame.write_text(f"{FRAME}<pre>{coloured}</pre>")
        lines = text.count("\n") + 1
        screenshot(frame, PICTURES / "terminal.png", f"740,{36 + int(lines * 18.5)}")


if __name__ == "__main__":
    main()
