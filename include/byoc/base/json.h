// SPDX-License-Identifier: Apache-2.0
#pragma once
// The only entry for JSON from plugins, logs, artifacts and users. Size and depth are checked
// before the parser reads the text, so that hostile nesting cannot overflow the stack.
#include <nlohmann/json.hpp>

#include "byoc/base/status.h"

namespace byoc {

using Json = nlohmann::ordered_json;  ///< JSON whose members keep their order.

/// Returns memory for the elements of JSON values: of the heap, else of a reserve. The destructor
/// of a Json flattens its tree into a vector, and must not throw where the heap has no memory.
/// Throws std::bad_alloc when the reserve is used up, too. Thread-safe.
void* allocate_json(size_t bytes);
void release_json(void* memory, size_t bytes) noexcept;  ///< Returns it.

/// The most bytes of a text that is parsed.
inline constexpr size_t kJsonMaxBytes = size_t{1} << 31;
inline constexpr int kJsonMaxDepth = 64;  ///< the most brackets inside of each other

/// Parses `text`. Errors: kInvalidArgument with slug "json-size", "json-depth" or "json-syntax".
Result<Json> parse_json(std::string_view text, size_t max_bytes = kJsonMaxBytes,
                        int max_depth = kJsonMaxDepth);
/// Makes the checks alone, for readers that stream (SAX) instead of building a tree.
Status scan_json(std::string_view text, size_t max_bytes = kJsonMaxBytes,
                 int max_depth = kJsonMaxDepth);

}  // namespace byoc

/// The memory of JSON values.
template <>
struct std::allocator<byoc::Json> {
  using value_type = byoc::Json;           ///< what it allocates
  using is_always_equal = std::true_type;  ///< all are equal
  /// All are equal.
  using propagate_on_container_move_assignment = std::true_type;
  allocator() noexcept = default;
  /// Converts from that of another type.
  template <class T>
  allocator(const std::allocator<T>&) noexcept {}
  /// Returns memory for `n` values. Throws std::bad_alloc.
  value_type* allocate(size_t n);
  void deallocate(value_type* memory, size_t n) noexcept;        ///< Returns it.
  friend bool operator==(allocator, allocator) { return true; }  ///< All are equal.
};

inline byoc::Json* std::allocator<byoc::Json>::allocate(size_t n) {
  return static_cast<byoc::Json*>(byoc::allocate_json(n * sizeof(byoc::Json)));
}
inline void std::allocator<byoc::Json>::deallocate(byoc::Json* memory, size_t n) noexcept {
  byoc::release_json(memory, n * sizeof(byoc::Json));
}
