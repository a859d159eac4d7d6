# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of modules, tuples and dicts too, as lists of tensors."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from byoc_runtime import Error

from . import _modules

Row = tuple[str, Any, Any]
"""A leaf: its name, its value, and what dynamic_shapes has for it."""


def _children(value: Any) -> Optional[list[tuple[str, Any]]]:
    """Returns the parts of a container with their names; None for a leaf."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(name, getattr(value, name)) for name in value._fields]
    if isinstance(value, (tuple, list)):
        return [(str(k), item) for k, item in enumerate(value)]
    return None


def _parts_of(shapes: Any, names: Sequence[str], where: str) -> list[Any]:
    """Returns the dynamic shapes of each part of a container."""
    if shapes is None:
        return [None] * len(names)
    if isinstance(shapes, Mapping):
        unknown = [str(key) for key in shapes if str(key) not in names]
        if unknown:
            raise Error(f"dynamic_shapes names {', '.join(unknown)}, {where} has {', '.join(names)}", slug="usage",
                        help="name the arguments of forward, and the keys of its dicts")
        by_name = {str(key): item for key, item in shapes.items()}
        return [by_name.get(name) for name in names]
    if isinstance(shapes, (tuple, list)) and len(shapes) == len(names):
        return list(shapes)
    raise Error(f"dynamic_shapes has {shapes!r} for {where}, which has {len(names)} parts", slug="usage",
                help='give it as the arguments are nested, or by name: {"x": {0: "N"}}')


def _rows(name: str, value: Any, shapes: Any) -> Iterator[Row]:
    """Yields the leaves of a value. The depth is that of the caller's containers."""
    children = _children(value)
    if children is None:
        yield name, value, shapes
        return
    parts = _parts_of(shapes, [key for key, _ in children], f'"{name}"')
    for (key, item), part in zip(children, parts):
        yield from _rows(f"{name}.{key}", item, part)


class Inputs:
    """The arguments of a module's forward, of which the tensors are inputs and other values stay as they are.

    Attributes:
        names: of the tensors: "x", "batch.mask".
        tensors: the example tensors.
        shapes: per tensor what dynamic_shapes has for it.
    """

    def __init__(self, forward: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], shapes: Any) -> None:
        torch, self._pytree = _modules.torch(), _modules.module("torch.utils._pytree")
        self._signature = inspect.signature(forward)
        bound = self._bound(args, kwargs)
        leaves, self._spec = self._pytree.tree_flatten((bound.args, bound.kwargs))
        self._is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self._fixed = [None if one else leaf for one, leaf in zip(self._is_tensor, leaves)]
        rows = self._named(bound, leaves, shapes)
        self.names = [name for (name, _, _), one in zip(rows, self._is_tensor) if one]
        self.tensors = [leaf for leaf, one in zip(leaves, self._is_tensor) if one]
        self.shapes = [given for (_, _, given), one in zip(rows, self._is_tensor) if one]
        if not self.tensors:
            raise Error("the arguments have no tensor", slug="usage", help="give example inputs: from_torch(module, (x,))")
        # The way of most calls: every argument is a tensor, given in order.
        self._plain = len(self.tensors) if not bound.kwargs and len(bound.args) == len(leaves) == len(self.tensors) else -1

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as failure:
            raise Error(f"forward{self._signature} does not take these arguments: {failure}", slug="input-count",
                        help="give the arguments as for the module") from None

    def _named(self, bound: inspect.BoundArguments, leaves: Sequence[Any], shapes: Any) -> list[Row]:
        """Returns a row for each leaf."""
        arguments = list(bound.arguments.items())
        order = {name: k for k, name in enumerate(self._signature.parameters)}
        positional = [name for name, _ in arguments]
        parts = _parts_of(shapes, positional, "forward")
        given = {name: part for name, part in zip(positional, parts)}
        arguments.sort(key=lambda item: order[item[0]])
        rows = [row for name, value in arguments for row in _rows(name, value, given[name])]
        names = [name for name, _, _ in rows]
        if len(rows) != len(leaves) or any(row[1] is not leaf for row, leaf in zip(rows, leaves)):
            if shapes is not None:                         # of classes that only torch can take apart
                raise Error("the arguments have containers whose dynamic shapes cannot be matched", slug="usage",
                            help="use tuples, lists and dicts")
            rows = [(f"input.{k}", leaf, None) for k, leaf in enumerate(leaves)]
        elif len(set(names)) < len(names):
            raise Error(f"arguments have equal names: {', '.join(names)}", slug="usage", help="rename keys of dicts")
        return rows

    def unflatten(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns args and kwargs for the module, with these tensors."""
        given = iter(tensors)
        leaves = [next(given) if one else fixed for one, fixed in zip(self._is_tensor, self._fixed)]
        args, kwargs = self._pytree.tree_unflatten(leaves, self._spec)
        return args, kwargs

    def flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Returns the tensors of a call; refuses another structure, and other values than the example had."""
        if not kwargs and len(args) == self._plain and not any(isinstance(arg, (tuple, list, dict)) for arg in args):
            return args
        bound = self._bound(args, kwargs)
        leaves, spec = self._pytree.tree_flatten((bound.args, bound.kwargs))
        if spec != self._spec:
            raise Error(f"the arguments are {spec}, the program was made for {self._spec}", slug="input-count",
                        help="give the arguments as the example had them")
        for one, leaf, fixed in zip(self._is_tensor, leaves, self._fixed):
            if not one and (type(leaf) is not type(fixed) or leaf != fixed):
                raise Error(f"an argument is {leaf!r}, the program was made for {fixed!r}", slug="input-value",
                            help="only tensors may differ from the example: make a program for each other value")
        return [leaf for one, leaf in zip(self._is_tensor, leaves) if one]


class Outputs:
    """The results of a module. `flatten` learns their structure."""

    def __init__(self) -> None:
        self._pytree = _modules.module("torch.utils._pytree")
        self._tensor = _modules.torch().Tensor
        self._fixed: list[Any] = []
        self._is_tensor: list[bool] = []
        self._spec: Any = None
        self._single = False

    def flatten(self, result: Any) -> tuple[Any, ...]:
        """Returns the tensors of a result."""
        leaves, self._spec = self._pytree.tree_flatten(result)
        self._single = len(leaves) == 1 and leaves[0] is result
        self._is_tensor = [isinstance(leaf, self._tensor) for leaf in leaves]
        for one, leaf in zip(self._is_tensor, leaves):
            if not one and leaf is not None and not isinstance(leaf, (bool, int, float, str)):
                raise Error(f"the module returns a {type(leaf).__name__}, which is no tensor", slug="torch-output",
                            help="return tensors, or tuples, lists and dicts of tensors")
        self._fixed = [None if one else leaf for one, leaf in zip(self._is_tensor, leaves)]
        tensors = tuple(leaf for one, leaf in zip(self._is_tensor, leaves) if one)
        if not tensors:
            raise Error("the module returns no tensor", slug="torch-output", help="return what the program should compute")
        return tensors

    @property
    def names(self) -> list[str]:
        """Names for the tensors."""
        count = sum(self._is_tensor)
        return ["output"] if count == 1 else [f"output.{k}" for k in range(count)]

    def unflatten(self, tensors: Sequence[Any]) -> Any:
        """Returns a result as the module does, with these tensors."""
        if self._single:
            return tensors[0]
        given = iter(tensors)
        leaves = [next(given) if one else fixed for one, fixed in zip(self._is_tensor, self._fixed)]
        return self._pytree.tree_unflatten(leaves, self._spec)
