# SPDX-License-Identifier: Apache-2.0
"""Modules of torch as ONNX files, by torch's own exporters."""
from __future__ import annotations

import contextlib
import logging
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

from byoc_runtime import Error

from . import _modules

LARGE = 64 << 20                                           # bytes of weights that are kept beside the ONNX file
OPSET_OF_TRACES = 17


@dataclass
class Exported:
    """An ONNX file.

    Attributes:
        path: the file; large weights are in a file beside it.
        inputs: the names of its inputs, in order.
        outputs: the names of its outputs, in order.
        sizes: the least and the largest number of each open size, None where there is no largest one.
        dims: per input which dims are which open size.
    """

    path: str
    inputs: list[str]
    outputs: list[str]
    sizes: dict[str, tuple[int, Optional[int]]] = field(default_factory=dict)
    dims: list[dict[int, str]] = field(default_factory=list)


class Changes(Exception):
    """The module changes a buffer or an input."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps the exporters from writing about packages that are missing, and about their own future."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.onnx._internal.exporter._registration")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


def program_of(module: Any, tensors: Sequence[Any], shapes: Any) -> Any:
    """Returns the torch.export.ExportedProgram of a module.

    Raises:
        Changes: it writes into a buffer or an input, which a program of byoc cannot do.
        Exception: what torch.export raises.
    """
    torch = _modules.torch()
    with torch.no_grad(), quiet():
        program = torch.export.export(module, tuple(tensors), dynamic_shapes=shapes, strict=False)
        signature = program.run_decompositions({}).graph_signature   # which shows writes
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values(),
               *getattr(signature, "parameters_to_mutate", {}).values()]
    if changed:
        raise Changes(", ".join(str(name) for name in changed))
    return program


def onnx_of(program: Any, folder: Path, names: Sequence[str] = (), outputs: Sequence[str] = (),
            labels: Sequence[dict[int, str]] = ()) -> Exported:
    """Writes an exported program as ONNX.

    Args:
        labels: names for sizes, per input and dim.
    """
    torch = _modules.torch()
    with quiet():
        made = torch.onnx.export(program, (), dynamo=True, verbose=False, input_names=list(names) or None,
                                 output_names=list(outputs) or None)
    graph = made.model.graph
    renamed = _renamed(graph, labels)
    ranges = {str(symbol): bounds for symbol, bounds in program.range_constraints.items()}
    sizes: dict[str, tuple[int, Optional[int]]] = {}
    for symbol in _symbols(graph):
        bounds = ranges.get(symbol)
        least = max(1, int(bounds.lower)) if bounds is not None else 1
        sizes[renamed.get(symbol, symbol)] = (least, _number(bounds.upper) if bounds is not None else None)
    for value in [*graph.inputs, *graph.outputs]:
        _rename(value, renamed)
    for node in graph:
        for value in node.outputs:
            _rename(value, renamed)
    weights = sum(value.const_value.nbytes for value in graph.initializers.values() if value.const_value is not None)
    path = folder / "model.onnx"
    made.save(str(path), external_data=weights > LARGE)
    return Exported(str(path), [value.name for value in graph.inputs], [value.name for value in graph.outputs], sizes,
                    [dict(_symbolic(value)) for value in graph.inputs])


def _number(bound: Any) -> Optional[int]:
    try:
        number = int(bound)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None                                        # int_oo
    return number if number < 1 << 40 else None


def _symbolic(value: Any) -> Iterator[tuple[int, str]]:
    for k, dim in enumerate(value.shape or ()):
        if not isinstance(dim, int) and dim.value is not None:
            yield k, str(dim.value)


def _symbols(graph: Any) -> list[str]:
    """Returns the open sizes of the inputs, as the exporter names them, in order."""
    return list(dict.fromkeys(text for value in graph.inputs for _, text in _symbolic(value)))


def _renamed(graph: Any, labels: Sequence[dict[int, str]]) -> dict[str, str]:
    """Returns the caller's names of the exporter's symbols."""
    out: dict[str, str] = {}
    for value, named in zip(graph.inputs, labels):
        for k, text in _symbolic(value):
            if k in named and re.fullmatch(r"\w+", text):
                out.setdefault(text, named[k])
    return out


def _rename(value: Any, names: dict[str, str]) -> None:
    if not names or value is None or value.shape is None:
        return
    for k, text in list(_symbolic(value)):
        value.shape[k] = re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def recorded(module: Any, tensors: Sequence[Any], folder: Path, names: Sequence[str], outputs: Sequence[str],
             labels: Sequence[dict[int, str]]) -> Exported:
    """Writes a module as ONNX by recording a run of it: the exporter of torch before 2.6."""
    torch = _modules.torch()
    path = folder / "model.onnx"
    axes = {name: named for name, named in zip(names, labels) if named}
    with torch.no_grad(), quiet():
        torch.onnx.export(module, tuple(tensors), str(path), opset_version=OPSET_OF_TRACES, input_names=list(names),
                          output_names=list(outputs), dynamic_axes=axes or None)
    sizes: dict[str, tuple[int, Optional[int]]] = {label: (1, None) for named in labels for label in named.values()}
    return Exported(str(path), list(names), list(outputs), sizes)


def refused(failure: Exception) -> Error:
    """Returns the error for an exporter that refuses a module."""
    if isinstance(failure, Error):
        return failure
    if isinstance(failure, Changes):
        return Error(f"the module writes into {failure} when it runs, a program of byoc cannot", slug="torch-writes",
                     help="return the new value as an output, and pass it as an input of the next run")
    return Error(f"torch cannot export the module: {_modules.first_lines(failure)}", slug="torch-export",
                 help='torch.compile(module, backend="byoc") leaves parts that cannot be exported to torch')
