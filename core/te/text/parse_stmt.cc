// SPDX-License-Identifier: Apache-2.0
// Parses statements. The rest of a block is the body of a `let` or an allocation in it, so a block
// is first read as a list, and bodies are put together from its end.
#include <algorithm>

#include "byoc/te/copy.h"
#include "core/te/lower/declaration.h"
#include "core/te/text/parser.h"
#include "core/te/text/words.h"

namespace byoc::te {
namespace {

// Loops, conditions, values and allocations around a statement.
constexpr int kMaxNesting = 1000;
// The most bytes of one tensor, so that no size overflows.
constexpr int64_t kMaxBytes = int64_t{1} << 46;

// Puts statements together that were read in this order; the last one is at the back.
class Body {
 public:
  void add_before(Stmt stmt) { reversed_.push_back(std::move(stmt)); }
  Stmt take() {
    std::reverse(reversed_.begin(), reversed_.end());
    return make_block(std::exchange(reversed_, {}));
  }

 private:
  std::vector<Stmt> reversed_;
};

}  // namespace

bool is_countable(const Tensor& tensor) {
  int64_t bytes = static_cast<int64_t>(dtype_size(tensor.dtype()));
  for (const Expr& extent : tensor.shape()) {
    const std::optional<int64_t> n = as_int(extent);
    if (!n) continue;
    if (*n < 0 || (*n > 0 && bytes > kMaxBytes / *n)) return false;
    bytes *= std::max<int64_t>(*n, 1);
  }
  return true;
}

Result<Stmt> Parser::block() {
  const size_t vars = vars_.mark(), memory = tensors_.mark();
  const int nesting = nesting_;
  std::vector<Item> items;
  short_.clear();
  while (!in_.take("}")) {
    BYOC_TRY(bool is_complete, item(items));
    if (!is_complete) continue;
    short_.clear();
    nesting_ += items.back().head.has_value();
    if (nesting_ > kMaxNesting) return too_deep();
  }
  if (!short_.empty()) return in_.wrong(in_.at() - 1, "expected a statement after $0 = ...");
  vars_.close(vars);
  tensors_.close(memory);
  nesting_ = nesting;
  Body body;
  for (size_t k = items.size(); k-- > 0;) {
    Item& next = items[k];
    if (!next.head) body.add_before(std::move(next.stmt));
    else if (next.head->var)
      body.add_before(make_let(*next.head->var, next.head->value, body.take()));
    else body.add_before(make_alloc(next.head->tensor, next.head->scope, body.take()));
  }
  return body.take();
}

Status Parser::too_deep() const {
  return in_.wrong(in_.at(), cat("statements are nested more than ", kMaxNesting, " deep"));
}

// Parses one statement or head. Returns false for "$0 = ...", which belongs to the next one.
Result<bool> Parser::item(std::vector<Item>& items) {
  if (in_.is_at("$")) {
    BYOC_TRY_STATUS(short_name());
    return false;
  }
  Item out;
  for (size_t k = 0; k < std::size(kLoopNames); ++k) {
    if (!in_.take_word(kLoopNames[k])) continue;
    BYOC_TRY(out.stmt, loop(static_cast<LoopKind>(k)));
    items.push_back(std::move(out));
    return true;
  }
  if (in_.take_word("if")) {
    BYOC_TRY(out.stmt, branch());
  } else if (in_.take_word("let")) {
    BYOC_TRY(out.head, let());
  } else if (in_.take_word("stack")) {
    BYOC_TRY(out.head, alloc(Scope::kStack));
  } else if (in_.take_word("workspace")) {
    BYOC_TRY(out.head, alloc(Scope::kWorkspace));
  } else if (in_.take("{")) {
    BYOC_TRY(out.stmt, body_of_loop(LoopKind::kSerial));
  } else {
    BYOC_TRY(out.stmt, store_or_call());
  }
  items.push_back(std::move(out));
  return true;
}

Status Parser::short_name() {
  const size_t at = in_.at();
  BYOC_TRY_STATUS(in_.expect("$"));
  BYOC_TRY(int64_t number, in_.integer());
  if (number != static_cast<int64_t>(short_.size()))
    return in_.wrong(at, cat("expected $", short_.size(), ", the next number"));
  BYOC_TRY_STATUS(in_.expect("="));
  BYOC_TRY(Deep value, expression(1, 0));
  constexpr int kMostOfChain = 500;
  if (value.depth > kMostOfChain)
    return in_.wrong(at, cat("an expression is nested more than ", kMostOfChain, " deep"));
  short_.push_back(std::move(value));
  return {};
}

// Parses a block that is one deeper, after its brace.
Result<Stmt> Parser::body_of_loop(LoopKind kind) {
  if (++nesting_ > kMaxNesting) return too_deep();
  const bool was_parallel =
      std::exchange(is_parallel_, is_parallel_ || kind == LoopKind::kParallel);
  BYOC_TRY(Stmt out, block());
  is_parallel_ = was_parallel;
  --nesting_;
  return out;
}

// Parses i in 0..n { ... } or i in 8..+n { ... }, where n is the number of iterations.
Result<Stmt> Parser::loop(LoopKind kind) {
  BYOC_TRY(std::string name, in_.name("the variable of a loop"));
  if (!in_.take_word("in")) return in_.expected("'in'");
  BYOC_TRY(Expr begin, expression());
  const size_t at = in_.at();
  BYOC_TRY_STATUS(in_.expect(".."));
  const bool is_count = in_.take("+");
  BYOC_TRY(Expr extent, expression());
  if (begin.dtype() != DType::kI64 || extent.dtype() != DType::kI64)
    return in_.wrong(at, "both ends of a loop are i64");
  const std::optional<int64_t> from = as_int(begin), to = as_int(extent);
  if (!is_count && from && to) extent = *to > *from ? Expr(*to - *from) : Expr(0);
  else if (!is_count && from != 0) extent = extent - begin;
  const bool is_written_out = kind == LoopKind::kVectorized || kind == LoopKind::kUnrolled;
  if (is_written_out && !as_int(extent))
    return in_.wrong(at, cat("a loop that is ", kLoopNames[static_cast<size_t>(kind)],
                             " needs a number of iterations"));
  if (kind == LoopKind::kParallel && is_parallel_)
    return in_.wrong(at, "a parallel loop inside of another");
  BYOC_TRY_STATUS(in_.expect("{"));
  Var var(name);
  const size_t mark = vars_.mark();
  vars_.add(name, {Expr(var)});
  BYOC_TRY(Stmt body, body_of_loop(kind));
  vars_.close(mark);
  return make_for(var, begin, extent, kind, std::move(body));
}

Result<Stmt> Parser::branch() {
  const size_t at = in_.at();
  BYOC_TRY(Expr condition, expression());
  if (condition.dtype() != DType::kBool)
    return in_.wrong(at, cat("a condition is a bool, and not ", condition.dtype()));
  BYOC_TRY_STATUS(in_.expect("{"));
  BYOC_TRY(Stmt yes, body_of_loop(LoopKind::kSerial));
  Stmt no;
  if (in_.take_word("else")) {
    BYOC_TRY_STATUS(in_.expect("{"));
    BYOC_TRY(no, body_of_loop(LoopKind::kSerial));
  }
  return make_if(condition, std::move(yes), std::move(no));
}

Result<Parser::Head> Parser::let() {
  BYOC_TRY(std::string name, in_.name("the name of a value"));
  BYOC_TRY_STATUS(in_.expect("="));
  BYOC_TRY(Expr value, expression());
  Head out;
  out.var = Var(name, value.dtype());
  out.value = value;
  vars_.add(name, {Expr(*out.var)});
  return out;
}

Result<Parser::Head> Parser::alloc(Scope scope) {
  BYOC_TRY(std::string name, in_.name("the name of a tensor"));
  Head out;
  out.scope = scope;
  BYOC_TRY(out.tensor, tensor(name, false));
  tensors_.add(name, {out.tensor});
  return out;
}

// Parses ": f32[2, n]".
Result<Tensor> Parser::tensor(const std::string& name, bool declares) {
  BYOC_TRY_STATUS(in_.expect(":"));
  const std::optional<DType> dtype = parse_dtype(in_.word());
  if (!dtype) return in_.expected("a type such as f32[2, 3]");
  const size_t at = in_.at();
  in_.advance(in_.word().size());
  BYOC_TRY_STATUS(in_.expect("["));
  const bool declared = std::exchange(declares_, declares);
  Exprs shape;
  while (!in_.take("]")) {
    if (!shape.empty()) BYOC_TRY_STATUS(in_.expect(","));
    BYOC_TRY(Expr extent, expression());
    if (extent.dtype() != DType::kI64) return in_.wrong(at, "an extent is i64");
    shape.push_back(std::move(extent));
  }
  declares_ = declared;
  Tensor out(name, *dtype, std::move(shape));
  if (!is_countable(out)) return in_.wrong(at, cat(name, " has no size that memory can have"));
  return out;
}

Result<Stmt> Parser::store_or_call() {
  const size_t at = (in_.rest(), in_.at());
  BYOC_TRY(std::string name, in_.name("a statement or '}'"));
  if (in_.take("[")) return store(name, at);
  if (in_.take("(")) return intrinsic(name, at);
  return in_.expected(cat("'[' or '(' after ", name));
}

Result<Stmt> Parser::store(const std::string& name, size_t at) {
  BYOC_TRY(const Memory* known, memory(name, at));
  if (known->is_input) return in_.wrong(at, cat(name, " is an input and cannot be written"));
  const Tensor to = *known->tensor;
  BYOC_TRY(Exprs where, indices(to, at));
  BYOC_TRY_STATUS(in_.expect("="));
  BYOC_TRY(Expr value, expression());
  if (value.dtype() != to.dtype()) {
    return in_.wrong(at, cat(name, " holds ", to.dtype(), ", the value is ", value.dtype(),
                             ": write a cast such as ", to.dtype(), "(x)"));
  }
  return make_store(to, std::move(where), value);
}

// Parses the places and values of a micro-kernel, after the parenthesis.
Result<Stmt> Parser::intrinsic(const std::string& name, size_t at) {
  Intrinsic call{name, {}, {}, nullptr};
  auto known = kernels_.find(name);
  if (known != kernels_.end()) call.declaration = known->second;
  for (bool is_first = true; !in_.take(")"); is_first = false) {
    if (!is_first) BYOC_TRY_STATUS(in_.expect(","));
    if (!in_.take("&")) {
      BYOC_TRY(Expr arg, expression());
      call.args.push_back(std::move(arg));
      continue;
    }
    if (!call.args.empty()) return in_.wrong(in_.at() - 1, "places come before values");
    const size_t place = in_.at();
    BYOC_TRY(std::string tensor, in_.name("a tensor"));
    BYOC_TRY(const Memory* memory, this->memory(tensor, place));
    if (name == kCopy && call.places.size() == 1 && memory->is_input)
      return in_.wrong(place, cat(tensor, " is an input and cannot be written"));
    const Tensor to = *memory->tensor;
    BYOC_TRY_STATUS(in_.expect("["));
    BYOC_TRY(Exprs where, indices(to, place));
    call.places.push_back({to, std::move(where)});
  }
  BYOC_TRY_STATUS(check_call(call, at));
  return make_intrinsic(call.name, call.places, call.args, call.declaration);
}

Status Parser::check_call(const Intrinsic& call, size_t at) const {
  for (const Expr& arg : call.args) {
    if (arg.dtype() != DType::kI64)
      return in_.wrong(at, cat("a value that ", call.name, " receives is ", arg.dtype()));
  }
  if (!index_error_op(call).empty()) {
    if (is_parallel_) return in_.wrong(at, cat(call.name, " is inside of a parallel loop"));
    if (call.args.size() == 3 && call.places.empty()) return {};
    return in_.wrong(at, cat(call.name, " takes an index, the lowest one and the extent"));
  }
  if (!call.declaration && call.name == kCopy && !is_copy(call))
    return in_.wrong(at, "copy takes two places of one type, and the number of elements");
  if (!call.declaration) return {};
  const TensorIntrin& intrin = *call.declaration;
  size_t args = axes_of(intrin).size();
  const auto places = place_axes(intrin);
  for (const auto& place : places) args += place.size();
  if (call.places.size() != places.size() || call.args.size() != args) {
    return in_.wrong(at, cat(call.name, " takes ", places.size(), " places and ", args,
                             " values, not ", call.places.size(), " and ", call.args.size()));
  }
  for (size_t k = 0; k < places.size(); ++k) {
    const Tensor& due = k + 1 < places.size() ? intrin.dag.inputs[k] : output_of(intrin);
    if (call.places[k].tensor.dtype() != due.dtype())
      return in_.wrong(at, cat("place ", k, " of ", call.name, " is ", due.dtype(), ", not ",
                               call.places[k].tensor.dtype()));
  }
  return {};
}

}  // namespace byoc::te
