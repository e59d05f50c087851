"""What a flame graph tool (inferno) draws of folded stacks: each box with its name and value.

    flame_frames.py STACKS

Prints one JSON list, [[NAME, VALUE], ...], the box below all others ("all") among them. Runs in an environment in which pyinferno is
installed. Boxes narrower than a hundredth of a percent are not drawn.
"""

import html
import json
import re
import sys

import pyinferno


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.read().split("\n")
    drawing = pyinferno.flamegraph_from_lines([line for line in lines if line])
    titles = re.findall(r"<title>(.*?) \(([\d,]+) samples?, [\d.]+%\)</title>", drawing, re.DOTALL)
    print(json.dumps([[html.unescape(name), int(value.replace(",", ""))] for name, value in titles]))


if __name__ == "__main__":
    main()
