# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments of Python as options of the C API."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Optional

import numpy as np
from byoc_runtime import Error

Values = list[tuple[str, str]]


def _sequence(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _dims(value: Any) -> str:
    return "x".join(str(int(extent)) for extent in value) if isinstance(value, (tuple, list)) else str(value)


def shape_options(shapes: Any) -> Values:
    """{"x": (1, 3, 224, 224), "N": 1}, a list of those for several sizes, or texts as --shape has them."""
    if isinstance(shapes, Mapping):
        return [("shape", f"{name}={_dims(dims)}") for name, dims in shapes.items()]
    rows = _sequence(shapes)
    if any(isinstance(row, int) for row in rows):
        raise Error("shapes are without a name", slug="usage", help='name the input, or a size: {"x": (1, 3, 224, 224), "N": 1}')
    if not any(isinstance(row, Mapping) for row in rows):
        return [("shape", str(row)) for row in rows]
    names: dict[str, list[str]] = {}
    for row in rows:
        if not isinstance(row, Mapping) or set(row) != set(rows[0]):
            raise Error("every size has to give the same names", slug="usage", help='shapes=[{"N": 1}, {"N": 4}]')
        for name, dims in row.items():
            names.setdefault(name, []).append(_dims(dims))
    return [("shape", f"{name}={','.join(dims)}") for name, dims in names.items()]


class Given:
    """The options of one call, and the files that hold its arrays until `close`."""

    def __init__(self) -> None:
        self.values: Values = []
        self.path: Optional[Path] = None                   # of a model that was given in memory
        self._folder: Any = None

    def add(self, options: Mapping[str, Any]) -> None:
        """Adds keyword arguments. None is no option."""
        for name, value in options.items():
            if value is not None:
                self.values += self._rows(name, value)

    def file(self, name: str) -> Path:
        """Returns the path of a new file."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="byoc-")
        return Path(self._folder.name) / name

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _rows(self, name: str, value: Any) -> Iterator[tuple[str, str]]:
        flag = {"shapes": "shape", "inputs": "input", "plugins": "plugin", "plugin_options": "plugin-option",
                "native": "no-native", "check": "no-check"}.get(name, name.replace("_", "-"))
        if name == "shapes":
            yield from shape_options(value)
        elif isinstance(value, bool):
            if value != (name in ("native", "check")):     # flags that are on by themselves have a "no-" form
                yield flag, ""
        elif name in ("inputs", "bind") and isinstance(value, Mapping):
            for at, (key, array) in enumerate(value.items()):
                yield flag, f"{key}={self._saved(f'{name}-{at}.npy', array)}"
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield flag, f"{key}={item}"
        elif name in ("compiler", "threads"):
            yield flag, ",".join(str(item) for item in _sequence(value))
        else:
            for item in _sequence(value):
                yield flag, os.fspath(item) if isinstance(item, os.PathLike) else str(item)

    def _saved(self, file: str, array: Any) -> str:
        if isinstance(array, (str, os.PathLike)):
            return os.fspath(array)
        path = self.file(file)
        np.save(path, np.asarray(array.detach() if hasattr(array, "detach") else array))
        return str(path)
