# SPDX-License-Identifier: Apache-2.0
"""The one exception of byoc."""
from __future__ import annotations

# Names of enum byoc_code of byoc/plugin/abi.h, in its order.
CODES = (
    "ok", "cancelled", "unknown", "invalid-argument", "deadline-exceeded", "not-found", "already-exists",
    "permission-denied", "resource-exhausted", "failed-precondition", "aborted", "out-of-range", "unimplemented", "internal",
    "unavailable", "data-loss", "unauthenticated", "declined", "stale-artifact", "bad-graph",
)


class Error(RuntimeError):
    """A fault that byoc found. Its text is what the commands print.

    Attributes:
        code: the kind of fault, "invalid-argument" and so on (`enum byoc_code`).
        slug: a short stable name, "unknown-plugin"; "" when there is none.
        message: the fault, with the value at fault.
        where: the file, pass or node; "" when there is none.
        help: the next step; "" when there is none.
    """

    def __init__(self, message: str, *, code: int = 3, slug: str = "", where: str = "", help: str = "",
                 text: str = "") -> None:
        self.code = CODES[code] if 0 <= code < len(CODES) else "unknown"
        self.slug = slug
        self.message = message
        self.where = where
        self.help = help
        if not text:
            text = f"{where}: {message}" if where else message
            if help:
                text += f"\n  help: {help}"
        super().__init__(text)

    def with_help(self, help: str) -> Error:
        """Returns the same error with another next step."""
        code = CODES.index(self.code) if self.code in CODES else 3
        text = str(self).split("\n  help: ")[0] + (f"\n  help: {help}" if help else "")
        return Error(self.message, code=code, slug=self.slug, where=self.where, help=help, text=text)
