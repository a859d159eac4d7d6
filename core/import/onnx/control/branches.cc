// SPDX-License-Identifier: Apache-2.0
// If:    y = if(condition, @then, @else, values that the branches read...)
// Results that have other extents in one branch than in the other get counted dims. For results of
// other ranks, the nodes that read them move into the branches (tails.h). A branch that does not
// fit the sizes of the model ends the run:
//   before: y = If(condition) { then: Relu(x)  else: Add(x, k) }             x f32[4], k f32[3]
//   after:  y = if(condition, @then, @else, x)
//           fn else(%x) { return raise() {message="...: dims 4 and 3 do not broadcast"} }
#include "core/import/onnx/control/converter.h"
#include "core/import/onnx/control/counted_results.h"
#include "core/import/onnx/control/kinds.h"
#include "core/import/onnx/control/tails.h"

namespace byoc::onnx_import {
namespace {

/// Returns true for errors that depend on sizes or on values: a model may have such a branch, which
/// its runs do not take. Others are faults of the model.
bool may_be_unused(const Status& status) {
  if (status.code() != Code::kInvalidArgument && status.code() != Code::kUnimplemented &&
      status.code() != Code::kOutOfRange)
    return false;
  const std::string& slug = status.slug();
  return slug.empty() || slug == "op-shape" || slug == "op-axis" || slug == "symbolic-shape" ||
         slug == "onnx-unsupported";
}

// A node that moves into branches is converted once for each; so are the branches in it.
constexpr size_t kMostTails = 6;

class IfConverter : public Converter {
 public:
  using Converter::Converter;

  Result<std::vector<ValueId>> convert_if() {
    BYOC_TRY(onnx::GraphProto * then, subgraph(proto_, "then_branch"));
    BYOC_TRY(onnx::GraphProto * otherwise, subgraph(proto_, "else_branch"));
    BYOC_TRY_STATUS(check_inner(*then, 0));
    BYOC_TRY_STATUS(check_inner(*otherwise, 0));
    BYOC_TRY(ValueId condition, scalar_operand(0, DType::kBool, 0));
    if (std::optional<Ints> known = outer().const_ints(condition)) {
      onnx::GraphProto& taken = known->front() != 0 ? *then : *otherwise;
      BYOC_TRY_STATUS(context_.check_support(taken));
      return convert_in_place(taken);
    }
    for (const onnx::GraphProto* graph : {then, otherwise})
      BYOC_TRY_STATUS(context_.check_support(*graph));
    const onnx::GraphProto spare_then = *then, spare_otherwise = *otherwise;
    const Mark before = mark();
    BYOC_TRY(Choice choice, choice_of(*then, *otherwise, nullptr));
    if (same_ranks(choice)) return add_choice(condition, std::move(choice));
    return_to(before);  // of branches that are made again
    BYOC_TRY(Moved moved, with_tail(spare_then, spare_otherwise, condition));
    if (moved) return *std::move(moved);
    *then = spare_then;
    *otherwise = spare_otherwise;
    BYOC_TRY(choice, choice_of(*then, *otherwise, nullptr));
    BYOC_TRY_STATUS(keep_one(choice, condition));
    return add_choice(condition, std::move(choice));
  }

 private:
  // Both branches, and the values that they read.
  struct Choice {
    NamedValues values;
    Body first, second;
  };

  using Moved = std::optional<std::vector<ValueId>>;

  Result<std::vector<ValueId>> convert_in_place(onnx::GraphProto& graph) {
    scopes_.enter(scopes_.builder(), graph);
    Status status = context_.convert_nodes(graph);
    Result<std::vector<ValueId>> results =
        status.ok() ? outputs_of(graph) : Result<std::vector<ValueId>>(std::move(status));
    scopes_.leave();
    return results;
  }

  std::vector<BodyParam> params_of(const NamedValues& values) {
    std::vector<BodyParam> params;
    for (const auto& [name, value] : values) params.push_back({name, outer().type(value)});
    return params;
  }

  // Makes a function of a branch, and of the nodes that follow it there.
  Result<Body> branch(onnx::GraphProto& graph, const NamedValues& values, const Tail* tail) {
    onnx::GraphProto after = tail == nullptr ? onnx::GraphProto() : tail->graph;
    return with_body(tail == nullptr ? graph : after, params_of(values),
                     [&](GraphBuilder&) -> Result<std::vector<ValueId>> {
                       if (tail != nullptr) return convert_with_tail(graph, after);
                       BYOC_TRY_STATUS(context_.convert_nodes(graph));
                       return outputs_of(graph);
                     });
  }

  Result<std::vector<ValueId>> convert_with_tail(onnx::GraphProto& graph, onnx::GraphProto& after) {
    BYOC_TRY(std::vector<ValueId> results, convert_in_place(graph));
    for (size_t k = 0; k < node_.num_outputs(); ++k) {
      if (!node_.has_output(k)) continue;
      if (k >= results.size()) return bad_graph(cat("its branches have no result ", k));
      scopes_.set(node_.output(k), results[k]);
    }
    BYOC_TRY_STATUS(context_.convert_nodes(after));
    return outputs_of(after);
  }

  // Makes both branches. One that does not fit the sizes raises an error when a run takes it.
  Result<Choice> choice_of(onnx::GraphProto& then, onnx::GraphProto& otherwise, const Tail* tail) {
    Choice out;
    if (tail == nullptr) {
      BYOC_TRY(out.values, captured({&then, &otherwise}));
    } else {
      BYOC_TRY(out.values, captured({&then, &otherwise, &tail->graph},
                                    {proto_.output().begin(), proto_.output().end()}));
    }
    const Mark before = mark();
    Result<Body> first = branch(then, out.values, tail);
    if (!first.ok()) {
      if (!may_be_unused(first.status())) return std::move(first.status());
      return_to(before);
    }
    const Mark between = mark();
    Result<Body> second = branch(otherwise, out.values, tail);
    if (!second.ok()) {
      if (!first.ok()) return std::move(first.status());
      if (!may_be_unused(second.status())) return std::move(second.status());
      return_to(between);
      BYOC_TRY(out.second, raising_branch("else", out.values, first->results, second.status()));
    } else {
      out.second = *std::move(second);
    }
    if (!first.ok()) {
      BYOC_TRY(out.first, raising_branch("then", out.values, out.second.results, first.status()));
    } else {
      out.first = *std::move(first);
    }
    return out;
  }

  static bool same_ranks(const Choice& choice) {
    return std::equal(choice.first.results.begin(), choice.first.results.end(),
                      choice.second.results.begin(), choice.second.results.end(),
                      [](TypeId a, TypeId b) { return a->shape.size() == b->shape.size(); });
  }

  // Moves as few of the nodes that depend on the results into the branches as make the ranks equal.
  // Returns the results of the node, of which those that only such nodes read are left out; nullopt
  // when the ranks of the graph's outputs differ.
  Result<Moved> with_tail(const onnx::GraphProto& then, const onnx::GraphProto& otherwise,
                          ValueId condition) {
    onnx::GraphProto& graph = scopes_.graph();
    int at = 0;
    while (at < graph.node_size() && &graph.node(at) != &proto_) ++at;
    if (at == graph.node_size() || scopes_.depth() > kMostTails) return Moved();
    const std::vector<int> after = dependents(graph, at);
    for (size_t count = 1; !after.empty(); count = std::min(2 * count, after.size())) {
      const Tail tail = make_tail(graph, at, after, count);
      for (onnx::NodeProto* node : tail.earlier) BYOC_TRY_STATUS(context_.convert_early(*node));
      const Mark before = mark();
      onnx::GraphProto first = then, second = otherwise;
      Result<Choice> choice = choice_of(first, second, &tail);
      if (choice.ok() && same_ranks(*choice)) return move_tail(tail, condition, *std::move(choice));
      return_to(before);
      if (count < after.size()) continue;
      if (choice.ok()) keeps_first_ = declares_first(*choice, tail.results).value_or(true);
      break;
    }
    return Moved();
  }

  Result<Moved> move_tail(const Tail& tail, ValueId condition, Choice choice) {
    BYOC_TRY(const std::vector<ValueId> results, add_choice(condition, std::move(choice)));
    for (size_t k = 0; k < results.size(); ++k) scopes_.set(tail.results[k], results[k]);
    context_.done.back().insert(tail.moved.begin(), tail.moved.end());
    std::vector<ValueId> out(static_cast<size_t>(proto_.output_size()));
    for (int k = 0; k < proto_.output_size(); ++k) {
      auto found = std::find(tail.results.begin(), tail.results.end(), proto_.output(k));
      if (found == tail.results.end()) proto_.set_output(k, "");  // only moved nodes read it
      else out[static_cast<size_t>(k)] = results[static_cast<size_t>(found - tail.results.begin())];
    }
    return Moved(std::move(out));
  }

  Result<std::vector<ValueId>> add_choice(ValueId condition, Choice choice) {
    auto& [values, first, second] = choice;
    BYOC_TRY_STATUS(make_equal(first, second, values));
    Control control{Control::kIf, 0, {}, {}, {}};
    control.body = add_function("then", std::move(first.function));
    control.otherwise = add_function("else", std::move(second.function));
    std::vector<ValueId> args = {condition};
    for (const auto& [name, value] : values) args.push_back(value);
    return add_control(control, std::move(args), first.results);
  }

  // Makes a branch that ends the run. Its results have the types of those of the other one.
  Result<Body> raising_branch(const char* which, const NamedValues& values,
                              const std::vector<TypeId>& types, const Status& why) {
    const auto has_bounds = [](Dim dim) { return dim.is_static() || dim.is_counted(); };
    for (TypeId type : types) {
      if (!std::all_of(type->shape.begin(), type->shape.end(), has_bounds)) return why;
    }
    const std::string fault = cat(why.where(), why.where().empty() ? "" : ": ", why.message());
    const std::string node = cat("node ", in_quotes(node_.name()), " (If)");
    add_warning(context_.warnings, cat(node, ": its ", which,
                                       " branch does not fit; a run that "
                                       "takes it ends with this error: ",
                                       fault));
    GraphBuilder builder(context_.module, context_.ops);
    for (const BodyParam& param : params_of(values)) builder.param(param.name, param.type);
    builder.begin_node({}, node_.name());
    std::vector<ValueId> results;
    for (TypeId type : types) {
      Attrs attrs = as_counted_attrs(type->shape);
      attrs.set("dtype", type->dtype);
      attrs.set("message", cat(node, " takes its ", which, " branch, which does not fit: ", fault));
      results.push_back(builder.call("raise", {}, std::move(attrs)));
    }
    BYOC_TRY_STATUS(Status(builder.status()));
    return finish_body(std::move(builder), std::move(results));
  }

  // Gives the results of both branches the same types.
  Status make_equal(Body& first, Body& second, const NamedValues& values) {
    if (first.results.size() != second.results.size())
      return bad_graph(cat("its branches return ", first.results.size(), " and ",
                           second.results.size(), " values"));
    std::vector<TypeId> captured;
    for (const auto& [name, value] : values) captured.push_back(outer().type(value));
    const std::string size = outer().new_size("if");
    for (size_t k = 0; k < first.results.size(); ++k) {
      const std::optional<TensorType> type =
          common_type(*first.results[k], *second.results[k], captured, cat(size, "_", k));
      if (!type) return no_common_type(first, second, k);
      for (Body* branch : {&first, &second}) {
        BYOC_TRY_STATUS(convert_result(branch->function, k, *type, context_.ops));
        branch->results[k] = *type;
      }
    }
    return {};
  }

  static Status no_common_type(const Body& first, const Body& second, size_t k) {
    const bool same_dtype = first.results[k]->dtype == second.results[k]->dtype;
    return unimplemented(cat("result ", k, " is ", first.results[k], " in one branch and ",
                             second.results[k], " in the other; ",
                             same_dtype ? "their sizes are open"
                                        : "branches with results of different dtypes are not "
                                          "supported"));
  }

  // Returns which branch has the ranks that the model declares for `names`, the results; nullopt
  // when it declares none, or fits both equally well.
  std::optional<bool> declares_first(const Choice& choice, const std::vector<std::string>& names) {
    const auto& first = choice.first.results;
    const auto& second = choice.second.results;
    size_t fits_first = 0, fits_second = 0;
    for (size_t k = 0; k < std::min({first.size(), second.size(), names.size()}); ++k) {
      const std::optional<size_t> rank = scopes_.declared_rank(names[k]);
      fits_first += rank == first[k]->shape.size() ? 1 : 0;
      fits_second += rank == second[k]->shape.size() ? 1 : 0;
    }
    return fits_first == fits_second ? std::nullopt : std::optional(fits_first > fits_second);
  }

  // Keeps the branch with the ranks that the model declares, or the first; a run that takes the
  // other one ends with an error.
  Status keep_one(Choice& choice, ValueId condition) {
    auto& [values, first, second] = choice;
    if (first.results.size() != second.results.size()) return {};  // an error of make_equal
    const std::optional<bool> declared =
        declares_first(choice, {proto_.output().begin(), proto_.output().end()});
    const bool keeps_first = declared.value_or(keeps_first_);
    const Body& kept = keeps_first ? first : second;
    Body& dropped = keeps_first ? second : first;
    size_t k = 0;
    while (kept.results[k]->shape.size() == dropped.results[k]->shape.size()) ++k;
    std::string cure = outer().cure(condition);
    const Status why = unimplemented(
        cat("its result ", k, " is ", dropped.results[k], ", in the other branch it is ",
            kept.results[k], ", which has another rank; to run this branch, bind the condition",
            cure.empty() ? "" : ": ", cure));
    BYOC_TRY(dropped, raising_branch(keeps_first ? "else" : "then", values, kept.results, why));
    return {};
  }

  bool keeps_first_ = true;  // unless the ranks of later values fit the second branch
};

}  // namespace

Result<std::vector<ValueId>> convert_if(ControlContext& context, onnx::NodeProto& proto,
                                        const NodeView& node) {
  return IfConverter(context, proto, node).convert_if();
}

}  // namespace byoc::onnx_import
