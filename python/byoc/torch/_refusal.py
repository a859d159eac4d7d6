# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a part cannot be compiled, and why."""
from __future__ import annotations

import re
from typing import Any, Callable

from . import _export, _modules
from ._analysis import Analysis, hint_of, name_of
from ._segments import Refused, Segment, halves_of, segment_of

Compile = Callable[[Segment], Any]


def words_of(failure: BaseException) -> str:
    """Returns a failure in a line."""
    causes: list[BaseException] = []
    while failure is not None and len(causes) < 8:
        causes.append(failure)
        failure = failure.__cause__  # type: ignore[assignment]
    kinds = (_modules.module("byoc_runtime").Error, Refused, _export.Changes)
    best = next((one for one in causes if isinstance(one, kinds)), causes[-1])
    return _modules.first_lines(best, 2)[:400]


def _named_op(failure: BaseException) -> str:
    """Returns the op that torch's exporter has no function for, "aten.fft_fft"; "" when its text names none."""
    text, seen = "", 0
    one: Any = failure
    while one is not None and seen < 8:
        text, one, seen = f"{text}\n{one}", one.__cause__ or one.__context__, seen + 1
    found = re.search(r"No ONNX function found for <OpOverload\(op='([\w.:]+)'", text)
    return found[1].replace("::", ".") if found else ""


def refuse(segment: Segment, failure: Exception, graph: Any, analysis: Analysis, compile: Compile) -> None:
    """Gives torch the nodes for which a segment cannot be compiled, with the reason; or ends a part where two halves can be
    compiled and the whole cannot."""
    op = _named_op(failure)
    named = [node for node in segment.nodes if op and any(one.startswith(f"{op}.") for one in analysis.facts[node].ops)]
    if named:
        for node in named:
            _keep(node, f"torch.onnx has no {op}", analysis)
        return
    pending = [(segment.nodes, failure)]
    found = False
    while pending:
        nodes, why = pending.pop()
        if len(nodes) == 1:
            _keep(nodes[0], words_of(why), analysis)
            found = True
            continue
        parts, failures = halves_of(nodes, analysis), []
        for half in parts:
            try:
                if any(not analysis.facts[node].is_view for node in half):
                    compile(segment_of(half, graph, analysis))
            except Exception as again:                     # of torch, its exporter, or byoc
                failures.append((half, again))
        if not failures and not found:
            analysis.cuts.add(parts[1][0])
            return
        pending += failures


def _keep(node: Any, reason: str, analysis: Analysis) -> None:
    hint = hint_of(node)
    analysis.facts[node].reason = f"{name_of(node)}: {reason}" + (f" ({hint})" if hint else "")
