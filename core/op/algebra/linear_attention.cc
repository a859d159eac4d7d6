// SPDX-License-Identifier: Apache-2.0
// linear_attention: attention with a state instead of a softmax, one step per token.
// Source: ONNX opset 27, LinearAttention.
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

using te::Stmt;

constexpr const char* kLinearAttention = "linear_attention";

// The extents of one call. The state s [n, heads, k, v] changes with every token t:
//   s *= e^g (gated);  u = v_t, or beta (v_t - s^T k_t) (delta);  s += k_t u^T;  y = scale q_t^T s
struct AttentionPlan {
  int64_t n = 0, t = 0, heads = 0, group = 1, k = 0, v = 0;
  bool gated = false, delta = false;
  bool gate_per_key = false;  // decay is [n, t, heads * k] instead of [n, t, heads]
  bool beta_per_head = true;  // beta is [n, t, heads] instead of [n, t, 1]
  double scale = 1;
  size_t beta() const { return gated ? 5 : 4; }  // its operand
};

Status misfit(std::string what, Types in) {
  return invalid(cat(kLinearAttention, ": ", what, " (query ", in[0], ", key ", in[1], ", value ",
                     in[2], ", state ", in[3], ")"))
      .with_slug("op-shape");
}

Result<AttentionPlan> read_rule(Types in, const Attrs& attrs) {
  AttentionPlan plan;
  std::string rule = attrs.s("rule", "linear");
  plan.gated = rule == "gated" || rule == "gated_delta";
  plan.delta = rule == "delta" || rule == "gated_delta";
  if (!plan.gated && !plan.delta && rule != "linear")
    return invalid(cat(kLinearAttention, ": rule is \"", rule,
                       "\", expected linear, gated, delta or gated_delta"));
  size_t operands = 4 + plan.gated + plan.delta;
  if (in.size() == operands) return plan;
  return invalid(
      cat(kLinearAttention, ": rule ", rule, " has ", operands, " operands, got ", in.size()));
}

// Checks a gate, which must be [n, t, width] with width one of two.
Status check_gate(const char* name, TypeId gate, Types in, int64_t width, int64_t other) {
  const Shape& q = in[0]->shape;
  if (gate->shape.size() == 3 && gate->shape[0] == q[0] && gate->shape[1] == q[1] &&
      (gate->shape[2] == Dim(width) || gate->shape[2] == Dim(other)))
    return {};
  return misfit(cat(name, " is ", gate, ", expected [n, t, ", width, "] or [n, t, ", other, "]"),
                in);
}

Result<AttentionPlan> read_attention_plan(Types in, const Attrs& attrs) {
  BYOC_TRY(AttentionPlan plan, read_rule(in, attrs));
  for (size_t k = 0; k < 3; ++k)
    BYOC_TRY_STATUS(expect_rank(kLinearAttention, "an operand", in[k], 3));
  BYOC_TRY_STATUS(expect_rank(kLinearAttention, "state", in[3], 4));
  const Shape &q = in[0]->shape, &k = in[1]->shape, &v = in[2]->shape, &s = in[3]->shape;
  int64_t heads = attrs.i("kv_heads", 1), q_heads = attrs.i("q_heads", 1);
  if (heads < 1 || q_heads < 1 || q_heads % heads != 0)
    return invalid(cat(kLinearAttention, ": q_heads ", q_heads,
                       " is no positive multiple of kv_heads ", heads));
  if (!s[2].is_static() || !s[3].is_static() || s[2].extent() >= int64_t{1} << 31 ||
      s[3].extent() >= int64_t{1} << 31 || q_heads >= int64_t{1} << 31)
    return misfit("the sizes of the state must be known and below 2^31", in);
  plan.heads = heads, plan.group = q_heads / heads;
  plan.k = s[2].extent(), plan.v = s[3].extent();
  bool fits = s[0] == q[0] && s[1] == Dim(heads) && q[2] == Dim(q_heads * plan.k) &&
              k == Shape{q[0], q[1], heads * plan.k} && v == Shape{q[0], q[1], heads * plan.v};
  if (!fits) return misfit(cat("the operands do not fit ", q_heads, " and ", heads, " heads"), in);
  if (plan.gated) {
    BYOC_TRY_STATUS(check_gate("decay", in[4], in, heads, heads * plan.k));
    plan.gate_per_key = in[4]->shape[2] != Dim(heads);
  }
  if (plan.delta) {
    TypeId beta = in[plan.beta()];
    BYOC_TRY_STATUS(check_gate("beta", beta, in, heads, 1));
    plan.beta_per_head = beta->shape[2] == Dim(heads);
  }
  plan.scale = attrs.f("scale", 0);
  if (plan.scale == 0) plan.scale = 1 / std::sqrt(static_cast<double>(plan.k));
  return plan;
}

Result<std::vector<TensorType>> infer_linear_attention(Types in, const Attrs& attrs) {
  for (TypeId type : in)
    BYOC_TRY_STATUS(expect_dtype(kLinearAttention, "an operand", type, dtypes_of(FloatTypes{})));
  for (size_t k = 1; k < in.size(); ++k) {
    if (k != 3 && in[k]->dtype != in[0]->dtype)
      return invalid(cat(kLinearAttention, ": operand ", k, " is ", in[k], ", query is ", in[0],
                         ", expects one dtype"))
          .with_slug("op-dtype");
  }
  BYOC_TRY(AttentionPlan plan, read_attention_plan(in, attrs));
  const Shape& q = in[0]->shape;
  TensorType y{in[0]->dtype, {q[0], q[1], plan.heads * plan.group * plan.v}};
  return std::vector<TensorType>{y, *in[3]};
}

Result<AttentionPlan> static_plan(Types in, const Attrs& attrs) {
  BYOC_TRY(AttentionPlan plan, read_attention_plan(in, attrs));
  BYOC_CHECK(!plan.delta || plan.beta() < in.size(), "beta is operand ", plan.beta(), " of ",
             in.size());
  plan.n = in[0]->shape[0].extent(), plan.t = in[0]->shape[1].extent();
  return plan;
}

constexpr int64_t kMostKeys = 4096;  // of a state in a 16-bit type, whose columns are on the stack

// Column j of the state of one head, which no other column affects: k numbers, `step` apart.
template <class S>
struct Column {
  Compute<S>* data;
  int64_t step;
  Compute<S>& operator[](int64_t i) const { return data[i * step]; }
};

// One token of one column. T is the type of all operands but the state, which has type S.
template <class T, class S>
struct ColumnStep {
  const AttentionPlan& plan;
  const void* const* in;
  Column<S> s;
  int64_t head, j;

  double number(size_t operand, int64_t at) const {
    return static_cast<double>(Compute<T>(in_as<T>(in, operand)[at]));
  }
  // `row` = image * t + token.
  void update(int64_t row) const {
    const int64_t at = row * plan.heads + head, key = at * plan.k;
    for (int64_t i = 0; plan.gated && i < plan.k; ++i) {
      s[i] *= static_cast<Compute<S>>(std::exp(number(4, plan.gate_per_key ? key + i : at)));
    }
    double u = number(2, at * plan.v + j);
    if (plan.delta) {
      double seen = 0;
      for (int64_t i = 0; i < plan.k; ++i) seen += static_cast<double>(s[i]) * number(1, key + i);
      u = number(plan.beta(), plan.beta_per_head ? at : row) * (u - seen);
    }
    for (int64_t i = 0; i < plan.k; ++i) s[i] += static_cast<Compute<S>>(number(1, key + i) * u);
  }
  void read(int64_t row, T* y) const {
    for (int64_t q = 0; q < plan.group; ++q) {
      const int64_t at = (row * plan.heads + head) * plan.group + q;
      double sum = 0;
      for (int64_t i = 0; i < plan.k; ++i)
        sum += number(0, at * plan.k + i) * static_cast<double>(s[i]);
      y[at * plan.v + j] = static_cast<T>(static_cast<Compute<T>>(plan.scale * sum));
    }
  }
};

// Computes column j of head `head` of image `image`.
template <class T, class S>
void run_column(const AttentionPlan& plan, const void* const* in, void* const* out, int64_t image,
                int64_t head, int64_t j) {
  const int64_t first = (image * plan.heads + head) * plan.k * plan.v + j;
  S* last = out_as<S>(out, 1) + first;
  Compute<S> on_stack[is_half<S> ? kMostKeys : 1];
  Column<S> column{on_stack, 1};
  if constexpr (!is_half<S>) column = {last, plan.v};
  for (int64_t i = 0; i < plan.k; ++i) column[i] = Compute<S>(in_as<S>(in, 3)[first + i * plan.v]);
  ColumnStep<T, S> step{plan, in, column, head, j};
  for (int64_t t = 0; t < plan.t; ++t) {
    step.update(image * plan.t + t);
    step.read(image * plan.t + t, out_as<T>(out, 0));
  }
  for (int64_t i = 0; i < plan.k; ++i) last[i * plan.v] = static_cast<S>(column[i]);
}

template <class T, class S>
RefKernel linear_attention_kernel(const AttentionPlan& plan) {
  BYOC_CHECK(!is_half<S> || plan.k <= kMostKeys, "a column of ", plan.k, " keys is on the stack");
  return [=](const void* const* in, void* const* out) {
    for (int64_t image = 0; image < plan.n; ++image) {
      for (int64_t head = 0; head < plan.heads; ++head) {
        for (int64_t j = 0; j < plan.v; ++j) run_column<T, S>(plan, in, out, image, head, j);
      }
    }
  };
}

Result<RefKernel> reference_linear_attention(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(AttentionPlan plan, static_plan(in, attrs));
  if (dtype_size(in[3]->dtype) == 2 && plan.k > kMostKeys)
    return unimplemented(cat(kLinearAttention, " has no kernel for a state of ", in[3],
                             ", only for keys of up to ", kMostKeys,
                             " elements, or a state in f32"));
  return for_dtype(
      kLinearAttention, in[0]->dtype, FloatTypes{}, [&]<class T>() -> Result<RefKernel> {
        return for_dtype(
            kLinearAttention, in[3]->dtype, FloatTypes{},
            [&]<class S>() -> Result<RefKernel> { return linear_attention_kernel<T, S>(plan); });
      });
}

// ---- as loops. The state is in f32, f64 for operands of f64.

// All loops over the state go along its rows, whose elements are adjacent.
struct PlanExpr {
  AttentionPlan plan;
  Inputs in;
  Tensor s, u, sums;  // of one head: [k, v], [v], and [group, v], the results of a token
  Expr image, head, token;

  Expr operand(size_t k, const Expr& last) const {
    return te::cast(s.dtype(), widened(in[k](image, token, last)));
  }
  Expr key(const Expr& i) const { return operand(1, head * plan.k + i); }
  Stmt row(const std::function<Stmt(Expr)>& body) const {
    return te::loop("j", plan.v, body, te::LoopKind::kVectorized);
  }
  Stmt each(const std::function<Stmt(Expr, Expr)>& body) const {
    return te::loop("i", plan.k, [&](Expr i) { return row([&](Expr j) { return body(i, j); }); });
  }
  Stmt decay() const {
    return te::loop("i", plan.k, [&](Expr i) {
      te::Var factor("factor", s.dtype());
      Expr g = operand(4, plan.gate_per_key ? head * plan.k + i : head);
      Stmt scaled = row([&](Expr j) { return te::make_store(s, {i, j}, s(i, j) * Expr(factor)); });
      return te::make_let(factor, te::unary(te::UnaryOp::kExp, g), scaled);
    });
  }
  Stmt updates() const {
    auto value = [&](const Expr& j) { return operand(2, head * plan.v + j); };
    if (!plan.delta) return row([&](Expr j) { return te::make_store(u, {j}, value(j)); });
    Expr beta = operand(plan.beta(), plan.beta_per_head ? head : Expr(0));
    Stmt clear = row([&](Expr j) { return te::make_store(u, {j}, zero(s.dtype())); });
    Stmt seen =
        each([&](Expr i, Expr j) { return te::make_store(u, {j}, u(j) + s(i, j) * key(i)); });
    Stmt change = row([&](Expr j) { return te::make_store(u, {j}, beta * (value(j) - u(j))); });
    return te::make_block({clear, seen, change});
  }
  // Returns the loop over the query heads that share this state.
  Stmt of_group(const std::function<Stmt(Expr)>& body) const {
    return plan.group == 1 ? body(0) : te::loop("q", plan.group, body);
  }
  // Writes and reads the state in one pass.
  Stmt write_and_read(const Tensor& y) const {
    auto q_head = [&](const Expr& q) { return head * plan.group + q; };
    Stmt clear = of_group([&](Expr q) {
      return row([&](Expr j) { return te::make_store(sums, {q, j}, zero(s.dtype())); });
    });
    Stmt pass = each([&](Expr i, Expr j) {
      Stmt write = te::make_store(s, {i, j}, s(i, j) + key(i) * u(j));
      Stmt add = of_group([&](Expr q) {
        Expr term = operand(0, q_head(q) * plan.k + i) * s(i, j);
        return te::make_store(sums, {q, j}, sums(q, j) + term);
      });
      return te::make_block({write, add});
    });
    Stmt give = of_group([&](Expr q) {
      return row([&](Expr j) {
        Expr value = sums(q, j) * literal(s.dtype(), plan.scale);
        return te::make_store(y, {image, token, q_head(q) * plan.v + j},
                              converted_to(y.dtype(), value));
      });
    });
    return te::make_block({clear, pass, give});
  }
};

Result<Tensors> compute_linear_attention(te::Builder& builder, Inputs in, Types out,
                                         const Attrs& attrs) {
  std::vector<TypeId> types;
  for (const Tensor& tensor : in) types.push_back(type_of(tensor));
  BYOC_TRY(const AttentionPlan plan, read_attention_plan(types, attrs));
  DType dtype =
      in[0].dtype() == DType::kF64 || in[3].dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  BYOC_CHECK(out.size() == 2, kLinearAttention, " has ", out.size(), " results");
  Tensors inputs(in.begin(), in.end());
  return builder.procedure(
      kLinearAttention, {*out[0], *out[1]}, inputs, [&](const Tensors& results) {
        auto one_head = [&](Expr number) {
          PlanExpr at{plan,
                      in,
                      Tensor("s", dtype, {Expr(plan.k), Expr(plan.v)}),
                      Tensor("u", dtype, {Expr(plan.v)}),
                      Tensor("sums", dtype, {Expr(plan.group), Expr(plan.v)}),
                      floor_div(number, plan.heads),
                      floor_mod(number, plan.heads),
                      Expr()};
          Stmt begin = at.each([&](Expr i, Expr j) {
            Expr first = in[3](at.image, at.head, i, j);
            return te::make_store(at.s, {i, j}, te::cast(dtype, widened(first)));
          });
          Stmt steps = te::loop("t", in[0].shape()[1], [&](Expr t) {
            at.token = t;
            return te::make_block(
                {plan.gated ? at.decay() : Stmt(), at.updates(), at.write_and_read(results[0])});
          });
          Stmt end = at.each([&](Expr i, Expr j) {
            return te::make_store(results[1], {at.image, at.head, i, j},
                                  converted_to(results[1].dtype(), at.s(i, j)));
          });
          Stmt body = te::make_block({begin, steps, end});
          body = te::make_alloc(at.sums, te::Scope::kWorkspace, body);
          body = te::make_alloc(at.u, te::Scope::kWorkspace, body);
          return te::make_alloc(at.s, te::Scope::kWorkspace, body);
        };
        return te::loop("head", in[0].shape()[0] * plan.heads, one_head, te::LoopKind::kParallel);
      });
}

double flops_linear_attention(Types in, Types, const Attrs& attrs) {
  auto plan = static_plan(in, attrs);
  if (!plan.ok()) return 0;
  double per_cell = 2.0 + 2.0 * static_cast<double>(plan->group) + plan->gated + 2.0 * plan->delta;
  return per_cell * static_cast<double>(plan->t) * flop_count(in[3]);
}

}  // namespace

void add_linear_attention_ops(OpRegistry& ops) {
  ops.add({.name = kLinearAttention,
           .doc = "Per head and token: s *= e^decay (gated); u = value, or beta (value - s^T key) "
                  "(delta); s += key u^T; y = scale query^T s.",
           .inputs = {{"query", "float [n, t, q_heads * k]"},
                      {"key", "as query: [n, t, kv_heads * k]"},
                      {"value", "as query: [n, t, kv_heads * v]"},
                      {"state", "float [n, kv_heads, k, v]"},
                      {"gate",
                       "decay of a gated rule, [n, t, kv_heads] or [n, t, kv_heads * k]; "
                       "else beta, [n, t, kv_heads] or [n, t, 1]",
                       true},
                      {"beta", "of gated_delta", true}},
           .outputs = {{"y", "as query: [n, t, q_heads * v]"},
                       {"state", "after the last token, type of state"}},
           .attrs = {{"rule", "linear", "linear, gated, delta or gated_delta"},
                     {"q_heads", int64_t{1}, "a multiple of kv_heads"},
                     {"kv_heads", int64_t{1}, "heads of key, value and state"},
                     {"scale", 0.0, "of y; 0: k^(-1/2)"}},
           .infer = infer_linear_attention,
           .reference = reference_linear_attention,
           .compute = with_open_sizes(compute_linear_attention),
           .flops = flops_linear_attention});
}

}  // namespace byoc::op
