"""Token ids are those of the reference tokenizer, for every text.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import unittest

import model


class Tokens(unittest.TestCase):
    def test_ids(self):
        executable = model.compiled("default")
        for case in model.reference("tokens.json"):
            text = case["text"]
            with self.subTest(text=text):
                # An argument ends at a NUL: standard input is for the rest.
                if "\0" in text:
                    answer = model.ask(executable, "--tokenize", input=text)
                else:
                    answer = model.ask(executable, "--tokenize", text)
                self.assertEqual(answer["ids"], case["smollm2"])


unittest.main()
