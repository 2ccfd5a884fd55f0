"""Attention in the interpreter against the formula of Vaswani et al., 2017.

S != T, d_k != d_v, groups of query heads, odd head sizes and counts, masks that
leave rows without a key, large activations; fused and in steps.
"""

# RUN: %python %s

import math

from tfm_run import Numbers, expect_close, run_op, run_steps, tensor


def attention(q, k, v, scale, keep, bias):
    """softmax(scale * Q K^T + bias(h, t)) V over the keys t with keep(b, s, t)
    and a bias above -inf."""
    def row(query, keys, values, kept, added):
        scores = {t: scale * math.fsum(x * y for x, y in zip(query, keys[t]))
                  + added(t) for t in kept if added(t) != -math.inf}
        largest = max(scores.values(), default=0)
        p = {t: math.exp(x - largest) for t, x in scores.items()}
        total = math.fsum(p.values()) or 1
        return [math.fsum(p[t] * values[t][d] for t in p) / total
                for d in range(len(values[0]))]

    return [[[row(query, k[b][h * len(k[b]) // len(heads)],
                  v[b][h * len(k[b]) // len(heads)],
                  [t for t in range(len(k[b][0])) if keep(b, s, t)],
                  lambda t: bias(h, t))
              for s, query in enumerate(rows)]
             for h, rows in enumerate(heads)]
            for b, heads in enumerate(q)]


def check(batch, heads, groups, queries, keys, d_k, d_v, causal=False,
          mask=None, bias=None, size=1.0, window=None):
    numbers = Numbers(queries * 100 + keys)
    types = [tensor(batch, heads, queries, d_k),
             tensor(batch, groups, keys, d_k), tensor(batch, groups, keys, d_v)]
    q = numbers.array(batch, heads, queries, d_k, scale=size)
    k = numbers.array(batch, groups, keys, d_k, scale=size)
    v = numbers.array(batch, groups, keys, d_v)
    arrays = [q, k, v]
    mask_type = tensor(batch, 1, queries, keys, of="i1")
    if mask:
        arrays.append([[[[int(mask(b, s, t)) for t in range(keys)]
                         for s in range(queries)]] for b in range(batch)])
        types.append(mask_type)
    bias_type, bias_name = tensor(1, heads, 1, keys), f"%{len(types)}"
    if bias:
        arrays.append([[[[bias(h, t) for t in range(keys)]]
                        for h in range(heads)]])
        types.append(bias_type)
    scale = d_k ** -0.5
    expected = attention(q, k, v, scale, lambda b, s, t: (
        not causal or t <= s) and (not mask or mask(b, s, t)) and (
        not window or s - window < t < s + window),
        bias or (lambda h, t: 0.0))
    result = tensor(batch, heads, queries, d_v)
    what = f"attention of {types}"

    operands = "%0, %1, %2" + " mask %3" * bool(mask) + (
        f" bias {bias_name}" * bool(bias)) + " causal" * causal + (
        f" window {window}" * bool(window))
    fused = run_op(
        f"tfm.attention {operands} {{scale = {scale:.9e} : f32}} : "
        f"({', '.join(types)}) -> {result}", types, result, arrays)
    expect_close(what, fused, expected, 5e-6)

    scores = tensor(batch, heads, queries, keys)
    causal_type = tensor(1, 1, queries, keys, of="i1")
    steps = [f"%s = tfm.scores %0, %1 : ({types[0]}, {types[1]}) -> {scores}",
             f"%x0 = tfm.scale %s by {scale:.9e} : {scores}"]
    last = "%x0"
    if bias:
        steps.append(f"%xb = tfm.add_bias {last}, {bias_name} : {scores}, "
                     f"{bias_type}")
        last = "%xb"
    steps += [f"%S = arith.constant {queries} : index",
              f"%T = arith.constant {keys} : index"]
    if window or causal:
        made = (f"window_mask %S by %T of {window}" + " causal" * causal
                if window else "causal_mask %S by %T")
        steps += [f"%m = tfm.{made} : {causal_type}",
                  f"%x1 = tfm.apply_mask {last}, %m : {scores}, {causal_type}"]
        last = "%x1"
    if mask:
        steps.append(
            f"%x2 = tfm.apply_mask {last}, %3 : {scores}, {mask_type}")
        last = "%x2"
    steps += [f"%p = tfm.softmax {last} : {scores}",
              f"%r = tfm.mix %p, %2 : ({scores}, {types[2]}) -> {result}"]
    # Scores are rounded to f32 between the steps, the larger the coarser.
    in_steps = run_steps(types, steps, [("%r", result)], arrays)[0][1]
    expect_close(what + " in steps", in_steps, expected, 5e-6 + 1e-7 * size**2)


check(1, 1, 1, 1, 1, 64, 64)
check(2, 6, 2, 3, 5, 8, 4)                        # S != T, d_k != d_v, GQA
check(1, 6, 2, 7, 7, 20, 20, causal=True)
check(1, 3, 3, 5, 2, 40, 24, causal=True)         # rows that see every key
check(1, 4, 1, 2, 33, 96, 96)                     # MQA
check(3, 3, 1, 4, 10, 16, 16, mask=lambda b, s, t: t < 4 * b)  # b = 0: no key
check(2, 2, 2, 4, 6, 16, 8, causal=True, mask=lambda b, s, t: t >= s - 1 + b)
check(1, 2, 2, 3, 4, 80, 80, size=300.0)          # beyond f16
check(1, 2, 1, 3, 5, 8, 4, bias=lambda h, t: -0.5 * (h + 1) * t)        # ALiBi
check(2, 2, 1, 9, 9, 8, 4, causal=True, window=4)
check(1, 3, 3, 9, 6, 8, 4, window=2)              # the last row sees no key
check(1, 1, 1, 3, 4, 8, 4, window=2**63 - 1)
check(2, 2, 2, 4, 5, 8, 4, window=1, mask=lambda b, s, t: t != s + b - 1)
check(2, 4, 2, 3, 4, 6, 6, mask=lambda b, s, t: t < 2, causal=True,
      bias=lambda h, t: -math.inf if h == 3 or t == 1 else 0.25)  # h = 3: no key


def check_products(batch, groups, count, rows, keys, size):
    """Matrices as plain Python multiplies, transposes and repeats them."""
    numbers, heads = Numbers(3), groups * count
    a = numbers.array(batch, heads, rows, size)
    b = numbers.array(batch, groups, keys, size)
    expected = [[[[math.fsum(x * y for x, y in zip(row, column))
                   for column in b[i][h // count]] for row in a[i][h]]
                 for h in range(heads)] for i in range(batch)]
    b_type, result = tensor(batch, groups, keys, size), tensor(
        batch, heads, rows, keys)
    repeated, transposed = tensor(batch, heads, keys, size), tensor(
        batch, heads, size, keys)
    a_type = tensor(batch, heads, rows, size)
    (_, found), = run_steps([a_type, b_type], [
        f"%m = tfm.repeat_heads %1 by {count} : ({b_type}) -> {repeated}",
        f"%t = tfm.transpose %m : ({repeated}) -> {transposed}",
        f"%r = tfm.matmul %0, %t : ({a_type}, {transposed}) -> {result}"],
        [("%r", result)], [a, b])
    expect_close("products", found, expected)


check_products(2, 2, 3, 4, 5, 7)
check_products(1, 3, 1, 1, 1, 2)
