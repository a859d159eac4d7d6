# SPDX-License-Identifier: Apache-2.0
"""The slots of the plugin ABI for plugins in Python."""
from __future__ import annotations

import ctypes
import itertools
import json
import threading
import traceback
from typing import Any, Optional

import numpy as np
from byoc_runtime import Error, _arrays

from . import _abi, _graph
from ._run import Declined, Kernel, kernel_of

_objects: dict[int, Any] = {}                              # by the handles that the host has
_handles = itertools.count(1)
# Reasons, which live until the thread's next judge. By the thread's number: a thread that Python has not started loses its
# threading.local when a call of it ends.
_judged: dict[int, _abi.Text] = {}


def _hold(value: Any) -> int:
    handle = next(_handles)
    _objects[handle] = value
    return handle


class _Instance:
    """An instance: the plugin as it was when its PluginSet was made."""

    def __init__(self, plugin: Any, host: Any) -> None:
        self.plugin = plugin
        self.host = host
        self.rows = list(plugin.rows)
        texts = [(_abi.Text(row.name), _abi.Text(row.dag)) for row in self.rows]
        self._texts = texts
        self._structs = [
            _abi.Pattern(_abi.Hdr(ctypes.sizeof(_abi.Pattern), _abi.TAG_PATTERN, None), name.str, dag.str, row.priority, 0, 0, 0, 0)
            for row, (name, dag) in zip(self.rows, texts)]
        self.patterns = (ctypes.c_void_p * max(len(self.rows), 1))(*(ctypes.addressof(struct) for struct in self._structs))


def _status(instance: _Instance, code: int, message: str, function: int = -1) -> int:
    """Makes a byoc_status."""
    text = _abi.Text(message)
    made: int = instance.host.status_new(instance.host.ctx, code, function, -1, None, 0, text.str)
    return made


def _refusal(instance: _Instance, *structs: Any) -> Optional[int]:
    """Makes the byoc_status of structs with an extension that this plugin lacks, where it has to support it."""
    extension = _abi.extension_to_refuse(*structs)
    return _status(instance, _abi.UNIMPLEMENTED, f"extension {extension:#x} is not supported by a plugin in Python") if extension else None


def _structs_of(consts: Any, n: int) -> list[Any]:
    return [consts[k].contents for k in range(n)]


class _Module:
    def __init__(self, instance: _Instance, kernels: dict[str, Kernel], graphs: list[str]) -> None:
        self.instance = instance
        self.kernels = kernels
        self.graphs = graphs
        self.handles: list[int] = []                       # of its kernels
        self.kept: list[Any] = []                          # texts that the host reads while the module lives


def _where(failure: BaseException) -> str:
    """"ValueError: no such axis (gelu.py:12)": one line for a reason."""
    frames = traceback.extract_tb(failure.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(failure).__name__}: {failure}{place}"


class Table:
    """The table of one plugin. Made once per id, and never freed: the host may call it at any time."""

    def __init__(self, plugin: Any) -> None:
        self.plugin = plugin
        self._objects = _objects                           # the host gives handles back after this module lost its names
        self.texts = [_abi.Text(plugin.id), _abi.Text(plugin.version)]
        self.struct = _abi.Plugin(
            h=_abi.Hdr(ctypes.sizeof(_abi.Plugin), _abi.TAG_PLUGIN, None), abi_major=_abi.MAJOR, abi_minor=_abi.MINOR,
            priority=plugin.priority, max_ops=plugin.max_ops, id=self.texts[0].str, version=self.texts[1].str,
            open=_abi.OPEN(self._open), close=_abi.CLOSE(self._drop), patterns=_abi.PATTERNS(self._patterns),
            judge=_abi.JUDGE(self._judge), compile=_abi.COMPILE(self._compile), load=_abi.LOAD(self._load),
            save=_abi.SAVE(self._save), kernel=_abi.KERNEL(self._kernel), info=_abi.INFO(self._info), run=_abi.RUN(self._run),
            release=_abi.RELEASE(self._release))

    def replace(self, plugin: Any) -> None:
        """Takes the functions of another plugin of the same id; instances that exist keep theirs."""
        for name in ("version", "priority", "max_ops"):
            before, now = getattr(self.plugin, name), getattr(plugin, name)
            if before != now:
                raise Error(f'the plugin "{plugin.id}" is registered with {name} {before}, not {now}', code=9,
                            slug="registered", help="start Python again to change it, or take another id")
        self.plugin = plugin

    # ---- instances ----

    def _open(self, host: Any, options: Any, out: Any) -> Optional[int]:
        instance = _Instance(self.plugin, host.contents)
        if refusal := _refusal(instance, host.contents):
            return refusal
        if options.text() not in ("", "{}"):
            return _status(instance, _abi.INVALID_ARGUMENT, f"the plugin {self.plugin.id} has no options")
        out[0] = _hold(instance)
        return None

    def _drop(self, handle: int) -> None:
        self._objects.pop(handle, None)

    def _patterns(self, handle: int, out: Any, n: Any) -> Optional[int]:
        instance = _objects[handle]
        out[0] = ctypes.addressof(instance.patterns)
        n[0] = len(instance.rows)
        return None

    def _judge(self, handle: int, pattern: int, text: Any, verdict: Any) -> Optional[int]:
        instance = _objects[handle]
        if refusal := _refusal(instance, verdict.contents):
            return refusal
        reason = ""
        try:
            node = _graph.read(text.text()).nodes[0]
            row = instance.rows[pattern] if pattern != _abi.NO_PATTERN else None
            if row is not None:
                row.check(node)
            when = row.when if row is not None else None
            answer = when(node) if when is not None else True
            if isinstance(answer, str):
                reason = answer
            elif not answer:
                reason = "refused by the plugin"
        except Declined as failure:
            reason = str(failure)
        except Exception as failure:                       # a refusal: other plugins take the op
            reason = _where(failure)
        verdict.contents.accept = 0 if reason else 1
        if reason:
            text_of_reason = _judged[threading.get_ident()] = _abi.Text(reason)
            verdict.contents.reason = text_of_reason.str
        return None

    # ---- modules ----

    def _compile(self, handle: int, request: Any, out: Any) -> Optional[int]:
        instance = _objects[handle]
        if refusal := _refusal(instance, request.contents):
            return refusal
        kernels, graphs = {}, []
        for k in range(request.contents.n_functions):
            function = request.contents.functions[k].contents
            if refusal := _refusal(instance, function, *_structs_of(function.consts, function.n_consts)):
                return refusal
            text = function.graph_json.text()
            try:
                graph = _graph.read(text)
                constants = {graph.keys[c]: _copied(function.consts[c].contents) for c in range(function.n_consts)}
                kernels[graph.symbol] = kernel_of(instance.rows, graph, constants)
            except (Declined, ValueError) as failure:
                return _status(instance, _abi.DECLINED, str(failure), k)
            except Exception:
                return _status(instance, _abi.INTERNAL, traceback.format_exc(), k)
            graphs.append(text)
        out[0] = _hold(_Module(instance, kernels, graphs))
        return None

    def _load(self, handle: int, request: Any, out: Any) -> Optional[int]:
        instance = _objects[handle]
        if refusal := _refusal(instance, request.contents, *_structs_of(request.contents.consts, request.contents.n_consts)):
            return refusal
        try:
            graphs = json.loads(request.contents.blob.text())["graphs"]
            given = _structs_of(request.contents.consts, request.contents.n_consts)
            constants = {bytes(const.key).hex(): _copied(const) for const in given}
            read = [_graph.read(text) for text in graphs]
            kernels = {graph.symbol: kernel_of(instance.rows, graph, constants) for graph in read}
        except Exception:
            return _status(instance, _abi.DATA_LOSS, traceback.format_exc())
        out[0] = _hold(_Module(instance, kernels, graphs))
        return None

    def _save(self, handle: int, request: Any) -> Optional[int]:
        module = _objects[handle]
        if refusal := _refusal(module.instance, request.contents, request.contents.blob.contents):
            return refusal
        compat = _abi.Text(f"{self.plugin.id} {self.plugin.version}")
        module.kept.append(compat)
        request.contents.compat = compat.str
        data = json.dumps({"graphs": module.graphs}).encode()
        sink = request.contents.blob.contents
        status: Optional[int] = sink.write(sink.u, ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
        return status

    def _kernel(self, handle: int, symbol: Any, out: Any) -> Optional[int]:
        module = _objects[handle]
        kernel = module.kernels.get(symbol.text())
        if kernel is None:
            return _status(module.instance, _abi.NOT_FOUND, f'no function "{symbol.text()}" in this module')
        out[0] = _hold((module, kernel))
        module.handles.append(out[0])
        return None

    def _info(self, handle: int, info: Any) -> Optional[int]:
        module, kernel = _objects[handle]
        if refusal := _refusal(module.instance, info.contents):
            return refusal
        texts = _abi.Text("Python: " + ", ".join(dict.fromkeys(kernel.names))), _abi.Text(kernel.signature)
        uses = (ctypes.c_uint8 * max(kernel.n_constants, 1))(*[_abi.CONST_COPIED] * kernel.n_constants)
        module.kept += [*texts, uses]
        to = info.contents
        to.n_in, to.n_out, to.flags = kernel.n_in, kernel.n_out, _abi.KERNEL_MAY_ALLOC
        to.const_use, to.n_consts = ctypes.addressof(uses), kernel.n_constants
        to.device.device_type = 1                          # kDLCPU
        to.implementation, to.signature = texts[0].str, texts[1].str
        return None

    def _run(self, handle: int, call: Any) -> Optional[int]:
        module, kernel = _objects[handle]
        if refusal := _refusal(module.instance, call.contents):
            return refusal
        try:
            args = call.contents.args
            inputs = [_arrays.view(args[k].contents, False) for k in range(kernel.n_in)]
            outputs = [_arrays.view(args[kernel.n_in + k].contents, True) for k in range(kernel.n_out)]
            with np.errstate(all="ignore"):                # NaN and infinities are values of tensors like others
                kernel(inputs, outputs)
            return None
        except BaseException:
            return _status(module.instance, _abi.INTERNAL, traceback.format_exc())

    def _release(self, handle: int) -> None:
        module = self._objects.pop(handle, None)
        for kernel in module.handles if module is not None else []:
            self._objects.pop(kernel, None)


def _copied(const: Any) -> "np.ndarray[Any, Any]":
    return _arrays.view(const.view.contents, False).copy()
