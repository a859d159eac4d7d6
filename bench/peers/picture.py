# SPDX-License-Identifier: Apache-2.0
"""The table as a picture: a row of dots per network, from left to right by time over that of the better peer."""

import math
from html import escape

from install import PEERS
from report import versions

LOW, HIGH = 0.35, 3.0  # the ends of the axis; dots beyond are drawn at them, with their ratio
TICKS = (0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0)
PEER_COLOURS = ("#555555", "#9a9a9a", "#cccccc")
OUR_COLOURS = ("#0b6bcb", "#e0641c", "#2a9d4a", "#8a3ffc")
NAMES, PANEL, GAP, ROW, TOP = 130, 400, 30, 22, 70


def place(ratio):
    ratio = min(max(ratio, LOW), HIGH)
    return PANEL * math.log(ratio / LOW) / math.log(HIGH / LOW)


def dots(result, colours):
    """Yields (column, colour, ratio) of one row; byoc's last, so that they are on top."""
    best = min(row["time_ns"]["median"] for row in result["peers"])
    for row in result["peers"]:
        yield row["peer"], colours[row["peer"]], row["time_ns"]["median"] / best
    for row in result["byoc"]:
        yield row["compiler"], colours[row["compiler"]], row["to_better_peer"]["median"]


def dot(x, y, colour, name, ratio, is_peer):
    title = f"<title>{escape(name)} {ratio:.2f}</title>"
    shape = (f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}">{title}</rect>' if is_peer
             else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}">{title}</circle>')
    if ratio > HIGH:
        shape += f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end" font-size="9">{ratio:.1f}</text>'
    return shape


def panel(results, threads, left, colours, names):
    height = ROW * len(names)
    parts = [f'<text x="{left}" y="{TOP - 26}" font-weight="bold">{threads} thread{"s" if threads > 1 else ""}</text>']
    for tick in TICKS:
        x = left + place(tick)
        style = 'stroke="#000" stroke-width="1.2"' if tick == 1 else 'stroke="#ddd"'
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + height}" {style}/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP - 6}" text-anchor="middle" font-size="10">{tick:g}</text>')
    for result in results:
        y = TOP + ROW * (names.index(result["model"]) + 0.5)
        for name, colour, ratio in dots(result, colours):
            parts.append(dot(left + place(ratio), y, colour, name, ratio, name in PEERS))
    return parts


def legend(colours, width):
    parts, x = [], NAMES
    for name, colour in colours.items():
        is_peer = name in PEERS
        text = PEERS[name].name if is_peer else f"byoc {name}"
        parts += [dot(x, 20, colour, text, 1, is_peer), f'<text x="{x + 10}" y="24">{escape(text)}</text>']
        x += 40 + 7 * len(text)
    return parts


def picture(report):
    """Returns an SVG with a panel per number of threads."""
    results = [result for result in report["results"] if result["byoc"]]
    names = list(dict.fromkeys(result["model"] for result in results))
    counts = sorted({result["threads"] for result in results})
    colours = {**dict(zip(versions(report), PEER_COLOURS)),
               **{c: OUR_COLOURS[k % len(OUR_COLOURS)] for k, c in enumerate(report["compilers"])}}
    width, height = NAMES + max(len(counts), 1) * (PANEL + GAP), TOP + ROW * len(names) + 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{width}" height="{height}" fill="#fff"/>', *legend(colours, width)]
    for k, name in enumerate(names):
        parts.append(f'<text x="{NAMES - 14}" y="{TOP + ROW * (k + 0.5) + 4}" text-anchor="end">{escape(name)}</text>')
    for k, threads in enumerate(counts):
        here = [result for result in results if result["threads"] == threads]
        parts += panel(here, threads, NAMES + k * (PANEL + GAP), colours, names)
    parts.append(f'<text x="{NAMES}" y="{height - 14}" font-size="11">time over that of the better peer; '
                 f'{escape(report["date"])}, {escape(report["machine"])}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
