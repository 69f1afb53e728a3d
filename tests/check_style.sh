#!/usr/bin/env bash
# check_style.sh -- what keeps the tree readable: short files, one name per file, nothing left open.
#
#   check_style.sh ROOT          exit 1 and one line per fault
#   check_style.sh --self-test   every rule finds its bad sample
set -u
export LC_ALL=C

LINES_MAX=599
# In two parts, so that this file does not find itself.
LEFT_OPEN='\b(TO''DO|FIX''ME|X''XX)\b'

files_of() {
    (cd "$1" && find . \( -name .git -o -name build -o -name __pycache__ \) -prune -o -type f \
        \( -name '*.[chS]' -o -name '*.py' -o -name '*.sh' -o -name '*.cmake' -o -name '*.md' \
        -o -name CMakeLists.txt -o -name '*.profile' -o -path ./pmtwin -o -path ./.ci/run \) -print |
        sed 's|^\./||' | sort)
}

# Prints one line per fault.
faults() {
    local root=$1 files
    files=$(files_of "$root")
    [ -n "$files" ] || { echo "$root: no files of ours here"; return; }
    (
        cd "$root" || exit
        tr '\n' '\0' <<<"$files" | xargs -0 awk -v most=$LINES_MAX '
            FNR > most && !told[FILENAME]++ { print FILENAME ": more than " most " lines: two ideas" }'
        tr '\n' '\0' <<<"$files" | xargs -0 grep -HnE "$LEFT_OPEN" | sed 's/$/: left open/'
        tr '\n' '\0' <<<"$files" | xargs -0 grep -HnE '[[:space:]]$' | sed 's/:[^:]*$/: space at the end/'
        tr '\n' '\0' <<<"$files" | xargs -0 grep -HnP '\t' -- | sed 's/:[^:]*$/: a tab; we indent by 4 spaces/'
        # CMakeLists.txt is CMake's name, not ours.
        grep -v 'CMakeLists.txt$' <<<"$files" | sed 's|.*/||' | sort | uniq -d |
            sed 's/$/: two files have this name/'
    )
}

self_test() {
    local wrong=0
    tree=$(mktemp -d) || exit 1 # not local: the trap runs when the function is gone
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree/core" "$tree/model" "$tree/build"

    expect() { # expect WORDS: a fault with these words, or none if empty
        local found
        found=$(faults "$tree")
        if [ -z "$1" ] && [ -n "$found" ] || [ -n "$1" ] && ! grep -q "$1" <<<"$found"; then
            echo "expected '${1:-no fault}', found '$found'"
            wrong=1
        fi
    }

    expect 'no files'
    seq $LINES_MAX >"$tree/core/a.c"
    cp "$tree/core/a.c" "$tree/build/a.c"
    expect ''
    echo more >>"$tree/core/a.c"
    expect 'a.c: more than'
    echo 'int a;' >"$tree/core/a.c"
    echo 'int a;' >"$tree/model/a.c"
    expect 'a.c: two files'
    rm "$tree/model/a.c"
    for text in "TO""DO: later" "/* FIX""ME */" "X""XX"; do
        echo "$text" >"$tree/core/a.c"
        expect 'a.c:1:.*left open'
    done
    printf 'int a; \n' >"$tree/core/a.c"
    expect 'a.c:1: space'
    printf 'int a;\n\tint b;\n' >"$tree/core/a.c"
    expect 'a.c:2: a tab'
    return $wrong
}

case ${1-} in
--self-test) self_test && echo "style: every rule can fail" ;;
'') echo "check_style.sh ROOT | --self-test" >&2; exit 2 ;;
*)
    found=$(faults "$1")
    [ -z "$found" ] && echo "style: no fault" && exit 0
    echo "$found"
    exit 1
    ;;
esac
