"""A sentence encoder from a Hugging Face directory: its token ids and embeddings
are the reference's, and a text's do not depend on the texts around it.
"""

# REQUIRES: model-minilm
# RUN: %python %s

import json
import random
import tempfile
import unittest

import model

TOLERANCE = 1e-5
LONGEST = 256  # sentence_bert_config.json


class MiniLM(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.executable = model.compiled("minilm")

    def batch(self, texts, *options):
        """The lines that `--batch` prints, without their ends."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write("".join(text + "\n" for text in texts))
            file.flush()
            done = model.run(self.executable, "--batch", file.name, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_ids(self):
        for case in model.reference("tokens.json"):
            with self.subTest(text=case["text"]):
                answer = model.ask(self.executable, "--tokenize",
                                   input=case["text"])
                self.assertEqual(answer["ids"], case["minilm"])

    def test_embeddings(self):
        for case in model.reference("minilm.json")["cases"]:
            with self.subTest(text=case["text"]):
                answer = model.ask(self.executable, "--embed",
                                   input=case["text"])
                self.assertEqual(answer["ids"], case["ids"])
                self.assertEqual(len(answer["embedding"]), 384)
                worst = max(abs(found - expected) for found, expected in
                            zip(answer["embedding"], case["embedding"]))
                self.assertLessEqual(worst, TOLERANCE)

    def test_text(self):
        """Without --json, the numbers alone."""
        text = "The cat chases the dog."
        plain = model.run(self.executable, "--embed", text)
        answer = model.ask(self.executable, "--embed", text)
        for found, expected in zip(plain.stdout.split(), answer["embedding"],
                                   strict=True):
            self.assertAlmostEqual(float(found), expected, delta=1e-7)

    def test_batches(self):
        """The same bytes for any batch, any neighbours, any order and any
        number of threads."""
        words = "the cat sat on a mat and dreams of seventeen dogs".split()
        numbers = random.Random(5)
        texts = [" ".join(numbers.choices(words, k=length))
                 for length in [1, 2, 7, 7, 7, 16, 30, 7, 100, 64, 63, 2, 1]]
        alone = [self.batch([text])[0] for text in texts]
        for size in range(1, 10):
            with self.subTest(size=size):
                self.assertEqual(self.batch(texts[:size]), alone[:size])
        order = list(range(len(texts)))
        for threads in ("1", "2", "3"):
            numbers.shuffle(order)
            with self.subTest(threads=threads, order=order):
                self.assertEqual(
                    self.batch([texts[i] for i in order], "--threads",
                               threads), [alone[i] for i in order])

    def test_long_texts_are_cut(self):
        done = model.run(self.executable, "--embed", "--json",
                         input="cat " * 300)
        answer = json.loads(done.stdout)
        self.assertEqual(len(answer["ids"]), LONGEST)
        self.assertEqual((answer["ids"][0], answer["ids"][-1]), (101, 102))
        self.assertIn("note: text 1 has 302 tokens, of which 256 are used",
                      done.stderr)
        # What is cut makes no difference.
        short = model.ask(self.executable, "--embed", input="cat " * 254)
        self.assertEqual(answer["embedding"], short["embedding"])

    def test_makes_no_text(self):
        done = model.run(self.executable, "--score", "one two three")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no entry point 'score'", done.stderr)


unittest.main()
