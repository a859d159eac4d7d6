#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the declarations of the Python packages with the headers in include/byoc/c and with byoc/plugin/abi.h.

    header_test.py SOURCE
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "python"))
HEADERS = [SOURCE / "include/byoc/c" / name for name in ("byoc.h", "devices.h", "states.h", "tools.h")]

from byoc import _library  # noqa: E402
from byoc.plugin import _abi  # noqa: E402
from byoc_runtime import _arrays, _c, _errors  # noqa: E402


def letter(kind: str) -> str:
    """Returns the letter of _c._SIGNATURES for a type of C."""
    words = kind.replace("const ", "").strip()
    if words == "byoc_error*":
        return "e"
    if words == "char*":
        return "s"
    if words.endswith("*") or words.endswith("_fn"):
        return "p"
    return {"void": "v", "size_t": "z", "uint32_t": "u", "int": "i", "int32_t": "i", "enum byoc_code": "i"}[words]


def declared(macros: str) -> dict:
    """Returns the letters of each function of the header that is marked with one of the macros."""
    text = "".join(re.sub(r"/\*.*?\*/|///?[^\n]*", "", header.read_text(), flags=re.DOTALL) for header in HEADERS)
    out = {}
    for result, name, arguments in re.findall(rf"\b(?:{macros})\s+([^;()]*?)\b(byoc_\w+)\(([^;]*?)\);", text):
        result = letter(result.strip())
        kinds = [] if arguments.strip() == "void" else [re.sub(r"\w+$", "", part.strip()) for part in arguments.split(",")]
        letters = [letter(re.sub(r"\s+", " ", kind).strip().replace(" *", "*")) for kind in kinds]
        out[name] = ["t" if result == "s" else result, *["p" if kind == "e" else kind for kind in letters]]
    return out


def listed(signatures: str) -> dict:
    return {line.split()[0]: line.split()[1:] for line in signatures.split("\n") if line}


class Header(unittest.TestCase):
    def test_runtime(self):
        functions = declared("BYOC_RUNTIME_API")
        self.assertGreater(len(functions), 30)
        self.assertEqual(self.comparable(functions), listed(_c._SIGNATURES))

    def test_compiler(self):
        functions = declared("BYOC_API")
        self.assertGreater(len(functions), 10)
        self.assertEqual(self.comparable(functions), listed(_library.SIGNATURES))

    def comparable(self, functions):
        """A text that the caller frees is a pointer: ctypes would copy it and lose the pointer."""
        return {name: ["p" if kind == "s" and name == "byoc_text_free" else kind for kind in kinds]
                for name, kinds in functions.items()}

    def test_structs(self):
        """Sizes and offsets, as a C compiler has them."""
        names = {"Hdr": "byoc_hdr", "Str": "byoc_str", "Host": "byoc_host", "Const": "byoc_const", "Pattern": "byoc_pattern",
                 "Verdict": "byoc_verdict", "Function": "byoc_function", "Compile": "byoc_compile", "Load": "byoc_load",
                 "KernelInfo": "byoc_kernel_info", "Call": "byoc_call", "Sink": "byoc_sink", "Save": "byoc_save",
                 "Plugin": "byoc_plugin"}
        # A struct may have more fields in the header, of services and minors that plugins in Python do not use.
        longer = {"byoc_host", "byoc_plugin", "byoc_verdict", "byoc_load", "byoc_compile", "byoc_call", "byoc_kernel_info"}
        structs = {"byoc_tensor_info": _c.TensorInfo, "byoc_watch": _c.Watch, "DLTensor": _c.DLTensor,
                   "DLDataType": _c.DLDataType, "DLDevice": _c.DLDevice,
                   **{c: getattr(_abi, python) for python, c in names.items()}}
        lines = []
        for name, struct in structs.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{field[0]} %zu\\n", offsetof({name}, {field[0]}));' for field in struct._fields_]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "sizes.c"
            program.write_text("#include <byoc/c/byoc.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
            subprocess.run(["cc", "-I", SOURCE / "include", program, "-o", program.with_suffix("")], check=True)
            printed = subprocess.run([program.with_suffix("")], check=True, text=True, capture_output=True).stdout
        expected = dict(line.split() for line in printed.splitlines())
        import ctypes

        found = {}
        for name, struct in structs.items():
            found[name] = expected[name] if name in longer else str(ctypes.sizeof(struct))
            found.update({f"{name}.{field[0]}": str(getattr(struct, field[0]).offset) for field in struct._fields_})
        self.assertEqual(found, expected)

    def test_constants(self):
        text = (SOURCE / "include/byoc/plugin/abi.h").read_text()
        values = dict(re.findall(r"\b(BYOC_\w+) = (\d+)", text))
        for name in ("INVALID_ARGUMENT", "NOT_FOUND", "INTERNAL", "DATA_LOSS", "DECLINED", "KERNEL_MAY_ALLOC", "CONST_COPIED"):
            self.assertEqual(str(getattr(_abi, name)), values[f"BYOC_{name}"], name)
        tags = re.findall(r"BYOC_TAG_(\w+)", re.search(r"enum byoc_tag \{(.*?)\};", text, re.DOTALL).group(1))
        self.assertEqual([getattr(_abi, f"TAG_{tag}") for tag in tags[:12]], list(range(0x62790001, 0x62790001 + 12)))

    def test_codes(self):
        text = (SOURCE / "include/byoc/plugin/abi.h").read_text()
        body = re.search(r"enum byoc_code \{(.*?)\};", text, re.DOTALL).group(1)
        names = [name.lower().replace("_", "-") for name in re.findall(r"BYOC_(\w+) = \d+", body)]
        self.assertEqual(tuple(names), _errors.CODES)

    def test_dlpack(self):
        """The codes of element types are those of dlpack.h."""
        text = Path("/usr/include/dlpack/dlpack.h").read_text()
        codes = {name: int(value) for name, value in re.findall(r"kDL(\w+) = (\d+)U?,", text)}
        self.assertEqual((codes["Int"], codes["UInt"], codes["Float"], codes["Bfloat"], codes["Complex"]),
                         (_arrays._INT, _arrays._UINT, _arrays._FLOAT, _arrays._BFLOAT, _arrays._COMPLEX))


if __name__ == "__main__":
    unittest.main()
