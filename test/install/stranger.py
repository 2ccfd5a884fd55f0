# What `cmake --install` leaves works by itself: a project that only knows
# find_package(TFM) compiles a model as library, object and program, uses each
# from C, and gets the same text. The files do not name the sources' folder, nor
# the build's below it.

# REQUIRES: avx2, release-build
# RUN: rm -rf %t && mkdir -p %t
# RUN: %python %source-root/test/data/make_tiny_llama.py %t/tiny.gguf
# RUN: %cmake --install %build-root --prefix %t/prefix
# RUN: %python %s %t %cmake %source-root %S/Inputs/stranger

import os
import shutil
import subprocess
import sys

FOLDER, CMAKE, SOURCES, STRANGER = sys.argv[1:]
PREFIX = os.path.join(FOLDER, "prefix")
BUILD = os.path.join(FOLDER, "build")
PROMPT = "Once upon a time"
EXPECTED = [
    "bin/tfm-opt", "bin/tfm-run", "bin/tfmc", "include/tfm.h",
    "lib/cmake/TFM/TFMConfig.cmake", "lib/cmake/TFM/TFMConfigVersion.cmake",
    "lib/libtfm_main.a", "lib/libtfm_runtime.a", "lib/tfm/libHalide.so",
    "share/doc/tfm/LICENSE",
]


def output(*words):
    # An environment without the tools of the build.
    done = subprocess.run(
        words, capture_output=True, check=False,
        env={"PATH": os.pathsep.join([os.path.dirname(CMAKE), "/usr/bin",
                                      "/bin"]),
             "XDG_CACHE_HOME": os.path.join(FOLDER, "cache")})
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}:\n"
                 f"{done.stdout.decode()}{done.stderr.decode()}")
    return done.stdout


def installed():
    for folder, _, names in os.walk(PREFIX):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), PREFIX)


files = sorted(installed())
if files != EXPECTED:
    sys.exit(f"expects {EXPECTED}, but got {files}")
for file in files:
    with open(os.path.join(PREFIX, file), "rb") as content:
        if (SOURCES + os.sep).encode() in content.read():
            sys.exit(f"{file} names {SOURCES}")

output(CMAKE, "-S", STRANGER, "-B", BUILD, f"-DCMAKE_PREFIX_PATH={PREFIX}",
       "-DMODEL=" + os.path.join(FOLDER, "tiny.gguf"), "-G", "Ninja",
       "-DCMAKE_MAKE_PROGRAM=" + shutil.which("ninja"),
       "-DCMAKE_C_COMPILER=/usr/bin/clang-22", "-DCMAKE_LINKER_TYPE=LLD")
output(CMAKE, "--build", BUILD)
program = os.path.join(BUILD, "bin", "tiny-program")
texts = [
    output(os.path.join(BUILD, "with-library"), PROMPT),
    output(os.path.join(BUILD, "with-object"), PROMPT),
    output(os.path.join(BUILD, "with-program"), program, PROMPT),
    output(program, "-n", "8", PROMPT),
]
if len(texts[0].strip()) == 0 or len(set(texts)) != 1:
    sys.exit(f"expects four times the same text, but got {texts}")
