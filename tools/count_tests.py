#!/usr/bin/python3
"""Counts the test cases of a `bazel test` run, from its build events (JSON lines) and the XML files that they name.

    count_tests.py BUILD_EVENTS BAZEL_STATUS

Prints the skipped ones with their reasons, and as the last line "N passed, N failed" (", N skipped" if there are any). A target that did
not build or has no XML counts as one case, and a run that failed for any other reason as one. Exit status 1 if anything failed or
nothing ran.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree


def cases_of(path):
    """Yields (name, outcome, text) for each test case in a JUnit file."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        if case.get("status") == "notrun":
            continue
        name = (case.get("classname") or "") + "." + (case.get("name") or "")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed", ""
        elif skipped is not None or case.get("result") == "skipped":
            yield name, "skipped", (skipped.get("message") or "") if skipped is not None else ""
        else:
            yield name, "passed", ""


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    skipped = []
    done = set()
    with open(sys.argv[1], encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            identity = event.get("id", {})
            if "testResult" in identity and "testResult" in event:
                label = identity["testResult"]["label"]
                result = event["testResult"]
                cases = []
                for output in result.get("testActionOutput", []):
                    if output.get("name") == "test.xml":
                        path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
                        try:
                            cases = list(cases_of(path))
                        except (OSError, xml.etree.ElementTree.ParseError):
                            pass
                passed = result.get("status") in ("PASSED", "FLAKY")
                if not cases or (not passed and all(c[1] != "failed" for c in cases)):
                    cases.append((label, "passed" if passed else "failed", ""))
                done.add(label)
                for name, outcome, text in cases:
                    counts[outcome] += 1
                    if outcome == "skipped":
                        skipped.append("%s %s: %s" % (label, name, text.strip().replace("\n", " ")))
            elif "targetCompleted" in identity:
                label = identity["targetCompleted"]["label"]
                if not event.get("completed", {}).get("success") and label not in done:
                    done.add(label)
                    print("did not build: " + label)
                    counts["failed"] += 1
    for line in sorted(skipped):
        print("skipped: " + line)
    if sys.argv[2] != "0" and counts["failed"] == 0:
        print("bazel ended with status %s: see above" % sys.argv[2])
        counts["failed"] += 1
    tail = ", %d skipped" % counts["skipped"] if counts["skipped"] else ""
    print("%d passed, %d failed%s" % (counts["passed"], counts["failed"], tail))
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
