"""Embedding, rope, norm, linear maps and the feed-forward network in the
interpreter against their formulas."""

# RUN: %python %s

import math
import struct
import tempfile

from tfm_run import Numbers, expect_close, rounded, run_op, run_steps, tensor

numbers = Numbers(7)


def check_embed():
    table = numbers.array(5, 3)
    tokens = [[4, 0, 2], [2, 2, 1]]
    found = run_op(f"tfm.embed %0, %1 : (tensor<?x?xi32>, {tensor(5, 3)}) -> "
                   "tensor<?x?x3xf32>", ["tensor<?x?xi32>", tensor(5, 3)],
                   "tensor<?x?x3xf32>", [tokens, table])
    expect_close("embed", found, [table[t] for row in tokens for t in row], 0)


def check_embed_positions(start, offsets):
    table = numbers.array(9, 3)
    tokens = [[0] * 4, [0] * 4]
    types = ["tensor<?x?xi32>", tensor(9, 3)] + ["tensor<2xi32>"] * bool(offsets)
    found = run_op(
        f"tfm.embed_positions %0, %1{' at %2' * bool(offsets)} "
        f"{{start = {start} : i64}} : ({', '.join(types)}) -> "
        "tensor<?x?x3xf32>", types, "tensor<?x?x3xf32>",
        [tokens, table] + [offsets] * bool(offsets))
    expected = [table[start + offset + s] for offset in offsets or [0, 0]
                for s in range(4)]
    expect_close(f"embed_positions {start} {offsets}", found, expected, 0)


def rope(x, position, style, dims, theta):
    result = list(x)
    for i in range(dims // 2):
        a, b = (2 * i, 2 * i + 1) if style == "interleaved" else (
            i, i + dims // 2)
        # As multiplication of complex numbers.
        z = complex(x[a], x[b]) * complex(
            math.cos(position / theta ** (2 * i / dims)),
            math.sin(position / theta ** (2 * i / dims)))
        result[a], result[b] = z.real, z.imag
    return result


def check_rope(style, size, dims, theta, offsets):
    x = numbers.array(2, 3, 4, size)
    type = tensor(2, 3, 4, size)
    given = " at %1" if offsets else ""
    found = run_op(
        f"tfm.rope %0{given} {style} {{dims = {dims} : i64, theta = {theta:e} "
        f": f64}} : {type}" + ", tensor<2xi32>" * bool(offsets),
        [type] + ["tensor<2xi32>"] * bool(offsets), type,
        [x] + [offsets] * bool(offsets))
    expected = [rope(row, s + (offsets[b] if offsets else 0), style, dims,
                     theta)
                for b, heads in enumerate(x) for rows in heads
                for s, row in enumerate(rows)]
    expect_close(f"rope {style} {size} {dims} {offsets}", found, expected,
                 2e-7)


def rms_norm(x, gain, epsilon):
    root = math.sqrt(math.fsum(e * e for e in x) / len(x) + epsilon)
    return [e / root * g for e, g in zip(x, gain)]


def check_norm(size, epsilon, spread):
    x = [[[1e-3 + e * spread for e in row] for row in rows]
         for rows in numbers.array(2, 3, size)]
    x = [[[rounded(e) for e in row] for row in rows] for rows in x]
    gain = numbers.array(size)
    types = [tensor(2, 3, size), tensor(size)]
    found = run_op(
        f"tfm.rms_norm %0, %1 {{epsilon = {epsilon:e} : f32}} : "
        f"{', '.join(types)}", types, types[0], [x, gain])
    expect_close(f"rms_norm {size} {epsilon}", found,
                 [rms_norm(row, gain, rounded(epsilon)) for rows in x
                  for row in rows])


def layer_norm(x, gain, bias, epsilon):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((e - mean) ** 2 for e in x) / len(x)
    root = math.sqrt(variance + epsilon)
    return [(e - mean) / root * g + b for e, g, b in zip(x, gain, bias)]


def check_layer_norm(size, epsilon, spread, has_bias=True):
    x = [[[rounded(3 + e * spread) for e in row] for row in rows]
         for rows in numbers.array(2, 3, size)]
    gain = numbers.array(size)
    bias = numbers.array(size) if has_bias else [0.0] * size
    types = [tensor(2, 3, size)] + [tensor(size)] * (1 + has_bias)
    found = run_op(
        f"tfm.layer_norm %0, %1{', %2' * has_bias} "
        f"{{epsilon = {epsilon:e} : f32}} : {', '.join(types)}", types,
        types[0], [x, gain] + [bias] * has_bias)
    expect_close(f"layer_norm {size} {epsilon}", found,
                 [layer_norm(row, gain, bias, rounded(epsilon)) for rows in x
                  for row in rows])


def check_l2_normalize(epsilon):
    x = [numbers.array(20), numbers.array(20, scale=1e-4), [0.0] * 20]
    type = tensor(3, 20)
    found = run_op(f"tfm.l2_normalize %0 {{epsilon = {epsilon:e} : f32}} : "
                   f"{type}", [type], type, [x])
    lengths = [max(math.sqrt(math.fsum(e * e for e in row)), rounded(epsilon))
               for row in x]
    expect_close(f"l2_normalize {epsilon}", found,
                 [[e / length for e in row] for row, length in zip(x, lengths)])


def check_pool():
    x = numbers.array(2, 5, 3)
    for kind, expected in {
            "mean": [[math.fsum(row[e] for row in rows) / 5 for e in range(3)]
                     for rows in x],
            "first": [rows[0] for rows in x]}.items():
        found = run_op(f"tfm.pool {kind} %0 : ({tensor(2, 5, 3)}) -> "
                       f"{tensor(2, 3)}", [tensor(2, 5, 3)], tensor(2, 3), [x])
        expect_close(f"pool {kind}", found, expected, 1e-7)


def check_add_vector():
    x, vector = numbers.array(2, 3, 5), numbers.array(5)
    types = [tensor(2, 3, 5), tensor(5)]
    found = run_op(f"tfm.add_vector %0, %1 : {', '.join(types)}", types,
                   types[0], [x, vector])
    expect_close("add_vector", found, [[e + v for e, v in zip(row, vector)]
                                       for rows in x for row in rows], 1e-7)


ACTIVATIONS = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x / 2 * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: x / (1 + math.exp(
        -2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


def linear(x, w, bias=None):
    return [[math.fsum(a * b for a, b in zip(row, weights))
             + (bias[n] if bias else 0) for n, weights in enumerate(w)]
            for row in x]


def check_activations():
    x = [-10.0, -3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0, 10.0]
    type = tensor(len(x))
    for kind, function in ACTIVATIONS.items():
        found = run_op(f"tfm.activation {kind} %0 : {type}", [type], type, [x])
        expect_close(kind, found, [function(e) for e in x], 1e-7)


def check_linear(rows, inputs, outputs, bias):
    x, w = numbers.array(rows, inputs), numbers.array(outputs, inputs)
    b = numbers.array(outputs) if bias else None
    types = [tensor(rows, inputs), tensor(outputs, inputs)]
    types += [tensor(outputs)] * bias
    result = tensor(rows, outputs)
    found = run_op(
        f"tfm.linear %0, %1{', %2' * bias} : ({', '.join(types)}) -> {result}",
        types, result, [x, w] + [b] * bias)
    expect_close(f"linear {types}", found, linear(x, w, b), 1e-6)


def check_ffn(kind, gated, biased):
    x, up, down = (numbers.array(3, 8), numbers.array(12, 8),
                   numbers.array(5, 12))
    gate = numbers.array(12, 8)
    types = [tensor(3, 8), tensor(12, 8), tensor(5, 12), tensor(12, 8)]
    types, arrays = types[:3 + gated], [x, up, down, gate][:3 + gated]
    up_bias, down_bias, gate_bias = (
        numbers.array(size) if biased else None for size in (12, 5, 12))
    if biased:
        sizes = [12, 5, 12][:2 + gated]
        types += [tensor(size) for size in sizes]
        arrays += [up_bias, down_bias, gate_bias][:2 + gated]
    biases = [f" bias %{3 + gated}", f" bias %{4 + gated}", " gate_bias %6"]
    found = run_op(
        f"tfm.ffn {kind} %0 up %1{biases[0] * biased} down %2"
        f"{biases[1] * biased}{' gate %3' * gated}"
        f"{biases[2] * (biased and gated)} : "
        f"({', '.join(types)}) -> {tensor(3, 5)}", types, tensor(3, 5), arrays)
    activate = ACTIVATIONS[kind]
    inner = linear(x, up, up_bias)
    if gated:
        inner = [[activate(g) * u for g, u in zip(gs, us)]
                 for gs, us in zip(linear(x, gate, gate_bias), inner)]
    else:
        inner = [[activate(u) for u in us] for us in inner]
    expect_close(f"ffn {kind} {gated} {biased}", found,
                 linear(inner, down, down_bias), 3e-6)


def check_drift():
    """2000 times 3 is 6000, in f32 sums of f16 weights."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(struct.pack("<2000e", *[3.0] * 2000))
        file.flush()
        ir = (f'%w = tfm.load @w : {tensor(1, 2000, of="f16")}\n'
              f'%r = tfm.linear %0, %w : ({tensor(1, 2000)}, '
              f'{tensor(1, 2000, of="f16")}) -> {tensor(1, 1)}')
        weight = (f'tfm.weight @w : {tensor(1, 2000, of="f16")} from '
                  f'#tfm.file<"{file.name}", 0>\n')
        found = run_steps([tensor(1, 2000)], [ir], [("%r", tensor(1, 1))],
                          [[[1.0] * 2000]], weight)[0][1]
    expect_close("2000 threes", found, [6000.0], 0)


check_embed()
check_embed_positions(0, None)
check_embed_positions(2, None)
check_embed_positions(1, [4, 0])
for style in ("interleaved", "half"):
    check_rope(style, 64, 64, 10000.0, None)
    check_rope(style, 20, 20, 100000.0, [7, 1023])
    check_rope(style, 96, 32, 10000.0, [0, 5])  # the rest stays
check_norm(576, 1e-5, 1.0)
check_norm(33, 1e-5, 1e-6)
check_norm(33, 1e-12, 1e-6)  # nearly constant: epsilon decides
check_layer_norm(384, 1e-12, 1.0)
check_layer_norm(20, 1e-5, 1.0, has_bias=False)
check_layer_norm(33, 1e-5, 1e-4)  # nearly constant: epsilon decides
check_layer_norm(33, 1e-12, 1e-4)
check_l2_normalize(1e-12)
check_l2_normalize(1e-3)
check_pool()
check_add_vector()
check_activations()
check_linear(4, 33, 7, bias=False)
check_linear(1, 576, 3, bias=True)
for kind in ACTIVATIONS:
    for gated in (False, True):
        check_ffn(kind, gated, biased=False)
        check_ffn(kind, gated, biased=True)
check_drift()
