// SPDX-License-Identifier: Apache-2.0
// Knob spaces of the onednn plugin: each point of them gives the reference's results, by the way of
// a tuning history and an artifact's graphs.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "byoc/pass/passes.h"
#include "byoc/tune/history.h"
#include "byoc/tune/task.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::SizeIs;
using tune::Point;

// Returns the module, whose parameters except for x have become random constants.
IRModule with_weights(std::string_view text, uint64_t seed = 7) {
  IRModule module = parse(text);
  std::map<std::string, BoundTensor> weights;
  for (const Node& node : module.function("main").nodes) {
    const auto* param = std::get_if<Param>(&node.kind);
    if (param == nullptr || param->name.text() == "x") continue;
    const int64_t bytes = *size_bytes(*node.types[0]);
    Tensor values = *Tensor::make({DType::kF32, {bytes / 4}});
    fill_random(values, seed++);
    weights[std::string(param->name.text())] = {*node.types[0],
                                                Buffer::copy({values.data(), values.size_bytes()})};
  }
  auto bound = bind_params(std::move(module), weights, PassContext());
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  return *std::move(bound);
}

struct Rules {
  uint32_t threads = 1;
  bool exact_sums = false;  // no kernel loses NaN
};

BuildOptions options_of(std::vector<std::string> compilers, Rules rules = {}) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = std::move(compilers);
  options.threads = rules.threads;
  options.exact_sums = rules.exact_sums;
  return options;
}

std::vector<tune::Task> tasks_of(const IRModule& module, Rules rules = {}) {
  auto tasks = tune::extract_tasks(module, options_of({"onednn", "json"}, rules));
  EXPECT_TRUE(tasks.ok()) << tasks.status().to_string();
  return tasks.ok() ? *std::move(tasks) : std::vector<tune::Task>();
}

// Returns the values of a knob of the only task; none where it has no such knob.
std::vector<std::string> values_of(const std::vector<tune::Task>& tasks, std::string_view name) {
  if (tasks.size() != 1) return {"not one task"};
  for (const tune::Knob& knob : tasks[0].space.knobs) {
    if (knob.name == name) return knob.values;
  }
  return {};
}

std::vector<Point> all_points(const tune::Space& space) {
  std::vector<Point> points = {{}};
  for (const tune::Knob& knob : space.knobs) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const std::string& value : knob.values) {
        longer.push_back(point);
        longer.back()[knob.name] = value;
      }
    }
    points = std::move(longer);
  }
  return points;
}

// Builds the module with a history whose only record is the point.
Executable at_point(const IRModule& module, const tune::Task& task, const Point& point,
                    Rules rules) {
  tune::Record record;
  record.plugin = task.plugin, record.task = task.space.task, record.kind = task.space.kind;
  record.key = task.key;
  record.target = *tune::record_target("{}");
  record.threads = rules.threads;
  record.point = point;
  record.samples_ns = {1};
  BuildOptions options = options_of({"onednn", "json"}, rules);
  options.history = tune::History::of({record});
  options.require_tuned = true;
  auto executable = build(module, options);
  EXPECT_TRUE(executable.ok()) << tune::print(point) << ": " << executable.status().to_string();
  return executable.ok() ? *std::move(executable) : Executable();
}

const ExternalModule& onednn_module(const Executable& executable) {
  for (const ExternalModule& module : executable.modules) {
    if (module.plugin == "onednn") return module;
  }
  ADD_FAILURE() << "onednn took nothing";
  static const ExternalModule none;
  return none;
}

Executable usual(const IRModule& module, std::vector<std::string> compilers, Rules rules) {
  auto executable = build(module, options_of(std::move(compilers), rules));
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  return executable.ok() ? *std::move(executable) : Executable();
}

std::vector<Tensor> only(Tensor tensor) {
  std::vector<Tensor> out;
  out.push_back(std::move(tensor));
  return out;
}

// Expects NaN where the reference has it, equal infinities, and near numbers elsewhere.
void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                 const std::string& where) {
  ASSERT_EQ(got.size(), expected.size()) << where;
  for (size_t k = 0; k < got.size(); ++k) {
    const std::vector<float> a = floats(got[k]), b = floats(expected[k]);
    ASSERT_EQ(a.size(), b.size()) << where;
    float most = 0;
    for (float value : b) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i])) ASSERT_TRUE(std::isnan(a[i])) << where << ", element " << i;
      else if (std::isinf(b[i])) ASSERT_EQ(a[i], b[i]) << where << ", element " << i;
      else ASSERT_NEAR(a[i], b[i], 1e-4f * most) << where << ", element " << i;
    }
  }
}

// Expects the reference's results at every point, and equal kernels without one and at the first
// guess. Returns the number of points, 1 where the machine has one kernel for the region.
size_t check_points(const IRModule& module, const std::vector<Tensor>& inputs = {},
                    Rules rules = {}) {
  const std::vector<tune::Task> tasks = tasks_of(module, rules);
  EXPECT_THAT(tasks, SizeIs(Le(1)));
  if (tasks.empty()) return 1;
  const auto expected =
      execute(usual(module, {"json"}, rules), built_plugins(), inputs, 3, rules.threads);
  const Executable own = usual(module, {"onednn", "json"}, rules);
  const tune::Space& space = tasks[0].space;
  const std::vector<Point> points = all_points(space);
  EXPECT_THAT(points, Contains(space.guesses[0]));
  for (const Point& point : points) {
    const Executable executable = at_point(module, tasks[0], point, rules);
    EXPECT_THAT(onednn_module(executable).compat, HasSubstr("byoc-graphs-points/1"));
    expect_same(execute(executable, built_plugins(), inputs, 3, rules.threads), expected,
                tune::print(point));
  }
  EXPECT_THAT(onednn_module(own).compat, Not(HasSubstr("points")));
  const Executable first = at_point(module, tasks[0], space.guesses[0], rules);
  auto name = [](const Executable& e) { return onednn_module(e).functions[0].implementation; };
  EXPECT_EQ(name(first), name(own));
  return points.size();
}

constexpr std::string_view kBlockModel = R"(
fn main(%x: f32[1,16,12,12], %w: f32[32,16,3,3], %b: f32[32,1,1], %v: f32[32,32,1,1]) {
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
  %1 = add(%0, %b)
  %2 = relu(%1)
  %3 = conv2d(%2, %v)
  %4 = add(%3, %2)
  %5 = max_pool(%4) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
  return %5
})";

TEST(OnednnKnobs, OfABlockOfConvolutionsAllGiveTheReference) {
  const IRModule module = with_weights(kBlockModel);
  const auto tasks = tasks_of(module);
  // One of "loop", "blocked" and "nhwc" is what "any" builds; it depends on the machine.
  EXPECT_THAT(values_of(tasks, "convolution"), SizeIs(Ge(3)));
  EXPECT_THAT(values_of(tasks, "convolution"), Contains("any"));
  EXPECT_THAT(values_of(tasks, "convolution"), Contains("plain"));
  EXPECT_THAT(values_of(tasks, "max_pool"), ElementsAre("loop", "primitive"));
  EXPECT_THAT(values_of(tasks, "piece"), IsEmpty()) << "one thread";
  EXPECT_EQ(check_points(module), values_of(tasks, "convolution").size() * 2);
}

TEST(OnednnKnobs, OfGroupedStridedAndTransposedConvolutionsAllGiveTheReference) {
  EXPECT_GE(check_points(with_weights(R"(
fn main(%x: f32[2,16,9,7], %d: f32[16,1,3,3], %g: f32[16,8,3,3], %t: f32[16,8,2,2]) {
  %0 = conv2d(%x, %d) {pads=[1,1,1,1], group=16, strides=[2,1]}
  %1 = conv2d(%0, %g) {pads=[2,2,2,2], dilations=[2,2], group=2}
  %2 = conv2d_transpose(%1, %t) {strides=[2,2]}
  return %2
})")),
            2u);
}

TEST(OnednnKnobs, OfExtentsOfOneAllGiveTheReference) {
  const char* const kShapes[][3] = {
      {"1,8,1,1", "32,8,1,1", "1,32,1,1"},   {"1,8,1,5", "32,8,1,1", "16,32,1,1"},
      {"3,1,5,1", "8,1,3,1", "1,8,3,1"},     {"1,16,1,1", "16,16,1,1", "16,16,1,1"},
      {"2,16,4,1", "32,16,3,1", "1,32,1,1"},
  };
  size_t points = 0;
  for (const auto& [x, w, v] : kShapes) {
    points += check_points(
        with_weights(cat("fn main(%x: f32[", x, "], %w: f32[", w, "], %v: f32[", v, R"(]) {
  %0 = conv2d(%x, %w)
  %1 = relu(%0)
  %2 = conv2d(%1, %v)
  return %1, %2
})")));
  }
  EXPECT_GE(points, 2 * std::size(kShapes));
}

TEST(OnednnKnobs, OfOneAndThreeDimensionalImagesAllGiveTheReference) {
  EXPECT_GE(check_points(with_weights(R"(
fn main(%x: f32[2,8,20], %w: f32[16,8,3]) {
  %0 = conv1d(%x, %w) {pads=[1,1]}
  return %0
})")),
            2u);
  EXPECT_GE(check_points(with_weights(R"(
fn main(%x: f32[1,8,5,6,7], %w: f32[16,8,3,3,3]) {
  %0 = conv3d(%x, %w) {pads=[1,1,1,1,1,1]}
  return %0
})")),
            2u);
}

TEST(OnednnKnobs, OfPoolsKeepNanAndInfinities) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(1 * 16 * 6 * 6);
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k * 37 % 101) - 50;
  values[40] = nan;
  values[300] = infinity;
  for (size_t k = 72; k < 108; ++k) values[k] = -infinity;
  EXPECT_EQ(check_points(parse(R"(fn main(%x: f32[1,16,6,6]) {
  %0 = max_pool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
  return %0
})"),
                         only(tensor_f32({1, 16, 6, 6}, values))),
            2u);
}

TEST(OnednnKnobs, KeepNanInReluWhereNoKernelMayLoseIt) {
  std::vector<float> values(1 * 16 * 6 * 6, 0.5f);
  values[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_GE(check_points(with_weights(R"(fn main(%x: f32[1,16,6,6], %w: f32[32,16,3,3]) {
  %0 = conv2d(%x, %w)
  %1 = relu(%0)
  return %1
})"),
                         only(tensor_f32({1, 16, 6, 6}, values)), {.exact_sums = true}),
            3u);
}

TEST(OnednnKnobs, OfProductsAllGiveTheReference) {
  const IRModule rows = with_weights(R"(fn main(%x: f32[24,40], %w: f32[40,70], %b: f32[70]) {
  %0 = matmul(%x, %w)
  %1 = add(%0, %b)
  %2 = relu(%1)
  return %2
})");
  EXPECT_THAT(values_of(tasks_of(rows), "product"), Contains("plain"));
  EXPECT_EQ(check_points(rows), values_of(tasks_of(rows), "product").size());
  EXPECT_GE(check_points(with_weights(R"(fn main(%x: f32[1,40], %w: f32[40,16], %v: f32[16,1]) {
  %0 = gemm(%x, %w) {alpha=0.5}
  %1 = matmul(%0, %v)
  return %1
})")),
            2u);
}

TEST(OnednnKnobs, ShareWorkAmongThreadsFromTheChosenSize) {
  const IRModule module = parse(R"(fn main(%x: f32[3,5000]) {
  %0 = relu(%x)
  %1 = clip(%0) {min=0.25, max=0.5}
  return %1
})");
  EXPECT_THAT(tasks_of(module), IsEmpty());
  EXPECT_THAT(values_of(tasks_of(module, {.threads = 2}), "piece"), ElementsAre("4096", "16384"));
  std::vector<float> values(15000, 0.375f);
  values[4096] = std::numeric_limits<float>::quiet_NaN();
  values[14999] = -1;
  EXPECT_EQ(check_points(module, only(tensor_f32({3, 5000}, values)), {.threads = 2}), 2u);
}

TEST(OnednnKnobs, AreAbsentWithoutChoice) {
  EXPECT_THAT(tasks_of(parse("fn main(%x: f32[8,8]) { %0 = tanh(%x) return %0 }")), IsEmpty());
  EXPECT_THAT(tasks_of(parse("fn main(%x: f32[8,8], %y: f32[8,8]) { %0 = matmul(%x, %y) "
                             "return %0 }")),
              IsEmpty())
      << "an operand of each run is packed in no kernel";
}

TEST(OnednnKnobs, DescribeTheWork) {
  const auto tasks = tasks_of(with_weights(R"(fn main(%x: f32[1,8,6,6], %w: f32[16,8,3,3]) {
  %0 = conv2d(%x, %w)
  %1 = relu(%0)
  return %1
})"));
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].plugin, "onednn");
  EXPECT_EQ(tasks[0].space.flops, 2.0 * 16 * 4 * 4 * 8 * 3 * 3 + 16 * 4 * 4);
  EXPECT_EQ(tasks[0].space.bytes, 4.0 * (8 * 6 * 6 + 16 * 8 * 3 * 3 + 16 * 4 * 4));
  EXPECT_EQ(tasks[0].space.kind, "onednn.convolution");
}

TEST(OnednnKnobs, OfEqualComputationsAreOneTask) {
  auto text = [](std::string_view weight, std::string_view result, std::string_view loc,
                 std::string_view pads) {
    return cat("fn main(%x: f32[1,8,6,6], %", weight, ": f32[16,8,3,3]) {\n  %", result,
               " = conv2d(%x, %", weight, ") {pads=[", pads, "]} loc(\"", loc, "\")\n  return %",
               result, "\n}");
  };
  auto key = [&](std::string_view model, uint64_t seed) {
    const auto tasks = tasks_of(with_weights(model, seed));
    return tasks.size() == 1 ? tasks[0].space.task : "not one task";
  };
  const std::string first = key(text("w", "0", "stem", "1,1,1,1"), 7);
  EXPECT_EQ(first, key(text("kernel", "0", "head", "1,1,1,1"), 8)) << "names and weights differ";
  EXPECT_NE(first, key(text("w", "0", "stem", "0,0,0,0"), 7)) << "an attribute differs";
}

TEST(OnednnKnobs, RefuseAPointOutsideOfTheSpace) {
  const auto tasks = tasks_of(with_weights(kBlockModel));
  ASSERT_THAT(tasks, SizeIs(1));
  const auto plugins = built_plugins();
  auto compile = [&](Point point) {
    CompileFunction function = tasks[0].input;
    function.point_json = tune::print(point);
    return plugins->find("onednn")->compile({&function, 1}, {}).status;
  };
  Point point = tasks[0].space.guesses[0];
  EXPECT_TRUE(compile(point).ok());
  point["convolution"] = "winograd";
  EXPECT_EQ(compile(point).code(), Code::kInvalidArgument);
  EXPECT_THAT(compile(point).message(), HasSubstr("\"convolution\" is \"winograd\", and not one"));
  point = tasks[0].space.guesses[0];
  point["product"] = "plain";  // a knob of other regions
  EXPECT_EQ(compile(point).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace byoc::test
