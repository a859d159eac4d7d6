// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/workspace.h"

#include "byoc/base/size_expression.h"

namespace byoc::llvm_plugin {
namespace {

// Appends the text of an expression, in parentheses where it is a sum inside of a product. Its
// depth is that of one extent; the sum of all tensors is flat.
class Writer {
 public:
  Status write(const te::Expr& x, bool in_product) {
    if (const auto number = te::as_int(x)) {
      text_ += *number < 0 ? cat("(", *number, ")") : cat(*number);
      return {};
    }
    if (const auto* size = std::get_if<te::VarRef>(&x->kind)) {
      print_size_name(text_, size->var.name());
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

  std::string text_;
};

}  // namespace

Result<Workspace> workspace_of(const te::Expr& bytes) {
  if (const auto fixed = te::as_int(bytes)) return Workspace{static_cast<uint64_t>(*fixed)};
  Writer writer;
  BYOC_TRY_STATUS(writer.write(bytes, false));
  return Workspace{0, writer.take()};
}

}  // namespace byoc::llvm_plugin
