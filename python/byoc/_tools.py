# SPDX-License-Identifier: Apache-2.0
"""Compiling, and what the commands do, as functions.

All take the options of `byoc compile` as keywords, with _ for -: compiler=["onednn", "llvm"], threads=2, exact_sums=True,
plugin_options={"onednn.keep_nan": 1}. `byoc.options()` lists them. What one of them returns is a dict as the command prints
it with --json; a notebook shows it as a table or a picture.
"""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, TypeVar, Union

from byoc_runtime import Program as _Program
from byoc_runtime import _load
from byoc_runtime._plugins import wheel_plugins

from . import _results, _work
from ._library import command, library
from ._work import Progress

Model = Any
"""The path of an .onnx or .ir file, the bytes of an ONNX file, or an onnx.ModelProto."""
Path = Union[str, "os.PathLike[str]"]


class Program(_Program):
    """A compiled model. Any number of threads may call it at a time.

    What `byoc.compile` returns also has the model's tools, with the options that it was compiled with: `explain`,
    `partition`, `verify`, `bench`, `profile`, `report`; for several sizes they look at the first.
    """

    _model: Model = None
    _compile_options: Mapping[str, Any] = {}

    def _with(self, options: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
        if self._model is None:
            raise _results.without_model()
        compiled = dict(self._compile_options)
        shapes = compiled.get("shapes")
        if isinstance(shapes, (list, tuple)) and shapes and isinstance(shapes[0], Mapping):
            compiled["shapes"] = shapes[0]
        return self._model, {**compiled, **options}

    def explain(self, **options: Any) -> _results.Explanation:
        """As `byoc.explain` of its model."""
        model, merged = self._with(options)
        return explain(model, **merged)

    def partition(self, **options: Any) -> _results.Partition:
        """As `byoc.partition` of its model."""
        model, merged = self._with(options)
        return partition(model, **merged)

    def verify(self, **options: Any) -> _results.Verification:
        """As `byoc.verify` of its model."""
        model, merged = self._with(options)
        return verify(model, **merged)

    def bench(self, **options: Any) -> _results.Bench:
        """As `byoc.bench` of its model."""
        model, merged = self._with(options)
        return bench(model, **merged)

    def profile(self, **options: Any) -> _results.Profile:
        """As `byoc.profile` of its model."""
        model, merged = self._with(options)
        return profile(model, **merged)

    def report(self, output: Path, **options: Any) -> _results.Result:
        """As `byoc.report` of its model."""
        model, merged = self._with(options)
        return report(model, output, **merged)


Kind = TypeVar("Kind", bound=Program)


def compile(model: Model, *, progress: Progress = None, **options: Any) -> Program:
    """Compiles a model.

    Args:
        model: the path of an .onnx or .ir file, the bytes of an ONNX file, or an onnx.ModelProto.
        progress: True prints a line on stderr; a function is called with (what, done, total).
        options: those of `byoc compile`. shapes: {"x": (1, 3, 224, 224), "N": 1}; a list of such for several sizes.
            threads is also that of runs.

    Returns:
        A program that any number of threads may call.

    Raises:
        byoc.Error: as the command reports it.
        KeyboardInterrupt: at Ctrl-C; nothing is left.
    """
    return compiled(Program, model, progress, options)


def compiled(kind: type[Kind], model: Model, progress: Progress, options: Mapping[str, Any]) -> Kind:
    """As `compile`, for a class of programs."""
    handle = _work.call("byoc_compile_model", model, options, progress)
    session = _load.session_options(options.get("threads"), _listed(options.get("plugins")), options.get("plugin_options"), True)
    program = kind(library(), handle, session)
    program._model = model
    program._compile_options = options
    return program


def from_torch(module: Any, args: Any = (), kwargs: Optional[Mapping[str, Any]] = None, *, dynamic_shapes: Any = None,
               progress: Progress = None, **options: Any) -> Program:
    """Compiles a module of torch.

    Args:
        module: a torch.nn.Module in eval mode. Its weights are copied: later changes do not reach the program.
        args: example inputs, a tuple; values in them that are no tensors are fixed.
        kwargs: further example inputs by name.
        dynamic_shapes: sizes that may change, as torch.export has them: {"x": {0: "N"}} or ({0: torch.export.Dim("N")},).
            A Dim with `max` is open up to it; others get numbers or ranges by `shapes`: {"N": "1..64"}.
        progress: as for `compile`.
        options: as for `compile`.

    Returns:
        A program that takes and returns what the module does, tuples and dicts too, with tensors of torch or arrays.

    Raises:
        byoc.Error: slug "torch-export" when torch cannot export the module, "torch-training", "torch-writes"; else as
            `compile`.
    """
    from .torch._program import from_torch as made

    return made(module, args, kwargs, dynamic_shapes=dynamic_shapes, progress=progress, **options)


def load(source: Union[Path, bytes, bytearray, memoryview], *, threads: Optional[int] = None, plugins: Sequence[Path] = (),
         plugin_options: Optional[Mapping[str, Any]] = None, native: bool = True) -> Program:
    """Loads a program that `byoc compile` or `Program.save` wrote. Arguments and errors: byoc_runtime.load."""
    return Program(*_load.loaded(library(), source, threads, plugins, plugin_options, native))


def explain(model: Model, *, op: Optional[str] = None, progress: Progress = None, **options: Any) -> _results.Explanation:
    """Returns which plugin takes which node, and why others do not: `byoc explain --json`.

    Args:
        op: only the nodes of this name, "/stem/Conv".
    """
    return _results.Explanation(_work.call_json("byoc_explain", model, options, progress, {"op": op}))


def partition(model: Model, *, progress: Progress = None, **options: Any) -> _results.Partition:
    """Returns the regions that plugins get, with a picture: `byoc partition --json`."""
    result = _results.Partition(_work.call_json("byoc_partition", model, {"output": "-", **options}, progress))
    compiling = {name: value for name, value in options.items() if name not in ("output", "svg")}
    result.svg = lambda: _work.call_text("byoc_partition_svg", model, compiling, None)
    return result


def verify(model: Model, *, progress: Progress = None, **options: Any) -> _results.Verification:
    """Compares what is computed with the reference kernels, or another compiler: `byoc verify --json`.

    A difference is no exception: see `ok`.

    Args:
        options: also against, seed, tolerance, inputs ({"x": array}), output (a folder for the wrong piece).
    """
    return _results.Verification(_work.call_json("byoc_verify", model, options, progress))


def bench(model: Model, *, progress: Progress = None, **options: Any) -> _results.Bench:
    """Times a model, or one of its regions: `byoc bench --json`.

    Args:
        options: also vs ("compiler=llvm threads=2"), region, rounds, min_time, warmup, seed, inputs, tolerance, check.

    Raises:
        byoc.Error: slug "bench-mismatch" when the outputs are wrong; nothing is timed then.
    """
    return _results.Bench(_work.call_json("byoc_bench", model, options, progress))


def profile(model: Model, *, progress: Progress = None, **options: Any) -> _results.Profile:
    """Runs a model once and returns the time of each step: `byoc run --profile --json`.

    Args:
        options: also inputs, seed, trace (a file for the trace viewers of browsers).
    """
    return _results.Profile(_work.call_json("byoc_profile", model, options, progress))


def report(model: Model, output: Path, *, progress: Progress = None, **options: Any) -> _results.Result:
    """Writes a page about a model, its parts and their times: `byoc report`.

    Args:
        output: the path of the page, an .html file.
    """
    return _results.Result(_work.call_json("byoc_report", model, options, progress, {"output": output}))


def place(model: Model, *, progress: Progress = None, **options: Any) -> _results.Result:
    """Measures which plugin is the fastest for each region and stores the plan: `byoc place --json`.

    Args:
        options: also rounds, improve, min_time, timeout, estimates, plan_file, output.
    """
    return _results.Result(_work.call_json("byoc_place", model, options, progress))


def tune(model: Model, log: Path, *, progress: Progress = None, **options: Any) -> _results.Result:
    """Searches faster kernels and adds them to a log: `byoc tune --json`.

    Args:
        log: the file that records are appended to; `tuning_log=log` of `compile` uses them.
        options: also trials, budget, task, seed, jobs, build_limit, run_limit.
    """
    return _results.Result(_work.call_json("byoc_tune", model, options, progress, {"log": log, "program": command()}))


def plugins(**options: Any) -> _results.Plugins:
    """Returns the plugins that are found, and the files that are refused, with the reason: `byoc plugins --json`.

    Its `origins` has where each came from.
    """
    return _results.Plugins(_with_entry_points(_work.call_json("byoc_plugins", _work.NO_MODEL, options)))


def doctor(**options: Any) -> _results.Doctor:
    """Returns what this machine and this installation have and lack: `byoc doctor --json`. Its `origins` has where each
    plugin came from."""
    return _results.Doctor(_with_entry_points(_work.call_json("byoc_doctor", _work.NO_MODEL, options)))


def _with_entry_points(result: dict[str, Any]) -> dict[str, Any]:
    """Completes the origins of libraries that a package names, and that are no files of it: it is installed in place, or
    wraps a library of the system."""
    named = {os.path.realpath(plugin.library): plugin for plugin in wheel_plugins() if not plugin.reason}
    for row in _results.rows_of_plugins(result):
        plugin = named.get(os.path.realpath(row["library"]))
        if plugin is not None and row["origin"]["kind"] in ("environment", "installation"):
            package, _, version = plugin.distribution.partition(" ")
            row["origin"].update(kind="wheel", package=package, version=version, entry_point=plugin.name,
                                 text=f"wheel {plugin.distribution}, entry point {plugin.name}")
    return result


def options() -> list[dict[str, str]]:
    """Returns the options of compiling: their names, values and descriptions."""
    import ctypes
    import json

    out = ctypes.c_void_p()
    library().check(library().byoc_option_names(ctypes.byref(out)))
    try:
        rows: list[dict[str, str]] = json.loads(ctypes.string_at(out.value or 0))
        return rows
    finally:
        library().byoc_text_free(out.value)


def version() -> str:
    """Returns the version of the library, "0.1.0"."""
    text: bytes = library().byoc_version()
    return text.decode()


def _listed(value: Any) -> list[Any]:
    return [] if value is None else [value] if isinstance(value, (str, os.PathLike)) else list(value)
