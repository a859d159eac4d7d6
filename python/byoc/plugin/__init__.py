# SPDX-License-Identifier: Apache-2.0
"""Plugins written in Python: patterns, a judge, and kernels on arrays of numpy.

    plugin = byoc.plugin.Plugin("mine", priority=70)

    @plugin.op("relu")
    def relu(x):
        return np.maximum(x, 0)

    plugin.register()
    byoc.compile("net.onnx").explain()                     # relu goes to "mine"

It is a plugin like any other for explain, partition, verify, bench and artifacts, in this process. It is for trying out what
a code generator takes, and what its answers have to be; a kernel is as fast as its Python.
"""
from __future__ import annotations

import ctypes
import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, TypeVar, Union, cast

from byoc_runtime import Error

from .._library import library
from ._graph import Graph, Node, Type
from ._run import Declined, Row
from ._table import Table

__all__ = ["Declined", "Graph", "Node", "Plugin", "Type"]

Function = TypeVar("Function", bound=Callable[..., Any])
When = Optional[Callable[[Node], Union[bool, str]]]

_lock = threading.Lock()
_tables: dict[str, Table] = {}                             # of registered plugins, by id; they live with the process


class Plugin:
    """A plugin whose kernels are functions of Python.

    Args:
        id: its name, as `compiler=["mine", "llvm"]` has it: letters, digits, "_", "-".
        version: its version; an artifact of another one is loaded all the same, as its functions are not in it.
        priority: its place among plugins; onednn has 50, llvm 100 (as the codegen of what is left), json 10.
        max_ops: the most nodes of one region; 0: 4096.
    """

    def __init__(self, id: str, *, version: str = "0.1.0", priority: int = 60, max_ops: int = 0) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", id):
            raise Error(f'"{id}" is no id of a plugin', slug="usage", help="small letters, digits and _, a letter first")
        self.id = id
        self.version = version
        self.priority = priority
        self.max_ops = max_ops
        self.rows: list[Row] = []

    def op(self, name: str, *, dtypes: Sequence[str] = ("f32",), when: When = None) -> Callable[[Function], Function]:
        """Decorates the function of an op.

        The function gets the operands as read-only arrays, the op's attributes as keywords (all of them, also those with
        their default), and returns the result, or a tuple of several, of the shapes of the model.

        Args:
            name: the op, as `byoc ops` lists it.
            dtypes: the types of its first result that the function computes, "f32", "i64", ...
            when: called with each `Node`; True, or the reason of a refusal. An exception is a refusal, too.
        """
        return self._row(Row, name, {"op": name, "dtype": list(dtypes)}, 0, when, True)

    def pattern(self, name: str, dag: Mapping[str, Any], *, priority: int = 0,
                when: When = None) -> Callable[[Function], Function]:
        """Decorates the function of several ops that become one node.

        The function gets the inputs of the pattern as keywords, by the names that "as" gives them, and returns as that of
        an op. One with the parameter `nodes` also gets the captured nodes by name, each a list of `Node`, for attributes.

        Args:
            name: of the composite, which explain shows as ID.NAME.
            dag: the pattern, as docs/patterns.md has it.
            priority: among the patterns of this plugin: higher goes first.
            when: as for `op`.
        """
        return self._row(Row, name, dag, priority, when, False)

    def _row(self, kind: Any, name: str, dag: Mapping[str, Any], priority: int, when: When,
             is_op: bool) -> Callable[[Function], Function]:
        def add(function: Function) -> Function:
            self.rows = [row for row in self.rows if row.name != name]  # a cell of a notebook that runs again
            self.rows.append(kind(name, dag, priority, function, when, is_op))
            return function

        return add

    def register(self) -> "Plugin":
        """Adds the plugin to this process: what is compiled from now on finds it. One of the same id is replaced.

        Raises:
            byoc.Error: what is wrong with it; code "already-exists" for the id of a plugin that is no plugin in Python.
        """
        with _lock:
            table = _tables.get(self.id)
            if table is not None:
                table.replace(self)
                return self
            table = Table(self)
            library().check(library().byoc_register_plugin(ctypes.addressof(table.struct)))
            _tables[self.id] = table
        return self

    def check(self, *, level: str = "core", groups: Sequence[str] = ()) -> dict[str, Any]:
        """Checks that the registered plugin keeps the rules of the ABI: `byoc check-plugin --json`.

        Each check runs in a copy of this process, so call it before other threads are started. Checks of a plugin's file
        are skipped. "failed" of the result is the number of checks that failed, "checks" has their reasons and cures.

        Args:
            level: "core", or "full" for more dtypes and shapes.
            groups: the groups of checks, by name, such as "correctness"; all of them without.

        Raises:
            byoc.Error: code "not-found" when the plugin is not registered.
        """
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "answer.json"
            words = ["byoc", "check-plugin", self.id, "--quiet", "--level", level, f"--json={answer}"]
            if groups:
                words += ["--group", ",".join(groups)]
            if self.id not in _tables:
                raise Error(f'"{self.id}" is not registered', code=5, help="call register() first")
            library().byoc_command(len(words), (ctypes.c_char_p * (len(words) + 1))(*(os.fsencode(word) for word in words)))
            if not answer.exists():
                raise Error(f'"{self.id}" was not checked', slug="usage", help="the reason is on stderr")
            return cast("dict[str, Any]", json.loads(answer.read_text()))
