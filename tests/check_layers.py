#!/usr/bin/env python3
"""check_layers.py -- who may include whom, read from the include lines.

    floor 4   experiments/         tests/ may look into every room
    floor 3   core/
    floor 2   backends/
    floor 1   model/   hw/

What holds: an include of ours is written from the root ("room/file.h") and names a file that is
there; core/ sees core/ and the doors; model/ is C over libc without clocks and threads; model/ and
hw/ know nobody above, nor each other; experiments/ sees the doors and the faces. Nothing that
core/ or experiments/ sees may lead, over other headers, into model/ or hw/.

    check_layers.py ROOT        exit 1 and one line per wrong arrow
    check_layers.py --self-test every rule finds its bad sample
"""
import os
import re
import sys
import tempfile

ROOMS = ("model", "hw", "backends", "core", "experiments", "tests")

DOORS = {"backends/pm.h", "backends/task.h", "backends/file.h"}
FACES = DOORS | {"backends/backend.h", "backends/device.h", "backends/machine.h",
                 "backends/nearest.h"}

# C11's headers, without those that tell the time or start threads.
PURE = set("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
           "stdalign stdarg stdbool stddef stdint stdio stdlib stdnoreturn string tgmath uchar "
           "wchar wctype".split())

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


def allowed(room, path):
    """May a file of room include our file path?"""
    target = path.split("/")[0]
    if room == "tests":
        return True
    if room == "core":
        return target == "core" or path in DOORS
    if room == "backends":
        return target in ("backends", "model", "hw")
    if room == "experiments":
        return target in ("experiments", "core") or path in FACES
    return target == room


def includes(text):
    """(line, is_ours, path) of every include line."""
    for m in INCLUDE.finditer(text):
        yield text.count("\n", 0, m.start()) + 1, m.group(1) == '"', m.group(2)


def read_tree(root):
    """path from the root -> text, for every C file of the house."""
    files = {}
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in names:
                if name.endswith((".c", ".h")):
                    full = os.path.join(folder, name)
                    with open(full, encoding="utf-8") as f:
                        files[os.path.relpath(full, root)] = f.read()
    return files


def reaches_floor_1(files, path, seen):
    """The way from a header into model/ or hw/, or None."""
    if path.split("/")[0] in ("model", "hw"):
        return [path]
    if path in seen or path not in files:
        return None
    seen.add(path)
    for _, ours, other in includes(files[path]):
        way = reaches_floor_1(files, other, seen) if ours else None
        if way:
            return [path] + way
    return None


def check_file(files, path):
    room = path.split("/")[0]
    for line, ours, other in includes(files[path]):
        where = f"{path}:{line}: "
        if not ours:
            if other.split("/")[0] in ROOMS:
                yield where + f"<{other}> is ours: write it in quotes"
            elif room in ("core", "model") and other.removesuffix(".h") not in PURE:
                yield where + f"{room}/ is plain C without clocks and threads: no <{other}>"
            continue
        if other.split("/")[0] not in ROOMS or other not in files:
            yield where + f'"{other}" is not a file of ours, written from the root'
        elif not other.endswith(".h"):
            yield where + f'"{other}" is not a header'
        elif not allowed(room, other):
            yield where + f'{room}/ may not include "{other}"'
        elif room in ("core", "experiments"):
            way = reaches_floor_1(files, other, set())
            if way:
                yield where + "leads into floor 1: " + " -> ".join(way)


def check(root):
    files = read_tree(root)
    if not files:
        return [f"{root}: no C files here"]
    return [fault for path in sorted(files) for fault in check_file(files, path)]


def self_test():
    good = {"core/a.c": '#include "core/a.h"\n#include <string.h>\n',
            "core/a.h": '#include "backends/pm.h"\n',
            "backends/pm.h": "", "backends/backend.h": '#include "backends/pm.h"\n',
            "backends/b.c": '#include "backends/backend.h"\n#include "model/m.h"\n'
                            '#include "hw/h.h"\n',
            "model/m.h": "#include <math.h>\n", "hw/h.h": "#include <unistd.h>\n",
            "experiments/e.c": '#include "backends/backend.h"\n#include "core/a.h"\n',
            "tests/t.c": '#include "model/m.h"\n#include "experiments/e.h"\n',
            "experiments/e.h": ""}
    bad = [("core/a.c", '#include "model/m.h"\n'), ("core/a.c", '#include "backends/backend.h"\n'),
           ("core/a.c", "#include <time.h>\n"), ("core/a.c", '#include "a.h"\n'),
           ("core/a.c", '#include "core/gone.h"\n'), ("core/a.h", '#include <core/a.h>\n'),
           ("core/a.c", '#  include "experiments/e.h"\n'),
           ("backends/pm.h", '#include "model/m.h"\n'),
           ("backends/backend.h", '#include "hw/h.h"\n'),
           ("model/m.h", '#include "hw/h.h"\n'), ("model/m.h", '#include "backends/pm.h"\n'),
           ("model/m.h", "#include <pthread.h>\n"), ("hw/h.h", '#include "model/m.h"\n'),
           ("backends/b.c", '#include "core/a.h"\n'),
           ("experiments/e.c", '#include "model/m.h"\n'),
           ("experiments/e.c", '#include "core/a.c"\n')]

    def faults(files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            return check(root)

    wrong = [f"the good sample: {fault}" for fault in faults(good)]
    wrong += [f"not found: {path}: {text.strip()}" for path, text in bad
              if not faults(good | {path: text})]
    if not faults({}):
        wrong.append("not found: an empty tree")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])
    print("\n".join(faults) if faults else "layers: no fault")
    sys.exit(1 if faults else 0)


main()
