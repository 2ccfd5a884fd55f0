"""tfmc --dump-ir-dir writes a file per pass. tfm-opt takes back each of them,
and tfmc goes on from each to the same program, byte for byte.
"""

# RUN: %python %s %t

import os
import re
import subprocess
import sys

FOLDER = sys.argv[1]


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}:\n"
                 + done.stderr)
    return done.stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check(activations):
    """Returns the names of the dumps."""
    folder = os.path.join(FOLDER, activations)
    program = os.path.join(folder, "program")
    resumed = os.path.join(folder, "resumed")
    os.makedirs(folder, exist_ok=True)
    dumps = os.path.join(folder, "ir")
    options = ["--emit=so", f"--activations={activations}"]
    output("tfmc", MODEL, "--dump-ir-dir", dumps, "-o", program, *options)
    names = sorted(os.listdir(dumps))
    for name in names:
        dump = os.path.join(dumps, name)
        printed = output("tfm-opt", "--verify-each", dump)
        # What was dumped is what tfm-opt prints.
        if printed.strip() != read(dump).decode().strip():
            sys.exit(f"{dump}: tfm-opt prints something else")
        if name.endswith("-tfm-lower-host.mlir"):
            continue  # holds no kernels; see tfmc-errors.test
        output("tfmc", dump, "-o", resumed, *options)
        if read(resumed) != read(program):
            sys.exit(f"{dump}: tfmc makes another program of it")
        os.remove(resumed)
    return names


os.makedirs(FOLDER, exist_ok=True)
MODEL = os.path.join(FOLDER, "tiny.gguf")
output(sys.executable, os.environ["MAKE_TINY_LLAMA"], MODEL)
for kind in "i8", "f32":
    found = check(kind)
    numbers = [re.match(r"(\d\d)-[a-z-]+\.mlir$", name) for name in found]
    if [int(number[1]) for number in numbers] != list(range(len(found))):
        sys.exit(f"expects files numbered from 00, but got {found}")
    passes = [name[3:-5] for name in found]
    for first, then in [("import", "tfm-infer-shapes"),
                        ("tfm-infer-shapes", "tfm-fuse-attention"),
                        ("tfm-insert-kv-cache", "tfm-outline-kernels"),
                        ("tfm-plan-memory", "tfm-lower-host")]:
        if passes.index(first) > passes.index(then):
            sys.exit(f"expects {first} before {then}, but got {found}")
