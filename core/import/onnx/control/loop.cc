// SPDX-License-Identifier: Apache-2.0
// Loop:  v..., s... = loop(trips, condition, @body, v..., values that the body reads...)
// Carried values whose extents change have counted dims:
//   before: y = Loop(trips, condition, x) { x = Concat(x, row) }            x [3], at most 5 trips
//   after:  y = loop(trips, condition, @body, as_counted(x))               y [?n<=8]
//           fn body(%i, %x: [?n<=8]) { return true, as_counted(concat(%x, row)) }
#include <limits>

#include "core/import/onnx/control/carried_types.h"
#include "core/import/onnx/control/counted_results.h"
#include "core/import/onnx/control/kinds.h"
#include "core/import/onnx/control/lists.h"
#include "core/import/onnx/control/repetition.h"
#include "core/import/onnx/inputs.h"

namespace byoc::onnx_import {
namespace {

// More rows than memory is planned for.
constexpr int64_t kMostRows = int64_t{1} << 28;
// Iterations that memory is planned for when neither the model nor the user has a bound.
constexpr int64_t kMostAssumed = 1024;
// A body of growing values is made about three times, and so are the loops in it.
constexpr size_t kMostGrowing = 6;

class LoopConverter : public RepetitionConverter {
 public:
  using RepetitionConverter::RepetitionConverter;

  Result<std::vector<ValueId>> convert_loop() {
    Repeated loop;
    BYOC_TRY(loop.graph, subgraph(proto_, "body"));
    const size_t carried = node_.num_inputs() > 2 ? node_.num_inputs() - 2 : 0;
    BYOC_TRY_STATUS(check_inner(*loop.graph, static_cast<int>(carried) + 2));
    BYOC_TRY(const std::vector<size_t> lists, carried_lists(carried));
    if (!lists.empty()) return convert_lists(*loop.graph, carried, lists);
    BYOC_TRY(loop.trips, scalar_operand(0, DType::kI64, 0));
    if (!node_.has_input(0)) loop.trips = unlimited();
    BYOC_TRY(loop.condition, scalar_operand(1, DType::kBool, 1));
    BYOC_TRY_STATUS(read_carried(loop, 2, carried));
    BYOC_TRY_STATUS(count_stacked(loop, 1));
    BYOC_TRY(loop.captured, captured({loop.graph}));
    const std::vector<ValueId> before = loop.carried;
    const Mark before_body = mark();
    BYOC_TRY(Body body, growing_body(loop));
    if (body.results[0] != TypeId(TensorType{DType::kBool, {}}))
      return bad_graph(cat("the condition of its graph is ", body.results[0], ", expected bool[]"));
    if (never_runs(loop)) {
      return_to(before_body);
      return results_without_runs(before, body);
    }
    if (loop.stacked > 0) find_rows(loop, body);
    return add_loop(loop, std::move(body));
  }

 private:
  /// Returns true when constants show that no iteration runs.
  bool never_runs(const Repeated& loop) {
    std::optional<Ints> trips = outer().const_ints(loop.trips);
    std::optional<Ints> begins = outer().const_ints(loop.condition);
    return (begins && begins->front() == 0) || (trips && trips->front() <= 0);
  }

  /// Returns the values before the loop, and stacked results without rows.
  Result<std::vector<ValueId>> results_without_runs(std::vector<ValueId> before, const Body& body) {
    outer().begin_node({}, node_.name());
    std::vector<ValueId> results = std::move(before);
    for (size_t k = results.size() + 1; k < body.results.size(); ++k) {
      TensorType rows = *body.results[k];
      rows.shape.insert(rows.shape.begin(), Dim(0));
      if (!is_static(rows.shape))
        return unimplemented(cat("it never runs, and a stacked output is ", rows));
      results.push_back(outer().constant(rows, Buffer::copy({})));
    }
    BYOC_TRY_STATUS(Status(outer().status()));
    return results;
  }

  /// Returns which carried values are sequences.
  Result<std::vector<size_t>> carried_lists(size_t carried) {
    std::vector<size_t> out;
    for (size_t k = 0; k < carried; ++k) {
      BYOC_TRY(ValueId value, operand(k + 2));
      if (outer().sequence(value) != nullptr) out.push_back(k);
    }
    return out;
  }

  /// Converts the loop with stacked outputs instead of sequences, and makes sequences of these.
  Result<std::vector<ValueId>> convert_lists(onnx::GraphProto& body, size_t carried,
                                             const std::vector<size_t>& lists) {
    if (body.output_size() < static_cast<int>(carried) + 1)
      return bad_graph(
          cat("its graph has ", body.output_size(), " outputs, expected at least ", carried + 1));
    std::vector<Sequence> before;
    for (size_t k : lists) {
      BYOC_TRY(ValueId value, operand(k + 2));
      before.push_back(*outer().sequence(value));
    }
    const auto outputs = proto_.output();
    BYOC_TRY_STATUS(stack_lists(proto_, body, carried, lists));
    Result<std::vector<ValueId>> stacked = convert_loop_of(proto_);
    *proto_.mutable_output() = outputs;
    BYOC_TRY(std::vector<ValueId> results, std::move(stacked));
    std::vector<ValueId> rows(results.end() - static_cast<std::ptrdiff_t>(lists.size()),
                              results.end());
    results.resize(results.size() - lists.size());
    for (size_t n = 0; n < lists.size(); ++n) {
      BYOC_TRY(ValueId list, appended(before[n], rows[n]));
      results.insert(results.begin() + static_cast<std::ptrdiff_t>(lists[n]), list);
    }
    return results;
  }

  Result<std::vector<ValueId>> convert_loop_of(onnx::NodeProto& proto) {
    return convert_control(context_, proto, NodeView(proto, node_.opset(), node_.folder()));
  }

  /// Makes a sequence of the elements before the loop and of those that it has stacked.
  Result<ValueId> appended(const Sequence& before, ValueId rows) {
    outer().begin_node({}, node_.name());
    std::vector<ValueId> parts;
    if (before.rows) parts.push_back(*before.rows);
    for (ValueId element : before.elements)
      parts.push_back(outer().call("unsqueeze", {element}, {{"axes", Ints{0}}}));
    if (!parts.empty()) {
      parts.push_back(rows);
      rows = outer().call("concat", parts, {{"axis", 0}});
    }
    const ValueId list = outer().make_sequence({{}, rows});
    BYOC_TRY_STATUS(Status(outer().status()));
    return list;
  }

  Result<Body> body_of(const Repeated& loop) {
    BYOC_TRY(std::vector<BodyParam> params, params_of(loop, 2));
    const std::optional<int64_t> trips = most_trips(loop);
    return with_body(*loop.graph, params,
                     [&](GraphBuilder& builder) { return fill_loop(builder, *loop.graph, trips); });
  }

  /// Makes the body. If an iteration returns a carried value with another extent than it got, the
  /// dim becomes counted, and the body is made again for the new type. Example: v: f32[3] and
  /// v = concat(v, row) return f32[4]; the second one takes and returns f32[?n]. Afterwards
  /// `loop` has the types and values of the last body.
  Result<Body> growing_body(Repeated& loop) {
    const auto is_scalar = [](TypeId type) { return type->shape.empty(); };
    if (std::all_of(loop.types.begin(), loop.types.end(), is_scalar)) return body_of(loop);
    const onnx::GraphProto before = *loop.graph;
    const Mark before_body = mark();
    CarriedTypes types(loop.types, outer().new_size("loop"), most_trips(loop), most_assumed());
    onnx::GraphProto again;
    while (true) {
      BYOC_TRY(Body body, body_of(loop));
      BYOC_TRY(const bool is_fixed, types.fit(body.results, types_of(loop.captured)));
      if (is_fixed) return converted(loop, types, std::move(body));
      if (scopes_.depth() > kMostGrowing)
        return unimplemented(
            cat("values that change their extents in a loop inside ", scopes_.depth(), " graphs"));
      return_to(before_body);
      again = before;
      loop.graph = &again;
      loop.types = types.types();
    }
  }

  /// Makes the values before the loop, and those that an iteration returns, of the types that all
  /// iterations have.
  Result<Body> converted(Repeated& loop, const CarriedTypes& types, Body body) {
    for (size_t k = 0; k < loop.carried.size(); ++k) {
      const TypeId type = types.types()[k];
      BYOC_TRY_STATUS(convert_result(body.function, k + 1, type, context_.ops));
      body.results[k + 1] = type;
      if (outer().type(loop.carried[k]) == *type) continue;
      outer().begin_node({}, node_.name());
      loop.carried[k] =
          outer().call("as_counted", {loop.carried[k]}, as_counted_attrs(type->shape));
      BYOC_TRY_STATUS(Status(outer().status()));
    }
    return body;
  }

  std::vector<TypeId> types_of(const NamedValues& values) {
    std::vector<TypeId> out;
    for (const auto& [name, value] : values) out.push_back(outer().type(value));
    return out;
  }

  std::optional<int64_t> most_trips(const Repeated& loop) {
    std::optional<Ints> most = outer().upper_bounds(loop.trips);
    if (!most || !node_.has_input(0) || most->front() > kMostRows) return std::nullopt;
    return std::max<int64_t>(most->front(), 0);
  }

  /// Returns the iterations that memory is planned for when the model has no bound.
  int64_t most_assumed() const {
    auto given = scopes_.options().shapes.find(kMaxIterations);
    if (given == scopes_.options().shapes.end()) return kMostAssumed;
    return std::clamp<int64_t>(given->second.front().most, 0, kMostRows);
  }

  ValueId unlimited() {
    outer().begin_node({}, node_.name());
    const int64_t most = std::numeric_limits<int64_t>::max();
    return integer(outer(), most);
  }

  Result<std::vector<ValueId>> fill_loop(GraphBuilder& builder, onnx::GraphProto& graph,
                                         std::optional<int64_t> trips) {
    scopes_.set(graph.input(0).name(), {0, 0});
    builder.set_counter({0, 0}, trips);
    BYOC_TRY(ValueId is_true, constant_of_type(builder, DType::kBool, 1));  // while it runs
    scopes_.set(graph.input(1).name(), is_true);
    BYOC_TRY_STATUS(context_.convert_nodes(graph));
    BYOC_TRY(std::vector<ValueId> results, outputs_of(graph));
    if (builder.rank(results[0]) == 0) return results;
    builder.begin_node({}, node_.name());
    results[0] = builder.call("reshape", {results[0]}, {{"shape", Ints{}}});
    BYOC_TRY_STATUS(Status(builder.status()));
    return results;
  }

  /// Finds how many iterations there will be: those that follow from constants, or as many rows as
  /// the graph declares for a stacked output, or as many as memory is planned for at most. Every
  /// run checks the latter two.
  void find_rows(Repeated& loop, const Body& body) {
    std::optional<Ints> trips = outer().const_ints(loop.trips);
    std::optional<Ints> begins = outer().const_ints(loop.condition);
    if (trips && begins && body.always_goes_on && node_.has_input(0)) loop.rows = trips->front();
    else if (std::optional<int64_t> declared = declared_rows(loop)) loop.rows = *declared;
    else loop.rows = rows_dim(loop, body, most_trips(loop).value_or(most_assumed()));
  }

  /// Returns the counted dim of the rows: that of the trips when the condition stays true.
  Dim rows_dim(const Repeated& loop, const Body& body, int64_t most) {
    auto begins = outer().const_ints(loop.condition);
    std::optional<Dim> trips = outer().dim_of(loop.trips);
    if (begins && body.always_goes_on && trips && trips->is_counted()) return *trips;
    return most == 0 ? Dim(0) : Dim::counted(outer().new_size("loop"), most);
  }

  std::optional<int64_t> declared_rows(const Repeated& loop) {
    for (size_t k = loop.carried.size(); k < node_.num_outputs(); ++k) {
      if (auto rows = scopes_.declared_rows(node_.output(k))) return rows;
    }
    return std::nullopt;
  }
};

}  // namespace

Result<std::vector<ValueId>> convert_loop(ControlContext& context, onnx::NodeProto& proto,
                                          const NodeView& node) {
  return LoopConverter(context, proto, node).convert_loop();
}

}  // namespace byoc::onnx_import
