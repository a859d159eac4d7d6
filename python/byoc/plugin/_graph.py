# SPDX-License-Identifier: Apache-2.0
"""Graph JSON (docs/graph-json.md) as objects."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
from byoc_runtime import _arrays

_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i16": "int16",
          "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "bool": "bool"}

Operand = tuple[str, int, int]
"""("i", input, 0), ("c", constant, 0) or ("n", node, output)."""


@dataclass(frozen=True)
class Type:
    """The type of a value.

    Attributes:
        dtype: numpy's name, "float32".
        shape: extents; a text for a size that is open: "N".
    """

    dtype: str
    shape: tuple[Union[int, str], ...]

    def __str__(self) -> str:
        short = next(short for short, name in _NAMES.items() if name == self.dtype)
        return f"{short}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Node:
    """One op of a graph, or one call of a composite.

    Attributes:
        op: the op, "conv2d"; "" for a composite.
        pattern: the name of the pattern, without the plugin's id, for a composite; else "".
        attrs: the attributes of the op, all of them.
        inputs: the types of its operands.
        outputs: the types of its results.
        constants: the values of operands that are constants of the model, by position: None for others, and for those whose
            values are not known yet (in `judge`: those of more than 64 elements).
        nodes: of a composite, its captured nodes by the name that the pattern gave them.
        name: the name in the user's model, for messages.
    """

    op: str
    pattern: str
    attrs: Mapping[str, Any]
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]
    constants: tuple[Optional["np.ndarray[Any, Any]"], ...]
    nodes: Mapping[str, Sequence["Node"]]
    name: str
    operands: tuple[Operand, ...] = field(repr=False)
    captured: Mapping[int, str] = field(repr=False, default_factory=dict)  # of a composite: input and its name


@dataclass(frozen=True)
class Graph:
    """A region that a plugin compiles."""

    symbol: str
    inputs: tuple[Type, ...]
    constants: tuple[Type, ...]
    keys: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Operand, ...]

    def type_of(self, operand: Operand) -> Type:
        kind, k, output = operand
        return self.inputs[k] if kind == "i" else self.constants[k] if kind == "c" else self.nodes[k].outputs[output]


def _attribute(value: Any) -> Any:
    if isinstance(value, dict):
        if "float" in value:
            return float(value["float"])
        if "dtype" in value:
            return _NAMES[value["dtype"]]
        return value
    return [_attribute(item) for item in value] if isinstance(value, list) else value


def _type(row: Mapping[str, Any]) -> Type:
    return Type(_NAMES[row["dtype"]], tuple(dim if isinstance(dim, int) else str(dim["symbol"]) for dim in row["shape"]))


def _operand(row: Sequence[Any]) -> Operand:
    return row[0], row[1], row[2] if len(row) > 2 else 0


def _value(row: Mapping[str, Any], kind: Type) -> Optional["np.ndarray[Any, Any]"]:
    if "value" not in row or kind.dtype == "bfloat16":
        return None
    items = [_bits(item, kind) if isinstance(item, str) else item for item in row["value"]]
    return np.array(items, kind.dtype).reshape([int(dim) for dim in kind.shape])


def _bits(text: str, kind: Type) -> Any:
    if not text.startswith("0x"):
        return float(text)
    size = np.dtype(kind.dtype).itemsize
    return np.frombuffer(int(text, 16).to_bytes(size, "little"), kind.dtype)[0]


class _Reader:
    def __init__(self, text: str) -> None:
        self.json = json.loads(text)
        self.types = [_type(row) for row in self.json["types"]]

    def nodes(self, body: Mapping[str, Any], values: Mapping[tuple[str, int], Any]) -> tuple[Node, ...]:
        """Reads the nodes of the graph or of a composite. values: of its inputs or constants, where they are known."""
        out: list[Node] = []
        inputs = [self.types[row["type"]] for row in body["inputs"]]
        constants = [self.types[row["type"]] for row in body.get("constants", [])]
        for row in body["nodes"]:
            operands = tuple(_operand(operand) for operand in row["args"])
            kinds = tuple(inputs[k] if kind == "i" else constants[k] if kind == "c" else out[k].outputs[output]
                          for kind, k, output in operands)
            known = tuple(values.get((kind, k)) for kind, k, _ in operands)
            callee = self.json["functions"][row["call"]] if "call" in row else None
            nodes, captured = self._captures(callee, known) if callee is not None else ({}, {})
            out.append(Node(
                op=row.get("op", ""), pattern=callee["pattern"].split(".", 1)[1] if callee is not None else "",
                attrs={name: _attribute(value) for name, value in row.get("attrs", {}).items()}, inputs=kinds,
                outputs=tuple(self.types[k] for k in row["types"]), constants=known, nodes=nodes, name=row.get("loc", ""),
                operands=operands, captured=captured))
        return tuple(out)

    def _captures(self, callee: Mapping[str, Any], known: Sequence[Any]) -> tuple[dict[str, list[Node]], dict[int, str]]:
        body = self.nodes(callee, {("i", k): value for k, value in enumerate(known)})
        nodes: dict[str, list[Node]] = {}
        inputs: dict[int, str] = {}
        for name, captured in callee.get("captures", {}).items():
            for operand in captured:
                if operand[0] == "n":
                    nodes.setdefault(name, []).append(body[operand[1]])
                else:
                    inputs[operand[1]] = name
        return nodes, inputs

    def graph(self) -> Graph:
        rows = self.json.get("constants", [])
        kinds = [self.types[row["type"]] for row in rows]
        values = {("c", k): _value(row, kind) for k, (row, kind) in enumerate(zip(rows, kinds))}
        return Graph(
            symbol=self.json["symbol"], inputs=tuple(self.types[row["type"]] for row in self.json["inputs"]),
            constants=tuple(kinds), keys=tuple(row["key"] for row in rows), nodes=self.nodes(self.json, values),
            outputs=tuple(_operand(operand) for operand in self.json["outputs"]))


def read(text: str) -> Graph:
    """Reads graph JSON. Raises ValueError for a graph that needs a feature that is not known here."""
    reader = _Reader(text)
    if reader.json.get("requires"):
        raise ValueError(f"the graph requires {', '.join(reader.json['requires'])}")
    if any("extern" in node for node in reader.json["nodes"]):
        raise ValueError("the graph calls an external function")
    return reader.graph()


def numpy_type(kind: Type) -> "np.dtype[Any]":
    return _arrays.numpy_type(kind.dtype)
