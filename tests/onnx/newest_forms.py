#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of core/import/onnx/file/newest_forms.inc: the operators of the default domain as the installed
package `onnx` defines them in its newest opset.

newest_forms.py > core/import/onnx/file/newest_forms.inc

Run it by a Python that has the newest onnx of the package index, when kNewestOpset in core/import/onnx/tables.h grows.
"""
import onnx.defs

MANY = 2**31 - 1


def count(number):
    return "kMany" if number == MANY else str(number)


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print(f"// Operators of opset {onnx.defs.onnx_opset_version()}; tests/onnx/newest_forms.py writes this file.")
    schemas = sorted((s for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated),
                     key=lambda schema: schema.name)
    for schema in schemas:
        names = " ".join(sorted(schema.attributes))
        line = f'{{"{schema.name}", {count(schema.max_input)}, {count(schema.max_output)}, "{names}"}},'
        if len(line) > 100:
            cut = names.rindex(" ", 0, 70) + 1
            line = line.replace(f'"{names}"', f'\n "{names[:cut]}"\n "{names[cut:]}"')
        print(line.replace(", \n", ",\n"))


if __name__ == "__main__":
    main()
