#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of core/import/onnx/file/operator_forms.inc: the forms of all operators of the default domain, by
opset, as the schemas of the installed package `onnx` define them. With --microsoft it prints that of ONNX Runtime's own
operators, microsoft_forms.inc, as the installed package `onnxruntime` defines them.

operator_forms.py > core/import/onnx/file/operator_forms.inc
operator_forms.py --microsoft > core/import/onnx/file/microsoft_forms.inc

A row has the name, the first opset of the form, the number of inputs that need a value, the least and the most inputs,
the least and the most outputs, and the attributes; `!` marks those that must be given. A version that changes none of
these has no row. A deprecated operator has the least inputs -1.

Run it by a Python that has the newest onnx of the package index, when kNewestOpset in core/import/onnx/tables.h grows.
"""
import sys

import onnx.defs

MANY = 2**31 - 1
WIDTH = 100
IN_THE_DEFAULT_DOMAIN = ("SimplifiedLayerNormalization", "LayerNormalization")  # by ONNX Runtime, before ONNX has them


def count(number):
    return "kMany" if number == MANY else str(number)


def form(schema):
    """Returns the columns after the opset."""
    if schema.deprecated:
        return ("0", "-1", "0", "0", "0", "")
    options = [given.option.name == "Single" for given in schema.inputs]
    needed = (options + [False]).index(False)  # ONNX Runtime has needed inputs after optional ones, too
    names = " ".join(name + ("!" if attribute.required else "")
                     for name, attribute in sorted(schema.attributes.items()))
    counts = (needed, schema.min_input, schema.max_input, schema.min_output, schema.max_output)
    return (*map(count, counts), names)


def wrapped(begin, names):
    """Returns a row whose last column is cut into strings that fit."""
    line = f'{begin}"{names}"}},'
    if len(line) <= WIDTH:
        return line
    parts, part = [], ""
    for word in names.split(" "):
        if len(part) + len(word) > WIDTH - 10:
            parts.append(part)
            part = ""
        part += word + " "
    parts.append(part.rstrip())
    return begin.rstrip() + "".join(f'\n "{part}"' for part in parts) + "},"


def microsoft_schemas():
    """Returns the schemas of ONNX Runtime's own operators, and its version."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state
    return [schema for schema in state.get_all_operator_schema()
            if schema.domain == "com.microsoft" or
            schema.domain == "" and schema.name in IN_THE_DEFAULT_DOMAIN and schema.since_version == 1], \
        onnxruntime.__version__


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    if "--microsoft" in sys.argv:
        schemas, version = microsoft_schemas()
        print(f"// Operators of ONNX Runtime {version}; tests/onnx/operator_forms.py --microsoft writes this file.")
    else:
        schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]
        print(f"// Operators up to opset {onnx.defs.onnx_opset_version()}; tests/onnx/operator_forms.py writes this file.")
    schemas = sorted(schemas, key=lambda schema: (schema.name, schema.since_version))
    before = None
    for schema in schemas:
        now = (schema.name, *form(schema))
        if now != before:
            print(wrapped(f'{{"{schema.name}", {schema.since_version}, ' + ", ".join(now[1:-1]) + ", ", now[-1]))
        before = now


if __name__ == "__main__":
    main()
