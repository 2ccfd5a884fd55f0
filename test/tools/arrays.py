"""The network of docs/how-to/write-a-network.md: .mlir with weights named in a
safetensors file, compiled, and run on arrays in .npy files. Expected is what its
formulas give.
"""

# REQUIRES: avx2
# RUN: %python %s %t

import json
import math
import os
import random
import struct
import subprocess
import sys
import unittest

FOLDER = sys.argv.pop()
PAGE = os.path.join(os.path.dirname(os.environ["TEST_DATA"]), "..", "docs",
                    "how-to", "write-a-network.md")


def path(name):
    return os.path.join(FOLDER, name)


def write(name, content):
    with open(path(name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def npy(shape, numbers, descr="<f4", order="False"):
    """As numpy.save writes it."""
    dims = "".join(f"{dim}, " for dim in shape)
    header = (f"{{'descr': '{descr}', 'fortran_order': {order}, "
              f"'shape': ({dims}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = {"<f4": "f", "<i4": "i", "<f8": "d"}[descr]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
            + header.encode() + struct.pack(f"<{len(numbers)}{code}", *numbers))


def read_npy(name):
    with open(path(name), "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    length, = struct.unpack_from("<H", content, 8)
    assert (10 + length) % 64 == 0
    header = eval(content[10:10 + length])  # as NumPy itself used to
    assert header["descr"] == "<f4" and not header["fortran_order"]
    elements = content[10 + length:]
    return header["shape"], struct.unpack(f"<{len(elements) // 4}f", elements)


def safetensors(tensors):
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def rounded(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(FOLDER, exist_ok=True)
        numbers = random.Random(3)
        cls.weight = [rounded(numbers.uniform(-1, 1)) for _ in range(64)]
        cls.bias = [rounded(numbers.uniform(-1, 1)) for _ in range(8)]
        cls.x, cls.y = ([rounded(numbers.uniform(-1, 1)) for _ in range(48)]
                        for _ in range(2))
        with open(PAGE, encoding="utf-8") as page:
            net = page.read().split("```mlir\n")[1].split("```")[0]
        write("net.mlir", net)
        write("w.safetensors",
              safetensors({"net.proj.weight": ([8, 8], cls.weight),
                           "net.proj.bias": ([8], cls.bias)}))
        write("x.npy", npy((2, 3, 8), cls.x))
        write("y.npy", npy((2, 3, 8), cls.y))
        done = run("tfmc", path("net.mlir"), "--weights", path("w.safetensors"),
                   "-o", path("net"))
        assert done.returncode == 0, done.stderr

    def expect_failure(self, message, *words, code=1):
        done = run(*words)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.returncode, code)

    def test_numbers(self):
        done = run(path("net"), "--input", "y=" + path("y.npy"), "--input",
                   "x=" + path("x.npy"), "--output", "z=" + path("z.npy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shape, found = read_npy("z.npy")
        self.assertEqual(shape, (2, 3, 8))
        for b in range(2):
            for s in range(3):
                row = self.x[(3 * b + s) * 8:][:8]
                query = [math.fsum(w * e for w, e in
                                   zip(self.weight[8 * n:8 * n + 8], row))
                         + self.bias[n] for n in range(8)]
                for h in range(2):
                    keys = [self.y[(3 * b + t) * 8 + 4 * h:][:4]
                            for t in range(3)]
                    weights = [math.exp(0.5 * math.fsum(
                        q * k for q, k in zip(query[4 * h:4 * h + 4], key)))
                        for key in keys]
                    for d in range(4):
                        expected = math.fsum(
                            w * key[d] for w, key in zip(weights, keys)
                        ) / math.fsum(weights)
                        self.assertAlmostEqual(
                            found[(3 * b + s) * 8 + 4 * h + d], expected,
                            delta=1e-6)

    def test_known_batches(self):
        """A batch that the types say, beside a length that they don't."""
        write("two.mlir", """
!x = tensor<2x?x8xf32>
!h = tensor<2x?x64xf32>
tfm.weight @w : tensor<64x8xf32> from dense<0.5> : tensor<64x8xf32>
tfm.weight @v : tensor<8x64xf32> from dense<0.25> : tensor<8x64xf32>
func.func @f(%x: !x {tfm.name = "x"}) -> (!x {tfm.name = "y"}) {
  %w = tfm.load @w : tensor<64x8xf32>
  %v = tfm.load @v : tensor<8x64xf32>
  %0 = tfm.linear %x, %w : (!x, tensor<64x8xf32>) -> !h
  %1 = tfm.activation relu %0 : !h
  %2 = tfm.linear %1, %v : (!h, tensor<8x64xf32>) -> !x
  return %2 : !x
}
""")
        done = run("tfmc", path("two.mlir"), "-o", path("two"))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [i % 7 for i in range(2 * 3000)]
        write("rows.npy", npy((2, 3000, 8), [x for x in rows
                                             for _ in range(8)]))
        done = run(path("two"), "--input", "x=" + path("rows.npy"), "--output",
                   "y=" + path("y2.npy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shape, found = read_npy("y2.npy")
        self.assertEqual(shape, (2, 3000, 8))
        # 8 halves of a row's number, 64 quarters of those.
        self.assertEqual(list(found), [64.0 * x for x in rows
                                       for _ in range(8)])
        write("narrow.npy", npy((2, 3, 4), [0.0] * 24))
        self.expect_failure("input 'x': expects shape 2x3x8, but got 2x3x4",
                            path("two"), "--input", "x=" + path("narrow.npy"))

    def test_inputs_are_checked(self):
        net, x = path("net"), "x=" + path("x.npy")
        self.expect_failure("expects an input 'y', but got none", net,
                            "--input", x)
        write("short.npy", npy((2, 2, 8), self.x[:32]))
        self.expect_failure("input 'y': expects shape 2x3x8, but got 2x2x8",
                            net, "--input", x, "--input",
                            "y=" + path("short.npy"))
        write("flat.npy", npy((6, 8), self.x))
        self.expect_failure("input 'y': expects shape ?x?x8, but got 6x8", net,
                            "--input", x, "--input", "y=" + path("flat.npy"))
        write("ints.npy", npy((2, 3, 8), [1] * 48, "<i4"))
        self.expect_failure("input 'y': expects f32, but got i32", net,
                            "--input", x, "--input", "y=" + path("ints.npy"))
        write("doubles.npy", npy((2, 3, 8), self.x, "<f8"))
        self.expect_failure("doubles.npy: expects elements <f4, <f2, <i4 or "
                            "|i1, but got <f8", net, "--input", x, "--input",
                            "y=" + path("doubles.npy"))
        y = "y=" + path("y.npy")
        self.expect_failure("has no output 'q'", net, "--input", x, "--input",
                            y, "--output", "q=" + path("q.npy"))
        self.expect_failure("expects NAME=FILE, but got 'x'", net, "--input",
                            "x", code=2)
        self.expect_failure("missing.npy: No such file", net, "--input",
                            "x=" + path("missing.npy"))
        self.expect_failure("expects 2 inputs, but got 3", net, "--input", x,
                            "--input", y, "--input", "w=" + path("y.npy"))

    def test_files_are_checked(self):
        good = npy((2, 3, 8), self.x)
        for content, message in {
                b"": "starts with",
                good[:6]: "expects version",
                good[:9]: "ends in the header",
                good[:40]: "ends in the header",
                good[:-1]: "as many bytes of elements",
                good + b"1": "as many bytes of elements",
                good.replace(b"<f4", b">f4"): "but got >f4",
                good.replace(b"False", b"True "): "Fortran order",
                good.replace(b"(2, 3, 8, )", b"(2, -3, 8,)"): "a shape",
                good.replace(b"'shape'", b"'shapo'"): "a header",
                good.replace(b"\x01\x00", b"\x09\x00", 1): "but got 9",
                npy([1 << 62] * 3, self.x): "as many bytes of elements",
                npy([1] * 9, [1.0]): "at most 8 dimensions",
        }.items():
            with self.subTest(message=message, content=content[:120]):
                write("bad.npy", content)
                self.expect_failure(message, path("net"), "--input",
                                    "x=" + path("bad.npy"), "--input",
                                    "y=" + path("y.npy"))

    def test_weights_are_checked(self):
        def compile_with(tensors, message):
            write("bad.safetensors", safetensors(tensors))
            self.expect_failure(message, "tfmc", path("net.mlir"), "--weights",
                                path("bad.safetensors"), "-o", path("bad"))
            self.assertFalse(os.path.exists(path("bad")))
        bias = ([8], self.bias)
        compile_with({"net.proj.bias": bias},
                     'expects a tensor "net.proj.weight"')
        compile_with({"net.proj.bias": bias,
                      "net.proj.weight": ([4, 16], self.weight)},
                     "expects shape 8x8 of tensor \"net.proj.weight\", but got "
                     "4x16")
        self.expect_failure('expects the file that has tensor "net.proj.',
                            "tfmc", path("net.mlir"), "-o", path("bad"))


unittest.main()
