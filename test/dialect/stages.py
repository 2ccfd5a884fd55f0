"""A small decoder keeps its meaning from stage to stage of the pipeline.

Two layers, grouped heads, weights in all formats. The graph's @forward against
@score, @prefill and @decode of the later stages, with a batch, and with the
prompt in pieces.
"""

# RUN: %python %s

import struct
import subprocess
import sys
import tempfile

from tfm_run import Numbers, expect_close, rounded, tensor, tfm_run

E, H, G, D, F, V, LAYERS = 64, 4, 2, 16, 96, 40, 2
SIZES = {"q4_0": "<e16B", "q4_1": "<ee16B", "q8_0": "<e32b"}


class Weights:
    """Random weights, appended to a file."""

    def __init__(self, file):
        self.file, self.offset, self.symbols = file, 0, []
        self.numbers = Numbers(17)

    def add(self, name, shape, format):
        count, pick = shape[0] * (shape[1:] or [1])[0], self.numbers.random
        if format == "f32":
            data = struct.pack(f"<{count}f", *(pick.uniform(0.5, 1.5)
                                               for _ in range(count)))
        elif format in ("f16", "bf16"):
            data = b"".join(
                struct.pack("<e", x) if format == "f16"
                else struct.pack("<f", x)[2:]
                for x in (pick.uniform(-0.3, 0.3) for _ in range(count)))
        else:
            scale, data = (0.002 if format == "q8_0" else 0.03), b""
            for _ in range(count // 32):
                head = [rounded(scale * pick.uniform(0.5, 1.5), "f16")]
                if format == "q4_1":
                    head.append(-8 * head[0])
                low, end, size = (-127, 128, 32) if format == "q8_0" else (
                    0, 256, 16)
                data += struct.pack(SIZES[format], *head,
                                    *(pick.randrange(low, end)
                                      for _ in range(size)))
        of = f"!tfm.block<{format}>" if format in SIZES else format
        type = tensor(*shape, of=of)
        self.symbols.append(f'tfm.weight @{name} : {type} from '
                            f'#tfm.file<"{self.file.name}", {self.offset}>')
        self.file.write(data)
        self.offset += len(data)
        return type


def graph(weights):
    """The decoder in the textbook form."""
    lines, serial = [], iter(range(10 ** 6))

    def op(text, type):
        name = f"%{next(serial)}"
        lines.append(f"  {name} = {text} : {type}")
        return name

    def linear(x, inputs, outputs, format, of="tensor<?x?x{}xf32>"):
        name = f"w{len(weights.symbols)}"
        type = weights.add(name, [outputs, inputs], format)
        w = op(f"tfm.load @{name}", type)
        return op(f"tfm.linear {x}, {w}", f"({of.format(inputs)}, {type}) -> "
                  f"{of.format(outputs)}")

    def norm(x):
        name = f"w{len(weights.symbols)}"
        type = weights.add(name, [E], "f32")
        gain = op(f"tfm.load @{name}", type)
        return op(f"tfm.rms_norm {x}, {gain} {{epsilon = 1.0e-5 : f32}}",
                  f"tensor<?x?x{E}xf32>, {type}")

    def split(x, heads, rotate):
        type = f"tensor<?x{heads}x?x{D}xf32>"
        x = op(f"tfm.split_heads {x} into {heads}",
               f"(tensor<?x?x{heads * D}xf32>) -> {type}")
        return op(f"tfm.rope {x} interleaved {{dims = {D} : i64, theta = 1.0e4 "
                  ": f64}", type) if rotate else x

    hidden, inner = f"tensor<?x?x{E}xf32>", f"tensor<?x?x{F}xf32>"
    q_type, kv_type = f"tensor<?x{H}x?x{D}xf32>", f"tensor<?x{G}x?x{D}xf32>"
    scores, mask_type = f"tensor<?x{H}x?x?xf32>", "tensor<1x1x?x?xi1>"
    one = op("arith.constant 1", "index")
    length = op(f"tensor.dim %tokens, {one}", "tensor<?x?xi32>")
    mask = op(f"tfm.causal_mask {length} by {length}", mask_type)
    table_type = weights.add("table", [V, E], "q8_0")
    table = op("tfm.load @table", table_type)
    x = op(f"tfm.embed %tokens, {table}",
           f"(tensor<?x?xi32>, {table_type}) -> {hidden}")
    for layer in range(LAYERS):
        formats = [("q4_1", "q4_0", "q8_0"), ("f16", "q4_1", "bf16")][layer % 2]
        y = norm(x)
        q = split(linear(y, E, H * D, formats[0]), H, True)
        k = split(linear(y, E, G * D, formats[1]), G, True)
        v = split(linear(y, E, G * D, formats[2]), G, False)
        s = op(f"tfm.scores {q}, {k}", f"({q_type}, {kv_type}) -> {scores}")
        s = op(f"tfm.scale {s} by 0.25", scores)
        s = op(f"tfm.apply_mask {s}, {mask}", f"{scores}, {mask_type}")
        p = op(f"tfm.softmax {s}", scores)
        o = op(f"tfm.mix {p}, {v}", f"({scores}, {kv_type}) -> {q_type}")
        o = op(f"tfm.merge_heads {o}", f"({q_type}) -> {hidden}")
        x = op(f"tfm.add {x}, {linear(o, E, E, formats[0])}", hidden)
        y = norm(x)
        gate = op(f"tfm.activation silu {linear(y, E, F, formats[0])}", inner)
        y = op(f"tfm.mul {gate}, {linear(y, E, F, formats[1])}", inner)
        x = op(f"tfm.add {x}, {linear(y, F, E, formats[2])}", hidden)
    y = norm(x)
    logits_type = f"tensor<?x?x{V}xf32>"
    logits = op(f"tfm.linear {y}, {table}",
                f"({hidden}, {table_type}) -> {logits_type}")
    head = ('func.func @forward(%tokens: tensor<?x?xi32> {tfm.name = "tokens"})'
            f' -> ({logits_type} {{tfm.name = "logits"}}) {{')
    return "\n".join([*weights.symbols, head, *lines,
                      f"  return {logits} : {logits_type}", "}", ""])


def optimize(ir, pipeline):
    done = subprocess.run(["tfm-opt", pipeline], input=ir, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{pipeline}: {done.stderr[:2000]}")
    return done.stdout


def rows_of(logits):
    """The array [B, S, V] as lists."""
    (batch, length, _), flat = logits
    return [[flat[(b * length + s) * V:][:V] for s in range(length)]
            for b in range(batch)]


def check(ir, tokens, expected, what, tolerance):
    """`expected` is [B, S, V]."""
    (score,) = tfm_run(ir, "score", f"tokens={tokens}")
    expect_close(f"{what}: score", score[1], expected, tolerance)

    pieces = [tokens_of[:2] for tokens_of in tokens]
    words = ["prefill", f"tokens={pieces}", "prefill",
             f"tokens={[t[2:5] for t in tokens]}"]
    ends = [2, 5]
    for s in range(5, len(tokens[0])):
        words += ["decode", f"tokens={[[t[s]] for t in tokens]}"]
        ends.append(s + 1)
    for end, logits in zip(ends, tfm_run(ir, *words), strict=True):
        expect_close(f"{what}: {end} tokens", logits[1],
                     [rows[end - 1] for rows in expected], tolerance)


def main():
    tokens = [[3, 14, 15, 9, 26, 5, 35], [8, 39, 7, 9, 32, 38, 4]]
    with tempfile.NamedTemporaryFile() as file:
        weights = Weights(file)
        ir = graph(weights)
        file.flush()
        expected = rows_of(tfm_run(ir, "forward", f"tokens={tokens}")[0])

        stage = ir
        for name, pipeline in (("fused", "-tfm-to-fused=activations=f32"),
                               ("kernels", "-tfm-to-kernels"),
                               ("planned", "-tfm-to-planned")):
            stage = optimize(stage, pipeline)
            check(stage, tokens, expected, name, 2e-5)

        # 8-bit activations and an f16 cache: near the graph, and then equal.
        stage = optimize(ir, "-tfm-to-fused")
        integer = rows_of(tfm_run(stage, "score", f"tokens={tokens}")[0])
        expect_close("8-bit activations", integer, expected, 0.05)
        for name, pipeline in (("kernels", "-tfm-to-kernels"),
                               ("planned", "-tfm-to-planned")):
            check(stage, tokens, integer, f"before {name}, 8 bits", 1e-3)
            stage = optimize(stage, pipeline)
        check(stage, tokens, integer, "planned, 8 bits", 1e-3)


main()
