"""A compiled model ends cleanly: with Ctrl-C, and when nobody reads on; and
its exit code says how it went.
"""

# RUN: %python %s

import signal
import subprocess
import time
import unittest


def start(*arguments, **options):
    return subprocess.Popen(["fake-model", *arguments], text=True,
                            stderr=subprocess.PIPE, **options)


class Endings(unittest.TestCase):
    def test_interrupted(self):
        process = start(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(0.5)  # it waits for its prompt
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out, errors), (130, "", ""))

    def test_closed_pipe(self):
        process = start("-n", "90", "!", stdout=subprocess.PIPE)
        process.stdout.close()
        errors = process.stderr.read()
        self.assertEqual((process.wait(timeout=20), errors), (0, ""))

    def test_exit_codes(self):
        for code, arguments in [(0, ["!"]), (0, ["--help"]), (1, [""]),
                                (2, ["--no-such"]), (2, ["-n", "x", "!"])]:
            with self.subTest(arguments):
                process = start(*arguments, stdout=subprocess.DEVNULL)
                process.communicate(timeout=20)
                self.assertEqual(process.returncode, code)


unittest.main()
