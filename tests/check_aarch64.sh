#!/usr/bin/env bash
# check_aarch64.sh -- the same event stream on another processor.
#
#   check_aarch64.sh ROOT [BINARY]   BINARY: trace_hash as the build under test made it
#
# For aarch64, under qemu-user: the tests of fibers, over our own context switch; then trace_hash,
# whose line must be BINARY's, so the hash of an ESH run does not depend on the processor.
# Exit 1: a test fails or the lines differ; 3: no cross compiler or no qemu here.
set -euo pipefail

root=${1:?usage: check_aarch64.sh ROOT [BINARY]}
binary=${2:-}
compiler=aarch64-linux-gnu-gcc
for tool in "$compiler" qemu-aarch64 cmake; do
    command -v "$tool" >/dev/null ||
        { echo "check_aarch64: $tool is missing; install gcc-aarch64-linux-gnu, qemu-user" >&2; exit 3; }
done

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

cmake -DOUT="$build/profile_builtin.c" -DDIR="$root/model/profiles" \
      -P "$root/model/embed_profiles.cmake" >/dev/null

backends=() # all but the ways to switch a context, of which each build takes one
for source in "$root"/backends/*.c; do
    case $(basename "$source") in
        fiber_assembly.c | fiber_ucontext.c) ;;
        *) backends+=("$source") ;;
    esac
done
core=() # what is compiled once per target: all but the registry
for source in "$root"/core/*.c; do
    [ "$(basename "$source")" = registry.c ] || core+=("$(basename "$source" .c)")
done
flags=(-std=gnu11 -O2 -ffp-contract=off -fno-strict-aliasing -D_GNU_SOURCE -I"$root" -pthread)
build_for() { # COMPILER FIBER_SOURCES OUTPUT
    local cc=$1 fiber=$2 output=$3 name
    for name in "${core[@]}"; do
        "$cc" "${flags[@]}" -DPM_TARGET=emul -c "$root/core/$name.c" -o "$build/core_$name.o"
    done
    # shellcheck disable=SC2086 # a list of files
    "$cc" "${flags[@]}" "$root"/model/*.c "$build/profile_builtin.c" "$root"/hw/*.c \
        "${backends[@]}" $fiber \
        "$build"/core_*.o "$root/tests/trace_hash.c" "$root/tests/plain/libpmem.c" -static -lm -o "$output"
}

# Criterion has no cross build either: the same tests over a stand-in for it.
fiber=("$root"/backends/{fiber,fiber_assembly}.c "$root/backends/fiber_aarch64.S")
"$compiler" "${flags[@]}" -I"$root/tests/plain" "$root/tests/test_fiber.c" "${fiber[@]}" \
    -static -lm -o "$build/test_fiber"
qemu-aarch64 "$build/test_fiber"

build_for "$compiler" "$root/backends/fiber_assembly.c $root/backends/fiber_aarch64.S" "$build/there"
there=$(qemu-aarch64 "$build/there")
if [ -n "$binary" ]; then
    here=$("$binary")
else
    build_for cc "$root/backends/fiber_ucontext.c" "$build/here"
    here=$("$build/here")
fi
echo "aarch64: $there"
echo "here:    $here"
[ "$there" = "$here" ]
