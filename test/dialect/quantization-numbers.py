"""Blocks as stored, as packed and in integer products, against the GGUF
specification and the tables of `tfm.block`, `tfm.unpack` and
`tfm.quantized_linear`."""

# RUN: %python %s

import struct
import tempfile

from tfm_run import Numbers, expect_close, rounded, run_steps, tensor

numbers = Numbers(11)
FORMATS = ("q4_0", "q4_1", "q8_0")


def f32(x):
    return rounded(x)


class Matrix:
    """A random matrix of one format: scales d, minima m and integers q of each
    row's blocks."""

    def __init__(self, format, rows, size):
        self.format, self.rows, self.size = format, rows, size
        self.blocks = size // 32
        pick = numbers.random.randrange
        low, high = (-127, 128) if format == "q8_0" else (0, 16)
        self.d = [[rounded(numbers.array(), "f16") for _ in range(self.blocks)]
                  for _ in range(rows)]
        self.m = [[rounded(numbers.array(), "f16") if format == "q4_1" else 0.0
                   for _ in range(self.blocks)] for _ in range(rows)]
        self.q = [[pick(low, high) for _ in range(size)] for _ in range(rows)]

    def type(self):
        return tensor(self.rows, self.size, of=f"!tfm.block<{self.format}>")

    def stored(self):
        data = b""
        for n in range(self.rows):
            for b in range(self.blocks):
                q = self.q[n][32 * b:32 * b + 32]
                data += struct.pack("<e", self.d[n][b])
                if self.format == "q4_1":
                    data += struct.pack("<e", self.m[n][b])
                if self.format == "q8_0":
                    data += struct.pack("<32b", *q)
                else:
                    data += bytes(q[i] | q[i + 16] << 4 for i in range(16))
        return data

    def element(self, n, k):
        d, m, q = self.d[n][k // 32], self.m[n][k // 32], self.q[n][k]
        return d * (q - 8) if self.format == "q4_0" else d * q + m

    def parts(self):
        """Name, type and numbers of what `tfm.unpack` says it is packed to."""
        tiles, nibbles = -(-self.rows // 32), self.format != "q8_0"
        vectors = 4 if nibbles else 8
        quants = [0] * (tiles * self.blocks * 4 * vectors * 32)
        scales = [0.0] * (tiles * self.blocks * 32)
        mins = list(scales)
        for n in range(self.rows):
            tile, group, r = n // 32, n // 8 % 4, n % 8
            for k in range(self.size):
                b, i = k // 32, k % 32
                at = (tile * self.blocks + b) * 4 + group
                scales[8 * at + r] = self.d[n][b]
                mins[8 * at + r] = self.m[n][b]
                vector = i % 16 // 4 if nibbles else i // 4
                byte = (at * vectors + vector) * 32 + 4 * r + i % 4
                quants[byte] += self.q[n][k] * (
                    16 if nibbles and i >= 16 else 1)
        if nibbles:
            quants = [q - 256 if q > 127 else q for q in quants]
        shape = (tiles, self.blocks, 4)
        result = [("quants", tensor(*shape, vectors, 32, of="i8"), quants),
                  ("scales", tensor(*shape, 8, of="f16"), scales)]
        if self.format == "q4_1":
            result.append(("mins", tensor(*shape, 8, of="f16"), mins))
        return result


def run_with_weights(matrix, types, steps, results, arrays, packed=()):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"padding" + matrix.stored())
        file.flush()
        symbols = (f'tfm.weight @w : {matrix.type()} from '
                   f'#tfm.file<"{file.name}", 7>\n')
        for name, type, _ in packed:
            symbols += (f"tfm.weight @w.{name} : {type} from "
                        f"#tfm.packed<@w, {name}>\n")
        return run_steps(types, steps, results, arrays, symbols)


def check_storage(format, rows, size):
    """Loaded as it is, and out of its packed parts."""
    matrix = Matrix(format, rows, size)
    identity = [[float(i == k) for k in range(size)] for i in range(size)]
    expected = [matrix.element(n, k) for k in range(size) for n in range(rows)]
    linear = (f"tfm.linear %0, %w : ({tensor(size, size)}, {matrix.type()}) -> "
              f"{tensor(size, rows)}")
    result = [("%r", tensor(size, rows))]
    found = run_with_weights(
        matrix, [tensor(size, size)],
        [f"%w = tfm.load @w : {matrix.type()}", f"%r = {linear}"], result,
        [identity])[0][1]
    expect_close(f"stored {format}", found, expected, 1e-7)

    parts = matrix.parts()
    loads = [f"%{name} = tfm.load @w.{name} : {type}"
             for name, type, _ in parts]
    names = ", ".join(f"%{name}" for name, _, _ in parts)
    types = ", ".join(type for _, type, _ in parts)
    found = run_with_weights(
        matrix, [tensor(size, size)],
        loads + [f"%w = tfm.unpack {names} : ({types}) -> {matrix.type()}",
                 f"%r = {linear}"], result, [identity], parts)[0][1]
    expect_close(f"unpacked {format}", found, expected, 1e-7)

    for name, type, content in parts:
        found = run_with_weights(
            matrix, [], [f"%r = tfm.load @w.{name} : {type}"], [("%r", type)],
            [], parts)[0][1]
        expect_close(f"{name} of {format}", found, content, 0)


def quantize(block):
    largest = max(map(abs, block))
    if largest == 0:
        return 0.0, [0] * 32, 0.0
    inverse = f32(127 / largest)
    quants = [round(f32(x * inverse)) for x in block]  # ties to even
    scale = f32(largest / 127)
    return scale, quants, f32(scale * sum(quants))


def check_quantized(format, rows, size, outputs):
    """Bit for bit: f32 after each operation, blocks in ascending order."""
    matrix = Matrix(format, outputs, size)
    x = numbers.array(rows, size)
    x[0][:32] = [0.0] * 32
    if size > 32:  # 127 / 254 makes ties
        x[0][32:64] = [254.0] + [float(i) for i in range(31)]
    types = [tensor(rows, size, of="i8"), tensor(rows, size // 32),
             tensor(rows, size // 32)]
    found = run_with_weights(
        matrix, [tensor(rows, size)],
        [f"%w = tfm.load @w : {matrix.type()}",
         f"%q, %d, %s = tfm.quantize %0 : ({tensor(rows, size)}) -> "
         f"({', '.join(types)})",
         f"%r = tfm.quantized_linear %q, %d, %s, %w : ({', '.join(types)}, "
         f"{matrix.type()}) -> {tensor(rows, outputs)}"],
        list(zip(("%q", "%d", "%s", "%r"), types + [tensor(rows, outputs)])),
        [x])
    blocks = [[quantize(row[i:i + 32]) for i in range(0, size, 32)]
              for row in x]
    what = f"{format} {rows}x{size}"
    for i, field in enumerate((1, 0, 2)):
        expect_close(f"quantize {what} {field}", found[i][1],
                     [block[field] for row in blocks for block in row], 0)

    def element(row, n):
        total = 0.0
        for j, (scale, quants, total_of_block) in enumerate(row):
            d, m = matrix.d[n][j], matrix.m[n][j]
            product = sum(w * q for w, q in zip(
                matrix.q[n][32 * j:32 * j + 32], quants))
            total = f32(total + f32(f32(d * scale) * product))
            constant = -8 * d if format == "q4_0" else m
            total = f32(total + f32(constant * total_of_block))
        return total

    expect_close(f"quantized_linear {what}", found[3][1],
                 [[element(row, n) for n in range(outputs)] for row in blocks],
                 0)


for format in FORMATS:
    check_storage(format, 32, 32)
    check_storage(format, 41, 64)  # rows that fill no tile
    check_quantized(format, 1, 32, 3)
    check_quantized(format, 3, 96, 5)
