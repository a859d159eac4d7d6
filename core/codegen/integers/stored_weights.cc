// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/integers/stored_weights.h"

#include <algorithm>
#include <array>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/op/stored_matrix.h"

namespace byoc::integers {
namespace {

const Call* call_at(const Function& function, uint32_t node) {
  return std::get_if<Call>(&function.nodes[node].kind);
}

// Returns true for rows times a matrix, without a factor.
bool is_plain_product(const Function& function, const Node& node) {
  const Call* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || (call->op->name != "matmul" && call->op->name != "gemm")) return false;
  const TypeId x = function.type(function.args(node)[0]), y = node.types[0];
  return x->dtype == DType::kF32 && x->shape.size() >= 2 && y->shape.size() >= 2 &&
         !call->attrs->b("trans_a", false) && call->attrs->f("alpha", 1) == 1;
}

class Storer {
 public:
  Storer(const Function& function, const OpRegistry& ops, const WantedStored& wanted)
      : rewriter_(function), ops_(ops), wanted_(wanted), left_(readers_of(function)) {
    for (uint32_t count : left_) is_read_.push_back(count > 0);
  }
  Function run() &&;

 private:
  static std::vector<uint32_t> readers_of(const Function& function) {
    const UseCounts uses(function);
    std::vector<uint32_t> out;
    for (uint32_t node = 0; node < function.nodes.size(); ++node) out.push_back(uses.of_node(node));
    return out;
  }
  bool has_constants(const Node& node) const {
    const Function& from = rewriter_.from();
    return std::ranges::all_of(from.args(node), [&](ValueId arg) {
      return std::holds_alternative<Constant>(from.nodes[arg.node].kind);
    });
  }
  /// A product that reads a matrix as it is stored.
  struct Product {
    const OpDef* op = nullptr;  // null: it stays as it is
    uint32_t weight = 0;        // the node that makes the matrix
    bool is_transposed = false;
    bool rounds_rows = false;  // its rows are those that its round_rows reads
  };
  Product product_of(uint32_t node);
  const OpDef* product_with(uint32_t weight, bool is_transposed) const;
  void leave(std::span<const uint32_t> path);
  void replace(uint32_t node, const Product& product);

  Rewriter rewriter_;
  const OpRegistry& ops_;
  const WantedStored& wanted_;
  std::vector<uint32_t> left_;  // per node: readers that still read it
  std::vector<bool> is_read_;   // per node: it had readers
};

// Returns the op that multiplies by the operands of `weight`, or null. `is_transposed`: by the
// transpose of the matrix that `weight` makes.
const OpDef* Storer::product_with(uint32_t weight, bool is_transposed) const {
  const Function& from = rewriter_.from();
  const Call* call = call_at(from, weight);
  const Node& node = from.nodes[weight];
  if (call == nullptr || node.types[0]->shape.size() != 2 || !has_constants(node)) return nullptr;
  if (call->op->name == "dequantize_blocks")
    return wanted_.blocks && !is_transposed ? ops_.find("matmul_blocks") : nullptr;
  if (call->op->name != "cast" || node.types[0]->dtype != DType::kF32) return nullptr;
  const DType stored = from.type(from.args(node)[0])->dtype;
  const bool is_half = stored == DType::kF16 || stored == DType::kBF16;
  return wanted_.widened && is_half ? ops_.find("matmul_widened") : nullptr;
}

// Removes a reader of the first node of a path. Nodes without readers do not read the next.
void Storer::leave(std::span<const uint32_t> path) {
  for (uint32_t node : path) {
    if (--left_[node] > 0) return;
  }
}

// Returns the product that replaces a node, which then no longer reads its matrix.
Storer::Product Storer::product_of(uint32_t k) {
  const Function& from = rewriter_.from();
  if (!is_plain_product(from, from.nodes[k])) return {};
  const MatrixPath path = matrix_path(from, from.args(from.nodes[k])[1]);
  Product out{nullptr, path.nodes.back(),
              call_at(from, k)->attrs->b("trans_b", false) != path.is_transposed};
  out.op = product_with(out.weight, out.is_transposed);
  if (out.op == nullptr) return out;
  leave(path.nodes);
  const uint32_t rows = from.args(from.nodes[k])[0].node;
  const Call* round = call_at(from, rows);
  out.rounds_rows = round != nullptr && round->op->name == "round_rows" &&
                    out.op->name == "matmul_blocks" &&
                    round->attrs->i("block") == call_at(from, out.weight)->attrs->i("block");
  if (out.rounds_rows) leave(std::array{rows});
  return out;
}

void Storer::replace(uint32_t k, const Product& product) {
  const Function& from = rewriter_.from();
  const Node& node = from.nodes[k];
  const ValueId rows = from.args(node)[0];
  std::vector<ValueId> args = {
      rewriter_.map(product.rounds_rows ? from.args(from.nodes[rows.node])[0] : rows)};
  for (ValueId arg : from.args(from.nodes[product.weight])) args.push_back(rewriter_.map(arg));
  Attrs attrs;
  if (product.op->name == "matmul_blocks") {
    const Attrs& of_weight = *call_at(from, product.weight)->attrs;
    attrs = {{"bits", of_weight.i("bits")},
             {"block", of_weight.i("block")},
             {"row_bits", int64_t{product.rounds_rows ? 8 : 0}}};
  } else {
    attrs = {{"trans_b", product.is_transposed}};
  }
  Result<Attrs> complete = complete_attrs(*product.op, std::move(attrs));
  BYOC_CHECK(complete.ok(), complete.status().to_string());
  const std::vector<TypeId> types{node.types[0]};
  rewriter_.replace(
      k, rewriter_.to().add_call(product.op, intern(*std::move(complete)), args, types, node.loc));
}

Function Storer::run() && {
  const Function& from = rewriter_.from();
  std::vector<Product> products(from.nodes.size());
  for (uint32_t k = 0; k < from.nodes.size(); ++k) products[k] = product_of(k);
  for (uint32_t k = 0; k < from.nodes.size(); ++k) {
    if (products[k].op != nullptr) replace(k, products[k]);
    else if (left_[k] > 0 || !is_read_[k]) rewriter_.copy(k);
  }
  return std::move(rewriter_).finish();
}

}  // namespace

Function with_stored_weights(const Function& function, const OpRegistry& ops,
                             const WantedStored& wanted) {
  return Storer(function, ops, wanted).run();
}

}  // namespace byoc::integers
