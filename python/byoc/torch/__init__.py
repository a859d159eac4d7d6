# SPDX-License-Identifier: Apache-2.0
"""Modules of torch as programs: see byoc.from_torch."""
from __future__ import annotations

from ._program import TorchProgram

__all__ = ["TorchProgram"]
