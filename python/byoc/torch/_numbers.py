# SPDX-License-Identifier: Apache-2.0
"""Numbers that Dynamo passes as inputs: a graph for each value, up to a limit."""
from __future__ import annotations

import copy
import threading
from typing import Any, Callable, Sequence

from . import _modules, _prepare

LIMIT = 8                                                  # of values; ops with further ones stay with torch


def places_of_numbers(graph_module: Any, inputs: Sequence[Any]) -> list[int]:
    """Returns which inputs are numbers: ints that are no size of a tensor, and floats, which are tensors of one element that
    the graph takes out at once."""
    torch, out = _modules.torch(), []
    sizes = _prepare.sizes_of_tensors(graph_module)
    for k, node in enumerate(_prepare.placeholders(graph_module.graph)):
        value = _prepare.value_of(node)
        if isinstance(value, torch.Tensor):
            takes = [user for user in node.users if _is_item(user)]
            if takes and len(takes) == len(node.users) and value.dim() == 0 and inputs[k].device.type == "cpu" and _is_float(node):
                out.append(k)
        elif isinstance(value, torch.SymInt) and _prepare.symbol_of(value) not in sizes and node.users:
            out.append(k)
    return out


def _is_item(node: Any) -> bool:
    return bool(node.op == "call_method" and node.target == "item")


def _is_float(node: Any) -> bool:
    return bool(getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False))


def number_of(value: Any) -> Any:
    """Returns the number that an input is."""
    if isinstance(value, _modules.torch().Tensor):
        return value.item()
    node = getattr(value, "node", None)
    return value if node is None else node.hint


def with_numbers(graph_module: Any, values: dict[int, Any]) -> Any:
    """Returns a copy of a graph in which these inputs are numbers."""
    made = copy.copy(graph_module)
    made.graph = copy.deepcopy(graph_module.graph)
    inputs = _prepare.placeholders(made.graph)
    for (old, new) in zip(_prepare.placeholders(graph_module.graph), inputs):
        new.meta = dict(old.meta)                          # of which a deep copy has other symbols
    replace = _modules.module("torch.fx.node").map_arg
    for k, number in values.items():
        node = inputs[k]
        takes = [user for user in node.users if _is_item(user)] or [node]
        for taken in takes:
            for user in list(taken.users):
                user.args = replace(user.args, lambda one, taken=taken, number=number: number if one is taken else one)
                user.kwargs = replace(user.kwargs, lambda one, taken=taken, number=number: number if one is taken else one)
            if taken is not node:
                made.graph.erase_node(taken)
    made.recompile()
    return made


class ByValue:
    """A graph whose numbers are constants: one compiled graph for each value. Thread-safe."""

    def __init__(self, graph_module: Any, places: list[int], compile: Callable[[Any, Sequence[Any]], Callable[..., Any]]) -> None:
        self._module, self._places, self._compile = graph_module, places, compile
        self._graphs: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def graph_for(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """Returns the graph for the numbers among the inputs."""
        key = tuple(number_of(inputs[k]) for k in self._places)
        found = self._graphs.get(key)
        if found is not None:
            return found
        with self._lock:
            if key in self._graphs:
                return self._graphs[key]
            if len(self._graphs) >= LIMIT:
                key = ()
            if key not in self._graphs:
                numbers = dict(zip(self._places, key))
                self._graphs[key] = self._compile(with_numbers(self._module, numbers) if key else self._module, inputs)
            return self._graphs[key]

    def __call__(self, *inputs: Any) -> Any:
        return self.graph_for(inputs)(*inputs)
