#!/usr/bin/env bash
# check_real_keys.sh PMTWIN: every file path of this machine's package database as a key: inserted,
# counted, found and deleted, on both targets. A lost record ends a run with exit code 1.
set -eu
pmtwin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! compgen -G '/var/lib/dpkg/info/*.list' >/dev/null; then
    echo "skipped: there is no package database of dpkg here"
    exit 77
fi
cat /var/lib/dpkg/info/*.list | LC_ALL=C sort -u >"$work/keys"
count=$(wc -l <"$work/keys")
[ "$count" -gt 1000 ]

"$pmtwin" run esh --keys "$work/keys" --on emul,dram --workload insert,read,delete \
    --format csv >"$work/csv"
awk -F, -v count="$count" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { workload = $column["workload"]; rows++ }
    $column["operations"] != count { print "operations are not all keys: " $0; bad = 1 }
    $column["records"] != (workload == "insert" ? 0 : count) { print "records: " $0; bad = 1 }
    $column["skipped"] != "" { print "skipped: " $0; bad = 1 }
    workload == "insert" && $column["payload_bytes"] == 0 { print "no payload: " $0; bad = 1 }
    END { if (rows != 6) { print rows " rows instead of 6"; bad = 1 } exit bad }
' "$work/csv"
echo "$count paths inserted, found and deleted on emul and dram"
