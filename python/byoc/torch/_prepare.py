# SPDX-License-Identifier: Apache-2.0
"""Graphs of Dynamo before they are cut: sizes are read off tensors, modes of gradients are taken out."""
from __future__ import annotations

from typing import Any

from . import _modules


def symbol_of(value: Any) -> str:
    """Returns the symbol of a SymInt, "s0"; "" when it is no symbol."""
    expression = getattr(getattr(value, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_Symbol else ""


def placeholders(graph: Any) -> list[Any]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def value_of(node: Any) -> Any:
    """Returns the fake value of a placeholder."""
    return node.meta.get("example_value", node.meta.get("val"))


def sizes_of_tensors(graph_module: Any) -> dict[str, tuple[Any, int]]:
    """Returns for each symbol a placeholder and the dim of it that has this size."""
    torch, where = _modules.torch(), {}                    # type: Any, dict[str, tuple[Any, int]]
    for node in placeholders(graph_module.graph):
        value = value_of(node)
        if isinstance(value, torch.Tensor):
            for dim, extent in enumerate(value.shape):
                if symbol := symbol_of(extent):
                    where.setdefault(symbol, (node, dim))
    return where


def read_sizes_off_tensors(graph_module: Any) -> None:
    """Replaces the sizes that Dynamo passes as inputs by sizes of the tensors that have them.

    before: f(s0, x[s0, 4]) = view(x, s0 * 4)
    after:  f(s0, x[s0, 4]) = view(x, size(x, 0) * 4)
    """
    torch, graph = _modules.torch(), graph_module.graph
    inputs, where = placeholders(graph), sizes_of_tensors(graph_module)
    with graph.inserting_after(inputs[-1] if inputs else None):
        for node in inputs:
            found = where.get(symbol_of(value_of(node)))
            if found and node.users and isinstance(value_of(node), torch.SymInt):
                node.replace_all_uses_with(graph.call_method("size", found))
    graph_module.recompile()


def take_out_grad_modes(graph_module: Any, inputs: Any) -> None:
    """Takes out calls of set_grad_enabled when no result can need a gradient anyway: the mode is off, or nothing needs one."""
    torch, graph = _modules.torch(), graph_module.graph
    calls = [node for node in graph.nodes if node.op == "call_function" and node.target is torch._C._set_grad_enabled]
    needed = torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs)
    turned_on = not torch.is_grad_enabled() and any(node.args[0] is True for node in calls)
    if needed or turned_on:
        return
    for node in calls:
        if not node.users:
            graph.erase_node(node)
    graph_module.recompile()


def is_weight(node: Any, value: Any) -> bool:
    """True for a placeholder that is a parameter or a buffer of a module. Plain attributes of modules are not: models keep
    state in them."""
    if isinstance(value, _modules.torch().nn.Parameter):
        return True
    source = getattr(node.meta.get("grapharg"), "source", None) or getattr(node, "_dynamo_source", None)
    name = getattr(source, "name", "")
    text = str(name() if callable(name) else name)
    return "_buffers" in text or "_parameters" in text
