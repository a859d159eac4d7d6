// SPDX-License-Identifier: Apache-2.0
// Pairs of ops between dequantize and quantize, as ONNX Runtime's quantizer writes them, by every
// choice of plugins against the reference kernels. A result may be one step off where the exact
// value is next to a tie.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "byoc/text/builder.h"
#include "programs.h"
#include "support/evaluate.h"

namespace byoc::test {
namespace {

using Compilers = std::vector<std::string>;

/// Adds values and ops in quantised form to a function.
class QuantisedGraph {
 public:
  explicit QuantisedGraph(IRModule& module) : f_(module, all_ops()) {}

  ValueId call(std::string_view op, const std::vector<ValueId>& args, Attrs attrs = {}) {
    return f_.call(op, args, std::move(attrs));
  }
  Ints shape(ValueId value) const { return static_extents(f_.type(value)->shape); }
  ValueId reshaped(ValueId x, Ints to) { return call("reshape", {x}, {{"shape", std::move(to)}}); }
  /// Returns x as [1, c, h, w].
  ValueId image(ValueId x) {
    const Ints dims = shape(x);
    if (dims.size() == 4) return x;
    const int64_t count =
        std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    const int64_t c = count % 8 == 0 ? 8 : 1;
    return reshaped(x, {1, c, count / c, 1});
  }
  ValueId floats(const Ints& dims, float low, float high) {
    return f_.constant_f32(dims, draw<float>(dims, low, high));
  }
  ValueId input(const std::string& name) {
    return f_.param(name, TensorType{DType::kU8, {1, 8, 6, 6}});
  }
  ValueId dequantised(ValueId q, double scale, int zero) {
    return call("dequantize", {q, number(scale), zero_point(f_.type(q)->dtype, zero)});
  }
  ValueId quantised(ValueId x, DType to, double scale, int zero) {
    return call("quantize", {x, number(scale), zero_point(to, zero)});
  }
  /// Returns weights of i8 as floats, with a scale per entry of `axis`, or with one scale.
  ValueId weights(const Ints& dims, std::optional<size_t> axis, int64_t terms) {
    const double scale = 0.02 / std::sqrt(static_cast<double>(terms));
    const ValueId q =
        f_.constant(TensorType{DType::kI8, make_shape(dims)}, bytes(draw<int8_t>(dims, -127, 127)));
    if (!axis) return call("dequantize", {q, number(scale)});
    const Ints entries{dims[*axis]};
    std::vector<float> scales = draw<float>(entries, 0.7f, 1.3f);
    for (float& s : scales) s *= static_cast<float>(scale);
    return call("dequantize",
                {q, f_.constant_f32(entries, scales),
                 f_.constant(TensorType{DType::kI8, make_shape(entries)},
                             bytes(std::vector<int8_t>(scales.size())))},
                {{"axis", static_cast<int64_t>(*axis)}});
  }
  /// Adds a bias of i32 to y, whose channels are dim `axis`.
  ValueId biased(ValueId y, size_t axis) {
    Ints dims(shape(y).size() - axis, 1);
    dims[0] = shape(y)[axis];
    const ValueId q = f_.constant(TensorType{DType::kI32, {Dim(dims[0])}},
                                  bytes(draw<int32_t>({dims[0]}, -900, 900)));
    return call("add", {y, reshaped(call("dequantize", {q, number(0.0005)}), dims)});
  }
  Status finish(const std::vector<ValueId>& results) { return f_.finish("main", results); }

 private:
  template <class T>
  std::vector<T> draw(const Ints& dims, T low, T high) {
    std::vector<T> out(static_cast<size_t>(
        std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())));
    std::uniform_real_distribution<float> next(static_cast<float>(low), static_cast<float>(high));
    for (T& value : out) value = static_cast<T>(next(random_));
    return out;
  }
  template <class T>
  static std::shared_ptr<const Buffer> bytes(const std::vector<T>& values) {
    return Buffer::copy(std::as_bytes(std::span(values)));
  }
  ValueId number(double value) { return f_.constant_f32({}, {static_cast<float>(value)}); }
  ValueId zero_point(DType type, int value) {
    return f_.constant(TensorType{type, {}}, bytes(std::vector{static_cast<uint8_t>(value)}));
  }

  FunctionBuilder f_;
  std::mt19937 random_{7};
};

/// An op on a dequantised value, and the scale and zero point of what comes out.
struct Op {
  std::string name;
  ValueId (*add)(QuantisedGraph&, ValueId);
  double scale = 0.03;
  int zero = 120;
};

template <int kKernel, bool kPerChannel>
ValueId convolution(QuantisedGraph& g, ValueId x) {
  x = g.image(x);
  const int64_t c = g.shape(x)[1];
  const ValueId w =
      g.weights({9, c, kKernel, kKernel}, kPerChannel ? std::optional<size_t>(0) : std::nullopt,
                c * kKernel * kKernel);
  return g.biased(g.call("conv2d", {x, w}, {{"pads", Ints(4, kKernel / 2)}}), 1);
}

ValueId depthwise(QuantisedGraph& g, ValueId x) {
  x = g.image(x);
  const int64_t c = g.shape(x)[1];
  return g.call("conv2d", {x, g.weights({c, 1, 3, 3}, 0, 9)},
                {{"pads", Ints{1, 1, 1, 1}}, {"group", c}});
}

ValueId transposed_convolution(QuantisedGraph& g, ValueId x) {
  x = g.image(x);
  const int64_t c = g.shape(x)[1];
  return g.call("conv2d_transpose", {x, g.weights({c, 4, 2, 2}, {}, c)}, {{"strides", Ints{2, 2}}});
}

ValueId matmul(QuantisedGraph& g, ValueId x) {
  const int64_t k = g.shape(x).back();
  return g.biased(g.call("matmul", {x, g.weights({k, 5}, 1, k)}), g.shape(x).size() - 1);
}

ValueId gemm(QuantisedGraph& g, ValueId x) {
  x = g.call("flatten", {x});
  const int64_t k = g.shape(x)[1];
  return g.biased(g.call("gemm", {x, g.weights({16, k}, 0, k)}, {{"trans_b", true}}), 1);
}

ValueId product_with_itself(QuantisedGraph& g, ValueId x) {
  x = g.image(x);
  return g.call("matmul", {x, g.call("transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}})});
}

ValueId where(QuantisedGraph& g, ValueId x) {
  return g.call("where",
                {g.call("greater", {x, g.floats({}, 0.1f, 0.2f)}), x, g.call("negative", {x})});
}

ValueId pooled(QuantisedGraph& g, ValueId x, std::string_view op) {
  x = g.image(x);
  const Ints dims = g.shape(x);
  return g.call(
      op, {x},
      {{"kernel_shape", Ints{std::min<int64_t>(2, dims[2]), std::min<int64_t>(2, dims[3])}}});
}

#define UNARY(op) [](QuantisedGraph& g, ValueId x) { return g.call(op, {x}); }
#define WITH_ITSELF(op) [](QuantisedGraph& g, ValueId x) { return g.call(op, {x, x}); }

const Op kOps[] = {
    {"conv", convolution<3, true>},
    {"conv_of_one_pixel", convolution<1, false>},
    {"conv_relu",
     [](QuantisedGraph& g, ValueId x) { return g.call("relu", {convolution<3, true>(g, x)}); },
     0.02, 0},
    {"depthwise", depthwise},
    {"conv_transpose", transposed_convolution},
    {"matmul", matmul},
    {"gemm", gemm},
    {"matmul_of_itself", product_with_itself, 0.3, 60},
    {"add", WITH_ITSELF("add"), 0.05, 120},
    {"add_vector",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("add", {x, g.floats({1}, 0.2f, 0.4f)});
     }},
    {"multiply", WITH_ITSELF("multiply"), 0.06, 3},
    {"swish",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("multiply", {x, g.call("sigmoid", {x})});
     },
     0.02, 20},
    {"subtract",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("subtract", {x, g.call("relu", {x})});
     }},
    {"divide",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("divide", {x, g.floats({1}, 1.5f, 1.9f)});
     }},
    {"minimum",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("minimum", {x, g.floats({1}, 0.4f, 0.5f)});
     }},
    {"maximum", WITH_ITSELF("maximum")},
    {"where", where},
    {"concat",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("concat", {x, x}, {{"axis", int64_t{-1}}});
     }},
    {"max_pool", [](QuantisedGraph& g, ValueId x) { return pooled(g, x, "max_pool"); }},
    {"average_pool", [](QuantisedGraph& g, ValueId x) { return pooled(g, x, "average_pool"); },
     0.0297, 110},
    {"global_average_pool",
     [](QuantisedGraph& g, ValueId x) { return g.call("global_average_pool", {g.image(x)}); },
     0.0113, 120},
    {"relu", UNARY("relu"), 0.02, 0},
    {"clip",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("clip", {x}, {{"min", 0.0}, {"max", 1.5}});
     },
     0.0059, 0},
    {"sigmoid", UNARY("sigmoid"), 0.0039, 0},
    {"leaky_relu", UNARY("leaky_relu"), 0.0171, 10},
    {"hard_swish", UNARY("hard_swish"), 0.0171, 10},
    {"hard_sigmoid", UNARY("hard_sigmoid"), 0.0039, 0},
    {"elu", UNARY("elu"), 0.0191, 60},
    {"tanh", UNARY("tanh"), 0.0078, 128},
    {"gelu", UNARY("gelu"), 0.0171, 12},
    {"sqrt", [](QuantisedGraph& g, ValueId x) { return g.call("sqrt", {g.call("abs", {x})}); },
     0.0083, 0},
    {"exp", UNARY("exp"), 0.11, 0},
    {"softmax",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("softmax", {x}, {{"axis", int64_t{-1}}});
     },
     0.0039, 0},
    {"layer_norm",
     [](QuantisedGraph& g, ValueId x) {
       const int64_t n = g.shape(x).back();
       return g.call("layer_norm", {x, g.floats({n}, 0.7f, 1.3f), g.floats({n}, -0.2f, 0.2f)});
     }},
    {"transpose",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("transpose", {g.image(x)}, {{"perm", Ints{0, 3, 1, 2}}});
     }},
    {"reshape",
     [](QuantisedGraph& g, ValueId x) {
       return g.reshaped(x, {2, -1});
     }},
    {"squeeze", [](QuantisedGraph& g, ValueId x) { return g.call("squeeze", {x}); }},
    {"unsqueeze",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("unsqueeze", {x}, {{"axes", Ints{0}}});
     }},
    {"resize",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("resize", {g.image(x)}, {{"scales", Floats{1, 1, 2, 2}}, {"mode", "nearest"}});
     }},
    {"interpolate",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("resize", {g.image(x)}, {{"scales", Floats{1, 1, 2, 2}}, {"mode", "linear"}});
     },
     0.0297, 110},
    {"split",
     [](QuantisedGraph& g, ValueId x) {
       x = g.reshaped(x, {2, -1});
       const ValueId parts = g.call("split", {x}, {{"axis", int64_t{0}}, {"split", Ints{1, 1}}});
       return g.call("add", {parts, ValueId{parts.node, 1}});
     }},
    {"slice",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("slice", {x}, {{"starts", Ints{0}}, {"ends", Ints{5}}, {"axes", Ints{-1}}});
     }},
    {"pad",
     [](QuantisedGraph& g, ValueId x) {
       Ints pads(2 * g.shape(x).size(), 0);
       pads.back() = 2;
       return g.call("pad", {x}, {{"pads", pads}});
     }},
    {"gather",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("gather", {x, g.call("argmax", {x}, {{"axis", int64_t{-1}}})},
                     {{"axis", int64_t{-1}}});
     }},
    {"argmax",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("cast", {g.call("argmax", {x}, {{"axis", int64_t{-1}}})},
                     {{"to", DType::kF32}});
     },
     0.05, 0},
    {"reduce_mean",
     [](QuantisedGraph& g, ValueId x) {
       return g.call("mean", {x}, {{"axes", Ints{-1}}});
     },
     0.0113, 120},
};

// No ratio of scales is one of small numbers, so that means of integers are no ties.
constexpr double kInputScale = 0.02013713, kNoRatio = 1.0371923;

/// Returns a function in which every op follows `first`, each in a branch of its own, or all of
/// them reading one value. Appends a name per result.
IRModule pairs_after(const Op& first, bool is_shared, std::vector<std::string>& branches) {
  IRModule module;
  QuantisedGraph g(module);
  std::vector<ValueId> results, inputs;
  for (size_t k = 0; k < (is_shared ? 1 : std::size(kOps)); ++k)
    inputs.push_back(g.input(cat("x", k)));
  ValueId middle, shared;
  for (size_t k = 0; k < std::size(kOps); ++k) {
    const DType type = k % 3 == 1 ? DType::kI8 : DType::kU8;
    const int shift = type == DType::kI8 ? 128 : 0;
    if (!is_shared || k == 0) {
      const DType between = is_shared ? DType::kU8 : type;
      const int zero = first.zero - (is_shared ? 0 : shift);
      middle = g.quantised(first.add(g, g.dequantised(inputs[is_shared ? 0 : k], kInputScale, 118)),
                           between, first.scale, zero);
      shared = g.dequantised(middle, first.scale, zero);
    }
    if (k % 4 == 0) {
      results.push_back(middle);
      branches.push_back(first.name);
    }
    const Op& second = kOps[k];
    results.push_back(
        g.quantised(second.add(g, shared), type, second.scale * kNoRatio, second.zero - shift));
    branches.push_back(cat(first.name, ", ", second.name));
  }
  Status status = g.finish(results);
  EXPECT_TRUE(status.ok()) << first.name << ": " << status.to_string();
  return module;
}

std::vector<double> integers(const Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.size_bytes()));
  for (size_t k = 0; k < out.size(); ++k) {
    const std::byte value = tensor.data()[k];
    out[k] = tensor.spec().dtype == DType::kI8
                 ? std::to_integer<int>(value) - (std::to_integer<int>(value) > 127 ? 256 : 0)
                 : std::to_integer<int>(value);
  }
  return out;
}

class QuantisedPairs : public ::testing::TestWithParam<std::tuple<size_t, bool, Compilers>> {};

TEST_P(QuantisedPairs, GiveTheIntegersOfTheReference) {
  auto plugins = built_plugins();
  const auto& [index, is_shared, compilers] = GetParam();
  for (const std::string& compiler : compilers) {
    if (!plugins->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  }
  std::vector<std::string> branches;
  IRModule module = pairs_after(kOps[index], is_shared, branches);
  std::vector<byoc::testing::Values> values = byoc::testing::random_inputs(module, 3);
  std::mt19937 random(11);
  std::vector<Tensor> inputs;
  for (byoc::testing::Values& value : values) {
    for (double& x : value.values) x = static_cast<double>(random() % 256);
    Result<Tensor> tensor = Tensor::make({DType::kU8, static_extents(value.type.shape)});
    ASSERT_TRUE(tensor.ok());
    const std::vector<std::byte> bytes = byoc::testing::to_bytes(value);
    std::copy(bytes.begin(), bytes.end(), tensor->data());
    inputs.push_back(*std::move(tensor));
  }
  Result<std::vector<byoc::testing::Values>> right = byoc::testing::evaluate(module, values);
  ASSERT_TRUE(right.ok()) << right.status().to_string();
  std::vector<Tensor> got = execute(built_by(plugins, module, compilers, 2), plugins, inputs);
  ASSERT_EQ(got.size(), right->size());
  for (size_t k = 0; k < got.size(); ++k) {
    const std::vector<double>& wanted = (*right)[k].values;
    const std::vector<double> have = integers(got[k]);
    ASSERT_EQ(have.size(), wanted.size()) << branches[k];
    size_t apart = 0, far = 0;
    for (size_t e = 0; e < have.size(); ++e) {
      apart += have[e] != wanted[e];
      far += std::abs(have[e] - wanted[e]) > 1;
    }
    EXPECT_EQ(far, 0u) << branches[k];
    EXPECT_LE(apart, (have.size() + 99) / 100) << branches[k];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plugins, QuantisedPairs,
    ::testing::Combine(::testing::Range<size_t>(0, std::size(kOps)), ::testing::Bool(),
                       ::testing::Values(Compilers{"json"}, Compilers{"llvm"},
                                         Compilers{"onednn", "json"}, Compilers{"onednn", "llvm"})),
    [](const auto& info) {
      std::string name =
          cat(kOps[std::get<0>(info.param)].name, std::get<1>(info.param) ? "_shared_" : "_");
      for (const std::string& id : std::get<2>(info.param)) name += id;
      return name;
    });

}  // namespace
}  // namespace byoc::test
