#!/usr/bin/env bash
# check_determinism.sh ROOT -- an emulated run is the same, bit for bit, whatever built it and
# whatever else the machine does.
#
# Builds the command with gcc and clang at -O0 and -O2, runs each on the same workloads, once more
# with every processor busy, and compares the JSON but for host_* and environment. Another seed must
# give another result. Exit 1: they differ.
set -euo pipefail
root=${1:?usage: check_determinism.sh ROOT}
work=$(mktemp -d)
busy=()
tidy() {
    [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap tidy EXIT

quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

# result BINARY SEED OUTPUT
result() {
    "$1" run esh,linear --records 20k --operations 10k --threads 1,3,30 --format json \
        --workload insert,read,mixed,ycsb-a,ycsb-d --seed "$2" >"$work/raw"
    python3 - "$work/raw" >"$3" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
for row in rows:
    for key in [k for k in row if k.startswith("host_") or k == "environment"]:
        del row[key]
assert len(rows) == 30, len(rows)
print(json.dumps(rows, indent=1))
PYTHON
}

for compiler in gcc clang; do
    for level in -O0 -O2; do
        build=$work/$compiler$level
        quietly cmake -S "$root" -B "$build" -G Ninja -DCMAKE_C_COMPILER="$compiler" \
            -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$level" -DPMTWIN_TESTS=OFF
        quietly cmake --build "$build" --target experiments/pmtwin
        result "$build/experiments/pmtwin" 1 "$work/$compiler$level.json"
    done
done
last=$work/clang-O2/experiments/pmtwin
result "$last" 2 "$work/seed2.json"
for _ in $(seq "$(nproc)"); do
    timeout 120 sh -c 'while :; do :; done' &
    busy+=($!)
done
result "$last" 1 "$work/busy.json"

for other in gcc-O2 clang-O0 clang-O2 busy; do
    diff -U2 "$work/gcc-O0.json" "$work/$other.json" >"$work/diff" ||
        { echo "gcc-O0 and $other differ:"; head -20 "$work/diff"; exit 1; }
done
! cmp -s "$work/gcc-O0.json" "$work/seed2.json" || { echo "another seed changed nothing"; exit 1; }
echo "the same: gcc and clang, -O0 and -O2, repeated, every processor busy"
