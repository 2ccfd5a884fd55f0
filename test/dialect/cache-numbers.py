"""The cache against a list of keys and values per sample: ragged lengths, one
or many positions at once, truncation, gathering, rounding to f16."""

# RUN: %python %s

import json
import math

from tfm_run import Numbers, expect_close, rounded, tfm_run

H, G, D, V = 6, 2, 8, 4
SCALE = rounded(D ** -0.5)
IR = """
!cache = !tfm.kv_cache<layers = 2, heads = 2, key_size = 8, value_size = 4,
                       ELEMENT>
func.func @step(%q: tensor<?x6x?x8xf32> {tfm.name = "q"},
                %k: tensor<?x2x?x8xf32> {tfm.name = "k"},
                %v: tensor<?x2x?x4xf32> {tfm.name = "v"},
                %cache: !cache {tfm.name = "cache"})
    -> (tensor<?x6x?x4xf32>, tensor<?x6x?x4xf32>, tensor<?xi32>, !cache) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %count = tensor.dim %q, %c2 : tensor<?x6x?x8xf32>
  %0 = tfm.cache_append %k, %v into %cache[%c1]
    : tensor<?x2x?x8xf32>, tensor<?x2x?x4xf32>, !cache
  %twice = tfm.scale %k by 2.0 : tensor<?x2x?x8xf32>
  %1 = tfm.cache_append %twice, %v into %0[%c0]
    : tensor<?x2x?x8xf32>, tensor<?x2x?x4xf32>, !cache
  %o = tfm.cache_attention %q over %1[%c1] {scale = SCALE : f32}
    : (tensor<?x6x?x8xf32>, !cache, index) -> tensor<?x6x?x4xf32>
  %p = tfm.cache_attention %q over %1[%c0] window 3 {scale = SCALE : f32}
    : (tensor<?x6x?x8xf32>, !cache, index) -> tensor<?x6x?x4xf32>
  %2 = tfm.cache_advance %1 by %count : !cache
  %lengths = tfm.cache_lengths %2 : (!cache) -> tensor<?xi32>
  return %o, %p, %lengths, %2
    : tensor<?x6x?x4xf32>, tensor<?x6x?x4xf32>, tensor<?xi32>, !cache
}
func.func @cut(%lengths: tensor<?xi32> {tfm.name = "lengths"},
               %cache: !cache {tfm.name = "cache"}) -> !cache {
  %0 = tfm.cache_truncate %cache to %lengths : !cache, tensor<?xi32>
  return %0 : !cache
}
func.func @choose(%samples: tensor<?xi32> {tfm.name = "samples"},
                  %cache: !cache {tfm.name = "cache"}) -> !cache {
  %0 = tfm.cache_gather %cache from %samples : !cache, tensor<?xi32>
  return %0 : !cache
}
""".replace("SCALE", f"{SCALE:.9e}")


class Model:
    """The samples' keys and values, as lists, and the calls made so far."""

    def __init__(self, element, batch):
        self.element = element
        self.samples = [[] for _ in range(batch)]
        self.words, self.expected = [], []

    def store(self, row):
        return [rounded(x, self.element) for x in row]

    def step(self, q, k, v):
        self.words += ["step"] + [f"{name}={json.dumps(array)}" for name, array
                                  in (("q", q), ("k", k), ("v", v))]
        # Of each layer, by the factor of its keys, which the second sees the
        # last 3 of.
        outputs = {1: [], 2: []}
        for b, sample in enumerate(self.samples):
            first = len(sample)
            for s in range(len(k[b][0])):
                sample.append([(k[b][g][s], self.store(v[b][g][s]))
                               for g in range(G)])
            for factor, output in outputs.items():
                for h in range(H):
                    for s, query in enumerate(q[b][h]):
                        rows = sample[:first + s + 1][-3 if factor == 2 else 0:]
                        output += self.attend(
                            query, [row[h // 3] for row in rows], factor)
        self.expected += [outputs[1], outputs[2], list(map(len, self.samples))]

    def attend(self, query, rows, factor):
        scores = [SCALE * math.fsum(x * y for x, y in zip(
            query, self.store([factor * x for x in key]))) for key, _ in rows]
        p = [math.exp(x - max(scores)) for x in scores]
        return [math.fsum(w * value[d] for w, (_, value) in zip(p, rows))
                / math.fsum(p) for d in range(V)]

    def cut(self, lengths):
        self.words += ["cut", f"lengths={lengths}"]
        self.samples = [s[:n] for s, n in zip(self.samples, lengths)]

    def choose(self, samples):
        self.words += ["choose", f"samples={samples}"]
        self.samples = [list(self.samples[i]) for i in samples]

    def check(self, context):
        found = tfm_run(IR.replace("ELEMENT", self.element), *self.words,
                        options=[f"-context={context}"])
        for i, (array, expected) in enumerate(zip(found, self.expected,
                                                  strict=True)):
            expect_close(f"cache {self.element}, output {i}", array[1],
                         expected)
        return found


def rows_of(array, first, end):
    return [[rows[first:end] for rows in heads] for heads in array]


def check_ragged(element):
    numbers, model = Numbers(3), Model(element, 2)

    def step(batch, count):
        model.step(numbers.array(batch, H, count, D),
                   numbers.array(batch, G, count, D),
                   numbers.array(batch, G, count, V))

    step(2, 5)
    model.cut([9, 2])  # 5 and 2: a limit above the length changes nothing
    step(2, 3)
    step(2, 1)
    model.cut([0, 6])
    model.choose([1, 1, 0])
    step(3, 2)
    model.check(context=9)


def check_chunks():
    """The same rows, however the prompt is cut, to the bit."""
    numbers = Numbers(5)
    arrays = [numbers.array(2, heads, 7, size)
              for heads, size in ((H, D), (G, D), (G, V))]
    outputs = []
    for cuts in ([7], [1] * 7, [3, 4], [6, 1]):
        model, first, rows = Model("f16", 2), 0, []
        for count in cuts:
            model.step(*(rows_of(array, first, first + count)
                         for array in arrays))
            first += count
        found = model.check(context=7)
        for b in range(2):
            for h in range(H):
                for (shape, output), _, _ in zip(*[iter(found)] * 3):
                    size = shape[2] * V
                    at = (b * H + h) * size
                    rows += output[at:at + size]
        outputs.append(rows)
    for rows in outputs[1:]:
        expect_close("chunks", rows, outputs[0], 0)


check_ragged("f16")
check_ragged("f32")
check_chunks()
