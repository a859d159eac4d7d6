#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the data of a report with the JSON of the commands that it comes from.

    figures.py BUILD

Times differ from one run to the next, so of them only the names and numbers of values are compared, and the sums that
hold within one report. All else must be equal.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def model_text():
    """A small network: convolutions with constants, ops that only the default codegen takes, two outputs."""
    weights = ", ".join(str(((k * 7) % 11 - 5) / 8) for k in range(8 * 3 * 9))
    return f"""fn main(%image: f32[1,3,16,16]) {{output_names=["scores","features"]}} {{
  %w = const([{weights}]) : f32[8,3,3,3]
  %0 = conv2d(%image, %w) {{pads=[1,1,1,1]}} loc("stem/conv")
  %1 = relu(%0) loc("stem/relu")
  %2 = sin(%1) loc("wave")
  %3 = add(%2, %1) loc("sum")
  %4 = tanh(%3) loc("end")
  return %4, %3
}}
"""


def byoc(build, *words):
    ran = subprocess.run([build / "bin/byoc", *words], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"byoc {' '.join(map(str, words))}: exit code {ran.returncode}\n{ran.stderr}")
    return ran.stdout


def value(build, *words):
    return json.loads(byoc(build, *words, "--json"))


def page_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def without(fields, *names):
    return {key: item for key, item in fields.items() if key not in names}


def shape(item):
    """The structure of a value: numbers are all alike, as are lists of numbers of any length."""
    if isinstance(item, dict):
        return {key: shape(inner) for key, inner in item.items()}
    if isinstance(item, list):
        return "numbers" if item and all(isinstance(x, (int, float)) for x in item) else [shape(x) for x in item]
    return "number" if isinstance(item, (int, float)) and not isinstance(item, bool) else item


def events_of(trace):
    return [[event["ph"], event["name"], event["tid"]] for event in trace["traceEvents"]]


def differences(name, got, expected):
    """Lines about the first places at which two values differ."""
    if isinstance(got, dict) and isinstance(expected, dict) and list(got) == list(expected):
        return [line for key in got for line in differences(f"{name}.{key}", got[key], expected[key])]
    if isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        return [line for k, pair in enumerate(zip(got, expected)) for line in differences(f"{name}[{k}]", *pair)]
    return [] if got == expected else [f"{name}: {json.dumps(got)[:300]} instead of {json.dumps(expected)[:300]}"]


def candidates_of(functions):
    return [[function["function"], op["name"], one["plugin"], one["ns"], one["chosen"]]
            for function in functions for op in function["ops"] for one in op["candidates"]]


def check(name, got, expected, faults):
    faults += differences(name, got, expected)[:5]


def main():
    build, faults = pathlib.Path(sys.argv[1]).resolve(), []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model, page = folder / "net.ir", folder / "net.html"
        model.write_text(model_text())
        flags = [str(model), "--compiler", "onednn,json", "--min-time", "0.02", "--warmup", "0.01"]
        compilers = ["onednn,json", "json"]
        if any(plugin["id"] == "llvm" for plugin in value(build, "plugins")["plugins"]):
            compilers.append("llvm")
        others = [word for compiler in compilers[1:] for word in ("--vs", f"compiler={compiler}")]
        report = value(build, "report", *flags, "-o", page, *others)
        check("the page and --json", page_data(page), report, faults)
        placed = value(build, "explain", str(model), "--compiler", compilers[0], "--placement")["functions"]
        check("costs", candidates_of(report["costs"]), candidates_of(placed), faults)
        auto = value(build, "report", str(model), "--compiler", "auto", "--no-run", "-o", folder / "auto.html")
        choices = auto["configurations"][0]["explain"]["choices"]
        check("the choice by cost", [text.split(" ")[1] for text in choices][-2:], ["runs", "predicted"], faults)
        check("no choice by cost", report["configurations"][0]["explain"]["choices"], [], faults)
        for part in report["configurations"]:
            check("name", part["name"], ", ".join(part["explain"]["order"]), faults)
        for part, compiler in zip(report["configurations"], compilers):
            plain = [str(model), "--compiler", compiler]
            explained = without(value(build, "explain", *plain), "schema", "byoc", "ok")
            check("explain", part["explain"], explained, faults)
            bench = without(value(build, "bench", *plain, "--min-time", "0.02", "--warmup", "0.01",
                                  "--observations", "none"),
                            "schema", "byoc", "ok", "outputs")
            for figures in (part["bench"], bench):  # the slowest kernel is the first one
                figures["configurations"][0]["kernels"].sort(key=lambda kernel: kernel["kernel"])
            check("bench", shape(part["bench"]), shape(bench), faults)
            regions = part["bench"]["configurations"][0]["regions"]
            for mine, theirs in zip(regions, bench["configurations"][0]["regions"]):
                for key in ("region", "run_by", "kernel", "nodes", "flops", "bytes", "flop_per_byte"):
                    check(f"bench {key}", mine[key], theirs[key], faults)
            profile = value(build, "run", *plain, "--profile")
            step = ("symbol", "run_by", "implementation", "flops", "nodes")
            ours = [[one[key] for key in ("region", "run_by", "kernel", "flops", "nodes")] for one in regions]
            check("profile", ours, [[one[key] for key in step] for one in profile["profile"]], faults)
            span = ("step", "name", "is_reorder", "details")
            check("spans", [[one[key] for key in span] for one in part["bench"]["configurations"][0]["spans"]],
                  [[one[key] for key in span] for one in profile["spans"]], faults)
            compiled = folder / "net.byoc"
            artifact = value(build, "compile", *plain, "-o", compiled)
            check("arena", part["memory"]["arena_bytes"], artifact["arena_bytes"], faults)
            trace = folder / "trace.json"
            byoc(build, "run", *plain, "--trace", trace)
            check("trace", events_of(part["trace"]), events_of(json.loads(trace.read_text())), faults)
            regions = {region["function"]: region["ops"] for region in part["explain"]["regions"]}
            check("regions", {r["function"]: r["ops"] for r in part["graph"]["regions"]}, regions, faults)
            drawn = sorted(op for node in part["graph"]["nodes"] for op in node["ops"])
            check("every op is drawn once", drawn, list(range(len(part["explain"]["ops"]))), faults)
        partition = value(build, "partition", *flags[:3], "--svg", folder / "net.svg")
        check("borders", report["configurations"][0]["explain"]["input_bytes"], partition["input_bytes"], faults)
    print("\n".join(faults) if faults else "report: every figure is that of its command")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
