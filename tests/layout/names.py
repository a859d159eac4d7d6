#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks below ROOT that names of anonymous namespaces are unique in their batch, which is one file.

A folder is a batch. So are together those folders of a target that have at most SMALL sources each (cmake/batches.cmake);
the sources of a target are those below a folder with a CMakeLists.txt, without those below another one. Two definitions
fault when they have the same name in the same namespace. Functions may differ in their parameters, but not only in
numbers, and not by a template: a call could get the function of the other file, and would compile. The same alias may be
defined again. bench/ has a program per source and no batches, and folders of tests are not joined.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

TOPS = ("runtime", "core", "frontends", "plugins", "tests")
SMALL = 6
IGNORED = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'
                     r"(?<!\w)'(?:\\.|[^'\\\n])+'|^\s*#(?:\\\n|[^\n])*", re.S | re.M)
NAMESPACE = re.compile(r"\s*(?:inline )?namespace\s*([\w:]*)\s*")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?) (\w+)\b(?! *[\w(])")
BRACKETS = r"\([^(){}\[\]]*\)|\{[^(){}\[\]]*\}|\[[^(){}\[\]]*\]"


def statements(text):
    """Yields (namespaces, statement) outside of bodies; namespaces has None for an anonymous one."""
    text = IGNORED.sub(lambda m: '""' if m[0][0] in 'R"' else " ", text)
    stack, begin, at = [], 0, 0
    while at < len(text):
        if text[at] == "{":
            head = text[begin:at]
            namespace = NAMESPACE.fullmatch(head)
            if namespace:
                stack.append(namespace[1] or None)
                begin = at + 1
            else:
                end = closing(text, at)
                if is_body(head):
                    yield list(stack), head
                    begin = end + 1
                at = end
        elif text[at] == "(":
            at = closing(text, at)
        elif text[at] == "}":
            if stack:
                stack.pop()
            begin = at + 1
        elif text[at] == ";":
            yield list(stack), text[begin:at]
            begin = at + 1
        at += 1


def closing(text, at):
    """Returns the place of the bracket that closes the one at `at`."""
    opened, close = text[at], {"{": "}", "(": ")", "<": ">"}[text[at]]
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == opened) - (text[place] == close)
        if depth == 0:
            return place
    return len(text) - 1


def is_body(head):
    """Returns whether a brace after `head` opens the body of a function, or of a type, and no initial value."""
    plain = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "()", unbracketed(head))
    return "operator" in plain or ("(" in plain and "=" not in plain) or bool(TYPE.search(plain.split(":")[0]))


def unbracketed(text):
    """Returns the text without attributes, template heads and template arguments, in one line."""
    text = re.sub(r"\[\[.*?\]\]|\b__attribute__\s*\(\(.*?\)\)", " ", text)
    text = re.sub(r"->|<=>|[<>]=|<<|>>(?=[^<>]*\()", " ", text)
    while re.search(r"<[^<>]*>", text):
        text = re.sub(r"<[^<>]*>", "", text)
    return " ".join(re.sub(r"\btemplate\b", " ", text).split())


def definitions(statement):
    """Returns the (name, kind) that a statement defines; the kind of a function is its parameters."""
    plain = unbracketed(statement)
    alias = re.match(r"using (\w+) = (.+)", plain)
    if alias:
        return [(alias[1], "using " + " ".join(statement.split()))]
    if not plain or re.match(r"using |namespace |friend |static_assert|extern |typedef ", plain):
        return []
    declared = TYPE.match(plain)
    if declared:
        is_forward = plain.endswith(declared[1]) and not statement.endswith(" ")   # `struct A;`
        return [] if is_forward else [(declared[1], "type")]
    function = re.search(r"(operator\s*\S+?|[\w:]+) ?\(", plain if "operator" in plain else re.split("[={]", plain)[0])
    if function:
        name = function[1]
        return [(name, parameters(statement, name))] if "::" not in name else []
    while re.search(BRACKETS, plain):
        plain = re.sub(BRACKETS, "", plain)
    names = [re.search(r"(\w+)\s*(?:=.*)?$", part) for part in plain.split(",")]
    return [(name[1], "variable") for name in names if name]


def parameters(statement, name):
    """Returns the types of a function's parameters, without their names and default values."""
    begin = statement.index("(", statement.index(name.split()[0]))
    text = statement[begin + 1:closing(statement, begin)]
    types = []
    for part in re.split(r",(?![^<(]*[>)])", text):
        part = " ".join(part.split("=")[0].split())
        part = re.sub(r"(?<=[\s&*>])[a-z_]\w*$", "", part).strip()
        types.append(re.sub(r"^const (\w+)$", r"\1", part))
    return tuple(types)


def names_of(text):
    """Returns {(namespace, name): kinds} of the anonymous namespaces in `text`."""
    found = defaultdict(set)
    for stack, statement in statements(text):
        if None in stack:
            space = "::".join(name for name in stack if name)
            for name, kind in definitions(statement):
                found[space, name].add(kind)
    return found


NUMBERS = {"bool", "char", "int", "unsigned", "long", "float", "double", "size_t", "Wide", *(
    f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def may_be_mixed_up(first, second):
    """Returns whether a call of one function could be one of the other: their parameters, as kinds of functions."""
    if len(first) != len(second):
        return False
    return all(a == b or {a.removeprefix("std::"), b.removeprefix("std::")} <= NUMBERS or "T" in re.findall(r"\w+", a + " " + b)
               for a, b in zip(first, second))


def mixed_up(kinds):
    """Returns whether two functions of different files may be mixed up. kinds: {parameters: files}."""
    functions = [(kind, by) for kind, by in kinds.items() if isinstance(kind, tuple)]
    return any(may_be_mixed_up(a, b) and len(by_a | by_b) > 1
               for k, (a, by_a) in enumerate(functions) for b, by_b in functions[k + 1:])


def faults_of(texts):
    """Returns the names that several of `texts`, {source: text}, define."""
    users = defaultdict(lambda: defaultdict(set))
    for source, text in texts.items():
        for key, kinds in names_of(text).items():
            for kind in kinds:
                users[key][kind].add(source)
    faults = []
    for (_, name), kinds in sorted(users.items()):
        sources = set().union(*kinds.values())
        is_function = all(isinstance(kind, tuple) for kind in kinds)
        is_alias = all(str(kind).startswith("using ") for kind in kinds)
        repeated = [kind for kind, by in kinds.items() if len(by) > 1]
        if len(sources) > 1 and ((repeated and not is_alias) or (len(kinds) > 1 and not is_function) or mixed_up(kinds)):
            by = " and ".join(map(str, sorted(sources)))
            faults.append(f"{name} is defined by {by}: they may be compiled as one file")
    return faults


def batches(root):
    """Yields (folder, {source: text}) for each folder, and for the small folders of each target."""
    folders, joined = defaultdict(dict), defaultdict(dict)
    for top in TOPS:
        for path in sorted((root / top).rglob("*.cc")):
            folders[path.parent][str(path.relative_to(root))] = path.read_text()
    for folder, texts in folders.items():
        yield folder.relative_to(root), texts
        if len(texts) <= SMALL and folder.relative_to(root).parts[0] != "tests":
            joined[target_folder(folder, root)].update(texts)
    for folder, texts in joined.items():
        yield f"small folders of {folder.relative_to(root)}", texts


def target_folder(folder, root):
    """Returns the nearest folder from `folder` up to `root` that has a CMakeLists.txt."""
    return next((at for at in (folder, *folder.parents) if at == root or (at / "CMakeLists.txt").exists()), root)


PLANTED = [  # two sources, and whether they are at fault
    ("constexpr int kA = 1;", "constexpr int kB = 2, kA = 3;", True),
    ("struct A {\n  int x;\n};", "class A : public B {\n};", True),
    ("int f(int x) { return x; }", "int f(int y = 0) {\n  if (y) return 1;\n  return 2;\n}", True),
    ("template <class T>\nT f(const std::map<int, T>& x) { return T{x}; }",
     "template <class T>\nT f(const std::map<int, T>& m) { return {}; }", True),
    ("const std::vector<int> kA = {1, f(2)};", "const char* kA[] = {\"a\", \"}\"};", True),
    ("const A kA{B(1), {2}}, kB;", "const C kD{B(1)};", False),
    ("using A = int;", "using A = long;", True),
    ("using A = int;", "using A = int;", False),
    ("int f(int x) { return x; }", "int f(float x) { return 1; }", True),
    ("int f(const std::vector<float>& x) { return 1; }", "template <class T>\nint f(const std::vector<T>& x) { return 2; }", True),
    ("int f(const A& x) { return 1; }", "int f(const B& x) { return 1; }", False),
    ("int f() { int kA = 1; return kA; }", "constexpr int kA = 2;", False),
    ("int A::f() { return 1; }", "int A::f() { return 2; }", False),
    ("struct A {\n  int f() { return kB; }\n};", "struct C {\n  int f() { return kB; }\n};", False),
    ("// int f() { return 1; }\nint g;", "int f() { return 1; }", False),
]


def main(root):
    failed = False
    for first, second, is_fault in PLANTED:
        texts = {source: f"namespace a {{\nnamespace {{\n{text}\n}}\n}}\n" for source, text in enumerate((first, second))}
        if bool(faults_of(texts)) != is_fault:
            print(f"{'not found' if is_fault else 'found, but right'}: {first} {second} {faults_of(texts)}")
            failed = True
    for place, texts in batches(root):
        for fault in faults_of(texts):
            print(f"{place}: {fault}")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
