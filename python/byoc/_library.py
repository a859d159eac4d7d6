# SPDX-License-Identifier: Apache-2.0
"""libbyoc.so: the functions of byoc/c/byoc.h that the runtime does not have."""
from __future__ import annotations

from pathlib import Path

from byoc_runtime import _c

SIGNATURES = """
byoc_compile_model e s p p p
byoc_option_names e p
byoc_explain e s p p p
byoc_verify e s p p p
byoc_place e s p p p
byoc_tune e s p p p
byoc_plugins e p p p
byoc_doctor e p p p
byoc_partition e s p p p
byoc_partition_svg e s p p p
byoc_bench e s p p p
byoc_profile e s p p p
byoc_report e s p p p
byoc_command i i p
"""


def library() -> _c.Library:
    """Returns libbyoc.so."""
    return _c.library(__file__, "libbyoc.so.0", SIGNATURES)


def command() -> Path:
    """Returns the path of the command byoc."""
    return _c.prefix_of(__file__) / "bin" / "byoc"
