# SPDX-License-Identifier: Apache-2.0
"""Graphs of torch cut into runs of nodes, for byoc and for torch, in their order."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping

from . import _modules
from ._analysis import Analysis


class Refused(Exception):
    """A segment that no program can be made of."""


@dataclass
class Segment:
    """Nodes that run one after another, by one of the two.

    Attributes:
        nodes: the nodes, in order, without numbers, which each segment computes again.
        by_byoc: byoc runs them; else torch.
        inputs: nodes before it whose values it reads.
        outputs: its nodes whose values are read after it.
        reasons: of torch: per reason the nodes.
    """

    nodes: list[Any]
    by_byoc: bool
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    reasons: dict[str, list[Any]] = field(default_factory=dict)


def make_tuples_whole(nodes: Iterable[Any], analysis: Analysis) -> None:
    """Keeps the items of a tuple where the tuple is: a program has no tuples."""
    getitem = _modules.module("operator").getitem
    pairs = [(node.args[0], node) for node in nodes
             if node.op == "call_function" and node.target is getitem and _is_tuple(analysis, node.args[0])]
    for source, item in pairs:                             # of tuples in tuples the items come later
        if analysis.facts[source].reason:
            analysis.facts[item].reason = analysis.facts[source].reason
    for source, item in reversed(pairs):
        if analysis.facts[item].reason:
            analysis.facts[source].reason = analysis.facts[source].reason or analysis.facts[item].reason
    for source, item in pairs:
        analysis.facts[item].reason = analysis.facts[source].reason


def _is_tuple(analysis: Analysis, source: Any) -> bool:
    return source in analysis.facts and isinstance(analysis.values[source], (tuple, list)) and bool(analysis.facts[source].tensors)


def segments_of(graph: Any, analysis: Analysis) -> list[Segment]:
    """Cuts a graph. Nodes that byoc may take and that compute nothing by themselves stay with torch."""
    nodes = [node for node in graph.nodes if node in analysis.facts]
    _keep_users_of_free_numbers(graph, analysis)
    make_tuples_whole(nodes, analysis)
    while True:
        segments = _cut(nodes, analysis)
        if not _keep_writes_apart(segments, analysis):
            break
        make_tuples_whole(nodes, analysis)
    _merge_views(segments, analysis)
    segments = _joined(segments)
    returned = [node for node in graph.nodes if node.op == "output"][0].all_input_nodes
    if any(node in analysis.facts and _is_number(node, analysis) for node in returned):
        segments.append(Segment([], False))                # the numbers that the graph returns
    _connect(segments, graph, analysis)
    return segments


def _is_number(node: Any, analysis: Analysis) -> bool:
    return analysis.facts[node].is_scalar


def _keep_users_of_free_numbers(graph: Any, analysis: Analysis) -> None:
    """Keeps with torch what computes with a number that is no size of an input."""
    kinds = _modules.torch()
    free = {node for node in graph.nodes if node.op == "placeholder" and not isinstance(analysis.values[node], kinds.Tensor)}
    for node in graph.nodes:
        if node in analysis.facts and free.intersection(node.all_input_nodes):
            if _is_number(node, analysis):
                free.add(node)
            else:
                analysis.facts[node].reason = analysis.facts[node].reason or "it computes with a number that is an argument"


def _cut(nodes: Iterable[Any], analysis: Analysis) -> list[Segment]:
    segments: list[Segment] = []
    for node in nodes:
        if node.op == "get_attr" or _is_number(node, analysis):
            continue
        by_byoc = not analysis.facts[node].reason
        if not segments or segments[-1].by_byoc != by_byoc or node in analysis.cuts:
            segments.append(Segment([], by_byoc))
        segments[-1].nodes.append(node)
    return segments


def _keep_writes_apart(segments: list[Segment], analysis: Analysis) -> bool:
    """Keeps with torch the nodes that write memory which was made in another segment, and the views of what torch writes.
    Returns whether there were any."""
    found, by_torch = False, set()                         # type: bool, set[int]
    for segment in segments:
        made: set[int] = set()
        for node in segment.nodes:
            facts = analysis.facts[node]
            if segment.by_byoc and facts.writes - made:
                facts.reason, found = "it changes memory in place that was made before another part", True
            if facts.reason:
                by_torch |= facts.writes
            made |= facts.storages - facts.reads
    return analysis.keep_views_of(frozenset(by_torch)) or found


def _merge_views(segments: list[Segment], analysis: Analysis) -> None:
    """Gives segments that only make views to torch: a program would copy."""
    for segment in segments:
        if segment.by_byoc and all(analysis.facts[node].is_view or not analysis.facts[node].tensors for node in segment.nodes):
            segment.by_byoc = False


def _joined(segments: list[Segment]) -> list[Segment]:
    out: list[Segment] = []
    for segment in segments:
        if out and not out[-1].by_byoc and not segment.by_byoc:
            out[-1].nodes += segment.nodes
        else:
            out.append(segment)
    return out


def numbers_for(nodes: Iterable[Any], analysis: Analysis) -> set[Any]:
    """Returns the nodes of numbers that these nodes need, and the attributes."""
    found: set[Any] = set()
    pending = [source for node in nodes for source in node.all_input_nodes]
    while pending:
        node = pending.pop()
        if node in found or node not in analysis.facts or not (node.op == "get_attr" or _is_number(node, analysis)):
            continue
        found.add(node)
        pending += node.all_input_nodes
    return found


def _connect(segments: list[Segment], graph: Any, analysis: Analysis) -> None:
    """Finds the inputs and outputs of each segment."""
    order = {node: k for k, node in enumerate(graph.nodes)}
    output = [node for node in graph.nodes if node.op == "output"][0]
    needed: set[Any] = {node for node in output.all_input_nodes}
    for segment in segments:
        inside = set(segment.nodes)
        roots = list(segment.nodes)
        own: set[Any] = set()
        if not segment.nodes:                              # of numbers that are returned
            own = {node for node in output.all_input_nodes if node in analysis.facts and _is_number(node, analysis)}
            segment.outputs = sorted(own, key=order.__getitem__)
        numbers = numbers_for(roots, analysis) | numbers_for(own, analysis) | own
        read = {source for node in [*roots, *numbers] for source in node.all_input_nodes} - inside - numbers
        segment.inputs = sorted(read, key=order.__getitem__)
        needed |= read
    for segment in segments:
        if segment.nodes:
            segment.outputs = [node for node in segment.nodes if node in needed]
        for node in segment.nodes if not segment.by_byoc else []:
            if reason := analysis.facts[node].reason:
                segment.reasons.setdefault(reason, []).append(node)




def segment_of(nodes: list[Any], graph: Any, analysis: Analysis) -> Segment:
    """Returns these nodes as a segment for byoc."""
    order = {node: k for k, node in enumerate(graph.nodes)}
    inside = set(nodes)
    numbers = numbers_for(nodes, analysis)
    read = {source for node in [*nodes, *numbers] for source in node.all_input_nodes} - inside - numbers
    return Segment(nodes, True, sorted(read, key=order.__getitem__),
                   [node for node in nodes if any(user not in inside for user in node.users)])


def halves_of(nodes: list[Any], analysis: Analysis) -> tuple[list[Any], list[Any]]:
    """Splits nodes, at a place where no items of a tuple come next if there is one."""
    getitem = _modules.module("operator").getitem
    middle = len(nodes) // 2
    places = sorted(range(1, len(nodes)), key=lambda k: abs(k - middle))
    at = next((k for k in places if not (nodes[k].target is getitem and _is_tuple(analysis, nodes[k].args[0]))), middle)
    return nodes[:at], nodes[at:]


def module_of(graph_module: Any, segment: Segment, analysis: Analysis, constants: Mapping[Any, Any]) -> Any:
    """Returns the GraphModule of a segment: inputs without `constants` in, a tuple of its outputs out.

    Args:
        constants: tensors for some inputs.
    """
    fx = _modules.module("torch.fx")
    order = {node: k for k, node in enumerate(graph_module.graph.nodes)}
    graph, copies, attributes = fx.Graph(), {}, {}         # type: Any, dict[Any, Any], dict[str, Any]
    for node in segment.inputs:
        if node not in constants:
            copies[node] = graph.placeholder(node.name)
    for node in segment.inputs:
        if node in constants:
            attributes[node.name] = constants[node]
            copies[node] = graph.get_attr(node.name)
    inside = set(segment.nodes)
    numbers = numbers_for(segment.nodes, analysis) | numbers_for(segment.outputs, analysis)
    numbers |= {node for node in segment.outputs if node not in inside}
    for node in sorted(inside | numbers, key=order.__getitem__):
        if node.op == "get_attr":
            name = str(node.target).replace(".", "_")
            attributes[name] = _attribute(graph_module, str(node.target))
            copies[node] = graph.get_attr(name)
        else:
            copies[node] = graph.node_copy(node, lambda source: copies[source])
    graph.output(tuple(copies[node] for node in segment.outputs))
    return fx.GraphModule(attributes, graph, "Part")


def _attribute(graph_module: Any, path: str) -> Any:
    value = graph_module
    for part in path.split("."):
        value = getattr(value, part)
    return value
