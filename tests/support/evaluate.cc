// SPDX-License-Identifier: Apache-2.0
#include "evaluate.h"

#include <cstring>
#include <random>

#include "byoc/ir/visit.h"
#include "byoc/op/evaluate.h"
#include "byoc/text/text.h"

namespace byoc::testing {
namespace {

using Buffers = std::vector<std::shared_ptr<const Buffer>>;

Result<Buffers> run(const IRModule& module, const Function& function, const Buffers& inputs);

Result<Buffers> run_call(const Function& function, const Node& node, const Call& call,
                         const Buffers& operands) {
  std::vector<TypeId> in, out;
  std::vector<const Buffer*> data;
  for (ValueId arg : function.args(node)) in.push_back(function.type(arg));
  for (size_t k = 0; k < node.types.size(); ++k) out.push_back(node.types[k]);
  for (const auto& operand : operands) data.push_back(operand.get());
  return byoc::evaluate(*call.op, *call.attrs, in, out, data);
}

template <class T>
T element(const Buffer& buffer) {
  T out;
  std::memcpy(&out, buffer.data(), sizeof out);
  return out;
}

Result<Buffers> run_control(const IRModule& module, const Control& control, const Node& node,
                            const Buffers& operands) {
  if (control.action == Control::kIf) {
    Buffers args(operands.begin() + 1, operands.end());
    Symbol taken = element<bool>(*operands[0]) ? control.body : control.otherwise;
    return run(module, module.function(taken), args);
  }
  Buffers args(operands.begin() + 1, operands.end());  // args[0] is the iteration
  std::vector<std::vector<std::byte>> rows(node.types.size() - control.carried);
  bool goes_on = element<bool>(*operands[1]);
  for (int64_t k = 0; goes_on && k < element<int64_t>(*operands[0]); ++k) {
    args[0] = Buffer::copy(std::as_bytes(std::span(&k, 1)));
    BYOC_TRY(Buffers results, run(module, module.function(control.body), args));
    goes_on = element<bool>(*results[0]);
    for (size_t c = 0; c < control.carried; ++c) args[1 + c] = results[1 + c];
    for (size_t s = 0; s < rows.size(); ++s) {
      std::span<const std::byte> row = results[1 + control.carried + s]->bytes();
      rows[s].insert(rows[s].end(), row.begin(), row.end());
    }
  }
  Buffers out(args.begin() + 1, args.begin() + 1 + control.carried);
  for (const std::vector<std::byte>& all : rows) out.push_back(Buffer::copy(all));
  return out;
}

Result<Buffers> run_node(const IRModule& module, const Function& function, const Node& node,
                         const Buffers& operands) {
  if (auto* constant = std::get_if<Constant>(&node.kind)) {
    return Buffers{module.constants.at(constant->data->key())};
  }
  if (auto* call = std::get_if<Call>(&node.kind)) return run_call(function, node, *call, operands);
  if (auto* invoke = std::get_if<Invoke>(&node.kind)) {
    return run(module, module.function(invoke->function), operands);
  }
  if (auto* control = std::get_if<Control>(&node.kind))
    return run_control(module, *control, node, operands);
  return unimplemented("an extern cannot be evaluated");
}

// Recurses as deep as functions call each other, which in tests is not deep.
Result<Buffers> run(const IRModule& module, const Function& function, const Buffers& inputs) {
  std::vector<Buffers> values;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    Buffers operands;
    for (ValueId arg : function.args(function.nodes[k])) {
      operands.push_back(values[arg.node][arg.output]);
    }
    if (std::holds_alternative<Param>(function.nodes[k].kind)) {
      values.push_back({inputs.at(k)});
      continue;
    }
    Result<Buffers> results = run_node(module, function, function.nodes[k], operands);
    if (!results.ok()) return std::move(results.status()).at(describe(function, k));
    values.push_back(*std::move(results));
  }
  Buffers out;
  for (ValueId result : function.results) out.push_back(values[result.node][result.output]);
  return out;
}

}  // namespace

Result<std::vector<Values>> evaluate(const IRModule& module, const std::vector<Values>& inputs) {
  const Function& entry = module.function(module.entry);
  std::vector<TypeId> params = signature(entry).params, results = signature(entry).results;
  if (params.size() != inputs.size()) {
    return invalid(
        cat("@", module.entry, " takes ", params.size(), " inputs, ", inputs.size(), " given"));
  }
  Buffers buffers;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (params[k] != TypeId(inputs[k].type)) {
      return invalid(cat("input ", k, " is ", inputs[k].type, ", the parameter ", params[k]));
    }
    buffers.push_back(Buffer::copy(to_bytes(inputs[k])));
  }
  BYOC_TRY(Buffers outputs, run(module, entry, buffers));
  std::vector<Values> out;
  for (size_t k = 0; k < outputs.size(); ++k)
    out.push_back(from_bytes(*results[k], outputs[k]->data()));
  return out;
}

Values random_values(const TensorType& type, uint64_t seed) {
  std::mt19937_64 next(seed);
  Values out{type, std::vector<double>(static_cast<size_t>(*num_elements(type.shape)))};
  for (double& value : out.values) {
    auto bits = static_cast<double>(next() >> 40);  // 24 bits: exact in f32
    double unit = bits / (1 << 24);
    if (is_float(type.dtype)) value = 2 * unit - 1;
    else if (is_int(type.dtype)) value = static_cast<double>(static_cast<int>(8 * unit));
    else value = unit < 0.5 ? 0 : 1;
  }
  return out;
}

std::vector<Values> random_inputs(const IRModule& module, uint64_t seed) {
  std::vector<Values> out;
  for (TypeId type : signature(module.function(module.entry)).params) {
    out.push_back(random_values(*type, seed++));
  }
  return out;
}

void expect_same_results(const IRModule& a, const IRModule& b, double relative, uint64_t seed) {
  std::vector<Values> inputs = random_inputs(a, seed);
  auto x = evaluate(a, inputs), y = evaluate(b, inputs);
  ASSERT_TRUE(x.ok()) << x.status().to_string();
  ASSERT_TRUE(y.ok()) << y.status().to_string();
  ASSERT_EQ(x->size(), y->size());
  for (size_t k = 0; k < x->size(); ++k) expect_near((*y)[k], (*x)[k], relative);
}

}  // namespace byoc::testing
