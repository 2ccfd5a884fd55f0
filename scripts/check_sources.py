#!/usr/bin/env python3
"""Rules that the sources keep: check_sources.py RULE|all ROOT

Prints `file:line: what is wrong` for each breach and exits with 1 if there is
any. The rules are the functions below that take a list of files.
"""

import os
import re
import sys

ROOMS = ["dialect", "import", "passes", "codegen", "runtime", "tools", "test",
         "bench"]

# What the include lines of a room may name: first component, or folder, of the
# path. Rooms without a line may include everything.
ARROWS = {
    "dialect": ["dialect", "mlir", "llvm"],
    "import": ["import", "dialect", "runtime/include", "mlir", "llvm"],
    "passes": ["passes", "dialect", "mlir", "llvm"],
    "codegen": ["codegen", "passes", "dialect", "runtime/include", "mlir",
                "llvm"],
    "runtime": ["runtime"],
}
GUARDED = ROOMS + ["mlir", "llvm", "lld", "clang"]

LONGEST = 800  # lines

# Commands that fail when what they look at is wrong.
CHECKERS = re.compile(
    r"FileCheck|-verify-diagnostics|%check|%python %s|scripts/lint|"
    r"(?:RUN:|[|;&])\s*(?:not|diff|cmp|test|grep)\s")
LIT_KEYWORDS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL"}
COMMENT = r"\s*(?://|#|;)\s*"


def walk(root):
    """All text files of the project, as paths from `root`, sorted."""
    skipped = {".git", ".venv", "build", "models", "__pycache__"}
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        if inside == ".":
            folders[:] = [name for name in folders if name not in skipped]
        folders[:] = sorted(set(folders) - {"__pycache__"})
        # In a work tree that Git has added, .git is a file.
        for name in sorted(set(names) - skipped):
            yield os.path.normpath(os.path.join(inside, name))


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().splitlines()


def is_source(path):
    return path.endswith((".h", ".cpp", ".c", ".td"))


def includes(root, files):
    """Include lines follow the arrows between the rooms."""
    pattern = re.compile(r'\s*#?\s*include\s*["<]([^">]+)[">]')
    for path in filter(is_source, files):
        allowed = ARROWS.get(path.split("/")[0])
        for number, line in enumerate(lines_of(root, path), 1):
            match = pattern.match(line)
            if not match or allowed is None:
                continue
            included = match.group(1)
            if included.split("/")[0] in GUARDED and not any(
                    included.startswith(name + "/") for name in allowed):
                yield path, number, f"must not include {included}"
            if path.startswith("runtime/") and included == "Halide.h":
                yield path, number, "of Halide, only HalideRuntime.h may be used"


def checkers(root, files):
    """A test with RUN lines has something that can fail, and reads all its
    CHECK lines."""
    for path in files:
        if not path.startswith("test/") or not path.endswith(
                (".mlir", ".test", ".py")):
            continue
        lines = lines_of(root, path)
        runs = "\n".join(
            line for line in lines if re.match(COMMENT + "RUN:", line))
        if not runs:
            continue
        if not CHECKERS.search(runs):
            yield path, 1, "has RUN lines, but nothing checks what they give"
        prefixes = set(re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", runs))
        prefixes = {one for some in prefixes for one in some.split(",")}
        if re.search(r"FileCheck(?!.*check-prefix)", runs):
            prefixes.add("CHECK")
        suffix = r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?:"
        for number, line in enumerate(lines, 1):
            match = re.match(COMMENT + "([A-Z][A-Z0-9_-]*?)" + suffix, line)
            if match and match.group(1) not in prefixes | LIT_KEYWORDS:
                yield path, number, f"no FileCheck reads {match.group(1)} lines"


def lengths(root, files):
    """No file is longer than LONGEST lines."""
    for path in files:
        if path.endswith((".h", ".cpp", ".c", ".td", ".py", ".mlir", ".cmake")):
            count = len(lines_of(root, path))
            if count > LONGEST:
                yield path, LONGEST, f"has {count} lines, more than {LONGEST}"


def banners(root, files):
    """A source opens with a line that names it, as in LLVM."""
    for path in filter(is_source, files):
        first = (lines_of(root, path) or [""])[0]
        name = re.escape(os.path.basename(path))
        if not re.fullmatch(rf"//===-+ {name} - .+==//", first):
            yield path, 1, "expects the banner //===- NAME - what it is ---===//"


def paths(root, files):
    """Nothing names a folder of one person's machine."""
    pattern = re.compile(r"(?:^|[^\w.])/(?:home|root|work|Users)/")
    for path in files:
        if path.endswith((".json", ".gguf", ".png", ".svg")):
            continue
        for number, line in enumerate(lines_of(root, path), 1):
            if pattern.search(line):
                yield path, number, "names a folder of one machine"


def marks(root, files):
    """Nothing is marked as unfinished."""
    pattern = re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b")
    for path in files:
        if not path.endswith((".json", ".gguf", ".png", ".svg")):
            for number, line in enumerate(lines_of(root, path), 1):
                if pattern.search(line):
                    yield path, number, "is marked as unfinished"


def cmake(root, files):
    """CMake files name their sources, and set properties of targets only."""
    pattern = re.compile(
        r"\s*(file\s*\(\s*GLOB|include_directories|link_libraries|"
        r"link_directories|add_definitions|add_compile_options|"
        r"add_compile_definitions|add_link_options|FetchContent\w*)\b")
    for path in files:
        if path.endswith(("CMakeLists.txt", ".cmake")):
            for number, line in enumerate(lines_of(root, path), 1):
                match = pattern.match(line)
                if match:
                    yield path, number, f"must not use {match.group(1)}"


RULES = [includes, checkers, lengths, banners, paths, marks, cmake]


def main():
    rules = {rule.__name__: [rule] for rule in RULES} | {"all": RULES}
    if len(sys.argv) != 3 or sys.argv[1] not in rules:
        sys.exit(f"usage: check_sources.py {'|'.join(rules)} ROOT")
    chosen, root = rules[sys.argv[1]], sys.argv[2]
    files = list(walk(root))
    breaches = [breach for rule in chosen for breach in rule(root, files)]
    for path, line, message in breaches:
        print(f"{path}:{line}: {message}")
    sys.exit(1 if breaches else 0)


main()
