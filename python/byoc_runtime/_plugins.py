# SPDX-License-Identifier: Apache-2.0
"""Plugins that come as wheels: packages with an entry point of the group byoc.plugins."""
from __future__ import annotations

import os
import threading
import warnings
from dataclasses import dataclass
from importlib import metadata
from typing import Any

GROUP = "byoc.plugins"


@dataclass(frozen=True)
class WheelPlugin:
    """A library that a package brings, or the reason why it brings none.

    Attributes:
        name: the name of the entry point.
        distribution: the package and its version, "byoc-plugin-mine 0.1.0".
        library: the path; "" when there is none.
        reason: what was wrong; "" when nothing was.
    """

    name: str
    distribution: str
    library: str
    reason: str


_lock = threading.Lock()
_found: list[WheelPlugin] = []
_searched = False


def _entry_points() -> list[tuple[Any, str]]:
    """Returns the entry points of the group, each with its package and version, by name."""
    found: Any = metadata.entry_points()
    if hasattr(found, "select"):
        points = [(point, point.dist) for point in found.select(group=GROUP)]
    else:                                                  # Python 3.9, where a point is without its package
        points = [(point, dist) for dist in metadata.distributions() for point in dist.entry_points if point.group == GROUP]
    labelled = [(point, f"{dist.metadata['Name']} {dist.version}" if dist is not None else str(point.value))
                for point, dist in points]
    return sorted(labelled, key=lambda row: str(row[0].name))


def _of(point: Any, label: str) -> list[WheelPlugin]:
    try:
        paths = [os.fspath(path) for path in point.load()()]
    except Exception as failure:                           # of the package; the others are used all the same
        return [WheelPlugin(point.name, label, "", f"{type(failure).__name__}: {failure}")]
    return [WheelPlugin(point.name, label, path, "" if os.path.isfile(path) else "the file is missing") for path in paths]


def wheel_plugins() -> list[WheelPlugin]:
    """Returns the plugins of installed packages. At its first call it adds their folders to BYOC_PLUGIN_PATH, so that this
    process and the commands that it starts find them, and warns of packages that are broken."""
    global _searched
    with _lock:
        if _searched:
            return list(_found)
        _searched = True
        for point, label in _entry_points():
            _found.extend(_of(point, label))
        folders = os.environ.get("BYOC_PLUGIN_PATH", "").split(":")
        for plugin in _found:
            folder = os.path.dirname(plugin.library)
            if plugin.reason:
                warnings.warn(f"the plugin {plugin.name} of {plugin.distribution} cannot be used: {plugin.reason}", stacklevel=2)
            elif folder not in folders:
                folders.append(folder)
        os.environ["BYOC_PLUGIN_PATH"] = ":".join(folder for folder in folders if folder)
        return list(_found)
