// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dims that kernels count in each run. They belong to places, as the elements do: the value
// that is in a place has the dims that are kept for it.
#include <map>
#include <memory>
#include <tuple>

#include "byoc/runtime/artifact.h"

namespace byoc {

/// Memory for the dims of all places of a program that may hold a value with counted dims.
class CountedPlaces {
 public:
  /// Finds the places. All dims are 0 at first.
  explicit CountedPlaces(const Program& program);
  /// Returns the dims of the value in that place; nullptr when it never has counted ones.
  int64_t* dims(const Place& place) const;
  bool empty() const { return numbers_.empty(); }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;
  static Key key(const Place& place) { return {place.kind, place.index, place.offset}; }
  void add(const Place& place, const TensorSpec& type);

  std::map<Key, size_t> numbers_;
  size_t rank_ = 0;  // the largest
  std::unique_ptr<int64_t[]> dims_;
};

/// An argument with counted dims of a step, or of a copy.
struct CountedArgument {
  const TensorSpec* type = nullptr;  ///< with the bounds
  int64_t* dims = nullptr;           ///< this run's
  size_t number = 0;                 ///< of the argument among the inputs, or the outputs
};

/// Checks that a step whose kernel has these byoc_kernel_flags counts what the program demands:
/// `takes_counted` is that of its plugin, false for native code and for functions of the host
/// program. Errors: slug "counted-kernel".
Status check_counted(const Step& step, uint64_t kernel_flags, bool takes_counted);

/// Makes the dims invalid, so that a kernel that writes none is found.
void clear_dims(const CountedArgument& output);
/// Checks dims against the type: numbers are equal, counted dims are in [0, bound]. Errors: slug
/// "counted-dims", naming `what` ("input" or "output").
Status check_dims(const char* what, const CountedArgument& argument);

}  // namespace byoc
