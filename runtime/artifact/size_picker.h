// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice among the sizes of an artifact by the inputs of a run.
#include "byoc/runtime/sizes.h"
#include "runtime/artifact/open_sizes.h"

namespace byoc {

/// Keeps the types of the inputs of all sizes; immutable.
class SizePicker {
 public:
  /// Errors: those of OpenSizes; slug "executable" without a size.
  static Result<SizePicker> make(std::span<const SizedExecutable> sizes);

  /// Returns the number of the size that takes these views; of several the one with the fewest open
  /// sizes, and of these the first. Errors: slug "input-count"; those of OpenSizes::read for the
  /// size with the most open ones; slug "input-size". Allocates nothing when it succeeds and no
  /// program has more than 64 open sizes.
  Result<size_t> pick(std::span<const DLTensor> views) const;

  /// Returns the numbers of the sizes in the order in which they are tried.
  static std::vector<size_t> order_of(std::span<const SizedExecutable> sizes);

 private:
  std::vector<NamedTensor> inputs_;  // of the first one, for messages
  std::vector<OpenSizes> sizes_;     // in the order in which they are tried
  std::vector<size_t> numbers_;
  std::string described_;
};

}  // namespace byoc
