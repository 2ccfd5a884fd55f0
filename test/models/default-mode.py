"""Integer products cost the default mode little: on 1,024 tokens of text its
mean negative log-likelihood is within 1 % of what f32 gives in the reference,
and at least 95 % of the most probable tokens are the same.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import unittest

import model


class DefaultMode(unittest.TestCase):
    def test_long_text(self):
        case = model.reference("smollm2_long.json")
        answer = model.score(model.compiled("default"), case["ids"])
        self.assertEqual(answer["ids"], case["ids"])
        self.assertEqual(len(answer["logprobs"]), len(case["ids"]) - 1)

        nll = -sum(answer["logprobs"]) / len(answer["logprobs"])
        print(f"mean NLL {nll:.4f}, in f32 {case['mean_nll_f32']:.4f}")
        self.assertAlmostEqual(nll, case["mean_nll_f32"],
                               delta=0.01 * case["mean_nll_f32"])

        pairs = list(zip(answer["argmax"], case["argmax"], strict=True))
        same = sum(got == expected for got, expected in pairs) / len(pairs)
        print(f"most probable token agrees for {same:.1%}")
        self.assertGreaterEqual(same, 0.95)


unittest.main()
