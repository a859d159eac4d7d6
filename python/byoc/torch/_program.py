# SPDX-License-Identifier: Apache-2.0
"""Modules of torch as programs."""
from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from byoc_runtime import Error

from .._tools import Program, compiled
from .._work import Progress
from . import _export, _modules
from ._structure import Inputs, Outputs


class TorchProgram(Program):
    """A compiled module of torch. A call takes and returns what the module does; `run` and `bind` take tensors by name.

    Otherwise as byoc.Program.
    """

    _inputs: Inputs
    _results: Outputs
    _order: list[int]

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs the program with the arguments of the module's forward.

        Raises:
            Error: slug "input-count" when they are nested in another way than the example, "input-value" when a value that
                is no tensor differs from the example's; else as byoc.Program.
        """
        tensors = self._inputs.flatten(inputs, named)
        outputs = super().__call__(*(tensors[k] for k in self._order))
        return self._results.unflatten(outputs if isinstance(outputs, tuple) else (outputs,))


def _label(dim: Any) -> Optional[str]:
    """Returns the name of an open size; "" for one without a name, None for a fixed one."""
    if isinstance(dim, str):
        return dim
    kind = type(dim).__name__
    if dim is None or isinstance(dim, int) or getattr(dim, "name", "") == "STATIC":
        return None
    if kind.startswith("_DimHint"):                        # AUTO or DYNAMIC
        return ""
    name = getattr(dim, "__name__", None)
    if name is None:
        raise Error(f"dynamic_shapes has {dim!r} as a size", slug="usage", help='give a name, "N", or torch.export.Dim("N")')
    return str(name)


class _Sizes:
    """The sizes of dynamic_shapes: names for the exporters, and bounds."""

    def __init__(self, inputs: Inputs) -> None:
        self.labels: list[dict[int, str]] = []             # per input
        self.bounds: dict[str, tuple[int, int]] = {}
        self._dims: dict[str, Any] = {}
        self.shapes: list[Any] = []                        # per input, for torch.export
        for name, tensor, given in zip(inputs.names, inputs.tensors, inputs.shapes):
            self._add(name, tensor.dim(), given)

    def _add(self, name: str, rank: int, given: Any) -> None:
        if isinstance(given, (tuple, list)):
            given = dict(enumerate(given))
        if given is not None and not isinstance(given, Mapping):
            raise Error(f'dynamic_shapes has {given!r} for "{name}"', slug="usage", help='give sizes by dim: {0: "N"}')
        labels, shapes = {}, {}                            # type: dict[int, str], dict[int, Any]
        for k, dim in (given or {}).items():
            if not isinstance(k, int) or not 0 <= k < rank:
                raise Error(f'dynamic_shapes names dim {k!r} of "{name}", which has {rank} dims', slug="usage")
            label = _label(dim)
            if label is None:
                continue
            if label:
                labels[k] = label
                self._bound(label, dim)
            shapes[k] = self._dim(label, dim)
        self.labels.append(labels)
        self.shapes.append(shapes or None)

    def _bound(self, label: str, dim: Any) -> None:
        most = getattr(dim, "max", None)
        if isinstance(most, int) and most < 1 << 40:
            least = getattr(dim, "min", 1)
            self.bounds[label] = (max(1, least if isinstance(least, int) else 1), most)

    def _dim(self, label: str, dim: Any) -> Any:
        if not isinstance(dim, str):
            return dim
        if dim not in self._dims:
            export: Any = getattr(_modules.torch(), "export", None)
            self._dims[dim] = export.Dim(dim) if hasattr(export, "Dim") else dim
        return self._dims[dim]


def _flat_module(module: Any, inputs: Inputs, results: Outputs) -> Any:
    """Returns a module that takes and returns tensors, in order."""
    torch = _modules.torch()

    class Flat(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: Any) -> Any:
            args, kwargs = inputs.unflatten(tensors)
            return results.flatten(self.module(*args, **kwargs))

    return Flat().eval()


def _recorded(flat: Any, inputs: Inputs, results: Outputs, sizes: _Sizes, folder: Path) -> _export.Exported:
    torch = _modules.torch()
    state = {**dict(flat.named_parameters()), **dict(flat.named_buffers()), **dict(zip(inputs.names, inputs.tensors))}
    before = {name: tensor._version for name, tensor in state.items()}
    with torch.no_grad():
        flat(*inputs.tensors)                              # learns the structure of the results
    written = [name for name, tensor in state.items() if tensor._version != before[name]]
    if written:
        raise _export.Changes(", ".join(written))
    return _export.recorded(flat, inputs.tensors, folder, inputs.names, results.names, sizes.labels)


def _exported(flat: Any, inputs: Inputs, results: Outputs, sizes: _Sizes, folder: Path) -> _export.Exported:
    """Writes the module as ONNX, by the newest exporter that torch has."""
    try:
        if not _modules.has_exported_programs():
            return _recorded(flat, inputs, results, sizes, folder)
        program = _export.program_of(flat, inputs.tensors, (tuple(sizes.shapes),) if any(sizes.shapes) else None)
        return _export.onnx_of(program, folder, inputs.names, results.names, sizes.labels)
    except Exception as failure:
        raise _export.refused(failure) from failure


def _with_bounds(shapes: Any, sizes: _Sizes, exported: _export.Exported) -> Any:
    """Adds the bounds of torch.export.Dim to the shapes of the caller."""
    bounds = {name: f"{least}..{most}" for name, (least, most) in sizes.bounds.items() if name in exported.sizes}
    if shapes is None:
        return bounds or None
    return {**bounds, **shapes} if isinstance(shapes, Mapping) else shapes


def from_torch(module: Any, args: Any = (), kwargs: Optional[Mapping[str, Any]] = None, *, dynamic_shapes: Any = None,
               progress: Progress = None, **options: Any) -> TorchProgram:
    """Compiles a module of torch; byoc.from_torch has the description."""
    torch = _modules.torch()
    if not isinstance(module, torch.nn.Module):
        raise Error(f"a torch.nn.Module is expected, not {type(module).__name__}", slug="usage",
                    help="for functions use torch.compile(function, backend=\"byoc\")")
    if module.training:
        raise Error("the module is in training mode, in which dropout and batch normalisation differ", slug="torch-training",
                    help="call module.eval() first")
    example: Sequence[Any] = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    inputs, results = Inputs(module.forward, example, kwargs or {}, dynamic_shapes), Outputs()
    sizes = _Sizes(inputs)
    folder = tempfile.mkdtemp(prefix="byoc-torch-")
    try:
        exported = _exported(_flat_module(module, inputs, results), inputs, results, sizes, Path(folder))
        options["shapes"] = _with_bounds(options.get("shapes"), sizes, exported)
        program = compiled(TorchProgram, exported.path, progress, options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(program, shutil.rmtree, folder, True)  # explain and other tools read the file
    program._inputs, program._results = inputs, results
    program._order = [inputs.names.index(tensor.name) for tensor in program.inputs]
    return program
