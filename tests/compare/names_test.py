#!/usr/bin/python3
"""Whatever names hold, every output is valid and gives them back, read by parsers that are not ours: Python's json and csv.

Runs tpctl on traces whose names hold quotes, control characters, bytes that are no UTF-8 and 10,000 characters, and on traces of nothing and
of one span, through every view, format, export and merge.
"""

import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import tempfile
import unittest

TPCTL = os.path.abspath("tools/tpctl")
VIEWS = ["operations", "kernels", "copies", "api", "processes", "streams", "memory", "spans"]

# As users could find them: each is to come back as it is.
NAMES = [
    'quote " and \\ backslash',
    "\x1b[31mred\x1b[0m",
    "nul \x00 inside",
    "delete \x7f bell \x07",
    "line\nend\r\nof dos\ttab",
    "comma, semicolon; colon: equals=1",
    "=1+1",
    "layer 12",
    " blanks around ",
    "separators \u0085 \u2028 \u2029",
    "right to left \u202e mark",
    "Größe 大小 🔥 e\u0301",
    "</script><b>",
    "k" * 10000,
    "ß" * 10000,
]
# What is in the file, and what becomes of it where bytes are no text: each that is none is replaced.
BROKEN = [
    (b"bad \xff byte", "bad \ufffd byte"),
    (b"cut \xe5\xa4", "cut "),
    (b"overlong \xc0\xaf", "overlong "),
    (b"half \\ud800 pair", "half "),
]


def event(category, name, start, duration, **more):
    return {"ph": "X", "cat": category, "name": name, "pid": 50, "tid": 51, "ts": start, "dur": duration, **more}


def events_named(name, number):
    """An operation with a stack, its launch, a kernel and a copy, all of that name."""
    at, ids = 100 * number, {"correlation": number}
    work = {"pid": 0, "tid": 7}
    return [
        event("cpu_op", name, at, 50, args={"Call stack": name.replace(";", ":") + ";outer", "Input Dims": [[1]]}),
        event("cuda_runtime", name, at + 1, 3, args=ids),
        event("kernel", name, at + 20, 5, **work, args={**ids, "device": 0, "stream": 7}),
        event("cuda_runtime", name, at + 5, 3, args={"correlation": 1000 + number}),
        event("gpu_memcpy", name, at + 30, 5, **work, args={"correlation": 1000 + number, "device": 0, "stream": 7, "bytes": 8}),
    ]


def trace_of(events):
    return json.dumps({"traceEvents": events}).encode()


def hostile_trace():
    events = []
    for number, name in enumerate(NAMES, 1):
        events += events_named(name, number)
    for number in range(len(BROKEN)):
        events += events_named(f"@{number}@", 100 + number)
    # Names of processes and threads too.
    for number, name in enumerate(NAMES):
        for kind in ("process_name", "thread_name"):
            events.append({"ph": "M", "name": kind, "pid": 50 + number, "tid": 51, "args": {"name": name}})
        events.append(event("cpu_op", "in another process", 1, 1) | {"pid": 50 + number})
    text = trace_of(events)
    for number, (name, _) in enumerate(BROKEN):
        text = text.replace(b"@%d@" % number, name)
    return text


def nsight_export(path):
    database = sqlite3.connect(path)
    database.executescript(
        """CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
          correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"""
    )
    names = [name.encode() for name in NAMES] + [b"bad \xff byte"]
    for number, name in enumerate(names, 1):
        database.execute("INSERT INTO StringIds VALUES (?, CAST(? AS TEXT))", (number, name))
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, CAST(? AS TEXT), 1)", (100 * number, 100 * number + 50, name))
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, 0, 1, ?)", (100 * number, 100 * number + 9, number))
    database.commit()
    database.close()


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, contents):
        with open(self.path(name), "wb") as file:
            file.write(contents)
        return self.path(name)

    def tpctl(self, *arguments):
        """What it prints, which is UTF-8."""
        done = subprocess.run([TPCTL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        self.assert_is_for_terminals(done.stderr)
        return done.stdout

    def assert_is_for_terminals(self, text):
        controls = [c for c in text.decode() if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]
        self.assertEqual(controls, [], text)

    def table(self, trace, view, form):
        return self.tpctl("table", "--input", trace, "--view", view, "--format", form, "--row-limit", "none")

    def rows(self, trace, view):
        """Of the view, as JSON, the same as CSV says."""
        table = json.loads(self.table(trace, view, "json"))
        self.assertEqual(table["view"], view)
        lines = list(csv.reader(io.StringIO(self.table(trace, view, "csv").decode(), newline=""), strict=True))
        titles, *lines = lines
        self.assertEqual(len(lines), len(table["rows"]))
        for line, row in zip(lines, table["rows"]):
            self.assertEqual(len(line), len(titles))
            if "name" in row:
                self.assertEqual(line[titles.index("name")], row["name"] or "")
        self.assert_is_for_terminals(self.table(trace, view, "table"))
        return table["rows"]

    def export(self, trace, form, name):
        self.assertEqual(self.tpctl("export", "--input", trace, "--format", form, "-o", self.path(name)), b"")
        return self.path(name)

    def events(self, path):
        opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
        with opened as file:
            return json.loads(file.read().decode())["traceEvents"]

    def assert_all_names(self, names, message=None):
        names = set(names)
        for name in NAMES:
            self.assertIn(name, names, message)
        for _, start in BROKEN:
            self.assertTrue(any(start in name for name in names), (start, message))

    def test_tables_hold_every_name(self):
        trace = self.write("hostile.json", hostile_trace())
        for view in VIEWS:
            rows = self.rows(trace, view)
            if view in ("operations", "kernels", "api", "spans"):
                self.assert_all_names([row["name"] for row in rows], view)

    def test_traces_hold_every_name(self):
        trace = self.write("hostile.json", hostile_trace())
        for form, name in (("chrome", "plain.json"), ("chrome-torch", "torch.json.gz")):
            exported = self.export(trace, form, name)
            merged = self.path("merged.json")
            self.tpctl("merge", exported, trace, "-o", merged)
            for path in (exported, merged):
                events = self.events(path)
                for category in ("cpu_op", "kernel", "gpu_memcpy", "cuda_runtime"):
                    self.assert_all_names([one["name"] for one in events if one.get("cat") == category], (path, category))
            # And back.
            self.assertEqual(self.rows(exported, "kernels"), self.rows(trace, "kernels"))

    def test_folded_stacks_are_lines_of_frames_and_a_number(self):
        trace = self.write("hostile.json", hostile_trace())
        text = self.tpctl("export", "--input", trace, "--format", "stacks", "-o", "-").decode()
        self.assertTrue(text.endswith("\n"))
        lines = text[:-1].split("\n")
        self.assertEqual(len(lines), len(NAMES) + len(BROKEN))
        for line in lines:
            frames, value = line.rsplit(" ", 1)
            self.assertEqual(int(value), 50)
            self.assertEqual(len(frames.split(";")), 2, line)
            self.assertEqual(frames.split(";")[0], "outer")
            # A second number would be taken for a value to compare with.
            self.assertFalse(frames.rsplit(" ", 1)[-1].isdigit(), line)

    def test_an_export_of_nsight_systems_holds_every_name(self):
        trace = self.path("report.sqlite")
        nsight_export(trace)
        for view in VIEWS:
            self.rows(trace, view)
        names = {row["name"] for row in self.rows(trace, "kernels")}
        for name in NAMES:
            # A text in SQLite ends at a NUL for most that read it.
            self.assertTrue(name in names or "\x00" in name, name)
        self.events(self.export(trace, "chrome", "trace.json"))

    def test_traces_of_nothing_and_of_one_span(self):
        one = [event("cpu_op", "alone", 1, 2)]
        for name, events in (("nothing.json", []), ("one.json", one)):
            trace = self.write(name, trace_of(events))
            for view in VIEWS:
                rows = self.rows(trace, view)
                expected = len(events) if view in ("operations", "spans") else 0
                if view != "processes":
                    self.assertEqual(len(rows), expected, view)
            for form in ("chrome", "chrome-torch"):
                for output in ("out.json", "out.json.gz"):
                    slices = [one for one in self.events(self.export(trace, form, output)) if one["ph"] == "X"]
                    self.assertEqual(len(slices), len(events))
            self.assertEqual(self.tpctl("export", "--input", trace, "--format", "stacks", "-o", "-"), b"")
            self.tpctl("merge", trace, trace, "-o", self.path("merged.json"))
            self.assertEqual(len([one for one in self.events(self.path("merged.json")) if one["ph"] == "X"]), 2 * len(events))


if __name__ == "__main__":
    unittest.main()
