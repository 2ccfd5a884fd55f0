"""Runs IR in `tfm-run` and compares what it gives with plain Python.

Arrays are nested lists; elements of random ones are f32 numbers.
"""

import json
import random
import struct
import subprocess
import sys
import tempfile

BITS = {"f32": "<f", "f16": "<e"}


def rounded(x, kind="f32"):
    return struct.unpack(BITS[kind], struct.pack(BITS[kind], x))[0]


class Numbers:
    """Random arrays that follow from a seed."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)

    def array(self, *shape, scale=1.0):
        if not shape:
            return rounded(self.random.uniform(-scale, scale))
        return [self.array(*shape[1:], scale=scale) for _ in range(shape[0])]


def flat(array):
    if not isinstance(array, list):
        return [array]
    return [x for part in array for x in flat(part)]


def words_of(arrays):
    """The arguments `arrays` of a call, by name or number."""
    # JSON has no infinity, but numbers that are too large.
    return [f"{name}={json.dumps(array).replace('Infinity', '1e999')}"
            for name, array in arrays.items()]


def tfm_run(ir, *words, options=()):
    """Runs the calls that `words` are; gives (shape, flat numbers) of each
    array that is printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(ir)
        file.flush()
        done = subprocess.run(
            ["tfm-run", "-precision=9", "-limit=1000000", *options, file.name,
             *words], capture_output=True, check=False, text=True)
    if done.returncode:
        sys.exit(f"tfm-run failed:\n{done.stderr[-2000:]}\non:\n{ir}")
    arrays = []
    for line in done.stdout.splitlines():
        if line.startswith("  "):
            arrays[-1][1].extend(rounded(float(x)) for x in line.split())
        elif ": " in line and "lengths" not in line:
            shape = line.split(": ")[1].split("x")[:-1]
            arrays.append(([int(dim) for dim in shape], []))
    return arrays


def run_steps(types, steps, results, arrays, symbols=""):
    """Runs a function of operands `%0`, `%1`, ... beside `symbols` and gives
    what `results`, a list of (name, type), are after the operations `steps`."""
    arguments = ", ".join(f"%{i}: {type}" for i, type in enumerate(types))
    names, kinds = zip(*results)
    head = f"func.func @f({arguments}) -> ({', '.join(kinds)}) {{"
    lines = [symbols, head, *steps,
             f"return {', '.join(names)} : {', '.join(kinds)}", "}", ""]
    return tfm_run("\n".join(lines), "f", *words_of(dict(enumerate(arrays))))


def run_op(op, types, result, arrays):
    """The same for one operation with one result; its numbers."""
    return run_steps(types, [f"%r = {op}"], [("%r", result)], arrays)[0][1]


def tensor(*shape, of="f32"):
    return "tensor<" + "x".join(map(str, shape)) + f"x{of}>"


def expect_close(what, found, expected, tolerance=2e-6):
    """Both flat; the tolerance is relative to the largest number."""
    expected, found = flat(expected), flat(found)
    if len(found) != len(expected):
        sys.exit(f"{what}: expects {len(expected)} numbers, got {len(found)}")
    largest = max([1e-30, *map(abs, expected)])
    for i, (f, e) in enumerate(zip(found, expected)):
        if not abs(f - e) <= tolerance * largest:
            sys.exit(f"{what}: expects {e} at {i}, but got {f}")
