#!/usr/bin/python3
"""Writes compile_commands.json for clang-tidy and clangd, from what Bazel would run. To be run after a build.

    bazel aquery -c opt 'mnemonic("CppCompile", //...)' --output=jsonproto | tools/compile_commands.py >compile_commands.json
"""

import json
import os
import subprocess
import sys

# Of gcc alone. (The -D__DATE__ and others, which make builds reproducible, go as well: clang warns of them.)
UNKNOWN_TO_CLANG = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object", "-Wunused-but-set-parameter"}


def main():
    root = subprocess.run(
        ["bazel", "info", "execution_root"], capture_output=True, text=True, check=True
    ).stdout.strip()
    commands = {}
    for action in json.load(sys.stdin).get("actions", []):
        arguments = [a for a in action["arguments"] if a not in UNKNOWN_TO_CLANG and not a.startswith("-D__")]
        if "-c" not in arguments:
            continue
        source = arguments[arguments.index("-c") + 1]
        if os.path.exists(source):  # Ours; not generated.
            commands[source] = {"directory": root, "file": os.path.abspath(source), "arguments": arguments}
    json.dump(list(commands.values()), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
