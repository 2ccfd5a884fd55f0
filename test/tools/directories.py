"""Hugging Face directories: a tiny sentence encoder in several shapes, compiled
and compared with its formulas, and whatever can be wrong with a directory.
"""

# REQUIRES: avx2
# RUN: %python %s %t

import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import unittest

FOLDER = sys.argv.pop()
sys.path.insert(0, os.environ["TEST_DATA"])
import make_tiny_bert as bert  # noqa: E402


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


#===------------------------------------------------------------------------===#
# Devlin et al., 2019, in plain Python
#===------------------------------------------------------------------------===#


def norm(x, gain, bias, epsilon=1e-12):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((e - mean) ** 2 for e in x) / len(x)
    return [(e - mean) / math.sqrt(variance + epsilon) * g + b
            for e, g, b in zip(x, gain, bias)]


class Encoder:
    def __init__(self, heads, size, pooling):
        self.heads, self.size, self.pooling = heads, size, pooling
        self.weights = {
            name: (shape, [struct.unpack("<f", struct.pack("<f", x))[0]
                           for x in numbers])
            for name, (shape, numbers) in
            bert.weights(size, random.Random(1)).items()}

    def rows(self, name):
        (_, size), numbers = self.weights[name]
        return [numbers[i:i + size] for i in range(0, len(numbers), size)]

    def linear(self, name, x):
        bias = self.weights[name + ".bias"][1]
        return [math.fsum(a * b for a, b in zip(row, x)) + bias[n]
                for n, row in enumerate(self.rows(name + ".weight"))]

    def norm(self, name, x):
        return norm(x, self.weights[name + ".weight"][1],
                    self.weights[name + ".bias"][1])

    def attention(self, name, x):
        query, key, value = ([self.linear(f"{name}.self.{kind}", row)
                              for row in x]
                             for kind in ("query", "key", "value"))
        size = self.size // self.heads
        result = []
        for q in query:
            row = []
            for h in range(self.heads):
                part = slice(h * size, (h + 1) * size)
                p = [math.exp(math.fsum(a * b for a, b in
                                        zip(q[part], k[part]))
                              / math.sqrt(size)) for k in key]
                row += [math.fsum(w * v[part][d] for w, v in zip(p, value))
                        / math.fsum(p) for d in range(size)]
            result.append(self.linear(name + ".output.dense", row))
        return result

    def embed(self, ids):
        words, positions, types = (
            self.rows(f"embeddings.{kind}_embeddings.weight")
            for kind in ("word", "position", "token_type"))
        x = [self.norm("embeddings.LayerNorm",
                       [a + b + c for a, b, c in
                        zip(words[i], positions[s], types[0])])
             for s, i in enumerate(ids)]
        for layer in range(bert.LAYERS):
            name = f"encoder.layer.{layer}."
            mixed = self.attention(name + "attention", x)
            x = [self.norm(name + "attention.output.LayerNorm",
                           [a + b for a, b in zip(new, old)])
                 for new, old in zip(mixed, x)]
            for s, row in enumerate(x):
                hidden = [e / 2 * math.erfc(-e / math.sqrt(2)) for e in
                          self.linear(name + "intermediate.dense", row)]
                new = self.linear(name + "output.dense", hidden)
                x[s] = self.norm(name + "output.LayerNorm",
                                 [a + b for a, b in zip(new, row)])
        row = x[0] if self.pooling == "first" else [
            math.fsum(r[e] for r in x) / len(x) for e in range(self.size)]
        length = math.sqrt(math.fsum(e * e for e in row))
        return [e / length for e in row]


class Directories(unittest.TestCase):
    def test_embeddings(self):
        for heads, size, pooling in [(2, 16, "mean"), (3, 60, "first"),
                                     (1, 40, "mean"), (5, 100, "mean")]:
            with self.subTest(heads=heads, size=size, pooling=pooling):
                path = os.path.join(FOLDER, f"bert-{heads}-{size}")
                bert.write(path, heads, size, pooling)
                done = run("tfmc", path, "-o", path + ".out")
                self.assertEqual(done.returncode, 0, done.stderr)
                encoder = Encoder(heads, size, pooling)
                for text, ids in {
                        "": [2, 3], "The cat.": [2, 5, 6, 14, 3],
                        "dogs chases [MASK] cating!":
                            [2, 7, 9, 8, 4, 6, 10, 16, 3],
                        "a b c " * 6: [2, *[11, 12, 13] * 6, 3]}.items():
                    done = run(path + ".out", "--embed", "--json", text)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    answer = json.loads(done.stdout)
                    self.assertEqual(answer["ids"], ids)
                    for found, expected in zip(answer["embedding"],
                                               encoder.embed(ids),
                                               strict=True):
                        self.assertAlmostEqual(found, expected, delta=3e-6)

    def refuse(self, message, change):
        """Changes a directory, and expects the message and no output."""
        path = os.path.join(FOLDER, "refused")
        shutil.rmtree(path, ignore_errors=True)
        bert.write(path)
        change(path)
        output = path + ".out"
        done = run("tfmc", path, "-o", output)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(output))

    def with_json(self, name, **values):
        """Sets keys of a JSON file; `...` removes one."""
        def change(path):
            file_path = os.path.join(path, name)
            with open(file_path, encoding="utf-8") as file:
                content = json.load(file)
            for key, value in values.items():
                if value is ...:
                    del content[key]
                else:
                    content[key] = value
            with open(file_path, "w", encoding="utf-8") as file:
                json.dump(content, file)
        return change

    def without(self, name):
        return lambda path: os.remove(os.path.join(path, name))

    def with_tensors(self, change):
        def rewrite(path):
            tensors = bert.weights(16, random.Random(1))
            change(tensors)
            with open(os.path.join(path, "model.safetensors"), "wb") as file:
                file.write(bert.safetensors(tensors))
        return rewrite

    def test_parts_may_not_be_missing(self):
        self.refuse("but got a directory without config.json",
                    self.without("config.json"))
        self.refuse("model.safetensors: cannot be read",
                    self.without("model.safetensors"))
        self.refuse("1_Pooling/config.json: cannot be read",
                    self.without("1_Pooling/config.json"))

    def test_configs(self):
        config = self.with_json
        for message, values in {
                'model_type: expects "bert", but got "t5"':
                    {"model_type": "t5"},
                "hidden_size: expects a whole number, but got no such key":
                    {"hidden_size": ...},
                "num_hidden_layers: expects a size from 1 to 2147483647, but "
                "got 0": {"num_hidden_layers": 0},
                "num_attention_heads: expects a divisor of hidden_size 16, but "
                "got 3": {"num_attention_heads": 3},
                'position_embedding_type: expects "absolute"':
                    {"position_embedding_type": "relative_key"},
                "is_decoder: expects false": {"is_decoder": True},
                'hidden_act: expects gelu, gelu_new, relu or silu, but got '
                '"mish"': {"hidden_act": "mish"},
                "layer_norm_eps: expects a finite f32":
                    {"layer_norm_eps": -1},
        }.items():
            with self.subTest(values=values):
                self.refuse("config.json: " + message,
                            config("config.json", **values))
        self.refuse("pooling_mode_max_tokens: expects false",
                    config("1_Pooling/config.json",
                           pooling_mode_max_tokens=True))
        self.refuse("expects either this or pooling_mode_cls_token",
                    config("1_Pooling/config.json",
                           pooling_mode_cls_token=True))
        self.refuse("sentence_bert_config.json: max_seq_length",
                    config("sentence_bert_config.json", max_seq_length=-5))

    def test_modules(self):
        def modules(change):
            def rewrite(path):
                file_path = os.path.join(path, "modules.json")
                with open(file_path, encoding="utf-8") as file:
                    content = json.load(file)
                change(content)
                with open(file_path, "w", encoding="utf-8") as file:
                    json.dump(content, file)
            return rewrite
        self.refuse("modules.json: expects a Transformer",
                    modules(lambda m: m[2].update(type="x.Dense")))
        self.refuse("modules.json: expects a Pooling module, but got none",
                    modules(lambda m: m.__delitem__(slice(1, None))))
        self.refuse("modules.json: expects a Transformer",
                    modules(lambda m: m[1].update(path="../1_Pooling")))
        self.refuse("modules.json: expects modules with a type and a path",
                    modules(lambda m: m.append(7)))

    def test_keys_that_nobody_knows_are_told(self):
        path = os.path.join(FOLDER, "told")
        bert.write(path)
        self.with_json("config.json", something_new=[1])(path)
        done = run("tfmc", path, "-o", path + ".out", "--remarks")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("unused keys: config.json: something_new", done.stderr)
        done = run("tfmc", path, "-o", path + ".strict", "--strict")
        self.assertEqual(done.returncode, 1)
        self.assertIn("something_new", done.stderr)
        self.assertFalse(os.path.exists(path + ".strict"))

    def test_tensors(self):
        name = "encoder.layer.1.output.dense.weight"
        self.refuse(f'model.safetensors: tensor "{name}": expects a tensor of '
                    "shape 16x32, but got no such tensor",
                    self.with_tensors(lambda t: t.pop(name)))
        self.refuse(f'tensor "{name}": expects shape 16x32, but got 32x16',
                    self.with_tensors(lambda t: t.update(
                        {name: ([32, 16], t[name][1])})))
        self.refuse('tensor "encoder.layer.7.extra": expects no such tensor',
                    self.with_tensors(lambda t: t.update(
                        {"encoder.layer.7.extra": ([1], [0.0])})))


unittest.main()
