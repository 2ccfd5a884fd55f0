"""A compiled model in bad surroundings: it does what is defined, or ends with a
message and an exit code.
"""

# REQUIRES: avx2
# RUN: %python %s %t

import json
import os
import resource
import signal
import subprocess
import sys
import time
import unittest

FOLDER = sys.argv.pop()
MODEL = os.path.join(FOLDER, "tiny.gguf")
PROGRAM = os.path.join(FOLDER, "tiny")
CONTEXT = 256
SECONDS = 60


def start(*arguments, **options):
    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.PIPE,
                            **options)


class Robust(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(FOLDER, exist_ok=True)
        subprocess.run([sys.executable, os.environ["MAKE_TINY_LLAMA"], MODEL],
                       check=True)
        subprocess.run(["tfmc", MODEL, "-o", PROGRAM], check=True)

    def run_program(self, *arguments, stdin=b"", **options):
        process = start(*arguments, **options)
        stdout, stderr = process.communicate(stdin, timeout=SECONDS)
        return process.returncode, stdout, stderr.decode()

    def check_error(self, message, *arguments, status=1, **options):
        found, _, stderr = self.run_program(*arguments, **options)
        self.assertEqual(found, status, stderr)
        self.assertIn(message, stderr)
        self.assertEqual(stderr.count("\n"), 1, stderr)

    def test_prompt_of_10_megabytes(self):
        before = time.monotonic()
        for text in b"word " * 2_000_000, b"a" * 10_000_000, b"\n" * 10_000_000:
            self.check_error(
                f"error: expects at most {CONTEXT} tokens, the context, but "
                "got ", stdin=text)
        self.assertLess(time.monotonic() - before, SECONDS)

    def test_more_than_it_reads(self):
        with open("/dev/zero", "rb") as zeros:
            done = subprocess.run([PROGRAM], stdin=zeros, capture_output=True,
                                  timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"error: standard input: expects at most 268435456 bytes",
                      done.stderr)

    def test_invalid_utf8(self):
        """Its bytes are tokenized as they are."""
        for text in b"\xff", b"a\x80b", b"\xc3", b"\xed\xa0\x80", b"\0", b"\xf5":
            status, stdout, stderr = self.run_program("--json", "-n", "2",
                                                      stdin=text)
            self.assertEqual((status, stderr), (0, ""))
            self.assertGreater(len(json.loads(stdout)["prompt_ids"]), 0)
            status, _, stderr = self.run_program("-n", "2", stdin=text)
            self.assertEqual((status, stderr), (0, ""))

    def test_no_prompt(self):
        self.check_error("error: expects at least 1 token, but got none")
        status, _, stderr = self.run_program("-n", "1", stdin=None,
                                             close_fds=True)
        self.assertEqual(status, 1, stderr)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "hello"], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"error: cannot write the output: No "
                                      b"space left on device\n")

    def test_ended_by_control_c(self):
        """At any time while it generates; endings.py has the rest."""
        lines = os.path.join(FOLDER, "lines")
        with open(lines, "w", encoding="utf-8") as file:
            file.write("hello\n" * 20000)
        for delay in 0.1, 0.3, 0.6:
            process = start("--batch", lines)
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=SECONDS)
            self.assertEqual((process.returncode, stderr), (130, b""))
            # What was printed is whole.
            self.assertTrue(stdout == b"" or stdout.endswith(b"\n"))
            for line in stdout.splitlines():
                json.loads(line)

    def test_context_ends(self):
        """16 tokens fit: the text stops there, and says so."""
        status, stdout, _ = self.run_program("--ctx", "16", "-n", "40",
                                             "--json", "hello")
        found = json.loads(stdout)
        self.assertEqual((status, found["stop"]), (0, "context"))
        self.assertEqual(len(found["prompt_ids"]) + len(found["new_ids"]), 16)

    def test_context_too_long(self):
        self.check_error(f"expects a context from 1 to {CONTEXT}, but got 257",
                         "--ctx", "257", "hello")

    def test_little_memory(self):
        def restrict():
            resource.setrlimit(resource.RLIMIT_AS, (12 << 20, 12 << 20))
        process = start("-n", "2", "hello", preexec_fn=restrict)
        _, stderr = process.communicate(timeout=SECONDS)
        # The loader itself may find too little.
        self.assertIn(process.returncode, (0, 1, 127), stderr)

    def test_more_threads_than_cores(self):
        one = self.run_program("-n", "20", "--threads", "1", "hello")
        self.assertEqual(one[0], 0)
        self.assertEqual(self.run_program("-n", "20", "--threads", "40",
                                          "hello"), one)

    def test_changed_after_it_was_made(self):
        """A file cut anywhere does not start, or says that it is cut."""
        with open(PROGRAM, "rb") as file:
            data = file.read()
        cut = os.path.join(FOLDER, "cut")
        for part in 0.1, 0.5, 0.9, 0.99:
            with open(cut, "wb") as file:
                file.write(data[:int(len(data) * part)])
            os.chmod(cut, 0o755)
            try:
                done = subprocess.run([cut, "-n", "1", "hello"],
                                      capture_output=True, timeout=SECONDS,
                                      check=False)
            except OSError:
                continue  # the system refuses it
            self.assertNotEqual(done.returncode, 0, part)

    def test_odd_names_of_itself(self):
        expected = self.run_program("-n", "5", "hello")
        found = subprocess.run(["no such name", "-n", "5", "hello"],
                               executable=PROGRAM, capture_output=True,
                               check=False)
        self.assertEqual((found.returncode, found.stdout), expected[:2])

    def test_instruction_set_is_missing(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            if "avx512_vnni" in file.read():
                self.skipTest("this processor has AVX-512 VNNI")
        program = os.path.join(FOLDER, "avx512")
        subprocess.run(["tfmc", MODEL, "--march=avx512vnni,avx512", "-o",
                        program], check=True)
        done = subprocess.run([program, "hello"], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^error: .*AVX-512.*\n$")


unittest.main()
