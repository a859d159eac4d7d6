"""Runs ONNX's node cases with one plugin alone and with json: none may fail, and as many must pass.

nodes.py BYOC PLUGIN_ID [more arguments of `byoc test-onnx`, such as --plugin FILE]
"""
import json
import os
import subprocess
import sys

LEAST_PASSED = 700  # the package has some 930 cases, of which 187 need what no importer step gives


def cases_folder():
    import onnx
    return os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "node")


def verdicts(byoc, compiler, folder, more):
    command = [byoc, "test-onnx", folder, "--compiler", compiler, "--strict", "--json"] + more
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    report = json.loads(ran.stdout)
    return {os.path.basename(case["folder"]): case for case in report["cases"]}


def main():
    byoc, compiler, more = sys.argv[1], sys.argv[2], sys.argv[3:]
    folder = cases_folder()
    wanted, got = verdicts(byoc, "json", folder, []), verdicts(byoc, compiler, folder, more)
    passed = [name for name, case in got.items() if case["verdict"] == "passed"]
    short = [name for name, case in wanted.items()
             if case["verdict"] == "passed" and got[name]["verdict"] != "passed"]
    for name in short:
        print(name, got[name]["verdict"], got[name]["reason"])
    print(f"{compiler}: {len(passed)} of {len(got)} cases pass; "
          f"{len(short)} that json passes do not")
    return 1 if short or len(passed) < LEAST_PASSED else 0


if __name__ == "__main__":
    sys.exit(main())
