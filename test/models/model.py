"""What the tests of real models share: the compiled models, and calls of them.
"""

import contextlib
import fcntl
import glob
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.environ.get("TFM_BUILD", os.path.join(ROOT, "build", "release"))
GGUF = os.path.join(ROOT, "models", "smollm2-135m-instruct-q4_1.gguf")
MINILM = os.path.join(ROOT, "models", "all-minilm-l6-v2")
TFMC = os.path.join(BUILD, "bin", "tfmc")

# What is compiled: a name, and the arguments of tfmc.
VARIANTS = {"default": [GGUF], "f32": [GGUF, "--activations=f32"],
            "library.so": [GGUF, "--emit=so"], "minilm": [MINILM]}

COMPILE_SECONDS, RUN_SECONDS = 1200, 600


def compiled(variant):
    """The path of what tfmc makes, compiled by the first test that asks."""
    folder = os.path.join(BUILD, "test", "models")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model-" + variant)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [TFMC, VARIANTS[variant][0]] + glob.glob(os.path.join(BUILD, "lib", "*.a"))
        newest = max(map(os.path.getmtime, sources))
        if not os.path.exists(path) or os.path.getmtime(path) < newest:
            subprocess.run([TFMC, *VARIANTS[variant], "-o", path],
                           check=True, timeout=COMPILE_SECONDS,
                           stdin=subprocess.DEVNULL)
    return path


def run(executable, *arguments, **options):
    """Runs to the end, whatever the exit code; output is text."""
    options.setdefault("input", "")
    return subprocess.run([executable, *arguments], capture_output=True,
                          encoding="utf-8", timeout=RUN_SECONDS, **options)


def ask(executable, *arguments, **options):
    """The one JSON object that `executable --json ARGUMENTS` prints."""
    done = run(executable, "--json", *arguments, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: exit code {done.returncode}: "
                           + done.stderr)
    return json.loads(done.stdout)


@contextlib.contextmanager
def ids_file(ids):
    """A file for `--ids`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(ids, file)
        file.flush()
        yield file.name


def score(executable, ids, *arguments):
    with ids_file(ids) as path:
        return ask(executable, "--score", "--ids", path, *arguments)


def reference(name):
    """A file of test/data; its README says where the numbers come from."""
    with open(os.path.join(ROOT, "test", "data", name),
              encoding="utf-8") as file:
        return json.load(file)
