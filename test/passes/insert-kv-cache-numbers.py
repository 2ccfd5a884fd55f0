"""A decoder gives the same logits with a cache, however its attention is
written and its text is cut, from a length per sample on.

Two layers share a causal mask; the first writes comparison, transposition and
repeated heads out, the second scales its query, has grouped heads and sees a
window of 3.
"""

# RUN: %python %s

import subprocess
import sys

from tfm_run import Numbers, expect_close, tfm_run

V, E, H, G, D = 11, 12, 4, 2, 3
ROPE = "half {dims = 2 : i64, theta = 1.0e4 : f64}"
TYPES = {"t": "tensor<?x?xi32>", "x": f"tensor<?x?x{E}xf32>",
         "y": f"tensor<?x?x{G * D}xf32>", "q": f"tensor<?x{H}x?x{D}xf32>",
         "k": f"tensor<?x{G}x?x{D}xf32>", "kt": f"tensor<?x{H}x{D}x?xf32>",
         "s": f"tensor<?x{H}x?x?xf32>", "m": "tensor<1x1x?x?xi1>",
         "w": f"tensor<{V}x{E}xf32>", "wk": f"tensor<{G * D}x{E}xf32>",
         "o": f"tensor<?x?x{V}xf32>"}
MODEL = """
func.func @forward(%tokens: {t} {{tfm.name = "tokens"}}) -> ({o} {{tfm.name = "logits"}}) {{
  %one = arith.constant 1 : index
  %n = tensor.dim %tokens, %one : {t}
  %m = tensor.generate %n, %n {{
  ^bb0(%b: index, %h: index, %s: index, %t: index):
    %keep = arith.cmpi sge, %s, %t : index
    tensor.yield %keep : i1
  }} : {m}
  %w = tfm.load @w : {w}
  %wk = tfm.load @wk : {wk}
  %x = tfm.embed %tokens, %w : ({t}, {w}) -> {x}
  %0 = tfm.linear %x, %wk : ({x}, {wk}) -> {y}
  %1 = tfm.split_heads %0 into 2 : ({y}) -> {k}
  %2 = tfm.rope %1 {rope} : {k}
  %3 = tfm.repeat_heads %2 by 2 : ({k}) -> {q}
  %4 = tfm.transpose %3 : ({q}) -> {kt}
  %5 = tfm.split_heads %x into 4 : ({x}) -> {q}
  %6 = tfm.rope %5 {rope} : {q}
  %7 = tfm.matmul %6, %4 : ({q}, {kt}) -> {s}
  %8 = tfm.apply_mask %7, %m : {s}, {m}
  %9 = tfm.softmax %8 : {s}
  %10 = tfm.repeat_heads %1 by 2 : ({k}) -> {q}
  %11 = tfm.matmul %9, %10 : ({s}, {q}) -> {q}
  %12 = tfm.merge_heads %11 : ({q}) -> {x}
  %13 = tfm.add %x, %12 : {x}
  %14 = tfm.scale %13 by 0.7 : {x}
  %15 = tfm.split_heads %14 into 4 : ({x}) -> {q}
  %16 = tfm.rope %15 {rope} : {q}
  %17 = tfm.linear %13, %wk : ({x}, {wk}) -> {y}
  %18 = tfm.split_heads %17 into 2 : ({y}) -> {k}
  %19 = tfm.scores %16, %18 : ({q}, {k}) -> {s}
  %w3 = tfm.window_mask %n by %n of 3 : {m}
  %m3 = tfm.mask_and %m, %w3 : ({m}, {m}) -> {m}
  %20 = tfm.apply_mask %19, %m3 : {s}, {m}
  %21 = tfm.softmax %20 : {s}
  %22 = tfm.mix %21, %18 : ({s}, {k}) -> {q}
  %23 = tfm.merge_heads %22 : ({q}) -> {x}
  %24 = tfm.linear %23, %w : ({x}, {w}) -> {o}
  return %24 : {o}
}}
"""
# Forgets positions, so that samples go on from different lengths.
REWIND = """
func.func @rewind(%n: tensor<?xi32> {{tfm.name = "n"}}, %c: {c} {{tfm.name = "cache"}}) -> ({c} {{tfm.name = "cache"}}) {{
  %0 = tfm.cache_truncate %c to %n : {c}, tensor<?xi32>
  return %0 : {c}
}}
"""


def rows(logits):
    (batch, length, _), numbers = logits
    return [[numbers[(b * length + s) * V:][:V] for s in range(length)]
            for b in range(batch)]


def main():
    numbers = Numbers(11)
    weights = "".join(
        f"tfm.weight @{name} : {TYPES[name]} from dense<"
        f"{numbers.array(*shape)}> : {TYPES[name]}\n"
        for name, shape in (("w", (V, E)), ("wk", (G * D, E))))
    graph = weights + MODEL.format(**TYPES, rope=ROPE)
    done = subprocess.run(
        ["tfm-opt", "-tfm-fuse-attention", "-tfm-insert-kv-cache=element=f32"],
        input=graph, capture_output=True, check=False, text=True)
    if done.returncode or "tfm.cache_attention" not in done.stdout:
        sys.exit(f"expects a cache:\n{done.stderr}{done.stdout}")
    cache = (f"!tfm.kv_cache<layers = 2, heads = {G}, key_size = {D}, "
             f"value_size = {D}, f32>")
    cached = done.stdout.rstrip()[:-1] + REWIND.format(c=cache) + "}\n"

    tokens = [[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]
    expected = rows(tfm_run(graph, "forward", f"tokens={tokens}")[0])
    all_rows, = tfm_run(cached, "score", f"tokens={tokens}")
    expect_close("score", all_rows[1], expected)

    def cut(first, last):
        return f"tokens={[t[first:last] for t in tokens]}"

    # Sample 0 goes on from 4 positions, sample 1 from 2, with two tokens each.
    others = [[5, 7], [6, 5]]
    texts = [tokens[0][:4] + others[0], tokens[1][:2] + others[1]]
    found = tfm_run(cached, "prefill", cut(0, 3), "prefill", cut(3, 4),
                    "decode", cut(4, 5), "rewind", "n=[4, 2]",
                    "score", f"tokens={others}")
    for (_, logits), end in zip(found, (3, 4, 5)):
        expect_close(f"{end} tokens", logits,
                     [sample[end - 1] for sample in expected])
    ragged = [rows(tfm_run(graph, "forward", f"tokens=[{text}]")[0])[0][-2:]
              for text in texts]
    expect_close("a length per sample", found[-1][1], ragged)


main()
