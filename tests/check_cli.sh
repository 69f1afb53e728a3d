#!/usr/bin/env bash
# check_cli.sh PMTWIN: exit codes, and that an error is one line on stderr and nothing on stdout.
set -u
pmtwin=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
small="--records 2k --operations 1k"

fail() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

# Succeeds, says something on stdout and nothing on stderr.
good() {
    "$pmtwin" "$@" >"$work/out" 2>"$work/err"
    local code=$?
    [ $code -eq 0 ] || fail "$* -> $code: $(cat "$work/err")"
    [ -s "$work/out" ] || fail "$*: printed nothing"
    [ ! -s "$work/err" ] || fail "$*: complained: $(cat "$work/err")"
}

# bad CODE WORDS ARGUMENTS..: ends with CODE and one line that holds WORDS.
bad() {
    local code=$1 words=$2
    shift 2
    "$pmtwin" "$@" >"$work/out" 2>"$work/err"
    local got=$?
    [ $got -eq "$code" ] || fail "$* -> $got instead of $code: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$*: not one line: $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "$*: results in spite of the error"
    grep -qF -- "$words" "$work/err" || fail "$*: no '$words' in: $(cat "$work/err")"
}

printf 'alpha\nbeta\ngamma' >"$work/keys"
: >"$work/empty"
printf 'a\nb\na\n' >"$work/twice"
printf 'a\nb\0c\n' >"$work/nul"
head -c 70000 /dev/zero | tr '\0' x >"$work/long"

good help
good run --help
good list
good list stores --format json
# shellcheck disable=SC2086
{
    good run esh $small
    good run esh $small --on emul,dram --format csv --workload insert,read,read-miss,update,delete,mixed
    good run esh $small --on emul,dram --workload ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f --threads 1,3
    good run esh $small --threads 30
    good run esh --records 0 --operations 1k --on emul,dram --workload insert,read,delete
    good run esh $small --key-size 24 --value-size 100 --on emul,dram --set buckets=8
    good run esh --keys "$work/keys" --on emul,dram --workload insert,read,read-miss,delete
    good explain esh insert 7 --records 1k
    good explain esh read 7 --records 1k --format json
    good explain esh delete 0xff --records 1k
}
"$pmtwin" run esh $small --threads 30 | grep -q "6 of the threads run on the second socket" ||
    fail "30 threads: the table does not say which run on the second socket"
"$pmtwin" run esh $small --workload ycsb-e | grep -q "cannot scan" ||
    fail "ycsb-e on esh: the row does not say that it cannot scan"

bad 2 "no command"
bad 2 "did you mean 'run'?" rum
bad 2 "did you mean 'esh'?" run eshh
bad 2 "run needs a store" run
bad 2 "did you mean 'emul'?" run esh --on emull
bad 2 "optane-100" run esh --on emul:optane-10
bad 2 "did you mean 'insert'?" run esh --workload inzert
bad 2 "did you mean '--records'?" run esh --recrods 5
bad 2 "did you mean 'buckets'?" run esh --set bucket=4
bad 2 "give a power of two, 4 to 64" run esh --set buckets=5
bad 2 "cores" run esh --profile-set cors=5
bad 2 "out of range" run esh --operations 0
bad 2 "out of range" run esh --threads 0
bad 2 "not a count" run esh --records -5
bad 2 "not a count" run esh --records many
bad 2 "out of range" run esh --records 99999999999999999999
bad 2 "48" run esh --threads 49
bad 2 "larger --key-size" run esh --records 1k --key-size 1
bad 2 "is empty" run esh --keys "$work/empty"
bad 2 "cannot be read" run esh --keys "$work/missing"
bad 2 "line 3 repeats line 1" run esh --keys "$work/twice"
bad 2 "line 2 has a NUL" run esh --keys "$work/nul"
bad 2 "longer than 64 KB" run esh --keys "$work/long"
bad 2 "Is a directory" run esh --on "emul:$work"
bad 2 "larger than 1 MiB" run esh --on emul:/dev/zero
bad 2 "longer than 64 KB" run esh --keys /dev/zero
bad 2 "cannot be written" run esh --output "$work/no/such" --records 1k
bad 2 "no operation 'insrt'" explain esh insrt 5
bad 2 "is no key" explain esh insert x
bad 2 "--pool FILE" run esh --reuse
bad 2 "this run has 2" run esh --pool "$work/pool"
bad 1 "--pool-size" run esh --pool-size 1Mi --records 1M

# A kept pool: made on one target, read on the other, refused without a word about what to do.
pool="$work/pool"
good run esh $small --on emul --workload insert --pool "$pool"
good run esh --operations 1k --on dram --workload read --pool "$pool" --reuse
bad 2 "--reuse goes on" run esh $small --on dram --workload insert --pool "$pool"
bad 2 "holds 3000 records" run esh $small --on dram --workload read --pool "$pool" --reuse
good run esh $small --on dram --workload insert --pool "$pool" --overwrite
# In use: neither read nor cut short under whoever uses it.
for how in --reuse --overwrite; do
    flock "$pool" "$pmtwin" run esh --on dram --workload read --pool "$pool" $how >/dev/null 2>"$work/err"
    code=$?
    [ $code -eq 2 ] && grep -q "in use by another process" "$work/err" ||
        fail "a pool in use, $how -> $code: $(cat "$work/err")"
done
good run esh --operations 1k --on dram --workload read --pool "$pool" --reuse
head -c 3000000 /dev/zero >"$work/zeroes"
bad 2 "$work/zeroes" run esh --workload read --pool "$work/zeroes" --reuse
[ "$(tr -d '\0' <"$work/zeroes" | wc -c)" -eq 0 ] || fail "a file that is no pool was written to"

# Results go where --output says, and nowhere else.
good list --format json
"$pmtwin" run esh $small --format json --output "$work/json" >"$work/out" || fail "--output failed"
[ ! -s "$work/out" ] && [ -s "$work/json" ] || fail "--output: results on stdout, or none in the file"

[ $failed -eq 0 ] && echo "all as it should be"
[ $failed -eq 0 ]
