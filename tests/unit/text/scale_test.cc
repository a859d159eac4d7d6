// SPDX-License-Identifier: Apache-2.0
// A chain of a million ops takes linear time and the default stack. The only limit on times is one
// that a linear algorithm meets on any machine and a quadratic one never does.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

constexpr int kOps = 1'000'000;

class Stopwatch {
 public:
  explicit Stopwatch(const char* what) : what_(what) {}
  ~Stopwatch() {
    double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
    std::printf("%-8s %.2f s\n", what_, seconds);
    EXPECT_LT(seconds, 60) << what_;
  }

 private:
  const char* what_;
  std::clock_t start_ = std::clock();
};

IRModule chain() {
  IRModule module;
  Function f;
  TypeId type = TensorType{DType::kF32, {1, 8}};
  const OpDef* ops[] = {all_ops().find("relu"), all_ops().find("tanh")};
  const Attrs* attrs[] = {intern(*complete_attrs(*ops[0], {})),
                          intern(*complete_attrs(*ops[1], {}))};
  ValueId last{f.add_param("x", type), 0};
  for (int k = 0; k < kOps; ++k) {
    last = {f.add_call(ops[k % 2], attrs[k % 2], {&last, 1}, type, cat("node_", k)), 0};
  }
  f.results = {last};
  module.functions.emplace("main", std::move(f));
  return module;
}

TEST(Scale, AMillionOpsPrintParseCompareAndVerify) {
  IRModule module = chain();
  std::string text;
  {
    Stopwatch watch("print");
    text = print(module);
  }
  Result<IRModule> parsed = Status(Code::kUnknown, "");
  {
    Stopwatch watch("parse");
    parsed = parse_module(text, all_ops());
  }
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  std::string why;
  {
    Stopwatch watch("equal");
    EXPECT_TRUE(equal(module, *parsed, &why)) << why;
  }
  {
    Stopwatch watch("verify");
    EXPECT_TRUE(verify(*parsed).ok());
  }
  {
    Stopwatch watch("free");
    parsed = Status(Code::kUnknown, "");
  }
}

TEST(Scale, AMillionOpsCrossAsGraphJson) {
  IRModule module = chain();
  std::string json;
  {
    Stopwatch watch("write");
    write_graph_json(module, module.function("main"), "main", json);
  }
  Result<IRModule> read = Status(Code::kUnknown, "");
  {
    Stopwatch watch("read");
    read = read_graph_json(json, all_ops(), nullptr);
  }
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(module, *read, &why)) << why;
}

}  // namespace
}  // namespace byoc
