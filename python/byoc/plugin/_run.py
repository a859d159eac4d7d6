# SPDX-License-Identifier: Apache-2.0
"""Runs a region by the functions of a plugin in Python."""
from __future__ import annotations

import inspect
import json
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np
from byoc_runtime import Error

from ._graph import Graph, Node, Operand, Type, numpy_type


class Declined(Exception):
    """A region that the plugin does not compile after all."""


def _dag_text(name: str, dag: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dag)
    except (TypeError, ValueError) as failure:
        raise Error(f'the pattern "{name}" is no JSON: {failure}', slug="usage",
                    help="use dicts, lists, texts, numbers and booleans") from None


class Row:
    """An op or a pattern that a plugin takes."""

    def __init__(self, name: str, dag: Mapping[str, Any], priority: int, function: Callable[..., Any],
                 when: Optional[Callable[[Node], Any]], is_op: bool) -> None:
        self.name = name
        self.dag = _dag_text(name, dag)
        self.priority = priority
        self.function = function
        self.when = when
        self.is_op = is_op
        self.signature = inspect.signature(function)
        self.takes_nodes = not is_op and "nodes" in self.signature.parameters

    def check(self, node: Node) -> None:
        """Raises Declined when the function of an op does not take the node's operands or attributes."""
        if not self.is_op or not node.op:
            return
        try:
            self.signature.bind(*node.inputs, **node.attrs)
        except TypeError as failure:
            raise Declined(f"the function of {self.name} cannot be called: {failure}") from None


class _Step:
    """The call of one function of the plugin."""

    def __init__(self, row: Row, node: Node) -> None:
        self.row = row
        self.node = node
        self.dtypes = [numpy_type(kind) for kind in node.outputs]
        self.names: list[str] = []
        if not row.is_op:
            missing = [k for k in range(len(node.inputs)) if k not in node.captured]
            if missing:
                raise Declined(f'the pattern "{row.name}" gives no name to {len(missing)} of its inputs; add "as" to them')
            self.names = [node.captured[k] for k in range(len(node.inputs))]

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Any]:
        if self.row.is_op:
            result = self.row.function(*inputs, **self.node.attrs)
        else:
            named = dict(zip(self.names, inputs))
            result = self.row.function(**named, nodes=self.node.nodes) if self.row.takes_nodes else self.row.function(**named)
        results = result if isinstance(result, (tuple, list)) else [result]
        if len(results) != len(self.node.outputs):
            raise ValueError(f"{self.row.name} returned {len(results)} arrays, {len(self.node.outputs)} are expected")
        return [self._checked(value, kind, dtype) for value, kind, dtype in zip(results, self.node.outputs, self.dtypes)]

    def _checked(self, value: Any, kind: Type, dtype: "np.dtype[Any]") -> Any:
        array = np.asarray(value)
        if array.shape != kind.shape or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise ValueError(f"{self.row.name} returned {array.dtype}{list(array.shape)}, {kind} is expected")
        return array.astype(dtype, copy=False)


class Kernel:
    """A compiled region: its nodes in order."""

    def __init__(self, graph: Graph, steps: list[_Step], constants: list[Any]) -> None:
        self.names = [step.row.name for step in steps]
        self.n_in, self.n_out, self.n_constants = len(graph.inputs), len(graph.outputs), len(constants)
        kinds = " ".join(str(kind) for kind in graph.inputs)
        self.signature = f"{kinds} -> ".lstrip() + " ".join(str(graph.type_of(operand)) for operand in graph.outputs)
        self._steps = steps
        self._constants = constants
        self._outputs = graph.outputs

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        results: list[Sequence[Any]] = []

        def value(operand: Operand) -> Any:
            kind, k, output = operand
            return inputs[k] if kind == "i" else self._constants[k] if kind == "c" else results[k][output]

        for step in self._steps:
            results.append(step([value(operand) for operand in step.node.operands]))
        for array, operand in zip(outputs, self._outputs):
            array[...] = value(operand)


def kernel_of(rows: Sequence[Row], graph: Graph, constants: Mapping[str, Any]) -> Kernel:
    """Makes the kernel of a region. constants: by key. Raises Declined for a node that no row of the plugin takes."""
    by_name = {row.name: row for row in rows}
    steps = []
    for node in graph.nodes:
        row = by_name.get(node.op or node.pattern)
        if row is None or row.is_op != bool(node.op):
            raise Declined(f"no function of the plugin computes {node.op or node.pattern}")
        row.check(node)
        steps.append(_Step(row, node))
    return Kernel(graph, steps, [constants[key] for key in graph.keys])
