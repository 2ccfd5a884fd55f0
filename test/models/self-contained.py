"""The executable needs no file but itself, and of libraries only those of C
and C++; it takes its prompt from an argument or from standard input.
"""

# REQUIRES: model-smollm2
# RUN: %python %s

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import model

PROMPT = "The capital of France is"
# The first words are certain enough for every mode (the reference's gaps are
# over 1).
CONTINUATION = model.reference("smollm2.json")["greedy"][PROMPT]["new_ids"][:3]
ALLOWED = re.compile(
    r"linux-vdso|ld-linux|lib(?:c|m|stdc\+\+|gcc_s|dl|pthread|rt)\.so")


class SelfContained(unittest.TestCase):
    def setUp(self):
        self.executable = model.compiled("default")

    def test_libraries(self):
        listed = subprocess.run(["ldd", self.executable], check=True,
                                capture_output=True, text=True).stdout
        for line in listed.splitlines():
            self.assertRegex(line, ALLOWED)

    def test_stripped_and_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = os.path.join(folder, "alone")
            shutil.copy(self.executable, alone)
            subprocess.run(["strip", alone], check=True)
            answer = model.ask(alone, "-n", "3", PROMPT, cwd=folder, env={})
            self.assertEqual(answer["new_ids"], CONTINUATION)
            self.assertEqual(os.listdir(folder), ["alone"])

    def test_standard_input(self):
        answer = model.ask(self.executable, "-n", "3", input=PROMPT)
        self.assertEqual(answer["new_ids"], CONTINUATION)

    def test_text(self):
        done = model.run(self.executable, "-n", "1", PROMPT)
        self.assertEqual(done.returncode, 0)
        self.assertIn(" Paris", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_exit_codes(self):
        usage = model.run(self.executable, "--no-such-option", PROMPT)
        self.assertEqual(usage.returncode, 2)
        self.assertIn("--no-such-option", usage.stderr)

        context = model.run(self.executable, "--ctx", "1000000000", PROMPT)
        self.assertIn(context.returncode, (1, 2))
        self.assertIn("1000000000", context.stderr)
        self.assertEqual(context.stdout, "")

        missing = model.run(self.executable, "--batch", "/nonexistent/batch")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/nonexistent/batch", missing.stderr)

    def test_full_context(self):
        answer = model.ask(self.executable, "--ctx", "16", "-n", "40", PROMPT)
        self.assertEqual(answer["stop"], "context")
        self.assertLessEqual(
            len(answer["prompt_ids"]) + len(answer["new_ids"]), 17)


unittest.main()
