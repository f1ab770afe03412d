#!/bin/sh
# Records runs with the time of every block, for crates/session/tests/recorded: one and two threads, idle or beside load.
#
#   benches/record.sh target/release/tiermark zen4-idle
#   stress-ng --cpu 2 --timeout 60 & benches/record.sh target/release/tiermark zen4-load
#
# The documents are redacted. Needs jq.
set -eu
tiermark=$1 name=$2
to=$(dirname "$0")/../crates/session/tests/recorded
mkdir -p "$to"
HOME=$(mktemp -d)
export HOME
trap 'rm -r "$HOME"' EXIT
record() {
    file=$to/$name-$1.json
    shift
    "$tiermark" "$@" --force --allow-partial --json=full >/dev/null
    # In one line.
    "$tiermark" show last --json --redact | jq -c . >"$file"
    wc -c "$file"
}
record chases latency --sizes 16K,256K,8M,256M --max-time 5
record streams bandwidth --sizes 16K,256K --op read --threads one,2 --max-time 6
