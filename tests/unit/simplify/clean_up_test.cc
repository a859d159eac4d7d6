// SPDX-License-Identifier: Apache-2.0
// The clean-up passes together, on random graphs: they keep the results, a second run changes
// nothing, and they may run anywhere between annotation and partition.
#include <random>

#include "byoc/ir/visit.h"
#include "modules.h"
#include "support/evaluate.h"

namespace byoc {
namespace {

const std::string kCleanUp =
    "infer_types,inline_functions,bind_constant_arguments,fold_constants,eliminate_dead_code,"
    "merge_equal_nodes,fold_batch_norm,eliminate_dead_code,merge_equal_nodes";

// A function on matrices [3, 3] with dead ops, equal ops, constants and chains that fold.
class RandomModule {
 public:
  explicit RandomModule(uint64_t seed) : next_(seed) {}
  IRModule make() {
    for (Symbol name : {"x", "y"}) values_.push_back({main_.add_param(name, kType), 0});
    for (int k = 0; k < 40; ++k) add_node();
    for (int k = 0; k < 3; ++k) main_.results.push_back(values_[values_.size() - 1 - pick(8)]);
    module_.functions["main"] = std::move(main_);
    return std::move(module_);
  }

 private:
  inline static const TypeId kType = TensorType{DType::kF32, {Dim(3), Dim(3)}};
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(next_); }
  // Returns late values more often than early ones, so that chains grow.
  ValueId value() { return values_[values_.size() - 1 - std::min(pick(6), values_.size() - 1)]; }
  ValueId constant(const std::vector<int64_t>& dims) {
    testing::Values values = testing::random_values({DType::kF32, make_shape(dims)}, pick(3));
    const Buffer* data = module_.add_constant(Buffer::copy(testing::to_bytes(values)));
    return {main_.add_constant(data, values.type), 0};
  }
  void call(std::string_view op, const std::vector<ValueId>& args) {
    const OpDef* def = *all_ops().get(op);
    values_.push_back({main_.add_call(def, intern(*complete_attrs(*def, {})), args, kType), 0});
  }
  void add_node() {
    switch (pick(8)) {
      case 0:
        return call("matmul", {value(), constant({3, 3})});
      case 1:
        return call("multiply", {value(), constant({3})});
      case 2:
        return call("add", {constant({1, 3}), value()});
      case 3:
        return call("relu", {constant({3, 3})});
      case 4:
        return call("add", {value(), value()});
      case 5:
        return call("subtract", {value(), value()});
      default:
        return call("tanh", {value()});
    }
  }

  std::mt19937_64 next_;
  IRModule module_;
  Function main_;
  std::vector<ValueId> values_;
};

// Annotates like annotate_target: every op of a plugin gets its own region, which is open.
class Annotator {
 public:
  Annotator(const Function& function, uint64_t seed) : rewriter_(function), next_(seed) {}
  Function run() && {
    for (uint32_t k = 0; k < rewriter_.from().nodes.size(); ++k) {
      bool is_op = std::holds_alternative<Call>(rewriter_.from().nodes[k].kind);
      size_t who = std::uniform_int_distribution<size_t>(0, 2)(next_);
      if (!is_op || who == 2) rewriter_.copy(k);
      else wrap(k, who == 0 ? "a" : "b");
    }
    return std::move(rewriter_).finish();
  }

 private:
  ValueId annotation(const char* name, ValueId value, const std::string& compiler) {
    const OpDef* op = *all_ops().get(name);
    Attrs attrs =
        *complete_attrs(*op, {{"compiler", compiler}, {"region", region_}, {"open", true}});
    Function& to = rewriter_.to();
    return {to.add_call(op, intern(attrs), {&value, 1}, to.type(value)), 0};
  }
  void wrap(uint32_t k, const std::string& compiler) {
    const Node& node = rewriter_.from().nodes[k];
    std::vector<ValueId> args = rewriter_.mapped_args(k);
    for (ValueId& arg : args) {
      bool is_constant = std::holds_alternative<Constant>(rewriter_.to().nodes[arg.node].kind);
      if (!is_constant) arg = annotation("compiler_begin", arg, compiler);
    }
    ValueId value{rewriter_.to().add_copy(node, args), 0};
    rewriter_.set({k, 0}, annotation("compiler_end", value, compiler));
    ++region_;
  }

  Rewriter rewriter_;
  std::mt19937_64 next_;
  int64_t region_ = 0;
};

IRModule cleaned(uint64_t seed) {
  auto module = after(RandomModule(seed).make(), kCleanUp);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return *std::move(module);
}

class CleanUp : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CleanUp, KeepsTheResults) {
  IRModule module = RandomModule(GetParam()).make();
  // Values are below 100. Up to a dozen products of 3x3 matrices in a chain have
  // one more rounding each.
  testing::expect_same_results(module, cleaned(GetParam()), 1e-5);
}

TEST_P(CleanUp, LeavesNothingToDo) {
  IRModule once = cleaned(GetParam());
  auto twice = after(once, kCleanUp);
  ASSERT_TRUE(twice.ok());
  expect_equal(*twice, once);
}

TEST_P(CleanUp, ChangesNothingBetweenAnnotationAndPartition) {
  IRModule module = cleaned(GetParam());
  Function& main = module.function("main");
  main = Annotator(main, GetParam()).run();
  auto plain = after(module, "merge_compiler_regions,partition_graph");
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  auto between = after(
      module, kCleanUp + ",merge_compiler_regions," + kCleanUp + ",partition_graph," + kCleanUp);
  ASSERT_TRUE(between.ok()) << between.status().to_string();
  expect_equal(*between, *plain);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CleanUp, ::testing::Range<uint64_t>(0, 60));

TEST(CleanUp, TakesAChainOfManyNodes) {
  constexpr int kNodes = 200000;
  IRModule module;
  Function main;
  TypeId type = TensorType{DType::kF32, {Dim(2)}};
  ValueId last{main.add_param("x", type), 0};
  const OpDef* relu = *all_ops().get("relu");
  for (int k = 0; k < kNodes; ++k) last = {main.add_call(relu, intern({}), {&last, 1}, type), 0};
  main.results = {last};
  module.functions["main"] = std::move(main);
  auto parsed = parse_passes(kCleanUp);
  ASSERT_TRUE(parsed.ok());
  auto cleaned = run_passes(module, *parsed, {});
  ASSERT_TRUE(cleaned.ok()) << cleaned.status().to_string();
  EXPECT_EQ(cleaned->function("main").nodes.size(), kNodes + 1u);
}

TEST(CleanUp, TakesAChainOfManyFunctions) {
  constexpr int kFunctions = 20000;
  IRModule module;
  TypeId type = TensorType{DType::kF32, {Dim::symbol("N")}};
  const OpDef* relu = *all_ops().get("relu");
  auto name = [](int k) { return Symbol(cat("f", k)); };
  for (int k = 0; k <= kFunctions; ++k) {
    Function function;
    ValueId x{function.add_param("x", type), 0};
    uint32_t node = k == kFunctions ? function.add_call(relu, intern({}), {&x, 1}, type)
                                    : function.add_invoke(name(k + 1), {&x, 1}, type);
    function.results = {{node, 0}};
    module.functions[name(k)] = std::move(function);
  }
  module.entry = name(0);
  auto parsed = parse_passes("bind_shapes=N=2," + kCleanUp);
  ASSERT_TRUE(parsed.ok());
  auto cleaned = run_passes(module, *parsed, {});
  ASSERT_TRUE(cleaned.ok()) << cleaned.status().to_string();
  EXPECT_EQ(cleaned->functions.size(), 1u);
  EXPECT_EQ(count_calls(*cleaned, "relu"), 1);
}

}  // namespace
}  // namespace byoc
