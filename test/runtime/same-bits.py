"""The logits that follow a text are the same bits however they were come by:
token by token or in any pieces, alone or in any batch, with any number of
threads. On tiny models in every type of weight, both kinds of activations, and
heads of many sizes.

Kernels have variants for fewer than 8 rows and for more, and keys come in
tiles of 64 positions: rows and positions on both sides of both are compared.
"""

# REQUIRES: avx2
# RUN: %python %s %t

import math
import os
import random
import struct
import subprocess
import sys
import unittest

from library import Model

FOLDER = sys.argv.pop()
TYPES = ["f32", "f16", "bf16", "q4_0", "q4_1", "q8_0"]
ACTIVATIONS = ["f32", "i8"]
# Query heads, key heads and their size, each with a type and activations.
TINY = (4, 2, 16)
MODELS = [(TINY, kind, activations)
          for kind in TYPES for activations in ACTIVATIONS]
MODELS += [((8, 2, 20), "q4_1", "f32"), ((4, 4, 40), "q8_0", "i8"),
           ((2, 1, 80), "f16", "f32"), ((3, 1, 96), "q4_0", "i8"),
           ((6, 2, 64), "q4_1", "i8"), ((4, 1, 8), "bf16", "i8")]
ROWS = [*range(1, 10), 15, 16, 17]
STARTS = [0, 1, 7, 8, 59, 63, 64, 65, 127]
LENGTH = 150
SEED = 11


def compiled(name, heads, kind, activations):
    name = os.path.join(FOLDER, name)
    subprocess.run([sys.executable, os.environ["MAKE_TINY_LLAMA"], "--type",
                    kind, "--heads", *map(str, heads), "--untied",
                    name + ".gguf"], check=True)
    subprocess.run(["tfmc", name + ".gguf", "--emit=so", "-o", name + ".so",
                    f"--activations={activations}"], check=True)
    return name + ".so"


def log_probability(logits, token):
    """As tfm_score takes it from a row of logits."""
    row = struct.unpack(f"{len(logits) // 4}f", logits)
    largest = max(row)
    total = 0.0
    for logit in row:
        total += math.exp(logit - largest)
    return row[token] - largest - math.log(total)


class SameBits:
    """The tests of one model; the mixin of the classes made below."""

    @classmethod
    def setUpClass(cls):
        cls.model = Model(compiled(cls.__name__, *cls.options))
        numbers = random.Random(SEED)
        vocabulary = cls.model.info.vocabulary
        cls.texts = [[numbers.randrange(vocabulary) for _ in range(LENGTH)]
                     for _ in range(9)]
        # What everything is compared with: each text alone, token by token,
        # on one thread.
        cls.expected = []
        for text in cls.texts:
            with cls.model.session(threads=1) as session:
                cls.expected.append([session.decode([token])[0]
                                     for token in text])

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def check(self, logits, text, position, *what):
        if logits != self.expected[text][position]:
            self.fail(f"other bits after token {position} of text {text}: "
                      + ", ".join(map(str, what)))

    def test_logits_depend_on_the_text(self):
        rows = {row for text in self.expected for row in text}
        self.assertGreater(len(rows), 9 * LENGTH - 9)

    def test_pieces_of_every_size(self):
        text = self.texts[0]
        for threads in 1, 2:
            with self.model.session(threads=threads) as session:
                for size in range(1, LENGTH + 1):
                    session.reset(0)
                    for start in range(0, LENGTH, size):
                        end = min(start + size, LENGTH)
                        self.check(session.prefill(0, text[start:end]), 0,
                                   end - 1, f"size {size}", f"{threads} threads")

    def test_chunks_of_one_call(self):
        for chunk in ROWS + [63, 64, 65]:
            with self.model.session(threads=2, prefill_chunk=chunk) as session:
                self.check(session.prefill(0, self.texts[1]), 1, LENGTH - 1,
                           f"chunk {chunk}")

    def test_random_pieces(self):
        numbers = random.Random(SEED)
        for threads in 1, 2, 3:
            with self.model.session(threads=threads) as session:
                for trial in range(20):
                    session.reset(0)
                    start = 0
                    while start < LENGTH:
                        end = min(start + numbers.choice(ROWS), LENGTH)
                        piece = self.texts[2][start:end]
                        logits = (session.decode(piece)[0] if len(piece) == 1
                                  else session.prefill(0, piece))
                        self.check(logits, 2, end - 1, f"trial {trial}",
                                   f"{threads} threads")
                        start = end

    def test_few_and_many_rows(self):
        for start in STARTS:
            for rows in ROWS:
                with self.model.session(threads=1) as session:
                    if start:
                        session.prefill(0, self.texts[3][:start])
                    piece = self.texts[3][start:start + rows]
                    self.check(session.prefill(0, piece), 3, start + rows - 1,
                               f"{rows} rows from {start} on")

    def test_batches(self):
        """Samples of different lengths, in random order, step by step; now and
        then one starts anew with another text."""
        numbers = random.Random(SEED)
        for batch in range(1, 10):
            for threads in 1, 2, 3:
                with self.model.session(batch=batch,
                                        threads=threads) as session:
                    self.run_batch(session, batch, numbers, threads)

    def run_batch(self, session, batch, numbers, threads):
        order = numbers.sample(range(9), batch)
        held = [0] * batch

        def start(sample):
            held[sample] = numbers.choice(STARTS)
            session.reset(sample)
            if held[sample]:
                logits = session.prefill(
                    sample, self.texts[order[sample]][:held[sample]])
                self.check(logits, order[sample], held[sample] - 1,
                           f"sample {sample} of {batch}")

        for sample in numbers.sample(range(batch), batch):
            start(sample)
        for step in range(12):
            live = numbers.randint(1, batch) if step % 4 == 3 else batch
            rows = session.decode([self.texts[order[sample]][held[sample]]
                                   for sample in range(live)])
            for sample, logits in enumerate(rows):
                self.check(logits, order[sample], held[sample],
                           f"sample {sample} of {live} in {order}",
                           f"{threads} threads")
                held[sample] += 1
            if step % 5 == 4:
                sample = numbers.randrange(batch)
                order[sample] = numbers.randrange(9)
                start(sample)

    def test_scores(self):
        text = self.texts[4]
        rows = self.expected[4]
        expected = [log_probability(row, token)
                    for row, token in zip(rows, text[1:])]
        for chunk in ROWS + [63, 64, 65, LENGTH]:
            with self.model.session(threads=2, prefill_chunk=chunk) as session:
                logprobs, _ = session.score(0, text)
                self.assertEqual(logprobs, expected, f"chunk {chunk}")

    def test_generation(self):
        """Prompts that end at different times: others move to their places,
        and the next ones start behind. Draws of a high temperature make the
        text depend on every logit."""
        options = {"temperature": 3.0, "seed": SEED}
        lengths = [1, 130, 64, 7, 100, 65, 2, 128, 110, 9, 90, 17]
        prompts = [self.texts[i % 9][:length]
                   for i, length in enumerate(lengths)]
        with self.model.session(threads=1, context=140) as session:
            alone = [session.generate([prompt], 60, **options)[0]
                     for prompt in prompts]
        self.assertGreater(len({len(ids) for ids in alone}), 4)
        for batch in range(2, 10):
            with self.model.session(batch=batch, threads=2,
                                    context=140) as session:
                self.assertEqual(session.generate(prompts, 60, **options),
                                 alone, f"batch {batch}")


def load_tests(loader, *_):
    suite = unittest.TestSuite()
    for options in MODELS:
        heads, kind, activations = options
        name = "-".join(map(str, [*heads, kind, activations]))
        case = type(name, (SameBits, unittest.TestCase), {"options": options})
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


os.makedirs(FOLDER, exist_ok=True)
unittest.main()
