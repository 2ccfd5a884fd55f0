# Compiled programs against the interpreter: a tiny model in every type of
# weight, with f32 and with 8-bit activations, whole and in pieces.

# REQUIRES: avx2
# RUN: %python %s %t

import json
import math
import os
import random
import subprocess
import sys

FOLDER = sys.argv[1]
TYPES = ["f32", "f16", "bf16", "q4_0", "q4_1", "q8_0"]
IDS = [random.Random(7).randrange(320) for _ in range(21)]
# A cache in f16 and sums in another order, against exact ones.
TOLERANCE = {"f32": 2e-5, "i8": 2e-3}


def output(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}:\n"
                 + done.stderr)
    return done.stdout


def expected_logprobs(ir):
    """Of each next token, from the logits of the interpreter's @score."""
    tokens = f"tokens=[{json.dumps(IDS)}]"
    printed = output("tfm-run", "-precision=9", "-limit=1000000", ir, "score",
                     tokens)
    logits = []
    for line in printed.splitlines():
        if line.startswith("  "):
            logits.extend(map(float, line.split()))
    size = len(logits) // len(IDS)
    result = []
    for i, token in enumerate(IDS[1:]):
        row = logits[i * size:(i + 1) * size]
        top = max(row)
        result.append(row[token] - top
                      - math.log(sum(math.exp(x - top) for x in row)))
    return result


def check(kind, activations):
    name = os.path.join(FOLDER, f"{kind}-{activations}")
    option = f"--activations={activations}"
    model = os.path.join(FOLDER, f"{kind}.gguf")
    output("tfmc", model, option, "--emit=fused", "-o", name + ".mlir")
    output("tfmc", model, option, "-o", name)
    with open(name + ".json", "w", encoding="utf-8") as file:
        json.dump(IDS, file)
    expected = expected_logprobs(name + ".mlir")
    for chunk in ["1", "8", "64"]:
        found = json.loads(output(name, "--score", "--json", "--ids",
                                  name + ".json", "--prefill-chunk", chunk))
        worst = max(abs(f - e) for f, e
                    in zip(found["logprobs"], expected, strict=True))
        print(f"{kind} {activations} in pieces of {chunk}: {worst:.1e}")
        if not worst <= TOLERANCE[activations]:
            sys.exit(f"expects at most {TOLERANCE[activations]}")


os.makedirs(FOLDER, exist_ok=True)
for weights in TYPES:
    output(sys.executable, os.environ["MAKE_TINY_LLAMA"], "--type", weights,
           "--untied", os.path.join(FOLDER, weights + ".gguf"))
    check(weights, "f32")
    check(weights, "i8")
