# SPDX-License-Identifier: Apache-2.0
"""The package torch, imported when it is used."""
from __future__ import annotations

import importlib
import re
from typing import Any

from byoc_runtime import Error


def torch() -> Any:
    """Returns the package torch."""
    return module("torch")


def module(name: str) -> Any:
    """Returns a module of torch, "torch.utils._pytree"."""
    try:
        return importlib.import_module(name)
    except ImportError as failure:
        missing = failure.name or name
        cure = "pip install torch" if missing.partition(".")[0] == "torch" else f"pip install {missing}"
        raise Error(f"{name} cannot be imported: {failure}", code=5, slug="no-torch", help=cure) from None


def version() -> tuple[int, int]:
    """Returns the version of torch, (2, 9)."""
    found = re.match(r"(\d+)\.(\d+)", torch().__version__)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def has_exported_programs() -> bool:
    """True when torch.export makes programs that its ONNX exporter takes; older ones record a run of the module."""
    return version() >= (2, 6)


def first_lines(failure: BaseException, count: int = 4) -> str:
    """Returns the first lines with words of an exception's text."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return "; ".join(lines[:count]) or type(failure).__name__
