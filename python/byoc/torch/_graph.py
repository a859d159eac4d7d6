# SPDX-License-Identifier: Apache-2.0
"""A graph of Dynamo as a function: parts by byoc, the rest by torch."""
from __future__ import annotations

import threading
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from byoc_runtime import Error

from . import _modules, _prepare, _refusal
from ._analysis import Analysis, storages_of
from ._part import Part
from ._segments import Segment, module_of, segments_of
from ._weights import Weights

QUICK_CALLS = 8                                            # a weight that changes within fewer calls than these ...
QUICK_CHANGES = 3                                          # ... so many times in a row is an input from then on

Step = tuple[Callable[..., Any], list[int], list[int]]
"""A function, the places of its arguments, and those of its results."""


class _Variant:
    """The steps for one set of weights.

    Attributes:
        at: which inputs are these weights.
    """

    def __init__(self, at: list[int], weights: Weights, steps: list[Step], parts: list[Part]) -> None:
        self.at, self.weights, self.steps, self.parts = at, weights, steps, parts
        self.calls = 0


class Graph:
    """A graph of Dynamo, compiled. Thread-safe.

    Attributes:
        name: the function that it is a part of.
        segments: its parts, in order.
        compiles: how often it was compiled.
        as_inputs: weights that are inputs since they change too often.
    """

    def __init__(self, graph_module: Any, inputs: Sequence[Any], analysis: Analysis, options: Mapping[str, Any],
                 name: str) -> None:
        self.name, self._options, self._module = name, dict(options), graph_module
        self.compiles = self.calls = 0
        self.as_inputs: list[str] = []
        self._lock = threading.RLock()
        self._placeholders = _prepare.placeholders(graph_module.graph)
        self._output = next(node for node in graph_module.graph.nodes if node.op == "output")
        self._analysis = analysis
        self.segments: list[Segment] = []
        self._weights_at = self._find_weights(inputs)
        self._quick = dict.fromkeys(self._weights_at, 0)
        self._variants: dict[tuple[int, ...], _Variant] = {}
        self._current = self._make([inputs[k] for k in self._weights_at])

    @property
    def parts(self) -> list[Part]:
        """The programs that the last call used, in the order of the segments for byoc."""
        return self._current.parts

    def __call__(self, *inputs: Any) -> Any:
        variant = self._current
        weights = [inputs[k] for k in variant.at]
        if not (variant.weights.are(weights) and variant.weights.are_unchanged(weights)):
            variant = self._variant_for(inputs)
        variant.calls += 1
        self.calls += 1
        values: list[Any] = [*inputs, *[None] * self._n_made]
        for function, places, results in variant.steps:
            for place, result in zip(results, function(*[values[k] for k in places])):
                values[place] = result
        return tuple([values[item] if is_place else item for is_place, item in self._results])

    # ---- weights ----

    def _find_weights(self, inputs: Sequence[Any]) -> list[int]:
        """Returns the places of the parameters and buffers that the graph does not write."""
        torch = _modules.torch()
        written = frozenset(storage for facts in self._analysis.facts.values() for storage in facts.writes)
        out = []
        for k, (node, value) in enumerate(zip(self._placeholders, inputs)):
            if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or value.layout != torch.strided:
                continue
            if _prepare.is_weight(node, value) and not storages_of([self._analysis.values[node]]) & written:
                out.append(k)
        return out

    def _variant_for(self, inputs: Sequence[Any]) -> _Variant:
        """Returns the steps for the weights of a call, compiled if they are new or have changed."""
        with self._lock:
            weights = [inputs[k] for k in self._weights_at]
            found = self._variants.get(tuple(map(id, weights)))
            if found is not None and found.weights.are(weights):
                if found.weights.are_unchanged(weights):
                    self._current = found
                    return found
            else:
                found = None
            self._use_as_inputs(found or self._current, weights, found is None)
            for key in [key for key, variant in self._variants.items() if not variant.weights.are_alive()]:
                del self._variants[key]
            return self._make([inputs[k] for k in self._weights_at])

    def _use_as_inputs(self, last: _Variant, weights: Sequence[Any], are_others: bool) -> None:
        """Makes inputs of the weights that keep changing. Other parameters are those of another module of the same class, which
        gets parts of its own."""
        torch = _modules.torch()
        for at, changed in zip(list(self._weights_at), last.weights.changed(weights)):
            if not changed or (are_others and isinstance(weights[last.at.index(at)], torch.nn.Parameter)):
                continue
            self._quick[at] = self._quick[at] + 1 if last.calls < QUICK_CALLS else 0
            if self._quick[at] >= QUICK_CHANGES:
                self._weights_at = [k for k in self._weights_at if k != at]
                self.as_inputs.append(self._placeholders[at].name)
                self._variants.clear()

    # ---- parts ----

    def _make(self, weights: list[Any]) -> _Variant:
        """Compiles the parts, and gives torch what cannot be compiled."""
        at, taken = list(self._weights_at), Weights(weights)  # before they are read
        constants = {self._placeholders[k]: tensor.detach() for k, tensor in zip(at, weights)}
        made: dict[tuple[Any, ...], Part] = {}
        graph = self._module.graph

        def compile(segment: Segment) -> Part:
            return Part(self._module, segment, self._analysis, constants, self._options)

        while True:
            self.segments = segments_of(graph, self._analysis)
            failed = None
            for segment in self.segments:
                if segment.by_byoc and tuple(segment.nodes) not in made:
                    try:
                        made[tuple(segment.nodes)] = compile(segment)
                    except Exception as failure:           # of torch, its exporter, or byoc: listed by explain
                        failed = (segment, failure)
                        break
            if failed is None:
                break
            _refusal.refuse(*failed, graph, self._analysis, compile)
        parts = [made[tuple(segment.nodes)] for segment in self.segments if segment.by_byoc]
        variant = _Variant(at, taken, self._steps(parts, constants), parts)
        self.compiles += 1
        self._variants[tuple(map(id, weights))] = self._current = variant
        return variant

    def _steps(self, parts: list[Part], constants: Mapping[Any, Any]) -> list[Step]:
        places = {node: k for k, node in enumerate(self._placeholders)}
        remaining, steps = iter(parts), []                 # type: Any, list[Step]
        for segment in self.segments:
            made = next(remaining) if segment.by_byoc else None
            function = made or module_of(self._module, segment, self._analysis, {}).forward
            inputs = [places[node] for node in segment.inputs if made is None or node not in constants]
            results = []
            for node in segment.outputs:
                places[node] = len(places)
                results.append(places[node])
            steps.append((function, inputs, results))
        self._n_made = len(places) - len(self._placeholders)
        node_kind = _modules.module("torch.fx").Node
        items: Any = self._output.args[0]
        self._results: list[tuple[bool, Any]] = [(True, places[item]) if isinstance(item, node_kind) else (False, item)
                                                 for item in items]
        return steps


class GraphOfTorch:
    """A graph that stays with torch as a whole. Attributes: those of Graph."""

    def __init__(self, graph_module: Any, reason: str, name: str) -> None:
        nodes = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
        self.segments = [Segment(nodes, False, reasons={reason: nodes})]
        self.name, self.parts, self.as_inputs = name, [], []  # type: str, list[Part], list[str]
        self.compiles = self.calls = 0
        self._function = graph_module.forward

    def __call__(self, *inputs: Any) -> Any:
        self.calls += 1
        return self._function(*inputs)


AnyGraph = Union[Graph, GraphOfTorch]


def compiled(graph_module: Any, inputs: Sequence[Any], options: Mapping[str, Any], name: str) -> Optional[AnyGraph]:
    """Compiles a graph; None when it has no op."""
    if not any(node.op.startswith("call_") for node in graph_module.graph.nodes):
        return None
    _prepare.take_out_grad_modes(graph_module, inputs)
    _prepare.read_sizes_off_tensors(graph_module)
    try:
        analysis = Analysis(graph_module)
    except Exception as failure:                           # of an op that torch cannot run on fake tensors
        return GraphOfTorch(graph_module, f"the graph cannot be analysed: {_modules.first_lines(failure, 2)}", name)
    if analysis.is_training:
        raise Error("a result needs gradients, which programs of byoc do not compute", slug="torch-training", where=name,
                    help="call it within torch.inference_mode() or torch.no_grad(), or freeze the weights with "
                    "module.requires_grad_(False); train with another backend")
    return Graph(graph_module, inputs, analysis, options, name)
