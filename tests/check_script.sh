#!/usr/bin/env bash
# check_script.sh -- the way in, ./pmtwin, on machines that are not this one: packages missing,
# no sudo, a build that fails. dpkg, apt, sudo and cmake are stand-ins that write down their calls.
#
#   check_script.sh ROOT          exit 1 and one line per broken promise
#   check_script.sh --self-test   scripts with one promise broken are found
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# stand_in NAME LINE..: a program of that name that runs these lines.
stand_in() {
    local name=$1
    shift
    printf '%s\n' '#!/bin/bash' "$@" >"$box/bin/$name"
    chmod +x "$box/bin/$name"
}

# A tree with the script and the packages gcc and, for the long suite, qemu-user; all is well.
fresh_machine() {
    rm -rf "$box"
    mkdir -p "$box/bin" "$box/tree" "$box/elsewhere"
    cp "$script" "$box/tree/pmtwin"
    printf '%s\n' '# why' 'gcc # because' '[long]' 'qemu-user  # too' >"$box/tree/packages.txt"
    touch "$box/tree/CMakePresets.json"
    stand_in dpkg-query 'echo installed'
    stand_in apt-get "echo apt-get \"\$@\" >>$box/calls"
    stand_in sudo "echo sudo >>$box/calls" 'exec "$@"'
    stand_in id 'echo 0'
    stand_in cmake "echo cmake \"\$@\" >>$box/calls" \
        "p=$box/tree/build/release/experiments; mkdir -p \$p" \
        "printf '#!/bin/bash\necho ran in \$PWD: \"\$@\"; exit 5\n' >\$p/pmtwin; chmod +x \$p/pmtwin"
    : >"$box/calls"
}

# promise WORDS CODE CALLS SAID ARGUMENTS..: with ARGUMENTS the script exits with CODE, its outside
# calls match CALLS (a regular expression over one line), and what it says matches SAID.
promise() {
    local words=$1 code=$2 calls=$3 said=$4 got called
    shift 4
    got=$(cd "$box/elsewhere" && PATH=$box/bin:/usr/bin:/bin "$box/tree/pmtwin" "$@" 2>&1)
    code_got=$?
    called=$(tr '\n' ';' <"$box/calls")
    if [ $code_got != "$code" ] || ! [[ $called =~ ^$calls$ && $got =~ $said ]]; then
        echo "$words: exit $code_got, called '$called', said '$got'"
    fi
    : >"$box/calls"
}

# faults SCRIPT: one line per broken promise.
faults() {
    script=$1
    local install='apt-get update;apt-get install -y --no-install-recommends gcc;'
    local build='cmake --preset release;cmake --build --preset release [^;]*;'

    fresh_machine
    promise 'builds, then hands over arguments, folder and exit code' \
        5 "$build" "ran in $box/elsewhere: run esh --keys a b" run esh --keys 'a b'
    touch "$box/tree/build/release/build.ninja"
    promise 'does not configure twice' 5 'cmake --build [^;]*;' 'ran in' list
    promise 'wrong usage' 2 '' 'test takes --long or nothing' test --longer

    stand_in dpkg-query '[ "${@: -1}" != gcc ] || exit 1; echo installed'
    promise 'installs what is missing' 5 "${install}cmake .*" 'installing gcc.*ran in' list
    promise 'refuses to install when told so, with the command' \
        3 '' 'apt-get install -y --no-install-recommends gcc$' --no-install list
    stand_in id 'echo 1000'
    promise 'installs with sudo when not root' \
        5 'sudo;apt-get update;sudo;apt-get install [^;]*gcc;cmake .*' 'ran in' list
    stand_in id 'echo 0'
    stand_in apt-get 'echo no network; exit 100'
    promise 'says why apt-get failed' 3 '' 'no network.*apt-get failed.*install .*gcc' list

    fresh_machine
    stand_in dpkg-query 'case "${@: -1}" in qemu-user) echo not-installed;; *) echo installed;; esac'
    promise 'needs the long packages only for the long suite' 5 "$build" 'ran in' list
    promise 'needs them then' 3 '' 'install .*recommends qemu-user$' --no-install test --long
    stand_in cmake 'echo a compiler error; exit 1'
    rm -rf "$box/tree/build"
    promise 'says why the build failed' 1 '' 'a compiler error.*does not build' list
    stand_in dpkg-query 'echo installed'
    promise 'a preset that does not build is a failed test' \
        1 '' 'a compiler error.*tests failed out of 5' test
}

# Breaks one promise at a time: NAME, then what sed does to the script.
self_test() {
    local wrong=0 broken words
    broken=$(mktemp)
    while IFS='|' read -r words change; do
        sed -E "$change" "$here/../pmtwin" >"$broken"
        chmod +x "$broken"
        if cmp -s "$broken" "$here/../pmtwin"; then
            echo "'$words' changes nothing"
            wrong=1
        elif [ -z "$(faults "$broken")" ]; then
            echo "passes: $words"
            wrong=1
        fi
    done <<'BROKEN'
exits 0 whatever the command did|s/^exec (.*)$/\1; exit 0/
runs in the root|s/^exec /cd "$root"; exec /
installs though told not to|s/may_install=no/may_install=yes/
never updates the list of packages|s/apt-get update/true/
forgets sudo|s/as_root=\(sudo\)/as_root=()/
wants the long packages always|s/long != "ON"/0/
builds and does not look whether it worked|s/build_release \|\| .*/build_release/
hides what apt-get said|s/cat "\$said" >&2/true/
tests pass whatever happens|s/return 1$/return 0/
BROKEN
    rm -f "$broken"
    return $wrong
}

box=$(mktemp -d) || exit 1
trap 'rm -rf "$box"' EXIT
case ${1-} in
--self-test) self_test && echo "script: every promise can be broken" ;;
'') echo "check_script.sh ROOT | --self-test" >&2; exit 2 ;;
*)
    found=$(faults "$1/pmtwin")
    [ -z "$found" ] && echo "script: keeps its promises" && exit 0
    echo "$found"
    exit 1
    ;;
esac
