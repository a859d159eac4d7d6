// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/workspace.h"

#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"
#include "byoc/base/size_expression.h"

namespace byoc::llvm_plugin {
namespace {

// Appends the text of an expression, in parentheses where it is a sum inside of a product. Its
// depth is that of one extent; the sum of all tensors is flat.
class Writer {
 public:
  explicit Writer(std::span<const te::Var> sizes) : sizes_(sizes) {}
  Status write(const te::Expr& x, bool in_product) {
    if (const auto number = te::as_int(x)) {
      text_ += *number < 0 ? cat("(", *number, ")") : cat(*number);
      return {};
    }
    if (const auto* size = std::get_if<te::VarRef>(&x->kind)) {
      const auto at = std::ranges::find(sizes_, size->var.id(), &te::Var::id);
      if (at == sizes_.end()) return refused(x);
      text_ += cat("#", at - sizes_.begin());
      return {};
    }
    const auto* binary = std::get_if<te::Binary>(&x->kind);
    if (binary == nullptr) return refused(x);
    switch (binary->op) {
      case te::BinaryOp::kAdd:
        return sum(*binary, "+", false, in_product);
      case te::BinaryOp::kSubtract:
        return sum(*binary, "-", true, in_product);
      case te::BinaryOp::kMultiply:
        return joined(*binary, "*", true, true);
      case te::BinaryOp::kFloorDivide:
        return call("div", *binary);
      case te::BinaryOp::kFloorModulo:
        return write(binary->a - te::floor_div(binary->a, binary->b) * binary->b, in_product);
      case te::BinaryOp::kMin:
        return call("min", *binary);
      case te::BinaryOp::kMax:
        return call("max", *binary);
      default:
        return refused(x);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  static Status refused(const te::Expr& x) {
    return unimplemented(cat("the workspace is no expression of sizes: ", te::print(x)));
  }
  Status sum(const te::Binary& x, const char* op, bool is_right_in_product, bool in_product) {
    if (in_product) text_ += '(';
    BYOC_TRY_STATUS(joined(x, op, false, is_right_in_product));
    if (in_product) text_ += ')';
    return {};
  }
  Status joined(const te::Binary& x, const char* op, bool is_left_in_product,
                bool is_right_in_product) {
    BYOC_TRY_STATUS(write(x.a, is_left_in_product));
    text_ += op;
    return write(x.b, is_right_in_product);
  }
  Status call(const char* name, const te::Binary& x) {
    text_ += cat(name, "(");
    BYOC_TRY_STATUS(joined(x, ",", false, false));
    text_ += ')';
    return {};
  }

  std::span<const te::Var> sizes_;
  std::string text_;
};

}  // namespace

Result<Workspace> workspace_of(const te::Expr& bytes, std::span<const te::Var> sizes) {
  if (const auto fixed = te::as_int(bytes)) return Workspace{static_cast<uint64_t>(*fixed)};
  Writer writer(sizes);
  BYOC_TRY_STATUS(writer.write(bytes, false));
  return Workspace{0, writer.take()};
}

Workspace with_names(Workspace workspace, std::span<const std::string> names) {
  const std::string numbered = std::move(workspace.by_sizes);
  workspace.by_sizes.clear();
  for (size_t at = 0; at < numbered.size();) {
    if (numbered[at] != '#') {
      workspace.by_sizes += numbered[at++];
      continue;
    }
    size_t k = names.size();
    const char* end = numbered.data() + numbered.size();
    at = static_cast<size_t>(std::from_chars(numbered.data() + at + 1, end, k).ptr -
                             numbered.data());
    BYOC_CHECK(k < names.size(), "size ", k, " of ", names.size(), " in ", numbered);
    print_size_name(workspace.by_sizes, names[k]);
  }
  return workspace;
}

}  // namespace byoc::llvm_plugin
