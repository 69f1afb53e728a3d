#!/usr/bin/env bash
# check_pools.sh PMTWIN: pools on files through libpmem and on both targets; every bad pool is one
# line and an exit code, and is left as it was; memory that is lost under a run ends it, with a word.
set -u
pmtwin=$1
work=$(mktemp -d) || exit 1
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
failed=0
pool=$work/pool

fail() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

# good WORDS ARGUMENTS..: succeeds and says WORDS on stdout.
good() {
    local words=$1
    shift
    "$pmtwin" "$@" >"$work/out" 2>"$work/err" || fail "$* -> $?: $(cat "$work/err")"
    [ ! -s "$work/err" ] || fail "$*: complained: $(cat "$work/err")"
    grep -qF -- "$words" "$work/out" || fail "$*: no '$words' in: $(cat "$work/out")"
}

# bad CODE WORDS ARGUMENTS..: ends with CODE and one line that holds WORDS.
bad() {
    local code=$1 words=$2
    shift 2
    "$pmtwin" "$@" >"$work/out" 2>"$work/err"
    local got=$?
    [ $got -eq "$code" ] || fail "$* -> $got instead of $code: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$*: not one line: $(cat "$work/err")"
    grep -qF -- "$words" "$work/err" || fail "$*: no '$words' in: $(cat "$work/err")"
}

small="--records 20k --operations 5k"
# shellcheck disable=SC2086
{
    good "no power cut" run esh $small --on "emul,dram,pmem:$pool" --workload insert,read,recover
    good "no power cut" run esh $small --on "pmem:$work" --repeat 3 --workload insert
    [ "$(find "$work" -type f ! -name out ! -name err | wc -l)" = 1 ] ||
        fail "a directory's pool is left behind"
    bad 2 "--reuse goes on" run esh $small --on "pmem:$pool"
    good "first quartile" run esh $small --on "pmem:$pool" --overwrite --repeat 3 --workload insert
}
# The file holds what the last row left: 25 000 records, found by either target.
good "25000" run esh --on "pmem:$pool" --reuse --workload recover
cp "$pool" "$work/copy"
good "25 k records" run esh --on emul --pool "$work/copy" --reuse --workload read --operations 5k
good "25 k records" run esh --on dram --pool "$work/copy" --reuse --workload read --operations 5k
"$pmtwin" run esh --on "pmem:$work/copy" --reuse --workload read --operations 5k --format csv \
    >"$work/out" 2>"$work/err"
grep -q "not persistent memory" "$work/err" || fail "csv: nobody says that it is no persistent memory"
PMEM_IS_PMEM_FORCE=1 "$pmtwin" run esh --on "pmem:$work/copy" --reuse --workload read \
    --operations 5k --format json >"$work/out" 2>&1 || fail "PMEM_IS_PMEM_FORCE: $(cat "$work/out")"
grep -q "claimed by PMEM_IS_PMEM_FORCE" "$work/out" || fail "what was only claimed is believed"

# ---- names that are no pool's
bad 2 "pmem needs a place" run esh --on pmem:
bad 2 "pmem needs a place" run esh --on pmem
bad 2 "leave --pool out" run esh --on "pmem:$work/x" --pool "$work/y" --workload read
bad 2 "No such file" run esh --records 1k --on "pmem:$work/no/such"
bad 2 "does not exist" run esh --on "pmem:$work/x" --reuse --workload read
bad 2 "is a directory" run esh --on "pmem:$work" --reuse --workload read
bad 2 "neither a file nor a DAX device" run esh --on pmem:/dev/null --overwrite --records 1k
bad 2 "this run has 2" run esh --on "pmem:$pool" --reuse
bad 1 "--pool-size" run esh --on "pmem:$work/x" --pool-size 4Mi --records 1M
rm -f "$work/x"

# ---- pools that are damaged, somebody else's, or of another time

# damaged CODE WORDS COMMAND..: the command damages the file in $bad; then nobody opens it or
# changes it.
bad=$work/bad
damaged() {
    local code=$1 words=$2 before
    shift 2
    cp "$pool" "$bad"
    "$@"
    before=$(sha1sum <"$bad")
    bad "$code" "$words" run esh --on "pmem:$bad" --reuse --workload read
    bad "$code" "$words" run esh --on emul --pool "$bad" --reuse --workload read
    [ "$(sha1sum <"$bad")" = "$before" ] || fail "$words: the file was changed"
}
# put OFFSET BYTES: as printf understands them
put() {
    # shellcheck disable=SC2059
    printf "$2" | dd of="$bad" bs=1 seek="$1" conv=notrunc status=none
}
damaged 2 "not a pmtwin pool" put 0 'X'
damaged 2 "newer than this program" put 8 '\377'
damaged 2 "of an older program" put 8 '\001'
damaged 1 "checksum is wrong" put 24 '\377'
damaged 1 "checksum is wrong" put 48 '\377\377'
damaged 1 "root" put 133 '\377'
damaged 2 "another store" put 136 'X'
damaged 1 "descriptor" put 4098 '\377'
damaged 2 "bytes long and has" truncate -s -2M "$bad"
damaged 2 "bytes long and has" truncate -s +2M "$bad"
damaged 2 "too short" truncate -s 8192 "$bad"
damaged 2 "is empty" truncate -s 0 "$bad"
damaged 2 "not a pmtwin pool" cp "$pmtwin" "$bad"
cp "$pool" "$bad"
for how in --reuse --overwrite; do
    flock "$bad" "$pmtwin" run esh --on "pmem:$bad" --workload read $how --records 25k \
        >/dev/null 2>"$work/err"
    grep -q "in use by another process" "$work/err" || fail "in use, $how: $(cat "$work/err")"
done
cmp -s "$pool" "$bad" || fail "a pool in use was changed"
bad 2 "holds 25000 records, not 7" run esh --on "pmem:$pool" --reuse --workload read --records 7

# ---- memory that is lost

# lose ON..: cuts the pool's file short while a run inserts into it.
lose() {
    "$pmtwin" run esh --records 1k --operations 20M --pool-size 256Mi --workload update --overwrite \
        "$@" >"$work/out" 2>"$work/err" &
    local run=$! tries=0
    # Until its blocks are there and it is at work.
    while [ "$(stat -c %b "$work/lost" 2>/dev/null || echo 0)" -lt 500000 ] && [ $tries -lt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    sleep 1
    truncate -s 0 "$work/lost"
    wait $run
    local code=$?
    [ $code -eq 1 ] || fail "a pool cut short, $*: exit $code: $(cat "$work/err")"
    grep -q "is gone: its file was cut short" "$work/err" || fail "cut short, $*: $(cat "$work/err")"
}
lose --on "pmem:$work/lost"
lose --on emul --pool "$work/lost"

# A disk that is full; only root can mount one.
mkdir "$work/small"
if mount -t tmpfs -o size=16m none "$work/small" 2>/dev/null; then
    bad 1 "libpmem cannot map" run esh --records 1M --on "pmem:$work/small"
    bad 1 "No space left" run esh --records 1M --on "pmem:$work/small/pool"
    [ ! -e "$work/small/pool" ] || fail "a pool that found no room is left behind"
    cp --sparse=always "$pool" "$work/small/sparse"
    bad 1 "cannot be had" run esh --on "pmem:$work/small/sparse" --reuse --workload read
    bad 1 "cannot be had" run esh --on emul --pool "$work/small/sparse" --reuse --workload read
else
    echo "no full disk: mounting one takes root"
fi

[ $failed -eq 0 ] && echo "all as it should be"
[ $failed -eq 0 ]
