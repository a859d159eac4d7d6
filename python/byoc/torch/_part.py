# SPDX-License-Identifier: Apache-2.0
"""Parts of a graph as programs of byoc."""
from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, Mapping, Sequence

from byoc_runtime import Error

from .._tools import Program, compile
from . import _export, _modules
from ._analysis import Analysis
from ._segments import Refused, Segment, module_of

LEAST_BOUND = 64                                           # of an open size that is small at first


def _number(extent: Any) -> int:
    """Returns the number that a size had when the graph was recorded."""
    node = getattr(extent, "node", None)
    return int(extent) if node is None else int(node.hint)


def _example(fake: Any) -> Any:
    """Makes a tensor like a fake one, of zeros."""
    torch = _modules.torch()
    with _modules.module("torch._subclasses.fake_tensor").unset_fake_temporarily():
        made = torch.empty_strided([_number(extent) for extent in fake.shape], [_number(stride) for stride in fake.stride()],
                                   dtype=fake.dtype)
        return made.zero_()


def _is_open(extent: Any) -> bool:
    node = getattr(extent, "node", None)
    return node is not None and not node.expr.is_number


def _dynamic(fake: Any) -> Any:
    auto = _modules.torch().export.Dim.AUTO
    return {k: auto for k, extent in enumerate(fake.shape) if _is_open(extent)} or None


def _upper(number: int) -> int:
    """Returns the first bound of a size: the power of two that is at least double."""
    bound = LEAST_BOUND
    while bound < 2 * number:
        bound *= 2
    return bound


class Part:
    """A program of byoc for a segment, with the weights in it.

    Thread-safe. Sizes above the bounds that it was compiled for compile it again, for larger ones.
    """

    def __init__(self, graph_module: Any, segment: Segment, analysis: Analysis, constants: Mapping[Any, Any],
                 options: Mapping[str, Any]) -> None:
        inputs = [node for node in segment.inputs if node not in constants]
        values = [analysis.values[node] for node in inputs]
        kind = _modules.torch().Tensor
        if not all(isinstance(value, kind) for value in values):
            raise Refused("a tuple of tensors is made before it")
        if not inputs:
            raise Refused("it reads no tensor")
        self._options, self._lock = dict(options), threading.Lock()
        folder = tempfile.mkdtemp(prefix="byoc-torch-")
        self._cleaner = weakref.finalize(self, shutil.rmtree, folder, True)  # the file is read when bounds grow
        module = module_of(graph_module, segment, analysis, constants)
        examples = [_example(value) for value in values]
        self._exported = self._export(module, examples, [_dynamic(value) for value in values], Path(folder))
        self._places = self._places_of_sizes()
        bounds = {name: _upper(most) for name, most in self._largest([tuple(one.shape) for one in examples]).items()}
        self.program = self._compile(bounds)
        self._check(segment, analysis, len(inputs))
        self.compiles = 1

    def _export(self, module: Any, examples: Sequence[Any], dynamic: Sequence[Any], folder: Path) -> _export.Exported:
        shapes = tuple(dynamic) if any(dynamic) else None
        with _modules.module("torch._subclasses.fake_tensor").unset_fake_temporarily(), _untracked():
            program = _export.program_of(module, examples, shapes)
            return _export.onnx_of(program, folder)

    def _places_of_sizes(self) -> dict[str, list[tuple[int, int]]]:
        """Returns which dims of which inputs are which open size."""
        out: dict[str, list[tuple[int, int]]] = {name: [] for name in self._exported.sizes}
        for k, dims in enumerate(self._exported.dims):
            for dim, name in dims.items():
                out.setdefault(name, []).append((k, dim))
        return out

    def _largest(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        return {name: max(shapes[k][dim] for k, dim in places) for name, places in self._places.items() if places}

    def _compile(self, bounds: Mapping[str, int]) -> Program:
        sizes = {}
        for name, (least, most) in self._exported.sizes.items():
            bound = bounds.get(name, LEAST_BOUND)
            sizes[name] = f"{least}..{max(least, bound if most is None else min(bound, most))}"
        self._bounds = dict(bounds)
        return compile(self._exported.path, shapes=sizes or None, **self._options)

    def _check(self, segment: Segment, analysis: Analysis, n_in: int) -> None:
        """Refuses a program that does not have the graph's inputs, or its results' types."""
        if len(self.program.inputs) != n_in:
            raise Refused(f"the exporter made {len(self.program.inputs)} inputs of {n_in}")
        expected = [str(analysis.values[node].dtype).replace("torch.", "") for node in segment.outputs]
        found = [tensor.dtype for tensor in self.program.outputs]
        if found != expected:
            raise Refused(f"the exporter gives results of {', '.join(found)}, torch of {', '.join(expected)}")

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        program = self.program
        try:
            outputs = program(*tensors)
        except Error as failure:
            if failure.slug != "input-size":
                raise
            self._grow(program, [tuple(tensor.shape) for tensor in tensors])
            outputs = self.program(*tensors)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _grow(self, program: Program, shapes: Sequence[Sequence[int]]) -> None:
        with self._lock:
            if self.program is program:
                largest = self._largest(shapes)
                bounds = {name: bound if largest[name] <= bound else _upper(largest[name]) for name, bound in self._bounds.items()}
                self.program = self._compile(bounds)
                self.compiles += 1


def _untracked() -> Any:
    """Hides the graph that Dynamo is compiling from torch.export."""
    return _modules.module("torch._guards").tracing(None)
