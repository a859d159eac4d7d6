# SPDX-License-Identifier: Apache-2.0
"""byoc in torch: a backend of torch.compile.

    import byoc.torch
    fast = torch.compile(module, backend="byoc")
    with torch.inference_mode():
        y = fast(x)
    print(byoc.torch.explain())

Modules as programs are byoc.from_torch.
"""
from __future__ import annotations

from ._backend import backend, register, reset
from ._explain import explain
from ._program import TorchProgram

__all__ = ["TorchProgram", "backend", "explain", "reset"]

register()
