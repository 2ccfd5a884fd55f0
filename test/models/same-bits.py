"""A text's result depends on nothing but the text: not on the number of
threads, not on how the prompt is cut, not on prefill or decoding, and not on
the texts beside it in a batch.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import json
import tempfile
import unittest

import model

TEXT = model.reference("smollm2.json")["teacher_forced"]["alice"]


class SameBits(unittest.TestCase):
    def setUp(self):
        self.executable = model.compiled("default")

    def score(self, *arguments):
        return model.score(self.executable, TEXT["ids"], *arguments)

    def test_threads(self):
        expected = self.score("--threads", "1")
        for threads in "2", "3":
            self.assertEqual(self.score("--threads", threads), expected)

    def test_chunks(self):
        expected = self.score()
        for chunk in "1", "7", "64":
            self.assertEqual(self.score("--prefill-chunk", chunk), expected)

    def test_batch(self):
        prompts = list(model.reference("smollm2.json")["greedy"])
        prompts = [prompt for prompt in prompts if "\n" not in prompt]
        prompts += ["A", TEXT["text"]]
        alone = [model.ask(self.executable, "-n", "16", prompt)
                 for prompt in prompts]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write("".join(prompt + "\n" for prompt in prompts))
            file.flush()
            done = model.run(self.executable, "--json", "-n", "16", "--batch",
                             file.name)
        together = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(together), len(alone), done.stderr)
        for got, expected in zip(together, alone):
            for key in "prompt_ids", "new_ids", "text", "stop":
                self.assertEqual(got[key], expected[key])


unittest.main()
