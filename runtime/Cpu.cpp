//===- Cpu.cpp - What this processor offers -------------------------------===//
//
// See Cpu.h.
//
//===----------------------------------------------------------------------===//

#include "runtime/Cpu.h"
#include "runtime/include/tfm_abi.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <set>

using namespace tfm;

uint32_t tfm::detectCpuFeatures() {
  __builtin_cpu_init();
  uint32_t features = 0;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    features |= TFM_CPU_AVX2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    features |= TFM_CPU_AVX512;
  if (__builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") &&
      __builtin_cpu_supports("avx512ifma") &&
      __builtin_cpu_supports("avx512bitalg") &&
      __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("avx512bf16"))
    features |= TFM_CPU_AVX512_VNNI;
  return features;
}

std::string tfm::describeCpuFeatures(uint32_t features) {
  std::string text;
  auto add = [&](uint32_t bit, const char *name) {
    if (features & bit)
      text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(TFM_CPU_AVX2, "AVX2 + FMA + F16C");
  add(TFM_CPU_AVX512, "AVX-512 F + BW + DQ + VL + CD");
  add(TFM_CPU_AVX512_VNNI,
      "AVX-512 VNNI + VBMI + VBMI2 + IFMA + BITALG + VPOPCNTDQ + BF16");
  return text;
}

/// The quota of this process's control group in cores, or infinity. In a
/// container the group's own files are mounted at the root.
static double readCpuQuota() {
  std::string group;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::"))
      group = line.substr(3);
  for (const std::string &path : {group, std::string()}) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    double quota, period;
    if (file >> quota >> period && period > 0) // "max" is not a number
      return quota / period;
  }
  return INFINITY;
}

int tfm::countUsableCores() {
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  sched_getaffinity(0, sizeof affinity, &affinity);
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &affinity))
      continue;
    // Hardware threads of one core name the same siblings.
    std::string siblings = "cpu" + std::to_string(cpu);
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/thread_siblings_list") >>
        siblings;
    cores.insert(siblings);
  }
  double usable =
      std::min(static_cast<double>(cores.size()), std::ceil(readCpuQuota()));
  return std::max(1, static_cast<int>(usable));
}
