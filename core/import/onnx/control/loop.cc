// SPDX-License-Identifier: Apache-2.0
// Loop:  v..., s... = loop(trips, condition, @body, v..., values that the body reads...)
#include <limits>

#include "core/import/onnx/control/kinds.h"
#include "core/import/onnx/control/repetition.h"

namespace byoc::onnx_import {
namespace {

// More rows than memory is planned for.
constexpr int64_t kMostRows = int64_t{1} << 28;

class LoopConverter : public RepetitionConverter {
 public:
  using RepetitionConverter::RepetitionConverter;

  Result<std::vector<ValueId>> convert_loop() {
    Repeated loop;
    BYOC_TRY(loop.graph, subgraph(proto_, "body"));
    const size_t carried = node_.num_inputs() > 2 ? node_.num_inputs() - 2 : 0;
    BYOC_TRY_STATUS(check_inner(*loop.graph, static_cast<int>(carried) + 2));
    BYOC_TRY(loop.trips, scalar_operand(0, DType::kI64, 0));
    if (!node_.has_input(0)) loop.trips = unlimited();
    BYOC_TRY(loop.condition, scalar_operand(1, DType::kBool, 1));
    BYOC_TRY_STATUS(read_carried(loop, 2, carried));
    BYOC_TRY_STATUS(count_stacked(loop, 1));
    BYOC_TRY(loop.captured, captured({loop.graph}));
    BYOC_TRY(std::vector<BodyParam> params, params_of(loop, 2));
    BYOC_TRY(Body body, with_body(*loop.graph, params, [&](GraphBuilder& builder) {
               return fill_loop(builder, *loop.graph);
             }));
    if (body.results[0] != TypeId(TensorType{DType::kBool, {}}))
      return bad_graph(cat("the condition of its graph is ", body.results[0], ", expected bool[]"));
    if (loop.stacked > 0) BYOC_TRY_STATUS(find_rows(loop, body));
    return add_loop(loop, std::move(body));
  }

 private:
  ValueId unlimited() {
    outer().begin_node({}, node_.name());
    const int64_t most = std::numeric_limits<int64_t>::max();
    return integer(outer(), most);
  }

  Result<std::vector<ValueId>> fill_loop(GraphBuilder& builder, onnx::GraphProto& graph) {
    scopes_.set(graph.input(0).name(), {0, 0});
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
  /// the graph declares for a stacked output. The latter are checked by every run.
  Status find_rows(Repeated& loop, const Body& body) {
    std::optional<Ints> trips = outer().const_ints(loop.trips);
    std::optional<Ints> begins = outer().const_ints(loop.condition);
    if (begins && begins->front() == 0) loop.rows = 0;
    else if (trips && trips->front() <= 0) loop.rows = 0;
    else if (trips && begins && body.always_goes_on && node_.has_input(0))
      loop.rows = trips->front();
    else if (std::optional<int64_t> declared = declared_rows(loop)) loop.rows = *declared;
    else if (trips && node_.has_input(0) && trips->front() <= kMostRows)
      loop.rows = Dim::counted(outer().new_size("loop"), trips->front());
    else
      return unimplemented(
                 "its stacked outputs have as many rows as it has iterations, which is known at "
                 "run time "
                 "only")
          .with_help(
              "declare the shapes of its outputs, or bind the most iterations, at most 2^28: "
              "--bind");
    return {};
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
