# SPDX-License-Identifier: Apache-2.0
"""The commands of pages that tests do not run: why, and what is checked instead."""
import os
import re
import subprocess
import sys
from collections import namedtuple

Rule = namedtuple("Rule", "pattern reason check")


def output_of(*command, folder=None):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)
    return done.stdout.decode("utf-8", "replace")


def options_of(command):
    return re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", command.split(" # ")[0])


def check_help(command, tree, build):
    """The program is there, and its --help has the options of the command."""
    words = [word for word in command.split() if word != "python3" and not re.match(r"[A-Z_]+=", word)]
    program = words[0].replace("build/bin/", os.path.join(build, "bin") + "/", 1)
    if not os.access(os.path.join(tree, program), os.X_OK) and not program.endswith(".py"):
        return f"{words[0]} is no program"
    call = [sys.executable, program] if program.endswith(".py") else [os.path.join(tree, program)]
    if words[0] == "build/bin/byoc":
        call.append(words[1])
    text = output_of(*call, "--help", folder=tree)
    missing = [option for option in options_of(command) if not re.search(rf"(?<![\w-]){option}(?![\w-])", text)]
    return f"{words[0]} --help has no option {missing[0]}" if missing else None


def check_configure(command, tree, build):
    """The cache of the build has the variables that the command sets."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        known = re.findall(r"^(\w+):", cache.read(), re.M)
    missing = [name for name in re.findall(r"-D(\w+)=", command) if name not in known]
    return f"the build has no variable {missing[0]}" if missing else None


def check_target(command, tree, build):
    """The build has the target."""
    for name in re.findall(r"--target (\w+)", command):
        if not re.search(rf"(?<![\w/.-]){name}(?![\w/.-])", output_of("cmake", "--build", build, "--target", "help")):
            return f"the build has no target {name}"
    return None


def check_program(command, tree, build):
    """The program of the other build is one of this build too."""
    name = os.path.basename(command.split()[0])
    return None if os.access(os.path.join(build, "bin", name), os.X_OK) else f"the build has no program {name}"


def check_tests(command, tree, build):
    """There is a test of that name, one that needs no program to list its names."""
    name = re.search(r"-R (\S+)", command)
    if name is None:
        return None
    tests = []
    for folder, _, files in os.walk(os.path.join(build, "tests")):
        if "CTestTestfile.cmake" in files:
            with open(os.path.join(folder, "CTestTestfile.cmake"), encoding="utf-8") as file:
                tests += re.findall(r"^add_test\(\[?=*\[?([^\]\s]+)", file.read(), re.M)
    return None if any(re.search(name[1], test) for test in tests) else f"no test has the name {name[1]}"


def check_packages(command, tree, build):
    """The tree makes the packages that are installed or removed, by their names or by a part and a star."""
    with open(os.path.join(tree, "packages/packages.cmake"), encoding="utf-8") as file:
        made = re.findall(r"^byoc_package\(([\w-]+)", file.read(), re.M)
    names = [os.path.basename(word) for word in command.split()[3:]]
    missing = [name for name in names if not any(one == re.split(r"[_*]", name)[0] or
               ("*" in name and one.startswith(re.split(r"[_*]", name)[0])) for one in [*made, "byoc-plugin-my-chip"])]
    return f"no package has the name {missing[0]}" if missing else None


def check_nothing(command, tree, build):
    return None


RULES = (
    Rule(r"\./demo\b", "it installs packages and builds the tree", check_help),
    Rule(r"\./check\b", "it runs all tests, among them this one", check_help),
    Rule(r"cmake -S \. -B build(-\w+)? -G Ninja", "it configures the tree", check_configure),
    Rule(r"cmake --build build(-\w+)?( --target \w+)?$", "it builds in the folder that ctest runs in", check_target),
    Rule(r"build-asan/bin/\w+", "it needs a build with sanitizers", check_program),
    Rule(r"ctest --test-dir build ", "ctest inside of ctest writes to the same log", check_tests),
    Rule(r"build/bin/bench_\w+(?! --write)\b", "it measures for minutes", check_help),
    Rule(r"build/bin/byoc bench --ops --|bench/ops/table\.py default", "it measures for minutes", check_help),
    Rule(r"bench/peers/compare\.py", "it installs other runtimes, and needs networks of 2.5 GB", check_help),
    Rule(r"bench/peers/many_cores\.sh", "it needs ONNX Runtime, and measures for minutes", check_help),
    Rule(r"BYOC_PREFIX=build python3 bench/decode/compare\.py", "it needs ONNX Runtime", check_help),
    Rule(r"BYOC_PREFIX=build python3 bench/onnxruntime/compare\.py", "it needs ONNX Runtime", check_help),
    Rule(r"bench/tuning/(gain|networks|pick)\.py", "it tunes for ten minutes, and needs networks of 2.5 GB", check_help),
    Rule(r"tests/fuzz/planted\.py --work", "it rebuilds the plugins forty times", check_help),
    Rule(r"packages/make\.sh", "it packs for minutes, as tests/packages does", check_help),
    Rule(r"python3 -m venv env |env/bin/(python|pip) ", "it makes wheels for a minute, as tests/python does", check_nothing),
    Rule(r"(LD_LIBRARY_PATH=stand-ins env/bin/python|python3) tests/torch/", "it needs a wheel of torch of 0.5 GB", check_nothing),
    Rule(r"sudo apt-get (install|purge) ", "it changes the machine; tests/packages does it in a Debian of its own",
         check_packages),
    Rule(r"byoc (demo|plugins)\b|cc program\.c|python3 -c \"import byoc|tar -xf dist/|byoc-0\.1\.0|"
         r"cmake -S my_chip|cd build && cpack",
         "it needs what the packages install; tests/packages does it in a Debian of its own", check_nothing),
    Rule(r"python3 tests/models/networks/export\.py", "it makes networks of 2.5 GB", check_help),
    Rule(r"for n in networks/\*/", "it needs networks of 2.5 GB; tests/networks has small variants", check_nothing),
)


def commands_of(lines):
    """The commands of a script: lines are joined as long as bash needs more."""
    commands, begun = [], []
    for line in lines:
        begun.append(line)
        if not line.endswith("\\") and subprocess.run(["bash", "-n", "-c", "\n".join(begun)], stderr=subprocess.DEVNULL,
                                                      check=False).returncode == 0:
            commands.append("\n".join(begun))
            begun = []
    return [command for command in commands + ["\n".join(begun)] if command.strip()]


def rule_for(command):
    return next((rule for rule in RULES if re.match(rule.pattern, command.split(" # ")[0].strip())), None)
