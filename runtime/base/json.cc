// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/json.h"

#include <bitset>
#include <functional>
#include <mutex>
#include <new>

namespace byoc {
namespace {

constexpr size_t kReserveBytes = size_t{1} << 20, kBlockBytes = 256;
constexpr size_t kReserveBlocks = kReserveBytes / kBlockBytes;
/// In no file, and touched where it is used only.
alignas(64) std::byte reserve[kReserveBytes];
constinit std::bitset<kReserveBlocks> is_taken;
constinit std::mutex reserve_mutex;

size_t blocks_of(size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

void* allocate_reserved(size_t bytes) {
  const std::lock_guard lock(reserve_mutex);
  const size_t needed = blocks_of(bytes);
  for (size_t k = 0, run = 0; k < kReserveBlocks; ++k) {
    run = is_taken[k] ? 0 : run + 1;
    if (run < needed) continue;
    const size_t first = k + 1 - needed;
    for (size_t b = first; b <= k; ++b) is_taken.set(b);
    return reserve + first * kBlockBytes;
  }
  throw std::bad_alloc();
}

}  // namespace

void* allocate_json(size_t bytes) {
  void* const memory = ::operator new(bytes, std::nothrow);
  return memory ? memory : allocate_reserved(bytes);
}

void release_json(void* memory, size_t bytes) noexcept {
  const auto* at = static_cast<std::byte*>(memory);
  if (std::less<>()(at, reserve) || !std::less<>()(at, reserve + kReserveBytes)) {
    ::operator delete(memory);
    return;
  }
  const std::lock_guard lock(reserve_mutex);
  const size_t first = static_cast<size_t>(at - reserve) / kBlockBytes;
  for (size_t b = first; b < first + blocks_of(bytes); ++b) is_taken.reset(b);
}

Status scan_json(std::string_view text, size_t max_bytes, int max_depth) {
  if (text.size() > max_bytes) {
    return invalid(cat("JSON of ", text.size(), " bytes, at most ", max_bytes, " are accepted"))
        .with_slug("json-size");
  }
  int depth = 0;
  bool in_string = false;
  for (size_t k = 0; k < text.size(); ++k) {
    char c = text[k];
    if (in_string) {
      if (c == '\\') ++k;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) {
        return invalid(cat("JSON nested deeper than ", max_depth, " at byte ", k))
            .with_slug("json-depth");
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return {};
}

Result<Json> parse_json(std::string_view text, size_t max_bytes, int max_depth) {
  BYOC_TRY_STATUS(scan_json(text, max_bytes, max_depth));
  try {
    return Json::parse(text);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return invalid(cat("not valid JSON: ", e.what())).with_slug("json-syntax");
  }
}

}  // namespace byoc
