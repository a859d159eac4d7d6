// SPDX-License-Identifier: Apache-2.0
// Convolutions whose channels no block divides get channels of zeros, and compute what they did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A network of f32 whose constants are random.
class Network {
 public:
  explicit Network(int64_t channels, int64_t side = 8)
      : f_(module_, all_ops()), x_(f_.param("x", image(channels, side))) {}
  ValueId x() const { return x_; }
  ValueId another(int64_t channels, int64_t side = 8) {
    return f_.param("y", image(channels, side));
  }
  ValueId constant(const std::vector<int64_t>& shape) {
    std::vector<float> values(static_cast<size_t>(*num_elements(make_shape(shape))));
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    return f_.constant_f32(shape, values);
  }
  ValueId conv(ValueId image, int64_t in, int64_t out, int64_t side = 3, int64_t group = 1) {
    const int64_t pad = side / 2;
    return f_.call("conv2d", {image, constant({out, in / group, side, side})},
                   {{"pads", Ints{pad, pad, pad, pad}}, {"group", group}});
  }
  ValueId call(std::string_view op, std::vector<ValueId> args, Attrs attrs = {}) {
    return f_.call(op, args, std::move(attrs));
  }
  IRModule finish(std::vector<ValueId> results) {
    const Status status = f_.finish("main", results);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return std::move(module_);
  }

 private:
  static TensorType image(int64_t channels, int64_t side) {
    return {DType::kF32, {1, Dim(channels), Dim(side), Dim(side)}};
  }
  IRModule module_;
  FunctionBuilder f_;
  std::mt19937 random_{7};
  ValueId x_;
};

/// Returns the module after assign_layouts for blocks of 4, after comparing the results of the
/// executable with those of the reference plugin.
std::string with_blocks_of_4(const IRModule& model, bool exact_sums = false) {
  auto plugins = selective_plugins({{"kernels", {{"layouts", "conv2d:4"}}}});
  std::string text;
  std::vector<Tensor> outputs[2];
  for (const std::string id : {"kernels", "json"}) {
    BuildOptions options;
    options.plugins = plugins;
    options.default_codegen = id;
    options.exact_sums = exact_sums;
    options.instruments.push_back(
        {nullptr, [&](const Pass& pass, const IRModule&, const IRModule& after, uint64_t) {
           if (pass.name == "assign_layouts" && id == "kernels") text = print(after);
           return Status();
         }});
    Result<Executable> executable = build(model, options);
    EXPECT_TRUE(executable.ok()) << executable.status().to_string();
    if (executable.ok()) outputs[id == "json"] = execute(*executable, plugins);
  }
  expect_close(outputs[0], outputs[1]);
  return text;
}

size_t count(const std::string& text, std::string_view word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++out;
  return out;
}

TEST(FilledChannels, GoThroughAResidualBlock) {
  Network net(6);
  ValueId y =
      net.call("relu", {net.call("add", {net.conv(net.x(), 6, 6), net.constant({6, 1, 1})})});
  y = net.call("relu", {net.call("add", {net.conv(y, 6, 6), net.x()})});
  const std::string text = with_blocks_of_4(net.finish({y}));
  EXPECT_EQ(count(text, "conv2d_nchwc("), 2U);
  EXPECT_EQ(count(text, "pad("), 1U) << "the input, for the convolution and for the sum";
  EXPECT_EQ(count(text, "slice("), 1U) << text;
}

TEST(FilledChannels, GoThroughADepthwiseBlock) {
  Network net(6);
  ValueId y = net.call("clip", {net.conv(net.x(), 6, 18)}, {{"min", 0.0}, {"max", 6.0}});
  y = net.call("clip", {net.conv(y, 18, 18, 3, 18)}, {{"min", 0.0}, {"max", 6.0}});
  y = net.conv(y, 18, 6);
  const std::string text = with_blocks_of_4(net.finish({y}));
  EXPECT_EQ(count(text, "conv2d_nchwc("), 3U);
  EXPECT_THAT(text, HasSubstr("group=20"));
  EXPECT_EQ(count(text, "slice("), 1U);
}

TEST(FilledChannels, GoThroughPoolsAndScalesOfChannels) {
  Network net(6);
  ValueId y = net.call("sigmoid", {net.conv(net.x(), 6, 10)});
  y = net.call("subtract", {y, net.constant({1})});  // what is added is not zero here
  const Attrs window{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const ValueId small = net.call("max_pool", {net.call("relu", {net.conv(y, 10, 10)})}, window);
  const ValueId scale = net.call("global_average_pool", {small});
  const ValueId scaled = net.call("multiply", {small, net.call("sigmoid", {scale})});
  const std::string text = with_blocks_of_4(net.finish({net.conv(scaled, 10, 7), small}));
  EXPECT_EQ(count(text, "conv2d_nchwc("), 3U) << text;
}

TEST(FilledChannels, AreCutOffWhereTheyMayBeNaN) {
  Network net(6);
  const ValueId y = net.call("log", {net.call("abs", {net.conv(net.x(), 6, 6)})});  // log of 0
  const ValueId z = net.call("subtract", {y, y});
  with_blocks_of_4(net.finish({net.conv(z, 6, 6)}));
}

TEST(FilledChannels, AreReadByAllKindsOfOps) {
  Network net(6);
  const ValueId other = net.another(6), y = net.conv(net.x(), 6, 6);
  const ValueId sum = net.call("maximum", {y, other});
  const ValueId joined = net.call("concat", {sum, other}, {{"axis", 1}});
  const ValueId turned = net.call("transpose", {y}, {{"perm", Ints{0, 2, 3, 1}}});
  const ValueId plane = net.call("multiply", {sum, net.call("mean", {other}, {{"axes", Ints{1}}})});
  with_blocks_of_4(net.finish(
      {joined, turned, net.call("softmax", {sum}, {{"axis", 1}}), net.conv(plane, 6, 5), y}));
}

TEST(FilledChannels, AreNotReadByConvolutionsOfExactSums) {
  Network net(6);
  const IRModule model = net.finish({net.conv(net.conv(net.x(), 6, 6), 6, 6)});
  EXPECT_EQ(count(with_blocks_of_4(model), "slice("), 1U);
  EXPECT_EQ(count(with_blocks_of_4(model, true), "slice("), 2U);
}

TEST(FilledChannels, AreNotAddedWhereMovingThemCostsMore) {
  Network net(6);
  const ValueId y = net.call("softmax", {net.conv(net.x(), 6, 6, 1)}, {{"axis", 1}});
  EXPECT_THAT(with_blocks_of_4(net.finish({y})), Not(HasSubstr("pad(")));
}

}  // namespace
}  // namespace byoc::test
