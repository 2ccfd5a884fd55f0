"""A text's result depends on nothing but the text: not on the number of
threads, not on how the prompt is cut, not on prefill or decoding, and not on
the texts beside it in a batch. Logits are compared to the bit.

test/runtime/same-bits.py has more cases, on tiny models.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import json
import os
import random
import sys
import tempfile
import unittest

import model

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "runtime"))
from library import Model

LENGTH = 140  # more than two tiles of the cache
SEED = 5


class SameLogits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = Model(model.compiled("library.so"))
        cls.ids = model.reference("smollm2_long.json")["ids"][:LENGTH]
        with cls.model.session(threads=1) as session:
            cls.expected = [session.decode([token])[0] for token in cls.ids]

    def check(self, logits, position, *what):
        if logits != self.expected[position]:
            self.fail(f"other bits after token {position}: {what}")

    def test_pieces(self):
        for threads in 1, 2, 3:
            with self.model.session(threads=threads) as session:
                for size in 2, 7, 8, 9, 17, 64, LENGTH:
                    session.reset(0)
                    for start in range(0, LENGTH, size):
                        piece = self.ids[start:start + size]
                        self.check(session.prefill(0, piece),
                                   start + len(piece) - 1, size, threads)

    def test_batches(self):
        numbers = random.Random(SEED)
        starts = [1, 7, 8, 62, 63, 64, 65, 100, 127]
        with self.model.session(batch=9, threads=2) as session:
            for batch in range(1, 10):
                held = numbers.sample(starts, batch)
                for sample, count in enumerate(held):
                    session.reset(sample)
                    session.prefill(sample, self.ids[:count])
                for _ in range(2):
                    rows = session.decode([self.ids[count] for count in held])
                    for sample, logits in enumerate(rows):
                        self.check(logits, held[sample], sample, held)
                        held[sample] += 1


class SameText(unittest.TestCase):
    def test_batch(self):
        executable = model.compiled("default")
        prompts = list(model.reference("smollm2.json")["greedy"])
        prompts = [prompt for prompt in prompts if "\n" not in prompt] + ["A"]
        alone = [model.ask(executable, "-n", "16", prompt)
                 for prompt in prompts]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write("".join(prompt + "\n" for prompt in prompts))
            file.flush()
            done = model.run(executable, "--json", "-n", "16", "--batch",
                             file.name)
        together = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(together, alone, done.stderr)


unittest.main()
