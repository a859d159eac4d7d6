# SPDX-License-Identifier: Apache-2.0
"""What the tools return: the dict that the command prints with --json, and its table in a notebook."""
from __future__ import annotations

import html
import json
from typing import Any, Callable, Iterable, Optional

from byoc_runtime import Error


def without_model() -> Error:
    return Error("the program was loaded, so its model is not known", code=9, slug="no-model",
                 help="call the function with the model: byoc.explain(model, compiler=...)")


def _number(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _milliseconds(ns: Optional[float]) -> str:
    return "" if ns is None else f"{ns / 1e6:.4g}"


class Table:
    """Rows of texts, as text and as HTML."""

    def __init__(self, heads: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "") -> None:
        self.title = title
        self.heads = list(heads)
        self.rows = [[_number(cell) for cell in row] for row in rows]

    def text(self) -> str:
        widths = [max(len(row[k]) for row in [self.heads, *self.rows]) for k in range(len(self.heads))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [self.heads, *self.rows]]
        return "\n".join(([self.title] if self.title else []) + lines)

    def html(self) -> str:
        def row(tag: str, cells: list[str]) -> str:
            return "<tr>" + "".join(f"<{tag} style='text-align:left'>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        return f"<table>{title}{row('th', self.heads)}{''.join(row('td', cells) for cells in self.rows)}</table>"


class Result(dict[str, Any]):
    """A dict as a command prints it with --json. `print` and notebooks show it as a table."""

    def tables(self) -> list[Table]:
        rows = [(name, value if not isinstance(value, (dict, list)) else json.dumps(value)[:120])
                for name, value in self.items()]
        return [Table(["", ""], rows)]

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())


def _regions(value: Result) -> Table:
    total = sum(row["flops"] or 0 for row in value["plugins"]) or 1
    rows = [(row["plugin"], row["regions"], row["ops"], f"{100 * (row['flops'] or 0) / total:.1f} %") for row in value["plugins"]]
    return Table(["plugin", "regions", "nodes", "of the operations"], rows)


def opinion_text(opinion: dict[str, Any]) -> str:
    """One plugin's words on a node."""
    words = [str(opinion[key]) for key in ("verdict", "reason") if opinion.get(key)]
    return f"{opinion.get('plugin', '')}: {', '.join(words)}" if words else str(opinion.get("plugin", ""))


class Explanation(Result):
    """Which plugin took which node, and why others did not."""

    def tables(self) -> list[Table]:
        rows = [(row["name"], row["op"], row["plugin"], row["function"],
                 "; ".join(opinion_text(opinion) for opinion in row["opinions"] if opinion.get("verdict") != "not reached"))
                for row in self["ops"]]
        return [_regions(self), Table(["node", "op", "plugin", "function", "reasons"], rows)]


class Partition(Result):
    """The regions that plugins get.

    Attributes:
        svg: a function that returns the picture.
    """

    svg: Callable[[], str]

    def tables(self) -> list[Table]:
        rows = [(row["plugin"], row["function"], row["ops"], row["flops"]) for row in self["regions"]]
        return [_regions(self), Table(["plugin", "function", "nodes", "operations"], rows)]

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        picture = self.svg()
        begin = picture.find("<svg")                       # after the declaration of XML, which HTML has no place for
        return f"<div style='overflow-x:auto'>{picture[begin:]}</div>{super()._repr_html_()}"


class Verification(Result):
    """Whether the outputs, and each region by itself, are right."""

    @property
    def ok(self) -> bool:
        """True when nothing differs."""
        return bool(self["passed"])

    def tables(self) -> list[Table]:
        rows = [(row["name"], row["type"], row["equal"], row["max_error"], row["largest"], row["reason"]) for row in self["outputs"]]
        out = [Table(["output", "type", "equal", "largest error", "largest value", "reason"], rows,
                     f"{'right' if self.ok else 'WRONG'}, against {self['against']}, {self['regions']} regions")]
        bad = self["bad_region"]
        if bad is not None:
            ops = ", ".join(node["name"] or node["op"] for node in bad.get("smallest") or [])
            out.append(Table(["wrong region", "plugin", "nodes"], [(bad["function"], bad["plugin"], ops)]))
        return out


class Bench(Result):
    """Times of a model, or of a region."""

    @property
    def median_ms(self) -> float:
        """The median time of a run of the first configuration, in milliseconds."""
        return float(self["configurations"][0]["median_ns"]) / 1e6

    def tables(self) -> list[Table]:
        rows = [(row["name"] or "", row["threads"], _milliseconds(row["median_ns"]), _milliseconds(row["p5_ns"]),
                 _milliseconds(row["p95_ns"]), row["gflop_per_s"]) for row in self["configurations"]]
        out = [Table(["", "threads", "median ms", "5 %", "95 %", "GFLOP/s"], rows)]
        versus = self.get("versus")
        if versus:
            ratio = versus["b_against_a"]
            out.append(Table(["compared with", "its time over this", "from", "to"],
                             [(versus["configuration"], ratio["ratio"], ratio["low"], ratio["high"])]))
        return out


class Profile(Result):
    """The time of each step of a run."""

    def tables(self) -> list[Table]:
        steps = self.get("profile") or []
        total = sum(row["time_ns"] for row in steps) or 1
        rows = [(row["symbol"], row["run_by"], row["implementation"], _milliseconds(row["time_ns"]),
                 f"{100 * row['time_ns'] / total:.1f} %", ", ".join(row["nodes"][:6])) for row in steps]
        return [Table(["step", "run by", "implementation", "ms", "share", "nodes"], rows)]


def rows_of_plugins(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of plugins that have a library."""
    return [row for kind in ("plugins", "not_opened", "refused") for row in value[kind]]


class Plugins(Result):
    """The plugins that are found, and the files that are refused."""

    @property
    def origins(self) -> dict[str, str]:
        """Where each came from, "wheel byoc-plugin-mine 0.1.0, entry point mine", by the plugin's name; files that are refused
        by their paths."""
        refused = {row["library"]: row["origin"]["text"] for row in self["refused"]}
        return {**{row["id"]: row["origin"]["text"] for row in [*self["plugins"], *self["not_opened"]]}, **refused}

    def tables(self) -> list[Table]:
        def row(one: dict[str, Any], words: str) -> tuple[Any, ...]:
            origin = one["origin"]["text"] if "origin" in one else ""
            return one["id"], one.get("version", ""), one.get("priority", ""), one.get("library", ""), origin, words

        rows = [row(one, "") for one in self["plugins"]]
        rows += [row(one, "used when named") for one in self["not_opened"]]
        rows += [row(one, f"refused: {one['reason']}") for one in self["refused"]]
        rows += [row(one, f"not built: {one['reason']}") for one in self["not_built"]]
        devices = [(one["plugin"], device["name"], device["bytes"] >> 20) for one in self["devices"] for device in one["devices"]]
        devices += [(one["plugin"], f"none: {one['why_none']}", "") for one in self["devices"] if not one["devices"]]
        return [Table(["plugin", "version", "priority", "library", "from", ""], rows),
                *([Table(["plugin", "device", "MiB"], devices)] if devices else [])]


class Doctor(Plugins):
    """What this machine and this installation have and lack."""

    def tables(self) -> list[Table]:
        machine = self["machine"]
        facts = [("byoc", self["byoc"]), ("plugin ABI", self["abi"]), ("processor", machine["processor"]),
                 ("cores", machine["cores"]), ("system", f"{machine['system']}, {machine['libc']}"),
                 ("targets", ", ".join(row["name"] for row in machine["targets"] if row["allowed"]))]
        facts += [("cache", f"{row['path']}, {row['files']} files{'' if row['usable'] else ', not used'}") for row in self["caches"]]
        facts += [("environment", f"{row['name']}={row['value']}") for row in self["environment"]]
        findings = [(row["level"], row["what"], row["cure"]) for row in self["findings"]]
        return [Table(["", ""], facts), *super().tables(),
                Table(["finding", "what", "cure"], findings or [("nothing is wrong", "", "")])]
