# SPDX-License-Identifier: Apache-2.0
"""Which parts of compiled functions run by byoc, and why others do not."""
from __future__ import annotations

from collections import Counter
from typing import Any

from .._results import Result, Table
from . import _backend, _modules
from ._analysis import name_of
from ._graph import AnyGraph


class TorchExplanation(Result):
    """What torch.compile gave to byoc: `graphs` with their parts, and `breaks` between them."""

    def tables(self) -> list[Table]:
        rows = [(k, graph["name"], graph["nodes_of_byoc"], graph["nodes_of_torch"], graph["compiles"], graph["calls"])
                for k, graph in enumerate(self["graphs"])]
        tables = [Table(["graph", "function", "nodes by byoc", "by torch", "compiles", "calls"], rows)]
        stays = [(k, ", ".join(row["nodes"][:6]) + (" ..." if len(row["nodes"]) > 6 else ""), row["reason"])
                 for k, graph in enumerate(self["graphs"]) for part in graph["parts"] for row in part.get("reasons", [])]
        if stays:
            tables.append(Table(["graph", "nodes that stay with torch", "reason"], stays))
        weights = [(k, ", ".join(graph["weights_as_inputs"])) for k, graph in enumerate(self["graphs"])
                   if graph["weights_as_inputs"]]
        if weights:
            tables.append(Table(["graph", "weights that change too often to be constants"], weights))
        if self["breaks"]:
            tables.append(Table(["times", "Dynamo ends a graph since"], [(row["count"], row["reason"]) for row in self["breaks"]]))
        return tables


def _part(segment: Any, program: Any) -> dict[str, Any]:
    nodes = [node.name for node in segment.nodes]
    if program is None:
        return {"by": "torch", "nodes": nodes, "reasons": [
            {"reason": reason, "calls": sorted({name_of(node) for node in of}), "nodes": [node.name for node in of]}
            for reason, of in segment.reasons.items()]}
    plugins = Counter(row["plugin"] for row in program.explain()["ops"])
    return {"by": "byoc", "nodes": nodes, "sizes": program.sizes,
            "plugins": [{"plugin": plugin, "ops": count} for plugin, count in sorted(plugins.items())]}


def _graph(graph: AnyGraph) -> dict[str, Any]:
    programs = iter(graph.parts)
    parts = [_part(segment, next(programs).program if segment.by_byoc else None) for segment in graph.segments if segment.nodes]
    count = {by: sum(len(part["nodes"]) for part in parts if part["by"] == by) for by in ("byoc", "torch")}
    return {"name": graph.name, "calls": graph.calls, "compiles": graph.compiles, "nodes_of_byoc": count["byoc"],
            "nodes_of_torch": count["torch"], "weights_as_inputs": list(graph.as_inputs), "parts": parts}


def explain() -> TorchExplanation:
    """Returns what the functions that torch.compile(..., backend="byoc") made consist of.

    Returns:
        A dict, printed as tables: `graphs`, each with its `parts` that byoc or torch runs, the plugins of the former and the
        reasons of the latter; `breaks`, where Dynamo ended a graph, with its reasons since the last torch._dynamo.reset().
    """
    counters = _modules.module("torch._dynamo.utils").counters
    breaks = [{"reason": " ".join(str(reason).split()), "count": int(count)} for reason, count in counters["graph_break"].items()]
    return TorchExplanation({"graphs": [_graph(graph) for graph in _backend.graphs()], "breaks": breaks})
