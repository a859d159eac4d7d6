// SPDX-License-Identifier: Apache-2.0
// lstm, gru and rnn over whole sequences. Source: ONNX opset 22, LSTM, GRU and RNN.
#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/recurrent/recurrent.h"

namespace byoc::op {
namespace {

// The shapes: x [time, batch, input], and per direction d:
// w [gates * hidden, input], r [gates * hidden, hidden], b [2 * gates * hidden], state [batch,
// hidden]. A missing operand counts as zeros.
struct RecurrentShape {
  int64_t gates = 1, time = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool starts_at_end = false;  // the first direction; the second always does
};

std::string shown_types(Types in) {
  std::string text;
  for (TypeId type : in) text += cat(text.empty() ? " (" : ", ", type);
  return text + ")";
}

Status expect_shape(const std::string& op, const char* name, size_t k, const Shape& expected,
                    Types in) {
  if (k >= in.size() || in[k]->shape == expected) return {};
  return invalid(cat(op, ": ", name, " must have shape ", expected, shown_types(in)))
      .with_slug("op-shape");
}

Result<int64_t> directions_of(const std::string& op, const Attrs& attrs) {
  std::string direction = attrs.s("direction", "forward");
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  return invalid(
      cat(op, ": direction is \"", direction, "\", expected forward, reverse or bidirectional"));
}

// One of the three ops.
struct Family {
  std::string op;
  int64_t gates;
  size_t states, operands;  // operands: before the lengths
  std::span<const GateFunction::Kind> functions;
};

Result<std::vector<GateFunction>> functions_of(const Family& family, const Attrs& attrs) {
  BYOC_TRY(int64_t directions, directions_of(family.op, attrs));
  return gate_functions(family.op, attrs, family.functions, directions);
}

Status check_lengths(const Family& family, Types in) {
  const size_t k = family.operands;
  if (in.size() <= k) return {};
  BYOC_TRY_STATUS(expect_dtype(family.op, "lengths", in[k], {DType::kI64}));
  return expect_shape(family.op, "lengths", k, {in[0]->shape[1]}, in);
}

// Returns w's hidden extent. Errors: shapes that do not fit.
Result<int64_t> check_recurrent(const Family& family, Types in, const Attrs& attrs) {
  const std::string& op = family.op;
  const int64_t gates = family.gates;
  BYOC_TRY(int64_t directions, directions_of(op, attrs));
  BYOC_TRY_STATUS(functions_of(family, attrs).status());
  BYOC_TRY_STATUS(expect_dtype(op, "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(op, in.first(std::min(in.size(), family.operands))));
  BYOC_TRY_STATUS(expect_rank(op, "x", in[0], 3));
  BYOC_TRY_STATUS(expect_rank(op, "r", in[2], 3));
  const Shape &x = in[0]->shape, &r = in[2]->shape;
  if (!is_static(r))
    return invalid(cat(op, ": the shape of r must be known", shown_types(in)))
        .with_slug("symbolic-shape");
  int64_t hidden = r[2].extent();
  if (hidden > int64_t{1} << 40)
    return Status(Code::kOutOfRange, cat(op, ": hidden extent ", hidden));
  BYOC_TRY_STATUS(expect_shape(op, "r", 2, {directions, gates * hidden, hidden}, in));
  BYOC_TRY_STATUS(expect_shape(op, "w", 1, {directions, gates * hidden, x[2]}, in));
  BYOC_TRY_STATUS(expect_shape(op, "b", 3, {directions, 2 * gates * hidden}, in));
  BYOC_TRY_STATUS(expect_shape(op, "initial_h", 4, {directions, x[1], hidden}, in));
  BYOC_TRY_STATUS(check_lengths(family, in));
  if (family.operands <= 5) return hidden;
  BYOC_TRY_STATUS(expect_shape(op, "initial_c", 5, {directions, x[1], hidden}, in));
  BYOC_TRY_STATUS(expect_shape(op, "p", 6, {directions, 3 * hidden}, in));
  return hidden;
}

// Infers y [time, directions, batch, hidden] and `states` final states [directions, batch, hidden].
InferFn infer_recurrent(Family family) {
  return [=](Types in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY(int64_t hidden, check_recurrent(family, in, attrs));
    const Shape& x = in[0]->shape;
    Dim directions = in[2]->shape[0];
    std::vector<TensorType> results = {{in[0]->dtype, {x[0], directions, x[1], hidden}}};
    results.resize(1 + family.states, {in[0]->dtype, {directions, x[1], hidden}});
    return results;
  };
}

RecurrentShape read_shape(int64_t gates, Types in, const Attrs& attrs) {
  const Shape &x = in[0]->shape, &r = in[2]->shape;
  BYOC_CHECK(x.size() == 3 && r.size() == 3, "sequences ", in[0], " by ", in[2]);
  return {gates,
          x[0].extent(),
          x[1].extent(),
          x[2].extent(),
          r[2].extent(),
          r[0].extent(),
          attrs.s("direction") == "reverse"};
}

template <class T>
double dot(const T* a, const T* b, int64_t n) {
  constexpr int64_t kLanes = 16;  // independent sums, which compilers vectorise
  using C = Compute<T>;
  C sums[kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += C(a[k + l]) * C(b[k + l]);
  }
  for (; k < n; ++k) sums[0] += C(a[k]) * C(b[k]);
  double sum = 0;
  for (C part : sums) sum += static_cast<double>(part);
  return sum;
}

// The data of one step of one direction and batch entry.
template <class T>
struct Step {
  const T *w, *r, *b, *p;  // for this direction; b and p may be null
  const T *x, *h;          // h is null at a start without initial state
  int64_t input, hidden, gates;
  T *y, *state;           // y: the new h. state: lstm's c, gru's scratch
  const GateFunction* f;  // for this direction

  double from_input(int64_t gate, int64_t j) const {
    return dot(w + (gate * hidden + j) * input, x, input) + bias(gate, j);
  }
  double from_state(int64_t gate, int64_t j, const T* h_or_scaled) const {
    double sum = b ? static_cast<double>(b[(gates + gate) * hidden + j]) : 0;
    return h_or_scaled ? sum + dot(r + (gate * hidden + j) * hidden, h_or_scaled, hidden) : sum;
  }
  double both(int64_t gate, int64_t j) const {
    return from_input(gate, j) + from_state(gate, j, h);
  }
  double bias(int64_t gate, int64_t j) const {
    return b ? static_cast<double>(b[gate * hidden + j]) : 0;
  }
  double peephole(int64_t gate, int64_t j, double c) const {
    return p ? static_cast<double>(p[gate * hidden + j]) * c : 0;
  }
  double old(int64_t j) const { return h ? static_cast<double>(h[j]) : 0; }
};

// Computes the gates in ONNX's order: i, o, f, c; peepholes i, o, f.
template <class T>
void lstm_cell(const Step<T>& s, bool input_forget) {
  const GateFunction &gate = s.f[0], &cell = s.f[1], &output = s.f[2];
  for (int64_t j = 0; j < s.hidden; ++j) {
    double c = static_cast<double>(s.state[j]);
    double i = gate(s.both(0, j) + s.peephole(0, j, c)),
           f = input_forget ? 1 - i : gate(s.both(2, j) + s.peephole(2, j, c));
    c = f * c + i * cell(s.both(3, j));
    double o = gate(s.both(1, j) + s.peephole(1, j, c));
    s.state[j] = static_cast<T>(c);
    s.y[j] = static_cast<T>(o * output(c));
  }
}

// Computes the gates in ONNX's order: z, r, h. The reset gate scales h before r is applied, or
// the result of r.
template <class T>
void gru_cell(const Step<T>& s, bool linear_before_reset) {
  const GateFunction &gate = s.f[0], &output = s.f[1];
  for (int64_t j = 0; j < s.hidden; ++j)
    s.state[j] = static_cast<T>(gate(s.both(1, j)) * (linear_before_reset ? 1 : s.old(j)));
  for (int64_t j = 0; j < s.hidden; ++j) {
    double z = gate(s.both(0, j));
    double recurrent = linear_before_reset
                           ? static_cast<double>(s.state[j]) * s.from_state(2, j, s.h)
                           : s.from_state(2, j, s.state);
    s.y[j] = static_cast<T>((1 - z) * output(s.from_input(2, j) + recurrent) + z * s.old(j));
  }
}

template <class T>
void rnn_cell(const Step<T>& s) {
  for (int64_t j = 0; j < s.hidden; ++j) s.y[j] = static_cast<T>(s.f[0](s.both(0, j)));
}

// Returns operand k of direction d, which holds `size` elements per direction; null
// when it is missing.
template <class T>
const T* operand(const void* const* in, size_t given, size_t k, int64_t offset) {
  return k < given ? in_as<T>(in, k) + offset : nullptr;
}

template <class T>
void or_zeros(const T* from, int64_t n, T* to) {
  if (from) std::copy_n(from, n, to);
  else std::fill_n(to, n, T(0));
}

// The prepared part of a kernel.
struct KernelPlan {
  Family family;
  RecurrentShape shape;
  size_t given;  // operands
  std::vector<GateFunction> functions;
};

// Calls cell(step) for every direction, batch entry and time. The last state is the output that
// holds Step::state.
template <class T, class Cell>
void run_cells(const KernelPlan& plan, const void* const* in, void* const* out, Cell&& cell) {
  const RecurrentShape& n = plan.shape;
  const size_t given = plan.given, last_state = plan.family.states;
  const size_t with_p = plan.family.operands > 6 ? given : 0;
  const int64_t* lengths = operand<int64_t>(in, given, plan.family.operands, 0);
  for (int64_t d = 0; d < n.directions; ++d) {
    int64_t rows = d * n.gates * n.hidden;
    Step<T> step{in_as<T>(in, 1) + rows * n.input,
                 in_as<T>(in, 2) + rows * n.hidden,
                 operand<T>(in, given, 3, 2 * rows),
                 operand<T>(in, with_p, 6, d * 3 * n.hidden),
                 nullptr,
                 nullptr,
                 n.input,
                 n.hidden,
                 n.gates,
                 nullptr,
                 nullptr,
                 plan.functions.data() + static_cast<size_t>(d) * plan.family.functions.size()};
    for (int64_t b = 0; b < n.batch; ++b) {
      int64_t at = (d * n.batch + b) * n.hidden;
      step.h = operand<T>(in, given, 4, at);
      step.state = out_as<T>(out, last_state) + at;
      if (last_state == 2) or_zeros(operand<T>(in, given, 5, at), n.hidden, step.state);
      const int64_t steps = lengths ? lengths[b] : n.time;
      auto y_at = [&](int64_t time) {
        return out_as<T>(out, 0) + ((time * n.directions + d) * n.batch + b) * n.hidden;
      };
      for (int64_t k = steps; k < n.time; ++k) or_zeros<T>(nullptr, n.hidden, y_at(k));
      for (int64_t k = 0; k < steps; ++k) {
        int64_t time = n.starts_at_end || d == 1 ? steps - 1 - k : k;
        step.x = in_as<T>(in, 0) + (time * n.batch + b) * n.input;
        step.y = y_at(time);
        cell(step);
        step.h = step.y;
      }
      or_zeros(step.h, n.hidden, out_as<T>(out, 1) + at);
    }
  }
}

// Returns the kernel that calls cell(step) of the dtype.
template <class Cell>
Result<RefKernel> reference_of(const Family& family, Types in, const Attrs& attrs, Cell cell) {
  BYOC_TRY(auto functions, functions_of(family, attrs));
  KernelPlan plan{family, read_shape(family.gates, in, attrs), in.size(), std::move(functions)};
  BYOC_CHECK(
      plan.functions.size() == static_cast<size_t>(plan.shape.directions) * family.functions.size(),
      family.op, " has ", plan.functions.size(), " functions for ", plan.shape.directions,
      " directions");
  return for_dtype(family.op, in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [plan, cell](const void* const* from, void* const* to) {
      run_cells<T>(plan, from, to, cell);
    };
  });
}

const Family kLstm{"lstm", 4, 2, kLstmOperands, kLstmGates},
    kGru{"gru", 3, 1, kGruOperands, kGruGates}, kRnn{"rnn", 1, 1, kGruOperands, kRnnGates};

Result<RefKernel> reference_lstm(Types in, Types, const Attrs& attrs) {
  const bool input_forget = attrs.b("input_forget", false);
  return reference_of(kLstm, in, attrs, [=](const auto& step) { lstm_cell(step, input_forget); });
}

Result<RefKernel> reference_gru(Types in, Types, const Attrs& attrs) {
  const bool linear = attrs.b("linear_before_reset", false);
  return reference_of(kGru, in, attrs, [=](const auto& step) { gru_cell(step, linear); });
}

Result<RefKernel> reference_rnn(Types in, Types, const Attrs& attrs) {
  return reference_of(kRnn, in, attrs, [](const auto& step) { rnn_cell(step); });
}

// Returns a check of the lengths, where there are some.
ValueCheckFn length_check(const Family& family) {
  return [operand = family.operands, op = family.op](Types in, const Attrs&) -> Result<ValueCheck> {
    if (in.size() <= operand) return ValueCheck([](const void* const*) { return Status(); });
    return index_check(op + ".lengths", in[operand], operand,
                       {lengths_up_to(in[0]->shape[0].extent())});
  };
}

// Counts the matrix products alone.
double flops_recurrent(Types in, Types, const Attrs&) {
  const Shape& x = in[0]->shape;
  double steps = static_cast<double>(x[0].extent()) * static_cast<double>(x[1].extent());
  return 2 * steps * (flop_count(in[1]) + flop_count(in[2]));
}

OpDef recurrent_op(const Family& family, std::string doc, ReferenceFn reference,
                   ComputeFn compute) {
  const int64_t gates = family.gates;
  std::string rows = gates == 1 ? "hidden" : cat(gates, " * hidden");
  return {.name = family.op,
          .doc = std::move(doc),
          .inputs = {{"x", "float [time, batch, input]"},
                     {"w", cat("as x: [directions, ", rows, ", input]")},
                     {"r", cat("as x: [directions, ", rows, ", hidden]")},
                     {.name = "b",
                      .doc = cat("as x: [directions, ", 2 * gates, " * hidden], of w, then of r"),
                      .optional = true},
                     {.name = "initial_h",
                      .doc = "as x: [directions, batch, hidden]",
                      .optional = true}},
          .outputs = {{"y", "[time, directions, batch, hidden]"},
                      {"h", "the last: [directions, batch, hidden]"}},
          .attrs = {{"direction", "forward", "forward, reverse or bidirectional"}},
          .infer = infer_recurrent(family),
          .reference = std::move(reference),
          .compute = with_open_sizes(std::move(compute)),
          .flops = flops_recurrent,
          .check = length_check(family)};
}

}  // namespace

void add_recurrent_ops(OpRegistry& ops) {
  const InputSpec lengths{
      .name = "lengths",
      .doc = "i64 [batch]: steps of each sequence, 0 to time, y is 0 after them; as x without it",
      .optional = true};
  auto add = [&](OpDef def) {
    def.inputs.push_back(lengths);
    add_gate_attrs(def.attrs);
    ops.add(std::move(def));
  };
  OpDef lstm = recurrent_op(kLstm, "Long short-term memory; gates are in the order i, o, f, c.",
                            reference_lstm, compute_lstm);
  lstm.inputs.push_back({.name = "initial_c", .doc = "as initial_h", .optional = true});
  lstm.inputs.push_back(
      {.name = "p", .doc = "peepholes i, o, f: [directions, 3 * hidden]", .optional = true});
  lstm.outputs.push_back({"c", "the last: as h"});
  lstm.attrs.push_back({"input_forget", false, "gate f is 1 - i"});
  add(std::move(lstm));
  OpDef gru = recurrent_op(kGru, "Gated recurrent unit; gates are in the order z, r, h.",
                           reference_gru, compute_gru);
  gru.attrs.push_back(
      {"linear_before_reset", false, "the reset gate scales r * h + its bias instead of h"});
  add(std::move(gru));
  add(recurrent_op(kRnn, "Elman network.", reference_rnn, compute_rnn));
}

}  // namespace byoc::op
