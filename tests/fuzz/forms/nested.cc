// SPDX-License-Identifier: Apache-2.0
//   before: main(x) { a = f(x)  b = g(a, x)  y = h(b)  return y }
//   after:  main(x, n, c) { a = f(x)  b = if(c, @then, @otherwise, a, x)  y = h(b)  return y }
//           then(a, x) { b = g(a, x)  return b }
#include "forms/nested.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "byoc/base/check.h"
#include "byoc/ir/control.h"
#include "byoc/text/builder.h"

namespace byoc::fuzz {
namespace {

constexpr const char *kCount = "nest_count", *kCondition = "nest_condition";
constexpr int64_t kIterations = 2;
const TypeId kNumber = TensorType{DType::kI64, {}}, kTruth = TensorType{DType::kBool, {}};

enum class Form { kIf, kCarried, kStacked };

/// Moves the nodes [first, last) of `main`, which are calls, into bodies.
class Nesting {
 public:
  Nesting(IRModule& module, uint32_t first, uint32_t last, Form form)
      : module_(module), old_(module.function("main")), first_(first), last_(last), form_(form) {}

  void run() {
    find_borders();
    make_body("nested");
    if (form_ == Form::kIf) make_body("otherwise");
    Function main;
    main.attrs = old_.attrs;
    for (uint32_t n = 0; n < first_; ++n) copy(n, main);
    add_control(main);
    for (uint32_t n = last_; n < old_.nodes.size(); ++n) copy(n, main);
    for (ValueId result : old_.results) main.results.push_back(new_of_.at(result));
    module_.functions["main"] = std::move(main);
  }

 private:
  bool is_inside(ValueId value) const { return value.node >= first_ && value.node < last_; }

  // Finds what the steps read from outside, and which of their results others read.
  void find_borders() {
    std::set<ValueId> read, used;
    for (uint32_t n = first_; n < last_; ++n) {
      for (ValueId arg : old_.args(old_.nodes[n])) {
        const bool is_constant = std::holds_alternative<Constant>(old_.nodes[arg.node].kind);
        if (!is_inside(arg) && !is_constant && read.insert(arg).second) captures_.push_back(arg);
      }
    }
    for (uint32_t n = last_; n < old_.nodes.size(); ++n)
      for (ValueId arg : old_.args(old_.nodes[n])) used.insert(arg);
    used.insert(old_.results.begin(), old_.results.end());
    std::ranges::copy_if(used, std::back_inserter(results_),
                         [&](ValueId value) { return is_inside(value); });
  }

  uint32_t carried() const {
    return form_ == Form::kCarried ? static_cast<uint32_t>(results_.size()) : 0;
  }

  uint32_t truth(Function& to) {
    return to.add_constant(module_.add_constant(from_elements(kTruth, {1})), kTruth);
  }

  void make_body(Symbol name) {
    Function body;
    std::map<ValueId, ValueId> own;
    if (form_ != Form::kIf) body.add_param("i", kNumber);
    for (uint32_t k = 0; k < carried(); ++k) body.add_param(cat("v", k), old_.type(results_[k]));
    for (size_t k = 0; k < captures_.size(); ++k)
      own[captures_[k]] = {body.add_param(cat("x", k), old_.type(captures_[k])), 0};
    for (uint32_t n = first_; n < last_; ++n) {
      std::vector<ValueId> args;
      for (ValueId arg : old_.args(old_.nodes[n])) {
        if (!own.contains(arg)) own[arg] = {body.add_copy(old_.nodes[arg.node], {}), 0};
        args.push_back(own.at(arg));
      }
      const uint32_t node = body.add_copy(old_.nodes[n], args);
      for (uint32_t k = 0; k < old_.nodes[n].types.size(); ++k) own[{n, k}] = {node, k};
    }
    if (form_ != Form::kIf) body.results.push_back({truth(body), 0});
    for (ValueId result : results_) body.results.push_back(own.at(result));
    module_.functions[name] = std::move(body);
  }

  void copy(uint32_t n, Function& to) {
    std::vector<ValueId> args;
    for (ValueId arg : old_.args(old_.nodes[n])) args.push_back(new_of_.at(arg));
    const uint32_t node = to.add_copy(old_.nodes[n], args);
    for (uint32_t k = 0; k < old_.nodes[n].types.size(); ++k) new_of_[{n, k}] = {node, k};
  }

  ValueId parameter(Function& main, std::string_view name) const {
    for (uint32_t n = 0; n < main.num_params(); ++n)
      if (std::get<Param>(main.nodes[n].kind).name.text() == name) return {n, 0};
    BYOC_CHECK(false, "no parameter ", name);
    return {};
  }

  void add_control(Function& main) {
    std::vector<ValueId> args;
    std::vector<TypeId> types;
    for (ValueId result : results_) types.push_back(old_.type(result));
    if (form_ == Form::kIf) {
      args = {parameter(main, kCondition)};
    } else if (form_ == Form::kCarried) {
      args = {parameter(main, kCount), parameter(main, kCondition)};
      for (TypeId type : types) args.push_back({zeros(main, type), 0});
    } else {
      const Bytes count = from_elements(kNumber, {double{kIterations}});
      args = {{main.add_constant(module_.add_constant(count), kNumber), 0}, {truth(main), 0}};
      for (TypeId& type : types) type = stacked(type);
    }
    for (ValueId capture : captures_) args.push_back(new_of_.at(capture));
    const Control control{form_ == Form::kIf ? Control::kIf : Control::kLoop,
                          carried(),
                          "nested",
                          form_ == Form::kIf ? Symbol("otherwise") : Symbol(),
                          {}};
    const uint32_t node = main.add_control(control, args, TypeIds(types));
    for (uint32_t k = 0; k < results_.size(); ++k)
      new_of_[results_[k]] = form_ == Form::kStacked ? last_of(main, {node, k}) : ValueId{node, k};
  }

  uint32_t zeros(Function& main, TypeId type) {
    const std::vector<double> none(static_cast<size_t>(element_count(type)));
    return main.add_constant(module_.add_constant(from_elements(type, none)), type);
  }

  static TypeId stacked(TypeId type) {
    TensorType out = *type;
    out.shape.insert(out.shape.begin(), Dim(kIterations));
    return out;
  }

  // Returns the value of the last iteration: a slice without its first dim.
  static ValueId last_of(Function& main, ValueId stack) {
    const ValueId row = call(main, "slice", stack,
                             {{"starts", std::vector<int64_t>{kIterations - 1}},
                              {"ends", std::vector<int64_t>{kIterations}},
                              {"axes", std::vector<int64_t>{0}},
                              {"steps", std::vector<int64_t>{1}}});
    return call(main, "squeeze", row, {{"axes", std::vector<int64_t>{0}}});
  }

  static ValueId call(Function& main, std::string_view name, ValueId arg, const Attrs& given) {
    const OpDef* op = all_ops().find(name);
    BYOC_CHECK(op != nullptr, "no op ", name);
    auto attrs = complete_attrs(*op, given);
    BYOC_CHECK(attrs.ok(), attrs.status().message());
    const std::vector<TypeId> in = {main.type(arg)};
    auto types = infer_types(*op, in, *attrs);
    BYOC_CHECK(types.ok(), types.status().message());
    const std::vector<ValueId> args = {arg};
    return {main.add_call(op, intern(*std::move(attrs)), args, TypeIds(*types)), 0};
  }

  IRModule& module_;
  const Function old_;
  const uint32_t first_, last_;
  const Form form_;
  std::vector<ValueId> captures_, results_;
  std::map<ValueId, ValueId> new_of_;  // values of main, before and after
};

// Returns a number that the ops of the graph determine.
uint64_t seed_of(const Case& graph) {
  uint64_t out = graph.leaves.size();
  for (const Step& step : graph.steps)
    for (char c : step.op->name) out = out * 1099511628211u + static_cast<unsigned char>(c);
  return out;
}

}  // namespace

Case with_switches(Case graph) {
  graph.leaves.push_back({kCount, kNumber, from_elements(kNumber, {double{kIterations}}), false});
  graph.leaves.push_back({kCondition, kTruth, from_elements(kTruth, {1}), false});
  return graph;
}

IRModule nested_module(const Case& graph) {
  IRModule module = to_module(graph);
  const auto steps = static_cast<uint32_t>(graph.steps.size());
  if (steps == 0) return module;
  const auto begin = static_cast<uint32_t>(module.function("main").nodes.size()) - steps;
  std::mt19937_64 random(seed_of(graph));
  const auto first = static_cast<uint32_t>(random() % steps);
  const auto count = static_cast<uint32_t>(1 + random() % (steps - first));
  constexpr std::array kForms = {Form::kIf, Form::kCarried, Form::kStacked};
  Nesting(module, begin + first, begin + first + count, kForms[random() % kForms.size()]).run();
  return module;
}

}  // namespace byoc::fuzz
