# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a graph of torch do: their memory, what they write, and why byoc cannot take some."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Iterable, Sequence

from . import _modules, _prepare

# Inputs that batch normalisation writes, which its schema does not declare, where the argument 5 is true.
_WRITES_IN_TRAINING = {"aten.native_batch_norm.default": (3, 4), "aten.cudnn_batch_norm.default": (3, 4),
                       "aten.miopen_batch_norm.default": (3, 4), "aten._native_batch_norm_legit.default": (3, 4)}
# Ops whose result depends on how the memory of an operand is laid out.
_OF_LAYOUT = {"aten.as_strided.default", "aten.set_.source_Storage_storage_offset", "aten.set_.source_Tensor", "aten.resize_.default",
              "aten.as_strided_.default"}
_TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool")
_HINTS = {"_transformer_encoder_layer_fwd": "torch.backends.mha.set_fastpath_enabled(False) writes the layer as ops",
          "_native_multi_head_attention": "torch.backends.mha.set_fastpath_enabled(False) writes the layer as ops"}


@dataclass
class Facts:
    """Facts of a node.

    Attributes:
        tensors: the fake tensors of its result.
        is_scalar: its result has numbers only, such as a size: every part computes it again.
        ops: the ops of ATen that it runs.
        storages: the memory of its result.
        reads: the memory of its operands.
        writes: the memory that it changes.
        reason: why it stays with torch; "" when byoc may take it.
    """

    tensors: list[Any]
    is_scalar: bool
    ops: list[str] = field(default_factory=list)
    storages: frozenset[int] = frozenset()
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    reason: str = ""

    @property
    def is_view(self) -> bool:
        """True when it computes nothing: all of its result is memory of its operands."""
        return bool(self.tensors) and self.storages <= self.reads and not self.writes


def leaves_of(value: Any) -> list[Any]:
    leaves: list[Any] = _modules.module("torch.utils._pytree").tree_leaves(value)
    return leaves


def tensors_of(value: Any) -> list[Any]:
    kind = _modules.torch().Tensor
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, kind)]


def storage_of(tensor: Any) -> int:
    """Returns a number that tensors of equal memory have in common."""
    handle: int = tensor.untyped_storage()._cdata
    return handle


def storages_of(tensors: Iterable[Any]) -> frozenset[int]:
    return frozenset(storage_of(tensor) for tensor in tensors if tensor.layout == _modules.torch().strided)


def is_number(value: Any) -> bool:
    torch = _modules.torch()
    return value is None or isinstance(value, (int, float, bool, str, torch.SymInt, torch.SymFloat, torch.SymBool, torch.dtype,
                                               torch.device, torch.layout, torch.memory_format))


def fault_of_tensor(tensor: Any) -> str:
    """Returns why a tensor cannot be one of a program; "" when it can."""
    torch = _modules.torch()
    if tensor.device.type != "cpu":
        return f"a tensor is on {tensor.device}"
    if tensor.layout != torch.strided:
        return f"a tensor is {tensor.layout}"
    if str(tensor.dtype).replace("torch.", "") not in _TYPES:
        return f"a tensor is of {tensor.dtype}"
    if any(hasattr(extent, "node") and has_counted_symbols(extent) for extent in tensor.shape):
        return "a size depends on values"
    return ""


def has_counted_symbols(value: Any) -> bool:
    """True for a number that is found by a run, such as the count of nonzero."""
    symbols = _modules.module("torch.fx.experimental.symbolic_shapes").free_unbacked_symbols
    return bool(symbols(value))


class _Recorder:
    """The ops that run within, and the memory that they write."""

    def __init__(self) -> None:
        mode = _modules.module("torch.utils._python_dispatch").TorchDispatchMode
        self.ops: list[Any] = []
        self.is_random = False
        self.written: set[int] = set()
        record = self._record

        class Mode(mode):  # type: ignore[misc, valid-type]
            def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                record(op, args, kwargs or {})
                return op(*args, **(kwargs or {}))

        self.mode = Mode()

    def _record(self, op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.ops.append(op)
        draws = _modules.torch().Tag.nondeterministic_seeded in op.tags
        for k, argument in enumerate(op._schema.arguments):
            if argument.name == "dropout_p" and (args[k] if k < len(args) else kwargs.get("dropout_p", 0)) == 0:
                draws = False                              # attention, which has random numbers for dropout only
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = args[k] if k < len(args) else kwargs.get(argument.name)
                self.written |= storages_of(tensors_of(given))
        self.is_random |= draws
        written = _WRITES_IN_TRAINING.get(str(op))
        if written and len(args) > 5 and args[5] is True:
            self.written |= storages_of(tensors_of([args[k] for k in written]))


class Analysis:
    """The facts of a graph's nodes, found by running it on fake tensors.

    Attributes:
        facts: per node, without placeholders and the output.
        values: the fake value of each node.
        inputs: the memory of the placeholders.
        is_training: a result needs a gradient.
        cuts: nodes before which a part ends.
    """

    def __init__(self, graph_module: Any) -> None:
        torch = _modules.torch()
        self.facts: dict[Any, Facts] = {}
        self.values: dict[Any, Any] = {}
        self.is_training = False
        self.cuts: set[Any] = set()
        self._module = graph_module
        self._in_autocast = bool(torch.is_autocast_enabled("cpu"))
        nodes = list(graph_module.graph.nodes)
        for node in nodes:
            if node.op == "placeholder":
                self.values[node] = _prepare.value_of(node)
        self.inputs = storages_of(tensor for value in self.values.values() for tensor in tensors_of(value))
        modes = [tensor.fake_mode for value in self.values.values() for tensor in tensors_of(value) if hasattr(tensor, "fake_mode")]
        self.mode = modes[0] if modes else _modules.module("torch._subclasses").FakeTensorMode()
        sizes = self.mode.shape_env
        unguarded = sizes.suppress_guards() if sizes is not None else contextlib.nullcontext()  # programs fit every size
        with self.mode, _modules.module("torch._dispatch.python").enable_python_dispatcher(), unguarded:
            for node in nodes:
                if node.op == "output":
                    self.is_training = any(tensor.requires_grad for tensor in tensors_of(self._value_of(node.args)))
                elif node.op != "placeholder":
                    self._run(node)
        self._keep_output_memory(nodes[-1])

    def _value_of(self, args: Any) -> Any:
        node_kind = _modules.module("torch.fx").Node
        return _modules.module("torch.fx.node").map_aggregate(
            args, lambda item: self.values[item] if isinstance(item, node_kind) else item)

    def _run(self, node: Any) -> None:
        if node.op == "get_attr":
            self._attribute(node)
            return
        if node.op == "call_module":
            raise NotImplementedError(f"torch of version {_modules.torch().__version__} keeps modules whole")
        args, kwargs = self._value_of(node.args), self._value_of(node.kwargs)
        before = tensors_of((args, kwargs))
        reads = storages_of(before)                        # before metadata changes
        recorder = _Recorder()
        with recorder.mode:
            if node.op == "call_method":
                value = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                value = node.target(*args, **kwargs)
        self.values[node] = value
        tensors = tensors_of(value)
        facts = Facts(tensors, not tensors and all(is_number(leaf) for leaf in leaves_of(value)) and bool(leaves_of(value)),
                      [str(op) for op in recorder.ops], storages_of(tensors), reads, frozenset(recorder.written))
        facts.reason = self._reason(node, value, facts, recorder, before)
        if facts.is_scalar and (value is None or facts.writes or facts.reason):
            facts.is_scalar = False                        # has an effect; runs once, in its place
            facts.reason = facts.reason or f"{name_of(node)} has no result"
        self.facts[node] = facts

    def _attribute(self, node: Any) -> None:
        value: Any = self._module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, _modules.torch().Tensor):
            value = self.mode.from_tensor(value)
        self.values[node] = value
        tensors = tensors_of(value)
        self.facts[node] = Facts(tensors, False, storages=storages_of(tensors))
        self.inputs |= self.facts[node].storages

    def _reason(self, node: Any, value: Any, facts: Facts, recorder: _Recorder, operands: list[Any]) -> str:
        """Returns why a node stays with torch; "" when byoc may take it."""
        torch, name = _modules.torch(), name_of(node)
        if name == "_enter_autocast":
            self._in_autocast = True
        if self._in_autocast:
            if name == "_exit_autocast":
                self._in_autocast = bool(torch.is_autocast_enabled("cpu"))
            return "it runs under autocast"
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return f"{name} is an operator on functions"
        for leaf in leaves_of(value):
            if not isinstance(leaf, torch.Tensor) and not is_number(leaf):
                return f"{name} gives a {type(leaf).__name__}"
            if hasattr(leaf, "node") and has_counted_symbols(leaf):
                return f"{name} gives a number that depends on values"
        for tensor in [*facts.tensors, *operands]:
            if fault := fault_of_tensor(tensor):
                return f"{name}: {fault}"
        if recorder.is_random:
            return f"{name} draws random numbers"
        for op in recorder.ops:
            if str(op) in _OF_LAYOUT:
                return f"{name} depends on the layout of memory"
        if facts.writes & self.inputs:
            return f"{name} changes an input, a parameter or a buffer in place"
        return ""

    def _keep_output_memory(self, output: Any) -> None:
        """Keeps nodes with torch whose results are memory of the inputs, or of other results, and are returned: a later
        change of one shows in the other."""
        roots = [node for node in output.all_input_nodes if node in self.facts]
        owners: dict[int, set[Any]] = {}
        for node in output.all_input_nodes:
            for storage in storages_of(tensors_of(self.values[node])):
                owners.setdefault(storage, set()).add(node)
        for root in roots:
            for storage in self.facts[root].storages:
                if storage in self.inputs:
                    self._keep_views(root, storage, "its result is memory of an input")
                elif len(owners[storage]) > 1:
                    self._keep_views(root, storage, "its result is memory of another result")

    def _keep_views(self, root: Any, storage: int, reason: str) -> None:
        pending = [root]
        while pending:
            node = pending.pop()
            facts = self.facts.get(node)
            if facts is None or facts.is_scalar or storage not in facts.storages or storage not in facts.reads or facts.reason:
                continue
            facts.reason = reason
            pending += node.all_input_nodes

    def keep_views_of(self, storages: frozenset[int]) -> bool:
        """Keeps the views of memory with torch that one of its ops writes; returns whether there were any."""
        found = False
        for facts in self.facts.values():
            if not facts.reason and not facts.is_scalar and facts.tensors and facts.storages & facts.reads & storages:
                facts.reason, found = "its memory is changed by an op that stays with torch", True
        return found


def name_of(node: Any) -> str:
    """Returns the name of what a node calls, "relu"."""
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", node.target))


def hint_of(node: Any) -> str:
    return _HINTS.get(name_of(node), "")
