// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/open/flat_rows.h"

#include <algorithm>

#include "byoc/ir/dim.h"
#include "byoc/op/op.h"

namespace byoc::llvm_plugin {
namespace {

bool is_product(const Call& call) { return call.op->name == "matmul"; }

// Returns true for norms of rows.
bool is_norm(const Call& call, size_t rank) {
  const std::string_view name = call.op->name;
  const int64_t axis = call.attrs->i("axis", -1);
  return (name == "layer_norm" || name == "softmax") &&
         (axis == -1 || axis == static_cast<int64_t>(rank) - 1);
}

// Returns the axes of the rows of a shape.
Shape rows_of(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

/// The rows that all values of a function with open sizes have.
class Rows {
 public:
  explicit Rows(const Function& function) : function_(function) {}
  /// Returns the open number of rows of the result; nullopt where a call needs their axes.
  std::optional<Dim> count();
  bool has_rows(TypeId type) const {
    return type->shape.size() == rows_.size() + 1 && rows_of(type->shape) == rows_;
  }

 private:
  bool find_rows();
  bool takes_any_rows(const Node& node) const;
  bool is_of_elements(const Call& call) const;
  bool is_one_row(const Call& call, const Shape& shape) const;

  const Function& function_;
  Shape rows_;
};

// Finds the rows of the result.
bool Rows::find_rows() {
  if (function_.results.size() != 1) return false;
  const Shape& shape = function_.type(function_.results[0])->shape;
  if (shape.size() < 3 || !shape.back().is_static() || has_counted(shape)) return false;
  rows_ = rows_of(shape);
  const auto lengths = std::ranges::count_if(rows_, [](Dim dim) { return dim != Dim(1); });
  return has_open(rows_) && lengths > 1;
}

// Returns true for arithmetic that treats all rows alike.
bool Rows::is_of_elements(const Call& call) const {
  const FusionKind kind = call.op->kind;
  return (kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast) &&
         !call.attrs->has("axis") && !call.attrs->has("shape") && !call.attrs->has("open_shape");
}

// Returns true for an operand that every row reads alike. Ops of more operands than two may have
// one element for each channel, which is another axis.
bool Rows::is_one_row(const Call& call, const Shape& shape) const {
  const auto is_one = [](Dim dim) { return dim == Dim(1); };
  if (std::ranges::all_of(shape, is_one)) return true;
  const bool has_last_axis = call.op->inputs.size() == 2 || is_norm(call, rows_.size() + 1);
  return has_last_axis && shape.back().is_static() &&
         std::all_of(shape.begin(), shape.end() - 1, is_one);
}

bool Rows::takes_any_rows(const Node& node) const {
  const auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr) return std::holds_alternative<Param>(node.kind) && node.types.size() == 1;
  if (node.types.size() != 1 || !has_rows(node.types[0])) return false;
  const std::span<const ValueId> args = function_.args(node);
  if (is_product(*call)) {
    const Shape& matrix = function_.type(args[1])->shape;
    return has_rows(function_.type(args[0])) && is_static(matrix) && matrix.size() == 2;
  }
  const bool treats_rows_alike = is_of_elements(*call) || is_norm(*call, rows_.size() + 1);
  return treats_rows_alike && std::ranges::all_of(args, [&](ValueId arg) {
           return has_rows(function_.type(arg)) || is_one_row(*call, function_.type(arg)->shape);
         });
}

std::optional<Dim> Rows::count() {
  if (!find_rows()) return std::nullopt;
  const auto takes = [&](const Node& node) { return takes_any_rows(node); };
  if (!std::ranges::all_of(function_.nodes, takes)) return std::nullopt;
  // Rows with an extent of 0 are 0 in every run, and would leave the function without sizes.
  const Result<Dim> count = element_count(rows_);
  return count.ok() && is_open(*count) ? std::optional(*count) : std::nullopt;
}

}  // namespace

IRModule with_flat_rows(const IRModule& module) {
  const Function& function = module.function(module.entry);
  Rows rows(function);
  const std::optional<Dim> count = rows.count();
  if (!count) return module;
  IRModule out = module;
  for (Node& node : out.function(out.entry).nodes) {
    if (!rows.has_rows(node.types[0])) continue;
    TensorType flat = *node.types[0];
    std::fill(flat.shape.begin(), flat.shape.end() - 2, Dim(1));
    *(flat.shape.end() - 2) = *count;
    node.types = TypeIds(std::vector<TypeId>{TypeId(flat)});
  }
  return out;
}

}  // namespace byoc::llvm_plugin
