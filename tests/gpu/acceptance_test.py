#!/usr/bin/python3
"""What gpu_acceptance.sh takes for right and for wrong, on results made up for it; no GPU is needed."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import acceptance  # pylint: disable=wrong-import-position


class CompareKernels(unittest.TestCase):
    def test_the_same_kernels_with_about_the_same_times_are_right(self):
        result, seen = acceptance.compare_kernels({"a": [2, 1000], "b": [1, 500]}, {"a": [2, 1020], "b": [1, 470]})
        self.assertEqual(result, acceptance.RIGHT)
        self.assertIn("3 kernels of 2 names", seen)

    def test_another_number_of_one_kernel_is_wrong_and_named(self):
        result, seen = acceptance.compare_kernels({"a": [2, 1000], "b": [1, 500]}, {"a": [2, 1000], "b": [2, 500]})
        self.assertEqual(result, acceptance.WRONG)
        self.assertIn("e.g. b: ours 1, PyTorch's 2", seen)

    def test_a_kernel_that_one_of_both_lacks_is_wrong(self):
        self.assertEqual(acceptance.compare_kernels({"a": [2, 1000]}, {"a": [2, 1000], "b": [1, 1]})[0], acceptance.WRONG)
        self.assertEqual(acceptance.compare_kernels({"a": [2, 1000], "b": [1, 1]}, {"a": [2, 1000]})[0], acceptance.WRONG)

    def test_far_other_times_are_wrong(self):
        self.assertEqual(acceptance.compare_kernels({"a": [2, 2000]}, {"a": [2, 1000]})[0], acceptance.WRONG)

    def test_nothing_to_compare_is_wrong(self):
        for ours, theirs in (({}, {}), ({"a": [1, 1]}, {}), ({}, {"a": [1, 1]})):
            self.assertEqual(acceptance.compare_kernels(ours, theirs)[0], acceptance.WRONG)


class Tables(unittest.TestCase):
    def test_kernels_alone_are_read_from_a_trace(self):
        events = [
            {"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 2.001},
            {"ph": "X", "cat": "kernel", "name": "a", "ts": 5, "dur": 1},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 9, "dur": 1},
            {"ph": "M", "name": "process_name", "args": {}},
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"traceEvents": events}, file)
            file.flush()
            self.assertEqual(acceptance.kernels_of_trace(file.name), {"a": [2, 3001]})

    def test_kernels_alone_are_read_from_a_table(self):
        rows = [{"name": "a", "kind": "k", "count": 2, "total_ns": 3001}, {"name": "Memset (Device)", "kind": "s", "count": 1, "total_ns": 7}]
        self.assertEqual(acceptance.kernels_of_table({"rows": rows}), {"a": [2, 3001]})


class Status(unittest.TestCase):
    def test_one_wrong_row_is_enough_and_none_checked_is_not_right(self):
        for results, status in (([acceptance.RIGHT, acceptance.LEFT_OUT], 0), ([acceptance.RIGHT, acceptance.WRONG], 1),
                                ([acceptance.LEFT_OUT], 2)):
            report = acceptance.Report()
            report.rows = [("check", result, "") for result in results]
            self.assertEqual(report.status(), status)


if __name__ == "__main__":
    unittest.main()
