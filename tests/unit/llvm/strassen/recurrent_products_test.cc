// SPDX-License-Identifier: Apache-2.0
// Recurrent nets whose input products are Strassen's, against the reference kernels.
#include "plugins/llvm/families/strassen/recurrent.h"

#include "byoc/op/evaluate.h"
#include "unit/llvm/strassen/product.h"

namespace byoc {
namespace {

using llvm_plugin::strassen::input_product_of;

constexpr double kRecurrentBound =
    2e-5;  // of the largest output: of the products, and steps in f32

struct Net {
  std::string op;
  int64_t time, batch, input, hidden;
  std::string direction = "forward";
  size_t operands = 4;  // x, w, r, b, initial states, peepholes
  int64_t block = 8, panel = 1;
  bool has_lengths = false;  // with all operands before
};

std::vector<TensorType> types_of(const Net& net) {
  const int64_t d = net.direction == "bidirectional" ? 2 : 1, h = net.hidden;
  const int64_t rows = (net.op == "lstm" ? 4 : net.op == "gru" ? 3 : 1) * h;
  const DType f32 = DType::kF32;
  std::vector<TensorType> out = {{f32, {net.time, net.batch, net.input}},
                                 {f32, {d, rows, net.input}},
                                 {f32, {d, rows, h}},
                                 {f32, {d, 2 * rows}},
                                 {f32, {d, net.batch, h}},
                                 {f32, {d, net.batch, h}},
                                 {f32, {d, 3 * h}}};
  out.resize(net.has_lengths ? (net.op == "lstm" ? 7 : 5) : net.operands);
  if (net.has_lengths) out.push_back({DType::kI64, {net.batch}});
  return out;
}

// Returns a function of the net; all parameters but the first are constants.
IRModule module_of(const Net& net) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  std::vector<ValueId> operands;
  for (const TensorType& type : types_of(net))
    operands.push_back(f.param(cat("p", operands.size()), type));
  ValueId y = f.call(net.op, operands, {{"direction", net.direction}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  return module;
}

std::vector<test::Data> data_of(const Net& net) {
  std::mt19937 random(5);
  std::vector<test::Data> out;
  for (const TensorType& type : types_of(net)) {
    int64_t count = 1;
    for (Dim dim : type.shape) count *= dim.extent();
    std::vector<float> values = test::uniform_values(count, random);
    const bool is_matrix = out.size() == 1 || out.size() == 2;
    const auto terms = static_cast<float>(out.size() == 1 ? net.input : net.hidden);
    for (float& value : values) value *= is_matrix ? 1 / std::sqrt(terms) : 1;
    out.push_back(test::f32(values));
  }
  return out;
}

std::vector<double> reference(const Net& net, const std::vector<test::Data>& data) {
  const OpDef& op = *all_ops().find(net.op);
  const Attrs attrs = {{"direction", net.direction}};
  std::vector<TypeId> inputs, outputs;
  for (const TensorType& type : types_of(net)) inputs.push_back(type);
  auto types = op.infer(inputs, attrs);
  EXPECT_TRUE(types.ok()) << types.status().message();
  for (const TensorType& type : *types) outputs.push_back(type);
  std::vector<std::shared_ptr<const Buffer>> owned;
  std::vector<const Buffer*> in;
  for (const test::Data& one : data) {
    owned.push_back(Buffer::copy(one.bytes));
    in.push_back(owned.back().get());
  }
  auto results = evaluate(op, attrs, inputs, outputs, in);
  EXPECT_TRUE(results.ok()) << results.status().message();
  auto bytes = (*results)[0]->bytes();
  const std::vector<float> y = test::Data{DType::kF32, {bytes.begin(), bytes.end()}}.as<float>();
  return {y.begin(), y.end()};
}

// Returns the strategies with Strassen's alone for recurrent nets, whatever they cost.
te::StrategyTable strassen_alone(const Net& net) {
  return [net, direct = te::direct_strategies()](const te::Site& site) {
    auto product = input_product_of(site, net.block);
    if (!product) return direct(site);
    product->panel = net.panel;
    return std::vector<te::Strategy>{
        {.name = llvm_plugin::strassen::kCompute,
         .compute = llvm_plugin::strassen::recurrent_compute_of(site, *product)}};
  };
}

std::vector<float> run(const Net& net, const std::vector<test::Data>& data, uint32_t threads) {
  const IRModule module = module_of(net);
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 strassen_alone(net));
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto made = llvm_plugin::lower_with_constants(*dag, 1, target);
  EXPECT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(made->constants.has_value());
  std::vector<test::Data> constants, inputs = {data[0]};
  for (size_t k : made->constants->reads) constants.push_back(data[k + 1]);
  for (size_t k = 0; k < made->constants->is_kept.size(); ++k) {
    if (made->constants->is_kept[k]) inputs.push_back(data[k + 1]);
  }
  for (test::Data& one : test::run_loops(made->constants->loops, constants))
    inputs.push_back(std::move(one));
  return test::run_loops(made->loops, inputs, {threads, {}})[0].as<float>();
}

TEST(StrassenRecurrent, AgreesWithTheReference) {
  for (const Net& net :
       {Net{"lstm", 5, 1, 6, 4}, Net{"lstm", 3, 3, 10, 20, "reverse"},
        Net{"lstm", 7, 2, 34, 12, "bidirectional", 7}, Net{"lstm", 4, 5, 8, 24, "forward", 6, 8, 3},
        Net{"lstm", 1, 2, 2, 8, "bidirectional", 3, 16, 2}, Net{"gru", 4, 3, 14, 16, "reverse", 5},
        Net{"gru", 9, 1, 12, 24, "bidirectional", 4, 8, 3}, Net{"rnn", 6, 2, 22, 48},
        Net{"rnn", 11, 1, 4, 8, "bidirectional", 5}}) {
    const std::vector<test::Data> data = data_of(net);
    const std::vector<double> expected = reference(net, data);
    for (uint32_t threads : {1u, 3u}) {
      SCOPED_TRACE(cat(net.op, " ", net.time, "x", net.batch, "x", net.input, " -> ", net.hidden,
                       " ", net.direction, ", ", threads, " threads"));
      EXPECT_LE(test::relative_error(run(net, data, threads), expected), kRecurrentBound);
    }
  }
}

// Returns the compute that the plugin chooses for a net.
std::string chosen(const Net& net, bool exact_sums = false) {
  IRModule module = module_of(net);
  if (exact_sums) module.function("main").attrs.set(llvm_plugin::kExactSumsAttr, true);
  auto dag = te::translate_to_te(module, module.function("main"), *te::parse_target("x86-64-v3"),
                                 te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  std::string out = "direct";
  for (const te::Stage& stage : dag->stages) {
    if (!stage.compute.empty()) out = stage.compute;
  }
  return out;
}

TEST(StrassenRecurrent, IsChosenForManyStepsOfALargeInput) {
  EXPECT_EQ(chosen({"lstm", 100, 2, 1024, 512, "bidirectional"}), "strassen");
  EXPECT_EQ(chosen({"gru", 64, 1, 512, 512}), "strassen");
  EXPECT_EQ(chosen({"lstm", 100, 2, 1024, 512, "bidirectional"}, true), "panels");  // exact sums
  EXPECT_EQ(chosen({"lstm", 8, 1, 1024, 512}), "panels");    // reads more weights
  EXPECT_EQ(chosen({"lstm", 100, 2, 80, 512}), "panels");    // few terms
  EXPECT_EQ(chosen({"lstm", 100, 2, 1023, 512}), "panels");  // no halves of terms
  EXPECT_EQ(chosen({"lstm", 100, 2, 1024, 20}), "panels");   // nor of blocks
  Net with_lengths{"lstm", 100, 2, 1024, 512};
  with_lengths.has_lengths = true;
  EXPECT_EQ(chosen(with_lengths), "panels");  // NaN after the end of a sequence
}

}  // namespace
}  // namespace byoc
