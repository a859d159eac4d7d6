# SPDX-License-Identifier: Apache-2.0
"""Measurements as lines of text, and as a table in Markdown."""

import math
import os
import platform
import re
import textwrap
from pathlib import Path

from control import control_line, control_notes, has_no_full_round
from install import PEERS

BEGIN, END = "<!-- table of bench/peers/compare.py -->", "<!-- end of the table -->"


def machine(isa="native"):
    """Returns the processor's name, the number of cores that this process may use, and what --isa limits it to."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    names, family = [platform.processor() or platform.machine()], None
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text()
        names = re.findall(r"^model name\s*: (.*)$", text, re.M) or names
        family = re.search(r"^cpu family\s*: (\d+)$", text, re.M)
    return f"{names[0]}{f', family {family[1]}' if family else ''}, {cores} cores{'' if isa == 'native' else f', limited to {isa}'}"


def command_of(options):
    """Returns the command with what its figures depend on; of absolute paths the last name."""
    given = [(None, name) for name in options.model] + [("--models", folder) for folder in options.models]
    given = [(flag, Path(value).name if value.startswith("/") else value) for flag, value in given]
    given += [("--compiler", compiler) for compiler in options.compiler] + [("--peer", peer) for peer in options.peer]
    given += [("--isa", options.isa)] if options.isa != "native" else []
    given += [("--threads", ",".join(map(str, options.threads))), ("--rounds", str(options.rounds)),
              ("--turn-ms", f"{options.turn_ms:g}")] + ([("--busy", str(options.busy))] if options.busy else [])
    given += [("--all-rounds", "")] if options.all_rounds else []
    return " ".join(["bench/peers/compare.py", *(part for pair in given for part in pair if part)])


def ratio_text(s):
    return f"{s['median']:.3f}  [{s['q1']:.3f}, {s['q3']:.3f}]  {s['min']:.3f} to {s['max']:.3f}"


def verdict(row):
    error = "outputs differ in shape" if row["error"] is None else f"max error {row['error']:.1e} of max"
    return error if row["agrees"] else f"WRONG: {row['why'] or error}"


def lines_of(result):
    """Yields a line per peer, with its time, and per compiler, with its ratio to the better peer."""
    begin = f"{result['model']:<16} {result['threads']:>2} thr  "
    for peer, why in result["skipped"].items():
        yield f"{begin}{PEERS[peer].name:<14} left out: {why}"
    floor = result.get("floor")
    if floor:
        yield (f"{begin}{'the floor':<14} {floor['ns'] / 1e6:9.3f} ms   {floor['multiplications'] / 1e6:.0f} million "
               f"multiplications {floor['compute_ns'] / 1e6:.3f} ms, {floor['weight_bytes'] / 1e6:.1f} MB of weights "
               f"{floor['memory_ns'] / 1e6:.3f} ms")

    def of_floor(row):
        return f"   {row['time_ns']['median'] / floor['ns']:.2f} of the floor" if floor else ""

    for row in result["peers"]:
        yield (f"{begin}{PEERS[row['peer']].name:<14} {row['time_ns']['median'] / 1e6:9.3f} ms   {verdict(row)}"
               f"{of_floor(row)}")
    for row in result["byoc"]:
        yield (f"{begin}{row['compiler']:<14} {row['time_ns']['median'] / 1e6:9.3f} ms   "
               f"ratio {ratio_text(row['to_better_peer'])}   fastest {row['fastest_to_better_peer']:.3f}   "
               f"{verdict(row)}{of_floor(row)}")
    if "control" in result:
        yield f"{begin}{'the cores':<14} {control_line(result['control'])}"
    for name, rows in ({"ONNX Runtime": result["layers"]["onnxruntime"], **result["layers"]["byoc"]}.items()
                       if "layers" in result else ()):
        yield f"  slowest of {name}:"
        for row in rows:
            yield f"    {row['us']:10.1f} us  {row['op']:<28} {row['name']}"


def scaling_lines(results):
    """Yields a line per peer and compiler of one model: the times with more threads over that with the fewest."""
    first, *others = sorted(results, key=lambda result: result["threads"])
    times = [{row.get("peer") or row["compiler"]: row["time_ns"]["median"] for row in result["peers"] + result["byoc"]}
             for result in (first, *others)]
    for name in times[0]:
        parts = [f"{result['threads']} threads {now[name] / times[0][name]:.3f}"
                 for result, now in zip(others, times[1:]) if name in now]
        if parts:
            shown = PEERS[name].name if name in PEERS else name
            yield f"{first['model']:<16} {shown:<14} of {first['threads']} thread's time: {', '.join(parts)}"


def versions(report):
    """Returns {peer: version} of the peers that ran a model, in the order of the columns."""
    found = {row["peer"]: row["version"] for result in report["results"] for row in result["peers"]}
    return {peer: found[peer] for peer in PEERS if peer in found}


def mean_ratios(results, compilers):
    """Returns the geometric mean of each compiler's ratios to the better peer."""
    means = []
    for compiler in compilers:
        logs = [math.log(row["to_better_peer"]["median"]) for result in results for row in result["byoc"]
                if row["compiler"] == compiler]
        means.append(math.exp(sum(logs) / len(logs)))
    return means


def shown(row, with_ratio):
    time = f"{row['time_ns']['median'] / 1e6:.2f}"
    if with_ratio:
        time += f" ({row['to_better_peer']['median']:.2f})"
    return time if row["agrees"] else time + " wrong"


def table_row(result, peers, compilers, with_floor):
    theirs = {row["peer"]: shown(row, False) for row in result["peers"]}
    ours = {row["compiler"]: shown(row, True) for row in result["byoc"]}
    errors = [row["error"] for row in result["byoc"] if row["error"] is not None]
    error = f"{max(errors):.0e}" if errors else ""
    threads = f"{result['threads']}{' *' if has_no_full_round(result) else ''}"
    floor = [f"{result['floor']['ns'] / 1e6:.2f}" if "floor" in result else "-"] if with_floor else []
    cells = [result["model"], threads, *floor, *(theirs.get(peer, "-") for peer in peers),
             *(ours.get(compiler, "-") for compiler in compilers), error]
    return "| " + " | ".join(cells) + " |"


def table(report):
    """Returns the table as Markdown: times in milliseconds, byoc's with their ratio to the better peer."""
    peers, compilers = versions(report), report["compilers"]
    with_floor = any("floor" in result for result in report["results"])
    floor = ["floor"] if with_floor else []
    heads = ["network", "threads", *floor, *(PEERS[peer].name for peer in peers),
             *(f"byoc `{c}`" for c in compilers), "error"]
    text = (f"Medians in milliseconds, on {report['date']}, {report['machine']}; in brackets the ratio to the better peer. "
            "The error is the largest of byoc's outputs, as a part of the largest value. "
            + ("The floor is the time of the best known sums at the machine's peaks. " if with_floor else "")
            + ", ".join(f"{PEERS[peer].name} {version}" for peer, version in peers.items()) + ".")
    lines = [textwrap.fill(text, 120, break_on_hyphens=False), "",
             "| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    by_threads = sorted({result["threads"] for result in report["results"]})
    for threads in by_threads:
        results = [result for result in report["results"] if result["threads"] == threads]
        lines += [table_row(result, peers, compilers, with_floor) for result in results]
        measured = [result for result in results if result["byoc"]]
        if measured:
            means = [f"({mean:.2f})" for mean in mean_ratios(measured, compilers)]
            cells = ["geometric mean", str(threads), *[""] * (len(peers) + len(floor)), *means, ""]
            lines.append("| " + " | ".join(cells) + " |")
    notes = control_notes(report["results"])
    lines += ["", *notes] if notes else []
    reasons = dict(report["skipped"])
    for result in report["results"]:
        reasons.update(result["skipped"])
    lines += [""] + [f"{PEERS[peer].name} is left out where there is no time: {why}" for peer, why in reasons.items()]
    return "\n".join([*lines, *([""] if reasons else []), "```sh", report["command"], "```"]) + "\n"


def write_table(path, text, picture=None):
    """Writes the table, with the picture above it, in a file that has one in its place."""
    if picture:
        text = f"![times beside the better peer]({os.path.relpath(picture, path.parent)})\n\n{text}"
    old = path.read_text() if path.exists() else ""
    marked = f"{BEGIN}\n{text}{END}\n"
    place = re.compile(re.escape(BEGIN) + r"\n.*?" + re.escape(END) + r"\n", re.S)
    path.write_text(place.sub(lambda _: marked, old, count=1) if place.search(old) else marked)
