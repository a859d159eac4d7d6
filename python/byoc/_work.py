# SPDX-License-Identifier: Apache-2.0
"""Long calls: progress, and Ctrl-C at any time."""
from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import threading
import time
from typing import Any, Callable, Mapping, Optional, Union

from byoc_runtime import Error, _c
from byoc_runtime._errors import CODES
from byoc_runtime._program import Options

from ._library import library
from ._options import Given

Progress = Union[None, bool, Callable[[str, int, int], None]]


class _Line:
    """Prints progress as one line of stderr, at most ten times a second."""

    def __init__(self) -> None:
        self._next = 0.0
        self._width = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next and done != total:
            return
        self._next = now + 0.1
        text = f"{what} {done}/{total}" if total else f"{what} {done}"
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class _Watch:
    """A byoc_watch whose progress is a function of Python."""

    def __init__(self, progress: Progress) -> None:
        self._library = library()
        self.failure: Optional[BaseException] = None
        self._line = _Line() if progress is True else None
        self._function = self._line or (progress if callable(progress) else None)
        self.canceller = self._library.make("byoc_canceller_new")
        callback = _c.ProgressFn(self._progress) if self._function else _c.ProgressFn(0)
        self.struct = _c.Watch(ctypes.sizeof(_c.Watch), self.canceller, callback, None)

    def _progress(self, user: Any, what: bytes, done: int, total: int) -> None:
        try:
            if self._function is not None and self.failure is None:
                self._function(what.decode("utf-8", "replace"), done, total)
        except BaseException as failure:                   # raised by `call`, when the work has ended
            self.failure = failure
            self.cancel()

    def cancel(self) -> None:
        self._library.byoc_canceller_cancel(self.canceller)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        self._library.byoc_canceller_free(self.canceller)


def _in_a_thread(work: Callable[[], int], watch: _Watch) -> int:
    """Runs the work in a thread of its own, so that Ctrl-C reaches this one, and cancels the work."""
    results: list[int] = []
    ended = threading.Event()                              # a join that a signal interrupts takes the thread for ended

    def body() -> None:
        try:
            results.append(work())
        finally:
            ended.set()

    threading.Thread(target=body, name="byoc", daemon=True).start()
    interrupt: Optional[KeyboardInterrupt] = None
    while not ended.is_set():
        try:
            ended.wait(0.5)
        except KeyboardInterrupt as failure:
            interrupt = failure
            watch.cancel()
    if interrupt is not None:
        if results[0]:
            library().byoc_error_free(results[0])
        raise interrupt
    return results[0]


def _shape_of_python(found: "re.Match[str]") -> str:
    dims = found[2].split("x")
    text = f'"{found[2]}"' if ".." in found[2] else dims[0] if len(dims) == 1 else "(" + ", ".join(dims) + ")"
    return f'shapes={{"{found[1]}": {text}}}'


def _in_words_of_python(error: Error, given: Given) -> Error:
    """Replaces the option --shape, and the file that the bytes of a model were written to."""
    def words(text: str) -> str:
        text = re.sub(r"--shape ([\w./]+)=(\w+(?:\.\.\w+)?)", _shape_of_python, text).replace("--shape", "shapes")
        return text.replace(str(given.path), "the given model") if given.path is not None else text

    code = CODES.index(error.code) if error.code in CODES else 3
    return Error(words(error.message), code=code, slug=error.slug, where=words(error.where), help=words(error.help),
                 text=words(str(error)))


def call(function: str, model: Any, options: Mapping[str, Any], progress: Progress = None,
         more: Optional[Mapping[str, Any]] = None) -> int:
    """Calls a function of the C API: (model, options, watch, out). Returns the pointer that it writes.

    Args:
        model: a path, the bytes of an ONNX file, an onnx.ModelProto; NO_MODEL for functions without one, None for NULL.
    """
    given = Given()
    watch = _Watch(progress)
    try:
        given.add(options)
        given.add(more or {})
        handle = Options(library(), given.values)
        out = ctypes.c_void_p()
        arguments: list[Any] = [handle.handle, ctypes.byref(watch.struct), ctypes.byref(out)]
        if model is not NO_MODEL:
            arguments.insert(0, None if model is None else os.fsencode(model_path(model, given)))
        foreign = getattr(library(), function)

        def work() -> int:
            error: int = foreign(*arguments)
            return error

        on_main = threading.current_thread() is threading.main_thread()
        error = _in_a_thread(work, watch) if on_main else work()
        if watch.failure is not None:
            if error:
                library().byoc_error_free(error)
            raise watch.failure
        if error:
            raise _in_words_of_python(library().error_of(error), given)
        return out.value or 0
    finally:
        watch.close()
        given.close()


NO_MODEL: Any = object()


def call_json(function: str, model: Any, options: Mapping[str, Any], progress: Progress = None,
              more: Optional[Mapping[str, Any]] = None) -> Any:
    """As `call`, for a function that writes JSON."""
    return json.loads(call_text(function, model, options, progress, more))


def call_text(function: str, model: Any, options: Mapping[str, Any], progress: Progress = None,
              more: Optional[Mapping[str, Any]] = None) -> str:
    """As `call`, for a function that writes a text."""
    text = call(function, model, options, progress, more)
    try:
        return ctypes.string_at(text).decode()
    finally:
        library().byoc_text_free(text)


def model_path(model: Any, given: Given) -> str:
    """Returns the path of a model; one that is in memory is written to a file, which lives as long as `given`."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        path = given.file("model.onnx")
        path.write_bytes(model)
        given.path = path
        return str(path)
    raise Error(f"a model is expected, not {type(model).__name__}", slug="usage",
                help="give the path of an .onnx or .ir file, its bytes, or an onnx.ModelProto")
