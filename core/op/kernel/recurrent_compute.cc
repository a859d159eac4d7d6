// SPDX-License-Identifier: Apache-2.0
// lstm, gru and rnn as expressions. The product of the input and w over all times is a stage of its
// own; the steps are a procedure, because each depends on the one before.
#include "core/op/kernel/recurrent.h"

namespace byoc::op {
namespace {

using te::Stmt;
using te::UnaryOp;

Expr sigmoid(const Expr& x) { return like(x, 1) / (like(x, 1) + te::unary(UnaryOp::kExp, -x)); }
Expr tanh(const Expr& x) { return te::unary(UnaryOp::kTanh, x); }

struct Recurrent {
  Inputs in;
  int64_t gates, directions, time, batch, input, hidden;
  bool starts_at_end, linear_before_reset;
  DType dtype;     // of all operands
  Tensor from_x;   // [directions, time, batch, gates * hidden], in the computing type
  Tensor sums;     // one per gate
  Tensor scratch;  // [hidden]

  const Tensor* operand(size_t k) const { return k < in.size() ? &in[k] : nullptr; }
  Expr bias(const Expr& d, int64_t part, int64_t gate, const Expr& j) const {
    if (in.size() <= 3) return zero(from_x.dtype());
    return widened(in[3](d, j + (part * gates + gate) * hidden));
  }
  // Returns a peephole's term. Numbers of type T are widened where they are read.
  Expr peephole(const Expr& d, int64_t gate, const Expr& j, const Expr& c) const {
    if (in.size() <= 6) return zero(from_x.dtype());
    return widened(in[6](d, j + gate * hidden)) * c;
  }
};

Recurrent recurrent(te::Builder& builder, const std::string& name, Inputs in, int64_t gates,
                    const Attrs& attrs) {
  Ints x = extents(in[0]), r = extents(in[2]);
  Recurrent n{in,
              gates,
              r[0],
              x[0],
              x[1],
              x[2],
              r[2],
              attrs.s("direction") == "reverse",
              attrs.b("linear_before_reset", false),
              in[0].dtype(),
              {},
              {},
              {}};
  n.from_x = sum_over(builder, name + "_input", {n.directions, n.time, n.batch, gates * n.hidden},
                      {n.input}, n.dtype, [&](const Exprs& i, const Exprs& k) {
                        return widened(in[0](i[1], i[2], k[0])) * widened(in[1](i[0], i[3], k[0]));
                      });
  n.sums = Tensor("sums", n.from_x.dtype(), {gates});
  n.scratch = Tensor("scratch", n.dtype, {n.hidden});
  return n;
}

// One step of one direction and batch entry.
struct StepExpr {
  const Recurrent& n;
  Expr d, b, time;
  Tensor y, h;    // h [directions, batch, hidden]: the state before this step
  Expr h_hidden;  // elements of h that count: none at a start without initial state

  Expr from_input(int64_t gate, const Expr& j) const {
    return n.from_x(d, time, b, j + gate * n.hidden) + n.bias(d, 0, gate, j);
  }
  // Returns the gate's product with the state; valid after `dot`.
  Expr from_state(int64_t gate, const Expr& j) const {
    return n.sums(gate) + n.bias(d, 1, gate, j);
  }
  Expr both(int64_t gate, const Expr& j) const { return from_input(gate, j) + from_state(gate, j); }
  Expr old(const Expr& j) const { return widened(h(d, b, j)); }
  // Sets sums[gate] to r's row of each of these gates times state(k).
  Stmt dot(std::vector<int64_t> gates, const Expr& j, const Expr& terms,
           const std::function<Expr(Expr)>& state) const {
    std::vector<Stmt> starts;
    for (int64_t gate : gates)
      starts.push_back(te::make_store(n.sums, {gate}, zero(n.sums.dtype())));
    Stmt add = te::loop("k", terms, [&](Expr k) {
      std::vector<Stmt> adds;
      for (int64_t gate : gates) {
        Expr weight = widened(n.in[2](d, j + gate * n.hidden, k));
        adds.push_back(te::make_store(n.sums, {gate}, n.sums(gate) + weight * state(k)));
      }
      return te::make_block(std::move(adds));
    });
    starts.push_back(add);
    return te::make_block(std::move(starts));
  }
  Stmt dot_h(std::vector<int64_t> gates, const Expr& j) const {
    return dot(std::move(gates), j, h_hidden, [&](Expr k) { return old(k); });
  }
  Stmt give(const Expr& j, const Expr& value) const {
    return te::make_store(y, {time, d, b, j}, converted_to(n.dtype, value));
  }
  Stmt keep() const {  // y is the next step's state
    return te::loop("j", n.hidden, [&](Expr j) {
      return te::make_store(h, {d, b, j}, y(time, d, b, j));
    });
  }
};

Stmt start_state(const Recurrent& n, const Tensor& state, size_t initial, const Expr& d,
                 const Expr& b) {
  const Tensor* given = n.operand(initial);
  return te::loop("j", n.hidden, [&](Expr j) {
    return te::make_store(state, {d, b, j}, given ? (*given)(d, b, j) : zero(n.dtype));
  });
}

// Runs `step` for every direction, batch entry and time; results[0] is y, the others are states.
Result<Tensors> run_steps(te::Builder& builder, const std::string& name, const Recurrent& n,
                          Types out,
                          const std::function<Stmt(const StepExpr&, const Tensors&)>& step) {
  std::vector<TensorType> types;
  for (TypeId type : out) types.push_back(*type);
  Tensors inputs = {n.from_x};
  inputs.insert(inputs.end(), n.in.begin() + 2, n.in.end());
  return builder.procedure(name, types, inputs, [&](const Tensors& results) {
    Stmt body = nested_loops({n.directions, n.batch}, [&](const Exprs& i) {
      std::vector<Stmt> stmts = {start_state(n, results[1], 4, i[0], i[1])};
      if (results.size() > 2) stmts.push_back(start_state(n, results[2], 5, i[0], i[1]));
      stmts.push_back(te::loop("t", n.time, [&](Expr t) {
        Expr backwards = Expr(n.time - 1) - t, time = n.starts_at_end ? backwards : t;
        if (n.directions == 2) time = select(i[0] == Expr(1), backwards, time);
        Expr h_hidden = n.operand(4) ? Expr(n.hidden) : select(t == Expr(0), Expr(0), n.hidden);
        StepExpr now{n, i[0], i[1], time, results[0], results[1], h_hidden};
        return te::make_block({step(now, results), now.keep()});
      }));
      return te::make_block(std::move(stmts));
    });
    body = te::make_alloc(n.scratch, te::Scope::kWorkspace, body);
    return te::make_alloc(n.sums, te::Scope::kStack, body);
  });
}

}  // namespace

// Computes the gates in ONNX's order: i, o, f, c; peepholes i, o, f.
Result<Tensors> compute_lstm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  Recurrent n = recurrent(builder, "lstm", in, 4, attrs);
  return run_steps(builder, "lstm", n, out, [&](const StepExpr& s, const Tensors& results) {
    const Tensor& state = results[2];
    return te::loop("j", n.hidden, [&](Expr j) {
      te::Var old_var("old", n.from_x.dtype()), now_var("now", n.from_x.dtype());
      Expr old = old_var, now = now_var;
      Expr i = sigmoid(s.both(0, j) + n.peephole(s.d, 0, j, old));
      Expr f = sigmoid(s.both(2, j) + n.peephole(s.d, 2, j, old));
      Expr o = sigmoid(s.both(1, j) + n.peephole(s.d, 1, j, now));
      Stmt end = te::make_block({te::make_store(state, {s.d, s.b, j}, converted_to(n.dtype, now)),
                                 s.give(j, o * tanh(now))});
      end = te::make_let(now_var, f * old + i * tanh(s.both(3, j)), end);
      end = te::make_let(old_var, widened(state(s.d, s.b, j)), end);
      return te::make_block({s.dot_h({0, 1, 2, 3}, j), end});
    });
  });
}

// Computes the gates in ONNX's order: z, r, h. The reset gate scales h before r is applied, or
// the result of r.
Result<Tensors> compute_gru(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  Recurrent n = recurrent(builder, "gru", in, 3, attrs);
  return run_steps(builder, "gru", n, out, [&](const StepExpr& s, const Tensors&) {
    Stmt reset = te::loop("j", n.hidden, [&](Expr j) {
      Expr gate = sigmoid(s.both(1, j));
      Expr kept = converted_to(n.dtype, n.linear_before_reset ? gate : gate * s.old(j));
      return te::make_block({s.dot_h({1}, j), te::make_store(n.scratch, {j}, kept)});
    });
    Stmt update = te::loop("j", n.hidden, [&](Expr j) {
      auto scratch = [&](Expr k) { return widened(n.scratch(k)); };
      Expr z = sigmoid(s.both(0, j)), recurrent = s.from_state(2, j);
      if (n.linear_before_reset) recurrent = scratch(j) * recurrent;
      Expr value = (like(z, 1) - z) * tanh(s.from_input(2, j) + recurrent) + z * s.old(j);
      Stmt dots = n.linear_before_reset
                      ? s.dot_h({0, 2}, j)
                      : te::make_block({s.dot_h({0}, j), s.dot({2}, j, n.hidden, scratch)});
      return te::make_block({dots, s.give(j, value)});
    });
    return te::make_block({reset, update});
  });
}

Result<Tensors> compute_rnn(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  Recurrent n = recurrent(builder, "rnn", in, 1, attrs);
  return run_steps(builder, "rnn", n, out, [&](const StepExpr& s, const Tensors&) {
    return te::loop("j", n.hidden, [&](Expr j) {
      return te::make_block({s.dot_h({0}, j), s.give(j, tanh(s.both(0, j)))});
    });
  });
}

}  // namespace byoc::op
