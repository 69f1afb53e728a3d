#!/usr/bin/env python3
"""check_results.py PMTWIN ROOT -- docs/RESULTS.md names every key that the command prints, and the
pages that README and docs/ link to are there.

    check_results.py --self-test    a page without keys, and a dead link, are found
"""
import json
import os
import re
import subprocess
import sys
import tempfile

SMALL = ["--records", "2k", "--operations", "1k"]
# What a user's store, parameters or machine calls itself is no key of ours.
OPEN = {"parameters", "profile_parameters", "reasons"}


def run(pmtwin, *arguments):
    return subprocess.run([pmtwin, *arguments], check=True, capture_output=True, text=True).stdout


def keys_of(value):
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in OPEN:
                yield from keys_of(inner)


def printed(pmtwin):
    keys = set()
    for arguments in (["run", "esh", "--on", "emul,dram", "--workload", "insert,read,ycsb-e", *SMALL],
                      ["explain", "esh", "insert", "7", "--records", "1k"],
                      ["bench", *SMALL], ["list"]):
        keys |= set(keys_of(json.loads(run(pmtwin, *arguments, "--format", "json"))))
    return keys | set(run(pmtwin, "run", "esh", *SMALL, "--format", "csv").split("\n")[0].split(","))


def missing_keys(keys, page):
    named = set(re.findall(r"`([a-z0-9_]+)`", page))
    return [f"docs/RESULTS.md: `{key}` is printed and not explained" for key in sorted(keys - named)]


def dead_links(root):
    pages = ["README.md", "CONTRIBUTING.md"]
    pages += ["docs/" + name for name in os.listdir(os.path.join(root, "docs")) if name.endswith(".md")]
    for page in sorted(pages):
        text = open(os.path.join(root, page), encoding="utf-8").read()
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            if not os.path.exists(os.path.join(root, os.path.dirname(page), link)):
                yield f"{page}: links to {link}, which is not there"


def self_test():
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "docs"))
        open(os.path.join(root, "CONTRIBUTING.md"), "w").close()
        with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as page:
            page.write("[here](docs) and [gone](docs/GONE.md)")
        found = list(dead_links(root)) + missing_keys({"known", "new"}, "`known`")
    return [] if len(found) == 2 else [f"found {found} instead of one dead link and one key"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        faults = self_test()
    elif len(sys.argv) == 3:
        with open(os.path.join(sys.argv[2], "docs/RESULTS.md"), encoding="utf-8") as page:
            faults = missing_keys(printed(sys.argv[1]), page.read())
        faults += dead_links(sys.argv[2])
    else:
        sys.exit(__doc__)
    print("\n".join(faults) if faults else "results: every key is explained, every link leads somewhere")
    sys.exit(1 if faults else 0)


main()
