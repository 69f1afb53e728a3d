#!/usr/bin/env bash
# check_determinism.sh PMTWIN: two emulated runs give the same JSON but for host_* and environment,
# and another seed gives another one.
set -eu
pmtwin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
    "$pmtwin" run esh --records 20k --operations 10k --threads 1,3,30 --format json \
        --workload insert,read,mixed,ycsb-a,ycsb-d --seed "$1" >"$work/raw"
    python3 - "$work/raw" >"$2" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
for row in rows:
    for key in [k for k in row if k.startswith("host_") or k == "environment"]:
        del row[key]
assert len(rows) == 15, len(rows)
print(json.dumps(rows, indent=1))
PYTHON
}

run 1 "$work/a"
run 1 "$work/b"
run 2 "$work/c"
cmp "$work/a" "$work/b"
! cmp -s "$work/a" "$work/c" || { echo "another seed changed nothing"; exit 1; }
