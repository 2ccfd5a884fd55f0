"""Every way to write attention gives the same numbers before and after
`tfm-fuse-attention`, which makes one operation of each.

S != T, d_k != d_v, two groups of query heads, a row without a key.
"""

# RUN: %python %s

import subprocess
import sys

from tfm_run import Numbers, expect_close, tensor, tfm_run, words_of

B, H, G, S, T, D, V = 2, 4, 2, 3, 5, 6, 4
TYPES = {
    "q": tensor(B, H, S, D), "k": tensor(B, G, T, D), "v": tensor(B, G, T, V),
    "kt": tensor(B, G, D, T), "kr": tensor(B, H, T, D),
    "vr": tensor(B, H, T, V), "krt": tensor(B, H, D, T),
    "s": tensor(B, H, S, T), "o": tensor(B, H, S, V),
    "x": tensor(B, S, H * D),
    "m": tensor(1, 1, S, T, of="i1"), "pad": tensor(B, 1, 1, T, of="i1"),
    "both": tensor(B, 1, S, T, of="i1"), "n": tensor(B, of="i32"),
    "b": tensor(1, H, S, T), "row": tensor(B, 1, 1, T),
}
SCORES = "%0 = tfm.scores %q, %k : ({q}, {k}) -> {s}"
ENDING = ["%p = tfm.softmax %z : {s}",
          "%r = tfm.mix %p, %v : ({s}, {v}) -> {o}"]
LENGTHS = ["%S = arith.constant 3 : index", "%T = arith.constant 5 : index"]
CAUSAL = [*LENGTHS, "%m = tfm.causal_mask %S by %T : {m}"]


def generated(*steps):
    return ["%m = tensor.generate {{", "^bb0(%B: index, %H: index, %s: index, "
            "%t: index):", *steps, "  tensor.yield %c : i1", "}} : {m}"]


def masked(*mask):
    return [*mask, SCORES, "%1 = tfm.scale %0 by 0.5 : {s}",
            "%z = tfm.apply_mask %1, %m : {s}, {m}", *ENDING]


# Name, what the fused operation must say, and the steps.
SPELLINGS = [
    ("plain", "scale = 1.0", [SCORES.replace("%0", "%z"), *ENDING]),
    ("scale on the scores", "scale = 5.0", [
        SCORES, "%z = tfm.scale %0 by 0.5 : {s}", *ENDING]),
    ("scale on the query", "scale = 5.0", [
        "%1 = tfm.scale %q by 0.5 : {q}",
        "%z = tfm.scores %1, %k : ({q}, {k}) -> {s}", *ENDING]),
    ("scale on the key", "scale = 5.0", [
        "%1 = tfm.scale %k by 0.5 : {k}",
        "%z = tfm.scores %q, %1 : ({q}, {k}) -> {s}", *ENDING]),
    ("half of the scale on each", "scale = 0.4", [
        "%1 = tfm.scale %q by 0.7 : {q}", "%2 = tfm.scale %k by 0.7 : {k}",
        "%z = tfm.scores %1, %2 : ({q}, {k}) -> {s}", *ENDING]),
    ("scale before rope and split", "scale = 5.0", [
        "%1 = tfm.scale %x by 0.5 : {x}",
        "%2 = tfm.split_heads %1 into 4 : ({x}) -> {q}",
        "%3 = tfm.rope %2 half {{dims = 6 : i64, theta = 1.0e4 : f64}} : {q}",
        "%z = tfm.scores %3, %k : ({q}, {k}) -> {s}", *ENDING]),
    ("negative scale before the mask", "scale = -5.0", [
        SCORES, "%1 = tfm.scale %0 by -0.5 : {s}",
        "%z = tfm.apply_mask %1, %pad : {s}, {pad}", *ENDING]),
    ("mask after the scale", "mask", [
        SCORES, "%1 = tfm.scale %0 by 0.5 : {s}",
        "%z = tfm.apply_mask %1, %pad : {s}, {pad}", *ENDING]),
    ("mask before the scale", "mask", [
        SCORES, "%1 = tfm.apply_mask %0, %pad : {s}, {pad}",
        "%z = tfm.scale %1 by 0.5 : {s}", *ENDING]),
    ("bias", "bias", [
        SCORES, "%1 = tfm.scale %0 by 0.5 : {s}",
        "%z = tfm.add_bias %1, %b : {s}, {b}", *ENDING]),
    ("bias before the scale", "bias", [
        SCORES, "%1 = tfm.add_bias %0, %b : {s}, {b}",
        "%z = tfm.scale %1 by 0.5 : {s}", *ENDING]),
    ("mask as a bias, a row of -inf", "bias", [
        SCORES, "%z = tfm.add_bias %0, %row : {s}, {row}", *ENDING]),
    ("bias of the scores' shape", "bias", [
        SCORES, "%1 = tfm.scale %full by 2.0 : {s}",
        "%z = tfm.add %1, %0 : {s}", *ENDING]),
    ("bias and mask", "mask", [
        SCORES, "%1 = tfm.add_bias %0, %b : {s}, {b}",
        "%z = tfm.apply_mask %1, %pad : {s}, {pad}", *ENDING]),
    ("mask and bias", "bias", [
        SCORES, "%1 = tfm.apply_mask %0, %pad : {s}, {pad}",
        "%z = tfm.add_bias %1, %b : {s}, {b}", *ENDING]),
    ("causal_mask", "causal", masked(*CAUSAL)),
    ("causal and a mask", "causal", [
        *CAUSAL, SCORES, "%1 = tfm.apply_mask %0, %m : {s}, {m}",
        "%z = tfm.apply_mask %1, %pad : {s}, {pad}", *ENDING]),
    ("a causal window", "causal window 2", masked(
        *LENGTHS, "%m = tfm.window_mask %S by %T of 2 causal : {m}")),
    ("a causal mask and a window, padded", "causal window 2", [
        *CAUSAL, "%w = tfm.window_mask %S by %T of 2 : {m}",
        "%c = tfm.mask_and %pad, %m : ({pad}, {m}) -> {both}",
        "%d = tfm.mask_and %c, %w : ({both}, {m}) -> {both}", SCORES,
        "%z = tfm.apply_mask %0, %d : {s}, {both}", *ENDING]),
    ("padding by lengths and another mask", "mask", [
        *LENGTHS, "%own = tfm.padding_mask %n by %T : ({n}, index) -> {pad}",
        SCORES, "%1 = tfm.apply_mask %0, %own : {s}, {pad}",
        "%z = tfm.apply_mask %1, %pad : {s}, {pad}", *ENDING]),
    ("a mask in which 1 masks", "mask", [
        "%keep = tfm.mask_not %masked : {pad}", SCORES,
        "%z = tfm.apply_mask %0, %keep : {s}, {pad}", *ENDING]),
    ("dropout", "scale = 1.0", [
        SCORES, "%1 = tfm.dropout %0 at 0.1 : {s}", "%2 = tfm.softmax %1 : {s}",
        "%3 = tfm.dropout %2 at 0.5 : {s}",
        "%r = tfm.mix %3, %v : ({s}, {v}) -> {o}"]),
    ("t <= s", "causal", masked(*generated(
        "  %c = arith.cmpi sle, %t, %s : index"))),
    ("s >= t, unsigned", "causal", masked(*generated(
        "  %c = arith.cmpi uge, %s, %t : index"))),
    ("t < s + 1", "causal", masked(*generated(
        "  %one = arith.constant 1 : index",
        "  %end = arith.addi %s, %one : index",
        "  %c = arith.cmpi slt, %t, %end : index"))),
    ("t < s, which is not causal", "mask", masked(*generated(
        "  %c = arith.cmpi slt, %t, %s : index"))),
    ("key transposed", "scale = 5.0", [
        "%kr = tfm.repeat_heads %k by 2 : ({k}) -> {kr}",
        "%kt = tfm.transpose %kr : ({kr}) -> {krt}",
        "%vr = tfm.repeat_heads %v by 2 : ({v}) -> {vr}",
        "%0 = tfm.matmul %q, %kt : ({q}, {krt}) -> {s}",
        "%z = tfm.scale %0 by 0.5 : {s}", ENDING[0],
        "%r = tfm.matmul %p, %vr : ({s}, {vr}) -> {o}"]),
    ("key scaled after it is transposed", "scale = 5.0", [
        "%kt = tfm.transpose %k : ({k}) -> {kt}",
        "%ks = tfm.scale %kt by 0.5 : {kt}",
        "%ktt = tfm.transpose %ks : ({kt}) -> {k}",
        "%z = tfm.scores %q, %ktt : ({q}, {k}) -> {s}", *ENDING]),
    ("heads repeated", "tfm.attention", [
        "%kr = tfm.repeat_heads %k by 2 : ({k}) -> {kr}",
        "%vr = tfm.repeat_heads %v by 2 : ({v}) -> {vr}",
        "%z = tfm.scores %q, %kr : ({q}, {kr}) -> {s}", ENDING[0],
        "%r = tfm.mix %p, %vr : ({s}, {vr}) -> {o}"]),
]


def arguments():
    numbers = Numbers(5)
    low = float("-inf")
    values = {"q": numbers.array(B, H, S, D), "k": numbers.array(B, G, T, D),
              "v": numbers.array(B, G, T, V), "x": numbers.array(B, S, H * D),
              "b": numbers.array(1, H, S, T, scale=3.0),
              "full": numbers.array(B, H, S, T), "n": [4, 5],
              # Nothing is kept of the second sample.
              "pad": [[[[1, 0, 1, 1, 0]]], [[[0] * T]]],
              "masked": [[[[0, 0, 1, 0, 1]]], [[[1] * T]]],
              "row": [[[[0.5, low, -2.0, 0.0, low]]], [[[low] * T]]]}
    values["b"][0][1][2][3] = low
    return values


def fuse(ir):
    done = subprocess.run(["tfm-opt", "-tfm-fuse-attention"], input=ir,
                          capture_output=True, check=False, text=True)
    if done.returncode:
        sys.exit(f"{done.stderr}\nin:\n{ir}")
    return done.stdout


def main():
    values = arguments()
    types = {**TYPES, "full": TYPES["s"], "masked": TYPES["pad"]}
    head = ", ".join(f'%{name}: {types[name]} {{tfm.name = "{name}"}}'
                     for name in values)
    words = words_of(values)
    for what, expected, steps in SPELLINGS:
        ir = "\n".join([f"func.func @f({head}) -> {types['o']} {{",
                        *(step.format(**types) for step in steps),
                        f"return %r : {types['o']}", "}", ""])
        fused = fuse(ir)
        if fused.count("tfm.attention") != 1 or expected not in fused or any(
                f"tfm.{op} " in fused for op in ("scores", "softmax", "mix")):
            sys.exit(f"{what}: expects one attention with {expected}:\n{fused}")
        (_, before), = tfm_run(ir, "f", *words)
        (_, after), = tfm_run(fused, "f", *words)
        expect_close(what, after, before)
        body = ir.split("\n", 1)[1]
        if any(name in body for name in ("%pad", "%row", "%masked")) and any(
                before[len(before) // 2:]):
            sys.exit(f"{what}: a sample without keys is not zeros")


main()
