"""Checks what the operations' descriptions promise: op-docs.py RULE ROOT

examples  each operation has an example, and all of them together are a module
          that `tfm-opt` parses and prints so that it parses to the same
labels    each labelled rule has a test that breaks it
"""

# RUN: %python %s examples %source-root
# RUN: %python %s labels %source-root

import os
import re
import subprocess
import sys

INDEX_NAMES = {"%batch", "%context", "%layer", "%count"}
# The parent's description shows it.
WITHOUT_EXAMPLE = {"yield"}


def descriptions(root):
    """Mnemonic and text of each operation."""
    folder = os.path.join(root, "dialect")
    for name in sorted(os.listdir(folder)):
        if name.endswith("Ops.td"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for text in re.split(r"^def ", file.read(), flags=re.M)[1:]:
                    match = re.match(r'\w+ : \w+<"(\w+)"', text)
                    if match:
                        yield match.group(1), text


def split_types(text):
    """The types of "(a, b) -> c" or of "a, b", split at outer commas."""
    types, depth, start = [], 0, 0
    text = text.strip()
    for i, letter in enumerate(text + ","):
        depth += (letter in "(<") - (letter in ")" or (
            letter == ">" and text[i - 1] != "-"))
        if letter == "," and depth == 0:
            types.append(text[start:i].strip())
            start = i + 1
    return types


def operand_types(example):
    """Pairs of an undefined name and its type, for one operation."""
    text, types = re.split(r" : (?=[(!t])", example, maxsplit=1) \
        if "{" not in example else re.match(r"(.*\}) : (.*)", example).groups()
    operands = re.findall(r"%\w+", text.split(" = ", 1)[-1])
    lists = re.findall(r"\(([^()]*)\)", types)
    if " -> " in types:
        return list(zip(operands, split_types(lists[0])))
    if lists:
        return list(zip(operands, sum(map(split_types, lists), [])))
    if re.search(r"_mask %s by %t", text):
        return [(name, "index") for name in operands]
    given = split_types(types)
    shaped = [name for name in operands if name not in INDEX_NAMES]
    given += given[-1:] * (len(shaped) - len(given))
    return list(zip(shaped, given)) + [
        (name, "index") for name in operands if name in INDEX_NAMES]


def examples(root):
    symbols, functions = [], []
    for mnemonic, text in descriptions(root):
        found = re.findall(r"```mlir\n(.*?)```", text, flags=re.S)
        if not found and mnemonic not in WITHOUT_EXAMPLE:
            yield f"tfm.{mnemonic} has no example"
        for example in found:
            if f"tfm.{mnemonic} " not in example:
                yield f"the example of tfm.{mnemonic} is of something else"
            if re.match(r"\s*%", example):
                arguments = ", ".join(
                    f"{name}: {type}" for name, type in dict(
                        operand_types(example.strip())).items())
                functions.append(f"func.func @{mnemonic}({arguments}) {{\n"
                                 f"{example}    return\n}}\n")
            else:
                symbols.append(example)
    module = "\n".join(symbols + functions)
    printed = [module]
    for _ in range(2):
        done = subprocess.run(["tfm-opt"], input=printed[-1], text=True,
                              capture_output=True, check=False)
        if done.returncode:
            yield done.stderr + "\nin:\n" + module
            return
        printed.append(done.stdout)
    if printed[1] != printed[2]:
        yield "what tfm-opt prints changes when it is parsed and printed again"
    for mnemonic, _ in descriptions(root):
        if f"tfm.{mnemonic} " not in printed[1]:
            yield f"tfm.{mnemonic} is in no example"


def labels(root):
    folder = os.path.join(root, "test", "dialect")
    tested = set()
    for name in os.listdir(folder):
        if name.endswith("-errors.mlir"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                tested |= set(re.findall(r"^// ([a-z0-9-]+-c\d+)$", file.read(),
                                         flags=re.M))
    promised = {label for _, text in descriptions(root)
                for label in re.findall(r"^\s*- `([a-z0-9-]+-c\d+)`", text,
                                        flags=re.M)}
    for label in sorted(promised - tested):
        yield f"no test breaks {label}"
    for label in sorted(tested - promised):
        yield f"{label} is tested, but no operation promises it"


def main():
    breaches = list({"examples": examples, "labels": labels}[sys.argv[1]](
        sys.argv[2]))
    print("\n".join(breaches))
    sys.exit(1 if breaches else 0)


main()
