// SPDX-License-Identifier: Apache-2.0
#include "byoc/te/stmt.h"

#include "byoc/base/check.h"
#include "byoc/te/copy.h"

namespace byoc::te {
namespace {

constexpr std::string_view kIndexError = "index_error.";

template <class Kind>
Stmt make(Kind kind) {
  return Stmt(std::make_shared<const StmtNode>(StmtNode{std::move(kind)}));
}

void check_indices(const Tensor& tensor, const Exprs& indices) {
  BYOC_CHECK(indices.size() == tensor.rank(), tensor.name(), " has rank ", tensor.rank(), ", not ",
             indices.size());
  for (const Expr& index : indices)
    BYOC_CHECK(index.dtype() == DType::kI64, "an index of ", tensor.name(), " is ", index.dtype());
}

}  // namespace

Tensor::Tensor(std::string name, DType dtype, Exprs shape)
    : info_(std::make_shared<const Info>(Info{std::move(name), dtype, std::move(shape)})) {}

Stmt make_for(Var var, Expr begin, Expr extent, LoopKind kind, Stmt body) {
  BYOC_CHECK(var.dtype() == DType::kI64, "loop variable ", var.name());
  bool is_written_out = kind == LoopKind::kVectorized || kind == LoopKind::kUnrolled;
  BYOC_CHECK(!is_written_out || as_int(extent), "loop ", var.name(), " has no constant extent");
  if (body.is_empty()) return {};
  return make(For{std::move(var), std::move(begin), std::move(extent), kind, std::move(body)});
}

Stmt make_store(Tensor tensor, Exprs indices, Expr value) {
  check_indices(tensor, indices);
  BYOC_CHECK(value.dtype() == tensor.dtype(), tensor.name(), " holds ", tensor.dtype(), ", not ",
             value.dtype());
  return make(Store{std::move(tensor), std::move(indices), std::move(value)});
}

Stmt make_if(Expr condition, Stmt yes, Stmt no) {
  BYOC_CHECK(condition.dtype() == DType::kBool, "a condition of type ", condition.dtype());
  if (yes.is_empty() && no.is_empty()) return {};
  return make(If{std::move(condition), std::move(yes), std::move(no)});
}

Stmt make_let(Var var, Expr value, Stmt body) {
  BYOC_CHECK(var.dtype() == value.dtype(), var.name(), " is ", var.dtype(), ", its value ",
             value.dtype());
  if (body.is_empty()) return {};
  return make(Let{std::move(var), std::move(value), std::move(body)});
}

Stmt make_alloc(Tensor tensor, Scope scope, Stmt body) {
  if (body.is_empty()) return {};
  return make(Alloc{std::move(tensor), scope, std::move(body)});
}

Stmt make_block(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& stmt : stmts) {
    if (stmt.is_empty()) continue;
    const Block* inner = std::get_if<Block>(&stmt->kind);
    if (inner != nullptr) flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    else flat.push_back(std::move(stmt));
  }
  if (flat.empty()) return {};
  if (flat.size() == 1) return std::move(flat[0]);
  return make(Block{std::move(flat)});
}

Stmt make_intrinsic(std::string name, std::vector<Place> places, Exprs args,
                    std::shared_ptr<const TensorIntrin> declaration) {
  for (const Place& place : places) check_indices(place.tensor, place.indices);
  return make(
      Intrinsic{std::move(name), std::move(places), std::move(args), std::move(declaration)});
}

Stmt make_index_error(std::string_view op, Expr index, Expr low, Expr extent) {
  return make_intrinsic(cat(kIndexError, op), {},
                        {std::move(index), std::move(low), std::move(extent)});
}

std::string_view index_error_op(const Intrinsic& intrinsic) {
  std::string_view name = intrinsic.name;
  if (intrinsic.declaration || !name.starts_with(kIndexError)) return {};
  return name.substr(kIndexError.size());
}

Stmt make_copy(const Tensor& from, const Tensor& to) {
  BYOC_CHECK(from.dtype() == to.dtype() && from.rank() == to.rank(), "a copy of ", from.name(),
             " to ", to.name(), ", which has another type");
  const Exprs begin(from.rank(), Expr(0));
  Expr count = 1;
  for (const Expr& extent : from.shape()) count = count * extent;
  return make_intrinsic(kCopy, {{from, begin}, {to, begin}}, {std::move(count)});
}

bool is_copy(const Intrinsic& call) {
  return call.name == kCopy && !call.declaration && call.places.size() == 2 &&
         call.args.size() == 1 && call.places[0].tensor.dtype() == call.places[1].tensor.dtype();
}

}  // namespace byoc::te
