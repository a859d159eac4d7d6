// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of calls of the C API, decoded from bytes.
#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace byoc::test {

/// The rest of the bytes; zeros afterwards.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool is_empty() const { return at_ >= bytes_.size(); }
  uint8_t byte() { return is_empty() ? 0 : static_cast<uint8_t>(bytes_[at_++]); }
  int64_t number();    ///< one that is small, or at a border of some type
  const char* text();  ///< a name or value of an option, or another text; may be null

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// A view with its memory. The memory has all that the view describes; `data` is null where that
/// would be too much.
struct Tensor {
  std::vector<int64_t> dims, strides;
  std::vector<std::byte> memory;
  DLTensor view{};

  void change(Input& in);  ///< Changes one field, before `finish`.
  void finish(Input& in);  ///< Sets the pointers.

 private:
  bool extent(int64_t& low, int64_t& high) const;
  void allocate(Input& in);
};

}  // namespace byoc::test
