// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of values that a loop carries, whose extents change from one iteration to the next.
#include <optional>

#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {

/// Finds types that hold in every iteration. A dim that changes is counted: when an iteration adds
/// to it, its bound is the first extent plus as much for each trip.
class CarriedTypes {
 public:
  /// `types` are those before the first iteration, `name` begins the names of counted dims, `trips`
  /// is the most iterations that a run has, `assumed` the most that memory is planned for when
  /// trips is not known, or too many.
  CarriedTypes(std::vector<TypeId> types, std::string name, std::optional<int64_t> trips,
               int64_t assumed)
      : types_(types),
        before_(std::move(types)),
        name_(std::move(name)),
        trips_(trips),
        assumed_(assumed) {}
  const std::vector<TypeId>& types() const { return types_; }
  /// Compares the types with those of the results of a body that was made for them; result 0 is the
  /// condition. Returns true when they hold; else types() has others, for which to make it again.
  /// Errors: kUnimplemented when no types hold, or no bound of an extent is known.
  Result<bool> fit(const std::vector<TypeId>& results, std::span<const TypeId> captured);

 private:
  Result<bool> fit_one(size_t k, const TensorType& after, std::span<const TypeId> captured);
  std::optional<int64_t> grown(int64_t first, int64_t more) const;
  Status refused(size_t k, const TensorType& after, std::string_view why) const;

  std::vector<TypeId> types_, before_;
  std::string name_;
  std::optional<int64_t> trips_;
  int64_t assumed_;
  struct Growth {
    int64_t rows = -1;      // that an iteration adds; -1 before it was seen
    bool is_final = false;  // seen where the value was as large as it gets
  };
  std::map<std::pair<size_t, size_t>, Growth> growth_;  // per value and dim
};

}  // namespace byoc::onnx_import
