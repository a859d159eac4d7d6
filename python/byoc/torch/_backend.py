# SPDX-License-Identifier: Apache-2.0
"""The backend of torch.compile."""
from __future__ import annotations

import tempfile
import threading
import weakref
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence

from byoc_runtime import Error

from .. import _tools
from . import _modules, _numbers
from ._graph import AnyGraph, compiled

GROUP = "torch_dynamo_backends"
_lock = threading.Lock()
_tried: set[str] = set()
_graphs: "list[weakref.ref[AnyGraph]]" = []


def graphs() -> list[AnyGraph]:
    """Returns the graphs that were compiled and are still in use, in order."""
    with _lock:
        found = [(reference, reference()) for reference in _graphs]
        _graphs[:] = [reference for reference, graph in found if graph is not None]
        return [graph for _, graph in found if graph is not None]


def reset() -> None:
    """Forgets the graphs that explain lists. torch._dynamo.reset() calls it, and drops the graphs."""
    with _lock:
        _graphs.clear()


def _checked(options: Optional[Mapping[str, Any]], mode: Optional[str]) -> dict[str, Any]:
    if mode is not None:
        raise Error(f'the backend has no mode "{mode}"', slug="usage", help="give options of byoc.compile: options={...}")
    given = dict(options or {})
    allowed = {row["name"].replace("-", "_") for row in _tools.options()} | {"threads", "plugins", "plugin_options", "compiler"}
    unknown = sorted(set(given) - allowed | set(given) & {"shapes", "shape", "inputs", "bind"})
    if unknown:
        raise Error(f"options of the backend are not {', '.join(unknown)}", slug="usage",
                    help="they are those of byoc.compile but for shapes, which torch finds")
    given.setdefault("threads", _modules.torch().get_num_threads())
    _try(given)
    return given


def _try(options: Mapping[str, Any]) -> None:
    """Compiles one op: a fault of the options, such as a plugin that is not there, is no refusal of a part."""
    if repr(options) in _tried:
        return
    with tempfile.TemporaryDirectory(prefix="byoc-") as folder:
        model = Path(folder) / "try.ir"
        model.write_text("fn main(%x: f32[4]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        _tools.compile(model, **options)
    _tried.add(repr(options))


def _name() -> str:
    """Returns the function that Dynamo is compiling."""
    context = _modules.module("torch._guards").CompileContext.current_compile_id()
    tracing = _modules.module("torch._guards").TracingContext
    try:
        frame = tracing.extract_stack()
        where = f"{frame[0].name} ({frame[0].filename.rpartition('/')[2]}:{frame[0].lineno})" if frame else ""
    except Exception:                                      # a detail of a report
        where = ""
    return f"graph {context}" + (f", {where}" if where else "")


def backend(graph_module: Any, example_inputs: Sequence[Any], *, options: Optional[Mapping[str, Any]] = None,
            mode: Optional[str] = None, **more: Any) -> Callable[..., Any]:
    """Compiles a graph of Dynamo: torch.compile(module, backend="byoc", options={...}).

    Args:
        options: those of byoc.compile, without shapes. threads: torch.get_num_threads() without it.

    Raises:
        byoc.Error: slug "torch-training" when a result needs gradients. Dynamo wraps it in BackendCompilerFailed.
    """
    if _modules.version() < (2, 6):
        raise Error(f"torch {_modules.torch().__version__} is too old for the backend", slug="torch-version",
                    help="install torch 2.6 or newer")
    checked, name = _checked(options, mode), _name()

    def compile(module: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        graph = compiled(module, inputs, checked, name)
        if graph is None:
            function: Callable[..., Any] = module.forward
            return function
        with _lock:
            _graphs.append(weakref.ref(graph))
        return graph

    places = _numbers.places_of_numbers(graph_module, example_inputs)
    if not places:
        return compile(graph_module, example_inputs)
    by_value = _numbers.ByValue(graph_module, places, compile)
    by_value.graph_for(example_inputs)                     # reports its errors now
    return by_value


backend.reset = reset  # type: ignore[attr-defined]


def _is_installed() -> bool:
    """True when Dynamo finds the backend by its entry point, and would refuse a second one of the name."""
    found: Any = metadata.entry_points()
    points = found.select(group=GROUP) if hasattr(found, "select") else found.get(GROUP, ())
    return any(point.name == "byoc" for point in points)


def register() -> None:
    """Makes the backend known to torch.compile by its name, where no package has."""
    if _modules.version() >= (2, 0) and not _is_installed():
        registry = _modules.module("torch._dynamo.backends.registry")
        if "byoc" not in registry._COMPILER_FNS:
            registry.register_backend(backend, name="byoc")
