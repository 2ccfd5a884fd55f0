#!/usr/bin/env python3
"""Sums up JUnit reports: report.py REPORT.xml...

Shows each failed test with the end of its output, each skipped test with the
reason, and last `N passed, N failed, N skipped`. Exits with 0 if some passed
and none failed.
"""

import sys
import xml.etree.ElementTree as ElementTree

LINES_OF_OUTPUT = 60


def output_of(case):
    texts = [element.text or "" for element in case.iter()]
    return "\n".join(texts).strip().splitlines()


def name_of(case):
    names = [case.get("classname"), case.get("name")]
    return "/".join(dict.fromkeys(filter(None, names)))


def reason_of(case):
    """Why a test was skipped: what GoogleTest prints above its mark, or what
    the runner says."""
    lines = output_of(case)
    for above, line in zip(lines, lines[1:]):
        if line.startswith("[  SKIPPED ]"):
            return above
    return case.find("skipped").get("message", "no reason given")


def has_failed(case):
    # CTest counts a test whose program is missing as skipped.
    return case.find("failure") is not None or (
        case.find("skipped[@message='Unable to find executable']") is not None)


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        for case in ElementTree.parse(path).iter("testcase"):
            if has_failed(case):
                failed += 1
                print("failed: " + name_of(case))
                for line in output_of(case)[-LINES_OF_OUTPUT:]:
                    print("  " + line)
            elif case.find("skipped") is not None:
                skipped += 1
                print(f"skipped: {name_of(case)}: {reason_of(case)}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


sys.exit(main())
