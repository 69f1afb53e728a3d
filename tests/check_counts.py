#!/usr/bin/env python3
"""check_counts.py PMTWIN -- for every workload the counting pass on real memory counts the same
lines and fences as the emulator, exactly, and both find the same records.

    check_counts.py --self-test    a difference of one fence is found
"""
import json
import os
import subprocess
import sys
import tempfile

COUNTERS = ("flush_lines", "stream_lines", "fences")
KINDS = {"8-byte pairs": [], "24-byte keys": ["--key-size", "24", "--value-size", "100"],
         "16 KiB segments": ["--set", "buckets=64"], "no fingerprints": ["--set", "fingerprints=off"]}


def run(pmtwin, *arguments):
    done = subprocess.run([pmtwin, *arguments, "--format", "json"], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def facts(row):
    if row["skipped"]:
        return {"skipped": row["skipped"]}
    found = row["recovery"] or {}
    return {**{name: row["counters"][name]["value"] for name in COUNTERS},
            "not_found": row["not_found"], "used": row["pool_used_bytes"],
            "records": found.get("records"), "segments": found.get("segments")}


def differences(kind, rows):
    """Rows of one kind of record: those of a workload must agree, whatever the backend."""
    by_workload = {}
    for row in rows:
        by_workload.setdefault(row["workload"], []).append(row)
    for workload, same in by_workload.items():
        for row in same[1:]:
            if facts(row) != facts(same[0]):
                yield (f"{kind}, {workload}: {same[0]['backend']} {facts(same[0])}, "
                       f"{row['backend']} {facts(row)}")


def check(pmtwin):
    faults, compared = [], 0
    workloads = [w["name"] for w in json.loads(subprocess.run(
        [pmtwin, "list", "workloads", "--format", "json"], check=True, text=True,
        stdout=subprocess.PIPE).stdout)["workloads"]]
    with tempfile.TemporaryDirectory() as folder:
        for kind, arguments in KINDS.items():
            rows = run(pmtwin, "run", "esh", "--records", "20k", "--operations", "20k", "--on",
                       "emul,dram,pmem:" + os.path.join(folder, "pool"), "--overwrite",
                       "--workload", ",".join(workloads), *arguments)
            compared += len(rows)
            faults += differences(kind, rows)
    if compared != 3 * len(KINDS) * len(workloads):
        faults.append(f"{compared} rows instead of {3 * len(KINDS) * len(workloads)}")
    return faults


def self_test():
    row = {"skipped": None, "recovery": None, "not_found": 0, "pool_used_bytes": 1, "backend": "dram",
           "workload": "insert", "counters": {name: {"value": 5} for name in COUNTERS}}
    other = {**row, "counters": {**row["counters"], "fences": {"value": 6}}}
    found = len(list(differences("test", [row, row]))), len(list(differences("test", [row, other])))
    return [] if found == (0, 1) else [f"found {found} differences instead of (0, 1)"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(faults) if faults else "counts: the same on every backend, for every workload")
    sys.exit(1 if faults else 0)


main()
