#!/usr/bin/env bash
# What the program itself costs: size, start, survey times, planning for a machine of 2,048 cpus. Prints measured beside
# wanted.
set -euo pipefail
cd "$(dirname "$0")/.."
tm=${TIERMARK:-target/release/tiermark}
[[ -x $tm ]] || { echo "$tm is not built; run: cargo build --release" >&2; exit 1; }

# Median wall seconds of a command over five runs.
seconds() {
    for _ in 1 2 3 4 5; do
        local start=$EPOCHREALTIME
        "$@" >/dev/null 2>&1 || true
        echo "$EPOCHREALTIME $start" | awk '{printf "%.4f\n", $1 - $2}'
    done | sort -n | sed -n 3p
}
# Wall seconds of one run.
once() {
    local start=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 || true
    echo "$EPOCHREALTIME $start" | awk '{printf "%.1f\n", $1 - $2}'
}
peak_mib() { /usr/bin/env python3 - "$@" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PY
}

echo "| what | measured | wanted |"
echo "| --- | --- | --- |"
echo "| stripped binary | $(awk "BEGIN {printf \"%.1f\", $(stat -c %s "$tm") / 1048576}") MiB | ≤ 8 MiB |"
echo "| \`--version\` | $(seconds "$tm" --version) s | ≤ 0.005 s |"
echo "| \`survey --quick\` | $(once "$tm" survey --quick --no-save --force) s | ≤ 15 s |"
echo "| \`survey\` | $(once "$tm" survey --no-save --force) s | ≤ 60 s |"
planned=$(cargo run -q --release -p tiermark-probes --example plan_scale)
echo "| plan a survey of 8 sockets, 2,048 cpus | $planned | ≤ 100 ms |"
whole=$(seconds "$tm" survey --simulate synth:largest --dry-run)
echo "| the whole process, with making up that machine and printing | $whole s | |"
echo "| the same, peak memory | $(peak_mib "$tm" survey --simulate synth:largest --dry-run) MiB | ≤ 100 MiB |"
