// SPDX-License-Identifier: Apache-2.0
// Computes ops whose operands are all constants, by their reference kernels.
//   before: %c = const[1,2] : i64[2]
//           %0 = add(%c, %c)
//   after:  %0 = const[2,4] : i64[2]
// An op stays in each of these cases:
// - It has no kernel for these types.
// - Its results are larger than 64 MiB and than the constants that it reads, so that a broadcast
//   value does not enlarge the model.
// - All results together would exceed the size of the model's constants by more than the option
//   fold_mib (64 MiB). A result that one computed op alone reads does not count.
// - It takes more element operations than are left of the module's budget: the option fold_mops
//   (100 million) and one per byte of the model's constants. Elementwise ops take one per element,
//   convolutions and products two per multiply-add. Later ops that fit are still computed.
// - An annotation reads it, because constants are never wrapped.
// - It dequantizes the weights of a product whose other operand is dequantized, too: patterns match
//   products of integers. fold_weights computes what no pattern has matched.
// - It makes f32 of a large matrix of blocks or of 16-bit floats for a product, or transposes that:
//   use_integers lets the product read it as it is stored. fold_weights computes it for other
//   products.
// The constants that it read are left to eliminate_dead_code.
#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"
#include "byoc/op/evaluate.h"
#include "byoc/op/stored_matrix.h"
#include "byoc/pass/simplify.h"
#include "core/simplify/functions.h"

namespace byoc {
namespace {

using namespace simplify;

constexpr int64_t kMaxResultBytes = int64_t{64} << 20;

/// The results and the work that all functions of a module may still add.
struct Budget {
  int64_t bytes;  // of results
  double work;    // element operations
};

std::vector<bool> read_by_annotations(const Function& function) {
  std::vector<bool> read(function.nodes.size());
  for (const Node& node : function.nodes) {
    if (!is_annotation(node)) continue;
    for (ValueId arg : function.args(node)) read[arg.node] = true;
  }
  return read;
}

const Call* dequantize_at(const Function& function, ValueId value) {
  auto* call = std::get_if<Call>(&function.nodes[value.node].kind);
  return call != nullptr && call->op->facts.family == OpFamily::kDequantize ? call : nullptr;
}

// Returns whether a value is a matrix of blocks, or of 16-bit floats, made f32.
bool is_stored_matrix(const Function& function, ValueId value) {
  const Node& node = function.nodes[value.node];
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || node.types[0]->dtype != DType::kF32 || node.types[0]->shape.size() != 2)
    return false;
  const OpFamily family = call->op->facts.family;
  if (family != OpFamily::kDequantize && family != OpFamily::kCast) return false;
  const DType stored = function.type(function.args(node)[0])->dtype;
  const bool is_half = stored == DType::kF16 || stored == DType::kBF16;
  const bool is_narrow = family == OpFamily::kCast ? is_half : call->attrs->has("block");
  Result<int64_t> count = num_elements(node.types[0]->shape);
  return is_narrow && count.ok() && *count >= kLeastStored;
}

// Returns whether a node is a product of floats by a matrix.
bool is_plain_product(const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->facts.family == OpFamily::kProduct &&
         call->op->facts.is_plain && call->op->facts.weight == 1;
}

// Adds the op that makes a stored matrix, and its transposes.
void keep_stored_matrix(const Function& function, ValueId matrix, std::vector<bool>& keep) {
  const MatrixPath path = matrix_path(function, matrix);
  if (!is_stored_matrix(function, {path.nodes.back(), 0})) return;
  for (uint32_t node : path.nodes) keep[node] = true;
}

// Adds the weights of products of two dequantized operands, and stored matrices.
void add_kept_weights(const Function& function, std::vector<bool>& keep) {
  for (const Node& node : function.nodes) {
    auto* call = std::get_if<Call>(&node.kind);
    if (call == nullptr || call->op->kind != FusionKind::kAnchor) continue;
    auto args = function.args(node);
    if (args.size() > 1 && is_plain_product(node)) keep_stored_matrix(function, args[1], keep);
    if (args.size() < 2 || !dequantize_at(function, args[0])) continue;
    const Call* weights = dequantize_at(function, args[1]);
    if (weights == nullptr) continue;
    const std::vector<TypeId> types{function.type(function.args(function.nodes[args[1].node])[0])};
    if (is_dequantized_weight(*weights->op, types)) keep[args[1].node] = true;
  }
}

class ConstantFolder {
 public:
  /// Subtracts what it adds and computes from `budget`. Ops in `keep` stay.
  ConstantFolder(IRModule& module, const Function& function, Budget& budget, std::vector<bool> keep)
      : rewriter_(function),
        budget_(budget),
        to_(rewriter_.to()),
        constants_(module, to_),
        keep_(std::move(keep)),
        uses_(function),
        is_computed_(function.nodes.size()) {}
  Function run() &&;

 private:
  using Values = std::vector<std::shared_ptr<const Buffer>>;
  const Buffer* known(ValueId old) const {
    auto* constant = std::get_if<Constant>(&to_.nodes[rewriter_.map(old).node].kind);
    return constant ? constant->data : nullptr;
  }
  bool may_fold(uint32_t node) const;
  Values compute(uint32_t node);  // empty: not possible, or too slow
  int64_t bytes_given_back(uint32_t node) const;

  Rewriter rewriter_;
  Budget& budget_;
  Function& to_;
  ConstantNodes constants_;
  std::vector<bool> keep_;
  const UseCounts uses_;
  std::vector<bool> is_computed_;  // per old node
};

// Returns whether the results have at most `left` bytes.
bool has_small_results(const Node& node, int64_t left) {
  for (size_t output = 0; output < node.types.size(); ++output) {
    Result<int64_t> size = size_bytes(*node.types[output]);
    if (!size.ok() || *size > left) return false;
    left -= *size;
  }
  return true;
}

bool ConstantFolder::may_fold(uint32_t k) const {
  const Node& node = rewriter_.from().nodes[k];
  auto* call = std::get_if<Call>(&node.kind);
  if (!call || call->op->is_annotation || keep_[k]) return false;
  int64_t read = 0;
  if (!reads_types_alone(*call->op)) {
    for (ValueId arg : rewriter_.from().args(node)) {
      const Buffer* constant = known(arg);
      if (constant == nullptr) return false;
      read += static_cast<int64_t>(constant->size());
    }
  }
  return has_small_results(
      node, std::min(std::max(kMaxResultBytes, read), budget_.bytes + bytes_given_back(k)));
}

// Returns the element operations of an op: its flops, and at least one per element of its results.
double work_of(const Call& call, const std::vector<TypeId>& inputs,
               const std::vector<TypeId>& outputs) {
  double elements = 0;
  for (TypeId type : outputs) {
    Result<int64_t> count = num_elements(type->shape);
    if (count.ok()) elements += static_cast<double>(*count);  // has_small_results has checked them
  }
  return std::max(elements, flops(*call.op, inputs, outputs, *call.attrs));
}

ConstantFolder::Values ConstantFolder::compute(uint32_t k) {
  const Function& from = rewriter_.from();
  const Node& node = from.nodes[k];
  const Call& call = std::get<Call>(node.kind);
  std::vector<TypeId> inputs, outputs;
  std::vector<const Buffer*> data;
  for (ValueId arg : from.args(node)) {
    inputs.push_back(from.type(arg));
    data.push_back(known(arg));
  }
  for (size_t output = 0; output < node.types.size(); ++output)
    outputs.push_back(node.types[output]);
  const double work = work_of(call, inputs, outputs);
  if (work > budget_.work) return {};
  budget_.work -= work;
  auto values = evaluate(*call.op, *call.attrs, inputs, outputs, data);
  return values.ok() ? *std::move(values) : Values();
}

// Returns the bytes of computed operands that no other op reads, such as the first of the two
// transforms of a weight.
int64_t ConstantFolder::bytes_given_back(uint32_t k) const {
  int64_t bytes = 0;
  for (ValueId arg : rewriter_.from().args(rewriter_.from().nodes[k])) {
    if (is_computed_[arg.node] && uses_(arg) == 1)
      bytes += static_cast<int64_t>(known(arg)->size());
  }
  return bytes;
}

Function ConstantFolder::run() && {
  for (uint32_t k = 0; k < rewriter_.from().nodes.size(); ++k) {
    const Node& node = rewriter_.from().nodes[k];
    Values values = may_fold(k) ? compute(k) : Values();
    BYOC_CHECK(values.empty() || values.size() == node.types.size(), values.size(), " values for ",
               node.types.size(), " outputs");
    if (values.empty()) rewriter_.copy(k);
    else budget_.bytes += bytes_given_back(k), is_computed_[k] = true;
    for (uint32_t output = 0; output < values.size(); ++output) {
      budget_.bytes -= static_cast<int64_t>(values[output]->size());
      rewriter_.set({k, output}, constants_.add(values[output], node.types[output], node.loc));
    }
  }
  return std::move(rewriter_).finish();
}

Result<uint32_t> number_of(const PassContext& context, std::string_view option,
                           std::string_view unit) {
  const std::string text = context.option(option);
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return invalid(cat(option, " is \"", text, "\"; expected a number of ", unit))
      .with_slug("bad-option");
}

Result<Budget> budget_of(const IRModule& module, const PassContext& context) {
  BYOC_TRY(uint32_t mib, number_of(context, "fold_mib", "MiB"));
  BYOC_TRY(uint32_t mops, number_of(context, "fold_mops", "million operations"));
  int64_t constants = 0;
  for (const auto& [key, constant] : module.constants)
    constants += static_cast<int64_t>(constant->size());
  return Budget{(int64_t{mib} << 20) + constants, mops * 1e6 + static_cast<double>(constants)};
}

Result<IRModule> fold(IRModule module, const PassContext& context, bool keeps_weights) {
  BYOC_TRY(Budget budget, budget_of(module, context));
  for (auto& [name, function] : module.functions) {
    if (is_settled(function)) continue;
    std::vector<bool> keep = read_by_annotations(function);
    if (keeps_weights) add_kept_weights(function, keep);
    function = ConstantFolder(module, function, budget, std::move(keep)).run();
  }
  return module;
}

// Returns whether there is an op that fold_constants may have kept as a weight.
bool has_weights(const IRModule& module) {
  for (const auto& [name, function] : module.functions) {
    for (uint32_t k = 0; k < function.nodes.size(); ++k) {
      if (dequantize_at(function, {k, 0}) != nullptr || is_stored_matrix(function, {k, 0}))
        return true;
    }
  }
  return false;
}

}  // namespace

Result<IRModule> fold_constants(IRModule module, const PassContext& context) {
  return fold(std::move(module), context, true);
}

Result<IRModule> fold_weights(IRModule module, const PassContext& context) {
  if (!has_weights(module)) return module;
  return fold(std::move(module), context, false);
}

}  // namespace byoc
