"""What the README shows is what happens: its commands run, and the graph has
the attention that it quotes."""

# REQUIRES: model-smollm2
# RUN: %python %s

import os
import re
import subprocess
import tempfile
import unittest

import model

with open(os.path.join(model.ROOT, "README.md"), encoding="utf-8") as file:
    WALK = file.read().split("## A short walk")[1].split("\n## ")[0]
EXAMPLES = [line.strip() for line in WALK.splitlines()
            if line.startswith("    ")]


class Readme(unittest.TestCase):
    def test_graph(self):
        quoted = [op for line in EXAMPLES
                  for op in re.findall(r"= (tfm\.\w+)", line)]
        self.assertEqual(len(quoted), 5)
        graph = model.run(model.TFMC, "--emit=graph", model.GGUF, "-o", "-")
        self.assertEqual(graph.returncode, 0, graph.stderr)
        ops = re.findall(r"= (tfm\.\w+)", graph.stdout)
        self.assertIn(" ".join(quoted), " ".join(ops))

    def test_commands(self):
        commands = [line for line in EXAMPLES if "./model" in line]
        self.assertGreater(len(commands), 2)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(model.compiled("default"), os.path.join(folder, "model"))
            for command in commands:
                with self.subTest(command):
                    done = model.run("/bin/sh", "-c", command, cwd=folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotEqual(done.stdout, "")


unittest.main()
