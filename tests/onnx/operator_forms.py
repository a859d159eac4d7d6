#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of core/import/onnx/file/operator_forms.inc: the forms of all operators of the default domain, by
opset, as the schemas of the installed package `onnx` define them.

operator_forms.py > core/import/onnx/file/operator_forms.inc

A row has the name, the first opset of the form, the number of inputs that need a value, the least and the most inputs,
the least and the most outputs, and the attributes; `!` marks those that must be given. A version that changes none of
these has no row. A deprecated operator has the least inputs -1.

Run it by a Python that has the newest onnx of the package index, when kNewestOpset in core/import/onnx/tables.h grows.
"""
import onnx.defs

MANY = 2**31 - 1
WIDTH = 100


def count(number):
    return "kMany" if number == MANY else str(number)


def form(schema):
    """Returns the columns after the opset."""
    if schema.deprecated:
        return ("0", "-1", "0", "0", "0", "")
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    needed = sum(1 for given in schema.inputs if given.option == single)
    assert all(given.option == single for given in schema.inputs[:needed]), schema.name
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


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print(f"// Operators up to opset {onnx.defs.onnx_opset_version()}; tests/onnx/operator_forms.py writes this file.")
    schemas = sorted((s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""),
                     key=lambda schema: (schema.name, schema.since_version))
    before = None
    for schema in schemas:
        now = (schema.name, *form(schema))
        if now != before:
            print(wrapped(f'{{"{schema.name}", {schema.since_version}, ' + ", ".join(now[1:-1]) + ", ", now[-1]))
        before = now


if __name__ == "__main__":
    main()
