# SPDX-License-Identifier: Apache-2.0
"""byoc inside ONNX Runtime: the place of its execution provider.

    import onnxruntime as ort
    import onnxruntime_ep_byoc as ep

    ort.register_execution_provider_library(ep.get_ep_name(), ep.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == ep.get_ep_name()]
"""
from __future__ import annotations

from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path() -> str:
    """Returns the path of the library to register."""
    return str(Path(__file__).parent / "libbyoc_ort_ep.so")


def get_ep_name() -> str:
    """Returns the name of the provider, as devices have it."""
    return "byoc"


def get_ep_names() -> list[str]:
    """Returns the names of all providers of the library."""
    return [get_ep_name()]
