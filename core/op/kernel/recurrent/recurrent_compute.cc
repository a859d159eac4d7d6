// SPDX-License-Identifier: Apache-2.0
// lstm, gru and rnn as expressions: two procedures, of which the first computes the product of the
// input and w for all times.
//   for each step: from_h = h r'       // all units of all gates, in tiles (row_products.h)
//                  c, h = cells(...)   // vectors of units
// With the attribute `panel_lanes`, which a strategy adds, both matrices are put into panels first
// (panel_products.h): stages of their own, which are constants when the matrices are. With
// `has_input_products` the product of the input is an operand, in the place of w:
// [time * batch, directions * gates * hidden], of f32. With `shares_steps` the threads share the
// rows of each step's product in nets of two directions, too, where that pays; else each direction
// is a thread's.
#include "byoc/base/check.h"
#include "core/op/kernel/recurrent/recurrent.h"

#include "core/op/kernel/index.h"
#include "core/op/kernel/panel_products.h"
#include "core/op/kernel/row_products.h"

namespace byoc::op {
namespace {

using te::LoopKind;
using te::Stmt;

// Multiply-adds that are worth a team of threads.
constexpr int64_t kParallelTerms = 1 << 17;
// Those of a step that is worth it although two directions would keep two threads busy: with four,
// half of the time has to pay for the two loops of a step.
constexpr int64_t kSharedStepTerms = 1 << 19;

// The rows [first, last) * hidden of r in panels [directions, panel, hidden, height].
struct GatePanels {
  int64_t first, last;
  Tensor panels;
};

struct Recurrent {
  Inputs in;
  int64_t gates, directions;
  Expr time, batch;  // which a run may give
  int64_t input, hidden;
  bool starts_at_end, linear_before_reset;
  DType dtype;                          // of all operands but the lengths
  size_t lengths;                       // the number of that operand
  std::vector<GateFunction> functions;  // of the first direction, then of the second
  // [directions, time * batch, gates * hidden], or [time * batch, directions * gates * hidden] when
  // it is an operand; in the computing type.
  Tensor from_x;
  Tensor from_h;            // [batch, gates * hidden], of one step, in the computing type
  Tensor reset;             // [batch, hidden], of gru
  int64_t panel_lanes = 0;  // 0: no panels
  bool shares_steps = false;
  std::vector<GatePanels> r_panels = {};
  std::optional<CheckedIndices> checked_lengths = {};  // 0 to time each; where there are lengths

  const Tensor* operand(size_t k) const { return k < in.size() ? &in[k] : nullptr; }
  bool has_lengths() const { return in.size() > lengths; }
  Expr product_of_x(const Expr& d, const Expr& column, const Expr& row) const {
    return from_x.rank() == 2 ? from_x(column, d * (gates * hidden) + row) : from_x(d, column, row);
  }
  // Returns function k of the direction.
  Expr apply(size_t k, const Expr& d, const Expr& x) const {
    BYOC_CHECK(k < functions.size() / static_cast<size_t>(directions), "function ", k, " of ",
               functions.size());
    const size_t second = functions.size() / 2 + k;
    if (directions == 1 || functions[k] == functions[second]) return functions[k](x);
    return select(d == Expr(0), functions[k](x), functions[second](x));
  }
  Expr bias(const Expr& d, int64_t part, int64_t gate, const Expr& j) const {
    if (in.size() <= 3) return zero(from_x.dtype());
    return widened(in[3](d, j + (part * gates + gate) * hidden));
  }
  // Returns a peephole's term. Numbers of type T are widened where they are read.
  Expr peephole(const Expr& d, int64_t gate, const Expr& j, const Expr& c) const {
    if (in.size() <= 6) return zero(from_x.dtype());
    return widened(in[6](d, j + gate * hidden)) * c;
  }
  // Returns loops over the batch and, in vectors, the units.
  Stmt each_unit(const std::function<Stmt(Expr b, Expr j)>& body) const {
    const int64_t lanes = 64 / static_cast<int64_t>(dtype_size(from_x.dtype()));
    const int64_t vectors = hidden / lanes, rest = hidden % lanes;
    return te::loop("b", batch, [&](Expr b) {
      auto vector = [&](const Expr& first, int64_t count) {
        return te::loop(
            "j", count, [&](Expr j) { return body(b, first + j); }, LoopKind::kVectorized);
      };
      Stmt full = te::loop("v", vectors, [&](Expr v) { return vector(v * lanes, lanes); });
      return te::make_block(
          {vectors == 0 ? Stmt() : full, rest == 0 ? Stmt() : vector(vectors * lanes, rest)});
    });
  }
};

// Puts rows of matrices [directions, rows, terms] into panels, from row `begin` on.
Tensor make_panels(te::Builder& builder, const std::string& name, const Tensor& matrix,
                   int64_t begin, const PanelProducts& p) {
  BYOC_CHECK(matrix.rank() == 3, "panels of a tensor of rank ", matrix.rank());
  const Exprs shape = {matrix.shape()[0], p.panel_count(), p.terms, p.height()};
  return builder.compute(name, shape, [&](const Exprs& i) {
    Expr row = i[1] * p.height() + i[3], value = matrix(i[0], row + begin, i[2]);
    return p.rows % p.height() == 0 ? value : select(row < Expr(p.rows), value, zero(p.dtype));
  });
}

PanelProducts input_shape(const Recurrent& n) {
  return {computing_dtype(n.dtype), n.gates * n.hidden, te::simplify(n.time * n.batch), n.input,
          n.panel_lanes};
}

// Returns the product of the input and row `row` of w, given to `give`, for one direction.
template <class Products>
Stmt products_of_x(Products products, const Recurrent& n, const Expr& d, const Tensor& out) {
  products.x = [&n](Expr column, Expr k) {
    return widened(n.in[0](floor_div(column, n.batch), floor_mod(column, n.batch), k));
  };
  products.give = [d, out](Expr row, Expr column, Expr sum) {
    return te::make_store(out, {d, column, row}, sum);
  };
  products.kind = LoopKind::kParallel;
  return products.stmt();
}

// Returns x [time, batch, input] times w [gates * hidden, input] for each direction.
Tensor input_products(te::Builder& builder, const std::string& name, const Recurrent& n) {
  const int64_t rows = n.gates * n.hidden;
  const Expr columns = te::simplify(n.time * n.batch);
  const Tensor shape("products", computing_dtype(n.dtype), {n.directions, columns, rows});
  const TensorType type = type_of(shape);
  const bool has_panels = n.panel_lanes > 0;
  Tensor w = n.in[1];
  if (has_panels) w = make_panels(builder, name + "_panels", n.in[1], 0, input_shape(n));
  auto one = [&](const Expr& d, const Tensor& out) {
    if (has_panels) {
      PanelProducts products = input_shape(n);
      products.panels = [&](Expr p, Expr k, Expr r) { return w(d, p, k, r); };
      return products_of_x(products, n, d, out);
    }
    RowProducts products{type.dtype, rows, columns, n.input, {}, {}, {}};
    products.a = [&](Expr row, Expr k) { return widened(w(d, row, k)); };
    return products_of_x(products, n, d, out);
  };
  auto body = [&](const Tensors& out) {
    return te::loop("d", n.directions, [&](Expr d) { return one(d, out[0]); });
  };
  return builder.procedure(name, {type}, {n.in[0], w}, body)[0];
}

PanelProducts gate_shape(const Recurrent& n, int64_t first, int64_t last) {
  return {n.from_h.dtype(), (last - first) * n.hidden, n.batch, n.hidden, n.panel_lanes};
}

// Puts the gates [first, last) of r into panels, where there are panels.
void add_gate_panels(te::Builder& builder, Recurrent& n, int64_t first, int64_t last) {
  if (n.panel_lanes == 0) return;
  const PanelProducts shape = gate_shape(n, first, last);
  n.r_panels.push_back(
      {first, last, make_panels(builder, "r_panels", n.in[2], first * n.hidden, shape)});
}

Result<Recurrent> recurrent(te::Builder& builder, const std::string& name, Inputs in, int64_t gates,
                            size_t operands, std::span<const GateFunction::Kind> defaults,
                            const Attrs& attrs) {
  const Exprs& x = in[0].shape();
  const Ints r = extents(in[2]);
  BYOC_CHECK(x.size() == 3 && r.size() == 3, name, " of ranks ", x.size(), " and ", r.size());
  const TensorType type = type_of(in[0]);
  if (!type.shape[2].is_static()) return needs_number(name, type.shape[2]);
  if (in.size() > operands && !type.shape[0].is_static()) return needs_number(name, type.shape[0]);
  BYOC_TRY(auto functions, gate_functions(name, attrs, defaults, r[0]));
  Recurrent n{in,
              gates,
              r[0],
              x[0],
              x[1],
              type.shape[2].extent(),
              r[2],
              attrs.s("direction") == "reverse",
              attrs.b("linear_before_reset", false),
              in[0].dtype(),
              operands,
              std::move(functions),
              {},
              {},
              {}};
  const bool has_terms =
      type.shape[0] != Dim(0) && type.shape[1] != Dim(0) && n.input > 0 && n.hidden > 0;
  n.panel_lanes = has_terms ? attrs.i("panel_lanes", 0) : 0;
  n.shares_steps = n.directions == 1 || attrs.b("shares_steps", false);
  n.from_x =
      attrs.b("has_input_products", false) ? in[1] : input_products(builder, name + "_input", n);
  n.from_h = Tensor("from_h", n.from_x.dtype(), {n.batch, gates * n.hidden});
  n.reset = Tensor("reset", n.dtype, {n.batch, n.hidden});
  if (n.has_lengths())
    n.checked_lengths.emplace(builder, name + ".lengths", in[operands],
                              std::vector<RangeExpr>{lengths_up_to(type.shape[0].extent())});
  return n;
}

// One step of one direction.
struct StepExpr {
  const Recurrent& n;
  Expr d, t;      // the number of the step
  Tensor y, h;    // h [directions, batch, hidden]: the state before this step
  Expr has_h;     // false at a start without initial state, which counts as zeros
  LoopKind rows;  // of the product's loop over rows
  // True at every other step: the rows of r that were read last are in the caches and come first.
  Expr from_last;

  Expr length(const Expr& b) const { return (*n.checked_lengths)({b}); }
  // Returns false after the end of a sequence.
  Expr runs(const Expr& b) const { return t < length(b); }
  // Returns `value` while the sequence runs, then `after`.
  Expr while_it_runs(const Expr& b, const Expr& value, const Expr& after) const {
    return n.has_lengths() ? select(runs(b), value, after) : value;
  }
  // Returns `backwards` where the direction is from the end, else t.
  Expr turned(const Expr& backwards) const {
    if (n.directions == 2) return select(d == Expr(1), backwards, t);
    return n.starts_at_end ? backwards : t;
  }
  // Returns the place of the step in x and y; after the end it is a place that gets zeros.
  Expr time(const Expr& b) const {
    if (!n.has_lengths()) return turned(te::simplify(n.time - 1) - t);
    Expr backwards = select(runs(b), length(b) - Expr(1) - t, t);
    return min(max(turned(backwards), 0), te::simplify(n.time - 1));
  }
  Expr apply(size_t k, const Expr& x) const { return n.apply(k, d, x); }
  Expr from_input(const Expr& b, int64_t gate, const Expr& j) const {
    return n.product_of_x(d, time(b) * n.batch + b, j + gate * n.hidden) + n.bias(d, 0, gate, j);
  }
  // Returns the gate's product with the state; valid after `products`.
  Expr from_state(const Expr& b, int64_t gate, const Expr& j) const {
    return n.from_h(b, j + gate * n.hidden) + n.bias(d, 1, gate, j);
  }
  Expr both(const Expr& b, int64_t gate, const Expr& j) const {
    return from_input(b, gate, j) + from_state(b, gate, j);
  }
  Expr old(const Expr& b, const Expr& j) const { return widened(h(d, b, j)); }
  // Sets from_h of the gates [first, last) to the product of r and state(b, k).
  Stmt products(int64_t first, int64_t last, const std::function<Expr(Expr, Expr)>& state) const {
    BYOC_CHECK(first < last && last <= n.gates, "gates ", first, " to ", last, " of ", n.gates);
    const int64_t begin = first * n.hidden, rows_in_all = (last - first) * n.hidden;
    auto with_places = [&](auto out) {
      out.x = state;
      out.kind = rows;
      out.from_last = from_last;
      out.give = [&](Expr row, Expr b, Expr sum) {
        return te::make_store(n.from_h, {b, row + begin}, sum);
      };
      return out.stmt();
    };
    for (const GatePanels& gates : n.r_panels) {
      if (gates.first != first || gates.last != last) continue;
      PanelProducts out = gate_shape(n, first, last);
      out.panels = [&](Expr p, Expr k, Expr r) { return gates.panels(d, p, k, r); };
      return with_places(out);
    }
    RowProducts out{n.from_h.dtype(), rows_in_all, n.batch, n.hidden, {}, {}, {}};
    out.a = [&](Expr row, Expr k) { return widened(n.in[2](d, row + begin, k)); };
    return with_places(out);
  }
  // Does the same with the state h. Without an initial one the first products are zeros, also where
  // r has infinities.
  Stmt products_of_h(int64_t first, int64_t last) const {
    Stmt all = products(first, last, [&](Expr b, Expr k) { return old(b, k); });
    if (n.operand(4)) return all;
    Stmt clear = n.each_unit([&](Expr b, Expr j) {
      std::vector<Stmt> zeros;
      for (int64_t gate = first; gate < last; ++gate)
        zeros.push_back(te::make_store(n.from_h, {b, j + gate * n.hidden}, zero(n.from_h.dtype())));
      return te::make_block(std::move(zeros));
    });
    return te::make_if(has_h, all, clear);
  }
  Stmt give(const Expr& b, const Expr& j, const Expr& value) const {
    Expr shown = while_it_runs(b, value, zero(value.dtype()));
    return te::make_store(y, {time(b), d, b, j}, converted_to(n.dtype, shown));
  }
  Stmt keep() const {  // y is the next step's state
    return n.each_unit([&](Expr b, Expr j) {
      return te::make_store(h, {d, b, j}, while_it_runs(b, y(time(b), d, b, j), h(d, b, j)));
    });
  }
};

Stmt start_state(const Recurrent& n, const Tensor& state, size_t initial, const Expr& d) {
  const Tensor* given = n.operand(initial);
  return n.each_unit([&](Expr b, Expr j) {
    return te::make_store(state, {d, b, j}, given ? (*given)(d, b, j) : zero(n.dtype));
  });
}

// Runs `step` for every direction and time; results[0] is y, the others are states. The rows of
// products are divided among threads where that pays, or else the directions.
Result<Tensors> run_steps(te::Builder& builder, const std::string& name, const Recurrent& n,
                          Types out,
                          const std::function<Stmt(const StepExpr&, const Tensors&)>& step) {
  BYOC_CHECK(out.size() == 2 || out.size() == 3, name, " has ", out.size(), " results");
  std::vector<TensorType> types;
  for (TypeId type : out) types.push_back(*type);
  Tensors inputs = {n.from_x};
  for (const GatePanels& gates : n.r_panels) inputs.push_back(gates.panels);
  const size_t operands = std::min(n.in.size(), n.lengths);
  inputs.insert(inputs.end(), n.in.begin() + (n.r_panels.empty() ? 2 : 3),
                n.in.begin() + static_cast<std::ptrdiff_t>(operands));
  if (n.has_lengths()) {
    for (const Tensor& tensor : n.checked_lengths->inputs()) inputs.push_back(tensor);
  }
  const int64_t least = std::max<int64_t>(te::bounds_of(n.batch).lo, 1);  // of the batch
  const int64_t enough = n.directions == 1 ? kParallelTerms : kSharedStepTerms;
  const bool is_large = n.gates * n.hidden * n.hidden >= enough / least;
  const LoopKind rows = n.shares_steps && is_large ? LoopKind::kParallel : LoopKind::kSerial;
  return builder.procedure(name, types, inputs, [&](const Tensors& results) {
    auto direction = [&](Expr d) {
      std::vector<Stmt> stmts = {start_state(n, results[1], 4, d)};
      if (results.size() > 2) stmts.push_back(start_state(n, results[2], 5, d));
      stmts.push_back(te::loop("t", n.time, [&](Expr t) {
        StepExpr now{n,          d,           t,    results[0],
                     results[1], Expr(0) < t, rows, floor_mod(t, 2) == Expr(1)};
        return te::make_block({step(now, results), now.keep()});
      }));
      Stmt body = te::make_alloc(n.reset, te::Scope::kWorkspace, te::make_block(std::move(stmts)));
      return te::make_alloc(n.from_h, te::Scope::kWorkspace, body);
    };
    const bool has_threads = n.directions == 2 && rows == LoopKind::kSerial;
    return te::loop("d", n.directions, direction,
                    has_threads ? LoopKind::kParallel : LoopKind::kSerial);
  });
}

}  // namespace

// Computes the gates in ONNX's order: i, o, f, c; peepholes i, o, f.
Result<Tensors> compute_lstm(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Recurrent n, recurrent(builder, "lstm", in, 4, kLstmOperands, kLstmGates, attrs));
  const bool input_forget = attrs.b("input_forget", false);
  add_gate_panels(builder, n, 0, 4);
  return run_steps(builder, "lstm", n, out, [&](const StepExpr& s, const Tensors& results) {
    BYOC_CHECK(results.size() == 3, "lstm has ", results.size(), " results");
    const Tensor& state = results[2];
    Stmt cells = n.each_unit([&](Expr b, Expr j) {
      te::Var old_var("old", n.from_x.dtype()), now_var("now", n.from_x.dtype());
      Expr old = old_var, now = now_var;
      Expr i = s.apply(0, s.both(b, 0, j) + n.peephole(s.d, 0, j, old));
      Expr f =
          input_forget ? like(i, 1) - i : s.apply(0, s.both(b, 2, j) + n.peephole(s.d, 2, j, old));
      Expr o = s.apply(0, s.both(b, 1, j) + n.peephole(s.d, 1, j, now));
      Expr kept = s.while_it_runs(b, now, old);
      Stmt end = te::make_block({te::make_store(state, {s.d, b, j}, converted_to(n.dtype, kept)),
                                 s.give(b, j, o * s.apply(2, now))});
      end = te::make_let(now_var, f * old + i * s.apply(1, s.both(b, 3, j)), end);
      return te::make_let(old_var, widened(state(s.d, b, j)), end);
    });
    return te::make_block({s.products_of_h(0, 4), cells});
  });
}

// Computes the gates in ONNX's order: z, r, h. The reset gate scales h before r is applied, or
// the result of r.
Result<Tensors> compute_gru(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Recurrent n, recurrent(builder, "gru", in, 3, kGruOperands, kGruGates, attrs));
  add_gate_panels(builder, n, 0, n.linear_before_reset ? 3 : 2);
  if (!n.linear_before_reset) add_gate_panels(builder, n, 2, 3);
  return run_steps(builder, "gru", n, out, [&](const StepExpr& s, const Tensors&) {
    auto reset = [&](Expr b, Expr k) { return widened(n.reset(b, k)); };
    Stmt resets = n.each_unit([&](Expr b, Expr j) {
      return te::make_store(n.reset, {b, j},
                            converted_to(n.dtype, s.apply(0, s.both(b, 1, j)) * s.old(b, j)));
    });
    Stmt cells = n.each_unit([&](Expr b, Expr j) {
      Expr z = s.apply(0, s.both(b, 0, j)), recurrent = s.from_state(b, 2, j);
      if (n.linear_before_reset) recurrent = s.apply(0, s.both(b, 1, j)) * recurrent;
      Expr value =
          (like(z, 1) - z) * s.apply(1, s.from_input(b, 2, j) + recurrent) + z * s.old(b, j);
      return s.give(b, j, value);
    });
    if (n.linear_before_reset) return te::make_block({s.products_of_h(0, 3), cells});
    return te::make_block({s.products_of_h(0, 2), resets, s.products(2, 3, reset), cells});
  });
}

Result<Tensors> compute_rnn(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Recurrent n, recurrent(builder, "rnn", in, 1, kGruOperands, kRnnGates, attrs));
  add_gate_panels(builder, n, 0, 1);
  return run_steps(builder, "rnn", n, out, [&](const StepExpr& s, const Tensors&) {
    Stmt cells =
        n.each_unit([&](Expr b, Expr j) { return s.give(b, j, s.apply(0, s.both(b, 0, j))); });
    return te::make_block({s.products_of_h(0, 1), cells});
  });
}

}  // namespace byoc::op
