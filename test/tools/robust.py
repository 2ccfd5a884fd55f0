"""tfmc in bad surroundings: it ends with a message, or does without. The file
that it writes is there whole or not at all, and nothing else stays behind.
"""

# REQUIRES: avx2
# RUN: %python %s %t

import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

FOLDER = sys.argv.pop()
MODEL = os.path.join(FOLDER, "tiny.gguf")
TMP = os.path.join(FOLDER, "tmp")
CACHE = os.path.join(FOLDER, "cache")


def start(*arguments, **options):
    return subprocess.Popen(["tfmc", *arguments], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            **options)


def run(*arguments, **options):
    process = start(*arguments, **options)
    process.stdout_text, process.stderr_text = process.communicate(timeout=120)
    return process


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Surroundings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(TMP)
        os.environ["TMPDIR"] = TMP
        os.environ["TFM_CACHE_DIR"] = CACHE
        subprocess.run([sys.executable, os.environ["MAKE_TINY_LLAMA"], MODEL],
                       check=True)
        cls.expected = os.path.join(FOLDER, "expected")
        assert run(MODEL, "-o", cls.expected).returncode == 0

    def setUp(self):
        self.output = os.path.join(FOLDER, "output")
        if os.path.exists(self.output):
            os.remove(self.output)

    def tearDown(self):
        self.assertEqual(os.listdir(TMP), [])
        self.assertEqual(glob.glob(FOLDER + "/*.part"), [])
        self.assertEqual(glob.glob(CACHE + "/*.part"), [])

    def check_made(self, process, message=""):
        self.assertEqual(process.returncode, 0, process.stderr_text)
        self.assertIn(message, process.stderr_text)
        self.assertEqual(read(self.output), read(self.expected))

    def check_refused(self, process, message, status=1):
        self.assertEqual(process.returncode, status, process.stderr_text)
        self.assertIn(message, process.stderr_text)
        self.assertFalse(os.path.exists(self.output))

    def test_the_same_model_makes_the_same_program(self):
        elsewhere = os.path.join(FOLDER, "elsewhere")
        os.makedirs(elsewhere)
        self.check_made(run("../tiny.gguf", "--cache-dir", "none", "-o",
                            self.output, cwd=elsewhere))

    def test_two_at_once(self):
        cache = os.path.join(FOLDER, "shared-cache")
        outputs = [self.output + str(i) for i in range(2)]
        processes = [start(MODEL, "--cache-dir", cache, "-o", output)
                     for output in outputs]
        for process, output in zip(processes, outputs):
            _, stderr = process.communicate(timeout=300)
            self.assertEqual((process.returncode, stderr), (0, ""))
            self.assertEqual(read(output), read(self.expected))
        self.assertEqual(glob.glob(cache + "/*.part"), [])

    def test_two_at_once_to_one_file(self):
        processes = [start(MODEL, "-o", self.output) for _ in range(3)]
        for process in processes:
            process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0)
        self.assertEqual(read(self.output), read(self.expected))

    def test_cache_that_was_changed(self):
        """Cut, changed or empty objects are compiled again, and kept."""
        kept = sorted(glob.glob(CACHE + "/*.o"))
        whole = {path: read(path) for path in kept}
        self.assertGreater(len(kept), 4)
        for i, path in enumerate(kept):
            data = bytearray(whole[path])
            if i % 4 == 0:
                data = data[:len(data) // 2]
            elif i % 4 == 1:
                data[len(data) // 3] ^= 1
            elif i % 4 == 2:
                data = data[:0]
            else:
                data = data[:-1]
            with open(path, "wb") as file:
                file.write(data)
        self.check_made(run(MODEL, "-o", self.output))
        self.assertEqual({path: read(path) for path in kept}, whole)

    def test_cache_that_cannot_be_written(self):
        for cache in MODEL, os.path.join(MODEL, "below"):
            self.check_made(run(MODEL, "--cache-dir", cache, "-o", self.output),
                            "warning: compiled kernels are not kept: cannot "
                            f"write to {cache}: ")

    def test_no_home(self):
        environment = {key: os.environ[key] for key in ("PATH", "TMPDIR")}
        self.check_made(run(MODEL, "-o", self.output, env=environment))

    def test_no_temporary_folder(self):
        missing = os.path.join(FOLDER, "missing")
        environment = {**os.environ, "TMPDIR": missing}
        self.check_refused(run(MODEL, "-o", self.output, env=environment),
                           "cannot create a temporary folder like " + missing)

    def test_full_disk(self):
        """No file may grow beyond a limit, as if the disk were full there."""
        size = os.path.getsize(self.expected)
        for limit in 0, 1000, 30000, size // 2, size - 1:
            def restrict(limit=limit):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            self.check_refused(
                run(MODEL, "-o", self.output, preexec_fn=restrict), "error: ")
            self.check_refused(
                run(MODEL, "--emit=graph", "-o", self.output,
                    preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_FSIZE, (1000, 1000))),
                f"error: cannot write {self.output}: File too large")

    def test_standard_output_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = subprocess.run(
                ["tfmc", MODEL, "--emit=graph"], stdout=full,
                stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn("error: cannot write to standard output: No space left "
                      "on device", process.stderr)

    def test_reader_goes_away(self):
        process = start(MODEL, "--emit=graph")
        process.stdout.close()
        _, stderr = process.communicate(timeout=60)
        self.assertIn(process.returncode, (-signal.SIGPIPE, 1))
        self.assertNotIn("LLVM ERROR", stderr)

    def test_outputs_that_are_no_files(self):
        pipe = os.path.join(FOLDER, "pipe")
        os.mkfifo(pipe)
        for output in FOLDER, pipe, "/dev/null":
            for emit in "exe", "graph":
                process = run(MODEL, "--emit", emit, "-o", output)
                self.check_refused(process,
                                   f"error: expects a file to write, but "
                                   f"{output} is a folder, a pipe or a device")

    def test_inputs_that_are_no_models(self):
        pipe = os.path.join(FOLDER, "input-pipe")
        os.mkfifo(pipe)
        texts = {"empty.gguf": "", "empty.mlir": "", "text.mlir": "hello\n",
                 "lfs.gguf": "version https://git-lfs.github.com/spec/v1\n"
                             "oid sha256:0\nsize 1\n"}
        for name, text in texts.items():
            with open(os.path.join(FOLDER, name), "w",
                      encoding="utf-8") as file:
                file.write(text)
        for name, message in [
                (pipe, "but got a pipe or a device"),
                ("/dev/null", "but got a pipe or a device"),
                (FOLDER, "but got a directory"),
                ("empty.gguf", "expects a GGUF file"),
                ("lfs.gguf", "but got a Git LFS pointer"),
                ("missing.gguf", "cannot be read: No such file or directory"),
                ("missing.mlir", "cannot be read: No such file or directory"),
                ("empty.mlir", "expects at least one function, but got none"),
                ("text.mlir", "text.mlir:1:1: error: ")]:
            path = os.path.join(FOLDER, name)
            process = run(path, "-o", self.output)
            self.check_refused(process, message)
            self.assertTrue(process.stderr_text.startswith(path),
                            process.stderr_text)

    def test_ended_by_a_signal(self):
        """At any time: what is half done is taken away."""
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            for delay in 0.1, 0.4, 1.5:
                process = start(MODEL, "--cache-dir", "", "-o", self.output)
                time.sleep(delay)
                process.send_signal(number)
                _, stderr = process.communicate(timeout=60)
                if process.returncode == 0:  # it was done before
                    self.setUp()
                    continue
                # Before tfmc listens, the signal itself ends it.
                self.assertIn(process.returncode, (128 + number, -number))
                self.assertEqual(stderr, "")
                self.assertFalse(os.path.exists(self.output))
                self.assertEqual(os.listdir(TMP), [])

    def test_killed(self):
        """Nothing can be tidied up, but what is there is whole."""
        for delay in 0.3, 1.5:
            process = start(MODEL, "--cache-dir", FOLDER + "/kill-cache", "-o",
                            self.output)
            time.sleep(delay)
            process.kill()
            process.communicate(timeout=60)
            if os.path.exists(self.output):
                self.assertEqual(read(self.output), read(self.expected))
        for path in glob.glob(TMP + "/*"):
            shutil.rmtree(path)
        for path in glob.glob(FOLDER + "/*.part"):
            os.remove(path)
        self.check_made(run(MODEL, "--cache-dir", FOLDER + "/kill-cache", "-o",
                            self.output))


unittest.main()
