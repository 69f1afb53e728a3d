#!/usr/bin/env bash
# check_zero_cost.sh -- the native door costs nothing: zero_cost/door.c and zero_cost/by_hand.c
# become the same machine code, function by function, with gcc and clang at -O2 and -O3.
#
#   check_zero_cost.sh ROOT          exit 1 and the difference per function
#   check_zero_cost.sh --self-test   the counted door, which does cost something, is found
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

FUNCTIONS='zero_cost_probe zero_cost_insert zero_cost_persist'
FLAGS=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off
    -fno-strict-aliasing -fno-asynchronous-unwind-tables -c)

# One function's instructions: no addresses, targets of jumps as offsets in the function, calls by
# the name they are linked to.
instructions() {
    objdump -dr --no-show-raw-insn "$1" | awk -v name="<$2>:" '
        $2 == name { inside = 1; next }
        /^$/ { inside = 0 }
        inside' | sed -E 's/^ *[0-9a-f]+:[[:space:]]*//; s/\b[0-9a-f]+ <[^+>]*(\+0x[0-9a-f]+)?>/<\1>/
                          s/[[:space:]]+$//; /^(xchg +%ax,%ax|nop.*|data16.*|cs nop.*)$/d'
}

# compare ROOT TARGET: the differences between the door of that target and the hand-written code.
compare() {
    local root=$1 target=$2 compiler level name
    work=$(mktemp -d) || exit 1
    for compiler in gcc clang; do
        for level in -O2 -O3; do
            "$compiler" "${FLAGS[@]}" "$level" -I"$root" -DPM_TARGET="$target" \
                "$root/tests/zero_cost/door.c" -o "$work/door.o" &&
                "$compiler" "${FLAGS[@]}" "$level" -I"$root" \
                    "$root/tests/zero_cost/by_hand.c" -o "$work/by_hand.o" ||
                { echo "$compiler $level: does not compile"; continue; }
            for name in $FUNCTIONS; do
                instructions "$work/door.o" "$name" >"$work/door.s"
                instructions "$work/by_hand.o" "$name" >"$work/by_hand.s"
                [ "$(wc -l <"$work/by_hand.s")" -gt 10 ] ||
                    echo "$compiler $level $name: no instructions to compare"
                diff -U2 --label by_hand --label door "$work/by_hand.s" "$work/door.s" >"$work/diff" ||
                    { echo "$compiler $level $name: not the same machine code"; cat "$work/diff"; }
            done
        done
    done
    rm -rf "$work"
}

# Counting changes the insert and the persist everywhere, and the probe nowhere.
self_test() {
    local found wrong=0 compiler level
    found=$(compare "$here/.." counted)
    for compiler in gcc clang; do
        for level in -O2 -O3; do
            for name in zero_cost_insert zero_cost_persist; do
                grep -qe "^$compiler $level $name: not the same" <<<"$found" ||
                    { echo "$compiler $level $name: the counted door passes for free"; wrong=1; }
            done
        done
    done
    ! grep -q 'zero_cost_probe: not' <<<"$found" ||
        { echo "the counted door's probe differs"; wrong=1; }
    found=$(compare "$here/.." nonsense 2>/dev/null)
    [ "$(grep -c 'does not compile' <<<"$found")" = 4 ] || { echo "what does not compile passes"; wrong=1; }
    return $wrong
}

case ${1-} in
--self-test) self_test && echo "zero_cost: a cost is found" ;;
'') echo "check_zero_cost.sh ROOT | --self-test" >&2; exit 2 ;;
*)
    found=$(compare "$1" native)
    [ -z "$found" ] && echo "zero_cost: the same machine code" && exit 0
    echo "$found"
    exit 1
    ;;
esac
