"""With --activations=f32 the model says what the reference says.

The reference dequantizes the weights and computes in f32. See the README of
test/data.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import unittest

import model

TOLERANCE = 2e-3  # of a natural-log probability
SMALL_GAP = 0.01  # between two logits: other rounding may choose differently


class F32(unittest.TestCase):
    def setUp(self):
        self.executable = model.compiled("f32")
        self.reference = model.reference("smollm2.json")

    def test_teacher_forced(self):
        for name, case in self.reference["teacher_forced"].items():
            with self.subTest(name):
                answer = model.ask(self.executable, "--score", case["text"])
                self.assertEqual(answer["ids"], case["ids"])
                self.assertEqual(answer["argmax"], case["argmax"])
                self.assertEqual(len(answer["logprobs"]),
                                 len(case["logprob_of_next"]))
                for got, expected in zip(answer["logprobs"],
                                         case["logprob_of_next"]):
                    self.assertAlmostEqual(got, expected, delta=TOLERANCE)

    def test_greedy(self):
        for prompt, case in self.reference["greedy"].items():
            with self.subTest(prompt):
                answer = model.ask(self.executable, "-n", "40", prompt)
                self.assertEqual(answer["prompt_ids"], case["prompt_ids"])
                if self.same_up_to_a_small_gap(answer["new_ids"], case):
                    ended = case["text"].endswith("<|im_end|>")
                    self.assertEqual(answer["text"],
                                     case["text"].removesuffix("<|im_end|>"))
                    self.assertEqual(answer["stop"],
                                     "eos" if ended else "length")

    def same_up_to_a_small_gap(self, ids, case):
        """Whether all ids are equal. After a choice between logits of almost
        the same size, texts may differ."""
        for step, gap in enumerate(case["gap_to_second"]):
            if ids[step:step + 1] != case["new_ids"][step:step + 1]:
                self.assertLessEqual(gap, SMALL_GAP, f"at step {step}: {ids}")
                return False
        self.assertEqual(ids, case["new_ids"])
        return True

    def test_long_text(self):
        case = model.reference("smollm2_long.json")
        answer = model.score(self.executable, case["ids"])
        nll = -sum(answer["logprobs"]) / len(answer["logprobs"])
        self.assertAlmostEqual(nll, case["mean_nll_f32"], delta=TOLERANCE)


unittest.main()
