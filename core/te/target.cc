// SPDX-License-Identifier: Apache-2.0
// Targets by name, and the target of this machine.
// Source of the levels: the x86-64 psABI, "micro-architecture levels"; names as in LLVM.
#include "byoc/te/target.h"

#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <iterator>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "byoc/base/json.h"

namespace byoc::te {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

const Names kV1 = {"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"};
const Names kV2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"};
const Names kV3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"};
const Names kV4 = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
// Features that no level has: sums of products of integers of 8 bits. A level may be followed by
// them, as in "x86-64-v3+avxvnni".
constexpr std::string_view kIntegerFeatures[] = {"amx-int8", "avx512vnni", "avxvnni"};
constexpr std::string_view kKnown =
    "native, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, and x86-64-v3+avxvnni, "
    "x86-64-v4+avx512vnni and x86-64-v4+avx512vnni+amx-int8";

// Returns the features of the level and of those below it, sorted.
Names up_to_level(int level) {
  Names all;
  const Names* levels[] = {&kV1, &kV2, &kV3, &kV4};
  for (int k = 0; k < level; ++k) all.insert(all.end(), levels[k]->begin(), levels[k]->end());
  std::sort(all.begin(), all.end());
  return all;
}

Target x86_level(int level) {
  Target target;
  target.cpu = level == 1 ? "x86-64" : cat("x86-64-v", level);
  target.features = up_to_level(level);
  target.vector_bits = level == 4 ? 512 : level == 3 ? 256 : 128;
  target.vector_registers = level == 4 ? 32 : 16;
  return target;
}

Target aarch64() {
  Target target;
  target.arch = "aarch64";
  target.cpu = "generic";
  target.features = {"fp-armv8", "neon"};
  target.vector_bits = 128;
  target.vector_registers = 32;
  return target;
}

#if defined(__x86_64__)
// Reads features that the builtin does not have: bits of cpuid's leaf, register c.
bool has_bit(unsigned leaf, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) != 0 && (c >> bit & 1) != 0;
}

// Returns whether leaf 7 of cpuid has a bit in register a or c of the subleaf.
bool has_extended_bit(unsigned subleaf, bool in_a, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, subleaf, &a, &b, &c, &d) != 0 && ((in_a ? a : c) >> bit & 1) != 0;
}

// Returns whether the processor has tiles of bytes, and the operating system lets programs use them
// once they request it (arch_prctl, ARCH_GET_XCOMP_SUPP of asm/prctl.h).
bool has_tiles_of_bytes() {
#if defined(__linux__)
  constexpr unsigned kTiles = 24, kBytes = 25;  // bits of register d
  constexpr long kGetSupported = 0x1021;
  constexpr uint64_t kTileData = uint64_t{1} << 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  uint64_t supported = 0;
  return (d >> kTiles & 1) != 0 && (d >> kBytes & 1) != 0 &&
         syscall(SYS_arch_prctl, kGetSupported, &supported) == 0 && (supported & kTileData) != 0;
#else
  return false;
#endif
}

// Adds those of kIntegerFeatures that this machine has.
void add_integer_features(Target& target) {
  if (target.has("avx512f") && has_extended_bit(0, false, 11))
    target.features.emplace_back("avx512vnni");
  if (target.has("avx2") && has_extended_bit(1, true, 4)) target.features.emplace_back("avxvnni");
  if (target.has("avx512f") && has_tiles_of_bytes()) target.features.emplace_back("amx-int8");
  std::sort(target.features.begin(), target.features.end());
}

// Returns the level of this machine. The builtin also checks that the operating system saves
// the wide registers.
int host_level() {
  __builtin_cpu_init();
  bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
            has_bit(1, 13) /* cx16 */ && has_bit(0x80000001, 0) /* sahf */;
  bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
            has_bit(1, 29) /* f16c */ && has_bit(1, 22) /* movbe */ &&
            has_bit(0x80000001, 5) /* lzcnt */;
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
}
#endif

Target native() {
#if defined(__x86_64__)
  Target target = x86_level(host_level());
  add_integer_features(target);
#elif defined(__aarch64__)
  Target target = aarch64();
#else
#error "no target for this machine"
#endif
  if (long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE); l1 > 0) target.l1_bytes = l1;
  if (long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE); l2 > 0) target.l2_bytes = l2;
  return target;
}

// Returns "x86-64-v3+avxvnni" and the like: the target before the last plus sign, with the feature
// after it. nullopt: there is no such feature, or the target lacks its vectors.
std::optional<Target> with_feature(std::string_view name);

Result<Target> named(std::string_view name) {
  if (name == "native") return native();
  if (name == "x86-64-v2") return x86_level(2);
  if (name == "x86-64-v3") return x86_level(3);
  if (name == "x86-64-v4") return x86_level(4);
  if (name == "aarch64") return aarch64();
  if (std::optional<Target> more = with_feature(name)) return *std::move(more);
  return invalid(cat("no target is called \"", name, "\"; known are ", kKnown))
      .with_slug("unknown-target");
}

std::optional<Target> with_feature(std::string_view name) {
  const size_t plus = name.rfind('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const std::string_view feature = name.substr(plus + 1);
  if (std::ranges::find(kIntegerFeatures, feature) == std::end(kIntegerFeatures))
    return std::nullopt;
  Result<Target> base = named(name.substr(0, plus));
  if (!base.ok() || !base->has(feature == "avxvnni" ? "avx2" : "avx512f")) return std::nullopt;
  if (!base->has(feature)) base->features.emplace_back(feature);
  std::sort(base->features.begin(), base->features.end());
  return *std::move(base);
}

template <class T>
Status read(const Json& json, const char* name, T& to) {
  auto at = json.find(name);
  if (at == json.end()) return {};
  bool fits = std::is_same_v<T, std::string> ? at->is_string()
              : std::is_same_v<T, Names>     ? at->is_array()
                                             : at->is_number_integer() && *at > 0;
  for (const Json& entry : at->is_array() ? *at : Json::array()) fits = fits && entry.is_string();
  if (!fits) {
    return invalid(cat("the target's \"", name, "\" is ", at->dump())).with_slug("target-json");
  }
  to = at->get<T>();
  return {};
}

// Parses a target. Members that are absent are those of the named cpu, or of this machine. A cpu
// that has no entry here needs the list of its features.
Result<Target> from_json(const Json& json) {
  std::string cpu = "native", arch;
  BYOC_TRY_STATUS(read(json, "cpu", cpu));
  BYOC_TRY_STATUS(read(json, "arch", arch));
  Result<Target> base = arch == "aarch64" ? named("aarch64") : named(cpu);
  if (!base.ok() && !json.contains("features")) return base;
  Target target = base.ok() ? *base : x86_level(1);
  if (json.contains("cpu") && cpu != "native") target.cpu = cpu;
  if (!arch.empty()) target.arch = arch;
  BYOC_TRY_STATUS(read(json, "features", target.features));
  std::sort(target.features.begin(), target.features.end());
  BYOC_TRY_STATUS(read(json, "vector_bits", target.vector_bits));
  BYOC_TRY_STATUS(read(json, "vector_registers", target.vector_registers));
  BYOC_TRY_STATUS(read(json, "l1_bytes", target.l1_bytes));
  BYOC_TRY_STATUS(read(json, "l2_bytes", target.l2_bytes));
  BYOC_TRY_STATUS(read(json, "threads", target.threads));
  uint32_t shares_all = 0;
  BYOC_TRY_STATUS(read(json, "shares_all", shares_all));
  target.shares_all = shares_all != 0;
  if (target.arch != "x86_64" && target.arch != "aarch64") {
    return invalid(cat("the target's arch is \"", target.arch, "\", expected x86_64 or aarch64"))
        .with_slug("unknown-target");
  }
  return target;
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

Result<Target> parse_target(std::string_view text) {
  if (text.empty()) return native();
  if (text.front() != '{') return named(text);
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return invalid(cat("the target is no JSON object: ", text)).with_slug("target-json");
  return from_json(json);
}

std::string print(const Target& target) {
  nlohmann::ordered_json json = {
      {"arch", target.arch},
      {"cpu", target.cpu},
      {"features", target.features},
      {"vector_bits", target.vector_bits},
      {"vector_registers", target.vector_registers},
      {"l1_bytes", target.l1_bytes},
      {"l2_bytes", target.l2_bytes},
      {"threads", target.threads},
  };
  if (target.shares_all) json["shares_all"] = 1;
  return json.dump();
}

}  // namespace byoc::te
