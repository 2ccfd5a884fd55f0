# The suite that lit runs: test files with RUN lines, in the folders of the
# rooms that they test.

import os

import lit.formats

config.name = "TFM"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["data"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "test")

tools = os.path.join(config.build_root, "bin")
config.environment["PATH"] = os.pathsep.join(
    [tools, config.llvm_tools, config.environment["PATH"]]
)
# How scripts/check has clang link compiled models with a sanitizer or profile.
if "CCC_OVERRIDE_OPTIONS" in os.environ:
    config.environment["CCC_OVERRIDE_OPTIONS"] = os.environ[
        "CCC_OVERRIDE_OPTIONS"]
# Caches of what is tested belong to the build.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.build_root, "cache")
# Says what FileCheck was looking at when it fails, and lets no variable leak
# from one function of a test to the next.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input=fail"

model = os.path.join(
    config.source_root, "models", "smollm2-135m-instruct-q4_1.gguf"
)
config.substitutions += [
    ("%python", '"%s"' % config.python),
    ("%check-sources", '"%s" "%s"' % (
        config.python,
        os.path.join(config.source_root, "scripts", "check_sources.py"))),
    ("%cmake", '"%s"' % config.cmake),
    ("%source-root", config.source_root),
    ("%build-root", config.build_root),
]

# What a test may ask for by REQUIRES.
if os.path.exists(model):
    config.available_features.add("model-smollm2")
if os.path.exists(
        os.path.join(config.source_root, "models", "all-minilm-l6-v2")):
    config.available_features.add("model-minilm")
if config.build_type == "Release":
    config.available_features.add("release-build")
with open("/proc/cpuinfo") as file:
    flags = next(
        (line.split() for line in file if line.startswith("flags")), []
    )
for feature, needed in {
    "avx2": {"avx2", "fma", "f16c"},
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"},
    "avx512-vnni": {"avx512_vnni", "avx512vbmi", "avx512_vbmi2",
                    "avx512ifma", "avx512_bitalg", "avx512_vpopcntdq",
                    "avx512_bf16"},
}.items():
    if needed <= set(flags):
        config.available_features.add(feature)
