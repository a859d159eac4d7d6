#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints results of `byoc bench --ops --json=FILE` as a table for a page: a column per file and number of threads.

    table.py FILE... [--worst N]

Rows are the cases with the worst ratio of any column, 20 by default; then come the geometric means, and the numbers
of cases above 1.5 and above 1.
"""
import argparse
import json
import math


def columns_of(path):
    """(title, {case: result}) per number of threads of a file."""
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    title = ",".join(value["options"].get("compiler", ["default"]))
    out = {}
    for case in value["cases"]:
        key = (case["op"], case["from"], case["shapes"], json.dumps(case["attrs"]))
        out.setdefault(case["threads"], {})[key] = case
    return [(f"`{title}`, {threads}", cases) for threads, cases in sorted(out.items())]


def cell(case):
    if case is None or case["ratio"] is None:
        return ""
    return f"{case['byoc']['time_ns'] / 1000:.0f} ({case['ratio']:.2f})"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(columns, worst):
    ratios = {}
    for _, cases in columns:
        for key, case in cases.items():
            if case["ratio"] is not None:
                ratios[key] = max(ratios.get(key, 0), case["ratio"])
    lines = [row(["operator", "size of", *(title for title, _ in columns)]), "|---|---|" + "--:|" * len(columns)]
    for key in sorted(ratios, key=lambda key: -ratios[key])[:worst]:
        lines.append(row([key[0], key[1], *(cell(cases.get(key)) for _, cases in columns)]))
    known = [[case["ratio"] for case in cases.values() if case["ratio"]] for _, cases in columns]
    means = [math.exp(sum(map(math.log, all_)) / len(all_)) if all_ else math.nan for all_ in known]
    lines.append(row(["geometric mean", f"{max(map(len, known))} cases", *(f"{mean:.2f}" for mean in means)]))
    for limit in (1.5, 1.0):
        lines.append(row([f"cases above {limit}", "", *(str(sum(one > limit for one in all_)) for all_ in known)]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--worst", type=int, default=20)
    given = parser.parse_args()
    print(table([column for path in given.files for column in columns_of(path)], given.worst))


if __name__ == "__main__":
    main()
