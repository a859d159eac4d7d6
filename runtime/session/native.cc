// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/native.h"

#include <elf.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <bit>
#include <cstring>

#include "byoc/host/plugins.h"

namespace byoc {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

Status bad(std::string message) {
  return failed(std::move(message))
      .with_slug("native-module")
      .with_help("compile the model again on this machine");
}

struct CpuFeature {
  std::string_view name;
  bool present;
};

#if defined(__x86_64__)
// Read bits of cpuid, as older compilers, and clang 14, have no name for these features.
bool has_avxvnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
         (a >> 4 & 1) != 0;
}
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
         (c >> 29 & 1) != 0;
}
bool has_lzcnt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c >> 5 & 1) != 0;
}
#endif

std::span<const CpuFeature> cpu_features() {
#if defined(__x86_64__)
#define BYOC_FEATURE(name) \
  { name, __builtin_cpu_supports(name) != 0 }
  static const CpuFeature features[] = {
      BYOC_FEATURE("sse2"),       BYOC_FEATURE("sse3"),      BYOC_FEATURE("ssse3"),
      BYOC_FEATURE("sse4.1"),     BYOC_FEATURE("sse4.2"),    BYOC_FEATURE("popcnt"),
      BYOC_FEATURE("avx"),        BYOC_FEATURE("avx2"),      BYOC_FEATURE("fma"),
      {"f16c", has_f16c()},       {"lzcnt", has_lzcnt()},    BYOC_FEATURE("bmi"),
      BYOC_FEATURE("bmi2"),       BYOC_FEATURE("avx512f"),   BYOC_FEATURE("avx512bw"),
      BYOC_FEATURE("avx512cd"),   BYOC_FEATURE("avx512dq"),  BYOC_FEATURE("avx512vl"),
      BYOC_FEATURE("avx512vnni"), {"avxvnni", has_avxvnni()}};
#undef BYOC_FEATURE
  return features;
#else
  return {};
#endif
}

// Requests the permission of the operating system to use the registers of tiles, for the whole
// process (arch_prctl, ARCH_REQ_XCOMP_PERM of asm/prctl.h). Only modules that need them cause it:
// afterwards, stacks of signal handlers need room for these registers.
bool may_use_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  constexpr unsigned kTilesOfBytes = 25;  // bit of register d
  static const bool is_given = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> kTilesOfBytes & 1) != 0 &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return is_given;
#else
  return false;
#endif
}

bool has_cpu_feature(std::string_view name) {
  if (name == "amx-int8") return may_use_tiles();
  for (const CpuFeature& feature : cpu_features()) {
    if (feature.name == name) return feature.present;
  }
  return false;
}

/// Returns the text up to `mark` and removes both from `text`.
std::string_view take(std::string_view& text, char mark) {
  size_t end = std::min(text.find(mark), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

Status check_elf(std::span<const std::byte> object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof header) return bad("the native module is no ELF object");
  std::memcpy(&header, object.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return bad("the native module is no ELF object");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN) {
    return bad("the native module is no 64-bit shared object");
  }
  if (header.e_machine == kMachine) return {};
  return bad(
      cat("the native module is for ELF machine ", header.e_machine, ", this one is ", kMachine));
}

Result<SharedLibrary> open_object(std::span<const std::byte> object) {
  Result<SharedLibrary> library = SharedLibrary::open_bytes(object, "native");
  if (library.ok()) return library;
  if (library.status().slug() == "code-place") return library;  // the machine, not the module
  return bad(cat("native module: ", library.status().message()));
}

// Returns a text of the struct, "" where the struct ends before it.
std::string_view text_at(const byoc_native_fn& fn, const byoc_str& text) {
  const auto end = reinterpret_cast<const char*>(&text + 1) - reinterpret_cast<const char*>(&fn);
  if (fn.h.size < static_cast<size_t>(end) || text.p == nullptr) return {};
  return {text.p, text.n};
}

Status check_function(const byoc_native_fn* fn) {
  constexpr size_t kSmallest = offsetof(byoc_native_fn, signature);
  if (fn == nullptr || fn->h.tag != BYOC_TAG_NATIVE_FN || fn->h.size < kSmallest ||
      fn->run == nullptr) {
    return bad("a function of the native module is missing");
  }
  bool aligned = fn->workspace_align == 0 ||
                 (std::has_single_bit(fn->workspace_align) && fn->workspace_align <= 4096);
  const bool is_by_sizes = !text_at(*fn, fn->open_workspace).empty();
  if (aligned && (is_by_sizes || fn->workspace_bytes <= uint64_t{1} << 48)) return {};
  return bad(cat("a function of the native module requires a workspace of ", fn->workspace_bytes,
                 " bytes, aligned to ", fn->workspace_align));
}

Status check_table(const byoc_native_table* table, size_t functions) {
  if (table == nullptr || table->h.tag != BYOC_TAG_NATIVE_TABLE || !BYOC_HAS(table, fns)) {
    return bad("the native module gave no table");
  }
  if (table->abi_major != BYOC_ABI_MAJOR) {
    return bad(cat("the native module has ABI ", table->abi_major, ", this byoc ", BYOC_ABI_MAJOR));
  }
  if (table->n != functions)
    return bad(cat("the native module has ", table->n, " functions of ", functions));
  for (size_t k = 0; k < functions; ++k) BYOC_TRY_STATUS(check_function(table->fns[k]));
  return {};
}

}  // namespace

Status check_cpu(std::string_view compat) {
  while (!compat.empty()) {
    std::string_view word = take(compat, ' ');
    if (take(word, '=') != "cpu") continue;
    while (!word.empty()) {
      std::string_view feature = take(word, ',');
      if (has_cpu_feature(feature)) continue;
      return Status(Code::kStaleArtifact, cat("native code needs the CPU feature ", feature,
                                              ", which this machine lacks"))
          .with_slug("stale-artifact")
          .with_help("compile the model again on this machine, or for it with --target");
    }
  }
  return {};
}

Result<NativeModule> NativeModule::load(const ExternalModule& module) {
  BYOC_TRY_STATUS(check_cpu(module.compat));
  BYOC_TRY_STATUS(check_elf(module.blob->bytes()));
  BYOC_TRY(SharedLibrary library, open_object(module.blob->bytes()));
  auto entry = reinterpret_cast<byoc_native_entry_fn>(library.symbol(BYOC_NATIVE_ENTRY_SYMBOL));
  if (entry == nullptr) return bad("the native module has no symbol " BYOC_NATIVE_ENTRY_SYMBOL);
  const byoc_native_table* table = entry(host_table());
  BYOC_TRY_STATUS(check_table(table, module.functions.size()));
  return NativeModule(std::move(library), table);
}

std::string_view NativeModule::signature(size_t k) const {
  return text_at(function(k), function(k).signature);
}

std::string_view NativeModule::open_workspace(size_t k) const {
  return text_at(function(k), function(k).open_workspace);
}

}  // namespace byoc
