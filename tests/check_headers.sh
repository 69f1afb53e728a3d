#!/usr/bin/env bash
# check_headers.sh -- each header compiles alone: with gcc and clang, and those that the stores see
# once per target. So include order never matters, and a header says all that it needs.
#
#   check_headers.sh ROOT          exit 1 and the compiler's words per header
#   check_headers.sh --self-test   a bad header of each kind is found
set -u

FLAGS=(-std=c11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wvla)
for library in libpmem json-c smartcols criterion; do
    read -ra more <<<"$(pkg-config --cflags "$library" 2>/dev/null)"
    FLAGS+=("${more[@]}")
done

# Read by neutral code too, so they must compile without a target.
NEUTRAL='core/registry.h core/store.h core/pool.h'

# The targets to compile a header for; "neutral" is none.
targets_of() {
    case $1 in
    backends/pm_native.h | tests/esh_table.h) echo native ;;
    backends/pm_counted.h) echo counted ;;
    backends/pm_emul.h) echo emul ;;
    backends/pm.h | backends/task.h | backends/file.h) echo neutral native counted emul ;;
    core/*)
        [[ " $NEUTRAL " == *" $1 "* ]] && echo neutral
        echo native counted emul
        ;;
    *) echo neutral ;;
    esac
}

# compile_alone ROOT HEADER: one line per compiler and target that fails, then what it said.
compile_alone() {
    local root=$1 header=$2 compiler target said
    for target in $(targets_of "$header"); do
        local define=()
        [ "$target" = neutral ] || define=(-DPM_TARGET="$target")
        for compiler in gcc clang; do
            said=$(printf '#include "%s"\n#include "%s"\nint after_it;\n' "$header" "$header" |
                "$compiler" "${FLAGS[@]}" "${define[@]}" -Wno-missing-prototypes -I"$root" -x c - 2>&1) ||
                printf '%s: does not compile alone (%s, %s)\n%s\n' \
                    "$header" "$compiler" "$target" "$said"
        done
    done
}

faults() {
    local root=$1 headers header
    headers=$(cd "$root" && find model hw backends core experiments tests -name '*.h' 2>/dev/null | sort)
    [ -n "$headers" ] || { echo "$root: no headers here"; return; }
    for header in $headers; do
        compile_alone "$root" "$header" &
        # Two at a time for each processor: a compiler that reads one header is soon done.
        [ "$(jobs -rp | wc -l)" -lt $((2 * $(nproc))) ] || wait -n
    done
    wait
}

self_test() {
    local wrong=0
    tree=$(mktemp -d) || exit 1 # not local: the trap runs when the function is gone
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree/core" "$tree/model" "$tree/backends"

    expect() { # expect FILE TEXT WORDS: a fault with these words, or none if empty
        local found
        printf '%s\n' "$2" >"$tree/$1"
        found=$(faults "$tree")
        if [ -z "$3" ] && [ -n "$found" ] || [ -n "$3" ] && ! grep -q "$3" <<<"$found"; then
            echo "$1 with '$2': expected '${3:-no fault}', found '$found'"
            wrong=1
        fi
        rm "$tree/$1"
    }

    [[ $(faults "$tree") == *'no headers here' ]] || { echo "an empty tree passes"; wrong=1; }
    expect model/a.h '#include <stdint.h>
        static inline uint64_t f(uint64_t x) { return x; }' ''
    expect model/a.h 'uint64_t f(void);' 'a.h: does not compile alone (clang, neutral)'
    expect model/a.h 'int f();' 'a.h: does not compile alone (gcc, neutral)'
    expect model/a.h 'enum { TWICE };' 'a.h: does not compile alone (gcc'
    expect core/a.h 'int PM_TARGET;' ''
    expect core/store.h 'int PM_TARGET, more = PM_TARGET;' 'store.h: does not compile alone (gcc, neutral)'
    expect core/a.h '#define PM_X_emul 1
        #define PM_X__(t) PM_X_##t
        #define PM_X_(t) PM_X__(t)
        #if PM_X_(PM_TARGET)
        #error "not here"
        #endif' '(gcc, emul)'
    return $wrong
}

case ${1-} in
--self-test) self_test && echo "headers: every rule can fail" ;;
'') echo "check_headers.sh ROOT | --self-test" >&2; exit 2 ;;
*)
    found=$(faults "$1")
    [ -z "$found" ] && echo "headers: no fault" && exit 0
    echo "$found"
    exit 1
    ;;
esac
