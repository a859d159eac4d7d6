# SPDX-License-Identifier: Apache-2.0
"""Weights that programs have as constants: which tensors they are, and whether they have changed."""
from __future__ import annotations

import ctypes
import weakref
from operator import attrgetter
from typing import Any, Sequence

_version = attrgetter("_version")


def _samples(tensor: Any) -> list[memoryview]:
    """Returns views of the first, the last and two other elements."""
    count = tensor.numel()
    if not count:
        return []
    size, out = tensor.element_size(), []                  # type: int, list[memoryview]
    for k in sorted({0, count // 3, 2 * count // 3, count - 1}):
        offset, rest = 0, k
        for extent, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
            offset += rest % extent * stride
            rest //= extent
        out.append(memoryview((ctypes.c_char * size).from_address(tensor.data_ptr() + offset * size)))
    return out


class Weights:
    """The tensors of a call that a program has in it.

    A change is found by the tensor's identity, its version counter, its memory, and some of its elements: that is for changes
    by `.data` and by numpy, which torch does not count.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        self._references = [weakref.ref(tensor) for tensor in tensors]
        self._ids = list(map(id, tensors))
        self._counted = [k for k, tensor in enumerate(tensors) if not tensor.is_inference()]
        self._all_counted = len(self._counted) == len(tensors)
        self._all_versions = [0 if tensor.is_inference() else tensor._version for tensor in tensors]
        self._versions = self._versions_of(tensors)
        self._places = [tensor.data_ptr() for tensor in tensors]
        samples = [_samples(tensor) for tensor in tensors]
        self._sizes = [sum(view.nbytes for view in views) for views in samples]
        self._views = [view for views in samples for view in views]
        self._elements = b"".join(self._views)

    def _versions_of(self, tensors: Sequence[Any]) -> list[int]:
        return list(map(_version, tensors if self._all_counted else [tensors[k] for k in self._counted]))

    def are_alive(self) -> bool:
        """False when one of the tensors is gone."""
        return all(reference() is not None for reference in self._references)

    def are(self, tensors: Sequence[Any]) -> bool:
        """True when they are these tensors."""
        return list(map(id, tensors)) == self._ids and self.are_alive()

    def changed(self, tensors: Sequence[Any]) -> list[bool]:
        """Returns which of them are other tensors, or have other values."""
        out = []
        views, at = self._elements, 0
        for k, tensor in enumerate(tensors):
            end = at + self._sizes[k]
            same = (id(tensor) == self._ids[k] and tensor.data_ptr() == self._places[k]
                    and (tensor.is_inference() or tensor._version == self._all_versions[k])
                    and b"".join(_samples(tensor)) == views[at:end])
            out.append(not same)
            at = end
        return out

    def are_unchanged(self, tensors: Sequence[Any]) -> bool:
        """True when these tensors, for which `are` is true, have the values that they had."""
        return (self._versions_of(tensors) == self._versions and [tensor.data_ptr() for tensor in tensors] == self._places
                and b"".join(self._views) == self._elements)
