// SPDX-License-Identifier: Apache-2.0
// Elementwise and binary ops of onednn on views with a dim of extent 1 in each place, against
// the language's own arithmetic. Such a dim may have any stride: a kernel that reads it
// leaves memory unwritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "programs.h"

namespace byoc::test {
namespace {

using Dims = std::vector<int64_t>;

/// Turns oneDNN's cache of primitives off. It returns a primitive that was made for other strides,
/// so that results would depend on the order of tests.
class WithoutPrimitiveCache : public ::testing::Environment {
 public:
  void SetUp() override { setenv("DNNL_PRIMITIVE_CACHE_CAPACITY", "0", 1); }
};
const ::testing::Environment* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new WithoutPrimitiveCache);

struct View {
  Dims base, perm;
  Dims dims() const {
    Dims out;
    for (int64_t axis : perm) out.push_back(base[static_cast<size_t>(axis)]);
    return out;
  }
};

/// Returns all orders of the dims of each base; extents are 1, odd, and a multiple of
/// the vectors' width.
std::vector<View> views() {
  const std::vector<Dims> kBases = {{1, 5, 16},    {5, 1, 16},    {5, 16, 1},    {3, 5, 16},
                                    {1, 5, 4, 16}, {5, 1, 16, 4}, {5, 16, 1, 3}, {2, 5, 16, 1}};
  std::vector<View> out;
  for (const Dims& base : kBases) {
    Dims perm(base.size());
    std::iota(perm.begin(), perm.end(), 0);
    do out.push_back({base, perm});
    while (std::next_permutation(perm.begin(), perm.end()));
  }
  return out;
}

int64_t elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::string list(const Dims& dims) {
  std::string out;
  for (int64_t extent : dims) out += cat(out.empty() ? "" : ",", extent);
  return out;
}

/// A program with a parameter per shape, and the values that it is run on.
class GraphOfViews {
 public:
  /// Returns the parameter of that shape; different shapes have different values.
  std::string param(const std::string& kind, const Dims& dims) {
    auto [at, is_new] = names_.try_emplace({kind, dims}, cat("%", kind, names_.size()));
    if (!is_new) return at->second;
    params_ += cat(params_.empty() ? "" : ", ", at->second, ": f32[", list(dims), "]");
    std::vector<float> values;
    for (int64_t k = 0; k < elements(dims); ++k)
      values.push_back(0.5f + static_cast<float>((k * 7 + 3) % 23) / 8);
    inputs_.push_back(tensor_f32(dims, values));
    values_[at->second] = values;
    return at->second;
  }
  std::string node(const std::string& text) {
    std::string name = cat("%n", nodes_++);
    body_ += cat(name, " = ", text, "\n");
    return name;
  }
  void result(const std::string& name) { results_ += cat(results_.empty() ? "" : ", ", name); }
  const std::vector<float>& values(const std::string& param) const { return values_.at(param); }
  std::string text() const {
    return cat("fn main(", params_, ") {\n%two = const([2.25]) : f32[]\n", body_, "return ",
               results_, "\n}");
  }
  const std::vector<Tensor>& inputs() const { return inputs_; }

 private:
  std::map<std::pair<std::string, Dims>, std::string> names_;
  std::map<std::string, std::vector<float>> values_;
  std::vector<Tensor> inputs_;
  std::string params_, body_, results_;
  int nodes_ = 0;
};

/// Returns the cells of a view, row by row.
std::vector<float> seen(const View& view, const std::vector<float>& base) {
  Dims dims = view.dims(), strides(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    strides[d] = 1;
    for (size_t e = static_cast<size_t>(view.perm[d]) + 1; e < dims.size(); ++e)
      strides[d] *= view.base[e];
  }
  std::vector<float> out;
  for (int64_t k = 0; k < elements(dims); ++k) {
    int64_t rest = k, at = 0;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) at += rest % dims[d] * strides[d];
    out.push_back(base[static_cast<size_t>(at)]);
  }
  return out;
}

/// Expects results that are rounded once, or within a few units in the last place of a result of
/// about 1.
void expect_near(const std::vector<float>& got, const std::vector<float>& wanted,
                 const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_LE(std::abs(got[k] - wanted[k]), 4e-6f * std::abs(wanted[k]) + 1e-12f)
        << what << ", cell " << k << ": " << got[k] << " instead of " << wanted[k];
  }
}

struct BinaryOp {
  const char* name;
  float (*f)(float x, float y);
};
const BinaryOp kBinary[] = {
    {"add", [](float x, float y) { return x + y; }},
    {"subtract", [](float x, float y) { return x - y; }},
    {"multiply", [](float x, float y) { return x * y; }},
    {"divide", [](float x, float y) { return x / y; }},
    {"maximum", [](float x, float y) { return x > y ? x : y; }},
    {"minimum", [](float x, float y) { return x < y ? x : y; }},
};

class OnednnViews : public ::testing::TestWithParam<BinaryOp> {
 protected:
  /// Adds the view's op with a scalar, with a vector along the last dim, and with an operand of the
  /// same shape.
  void add(const View& view) {
    std::string base = graph_.param("x", view.base);
    std::string x = graph_.node(cat("transpose(", base, ") {perm=[", list(view.perm), "]}"));
    std::vector<float> cells = seen(view, graph_.values(base));
    Dims dims = view.dims();
    std::string vector = graph_.param("v", {dims.back()}), full = graph_.param("y", dims);
    expect(view, x, "%two", cells, {2.25f});
    expect(view, x, vector, cells, graph_.values(vector));
    expect(view, x, full, cells, graph_.values(full));
  }

  void expect(const View& view, const std::string& x, const std::string& y,
              const std::vector<float>& cells, const std::vector<float>& others) {
    graph_.result(graph_.node(cat(GetParam().name, "(", x, ", ", y, ")")));
    std::vector<float> wanted;
    for (size_t k = 0; k < cells.size(); ++k)
      wanted.push_back(GetParam().f(cells[k], others[k % others.size()]));
    wanted_.push_back(std::move(wanted));
    labels_.push_back(cat("[", list(view.base), "] transposed by [", list(view.perm), "], ",
                          GetParam().name, " with ", y));
  }

  GraphOfViews graph_;
  std::vector<std::vector<float>> wanted_;
  std::vector<std::string> labels_;
};

TEST_P(OnednnViews, AreReadWhateverTheStrideOfADimOfOne) {
  for (const View& view : views()) add(view);
  auto plugins = built_plugins();
  Executable onednn = built_by(plugins, parse(graph_.text()), {"onednn", "json"}, 2);
  EXPECT_EQ(ops_of(onednn, "json"), 0u);
  std::vector<Tensor> results = execute(onednn, plugins, graph_.inputs());
  ASSERT_EQ(results.size(), wanted_.size());
  for (size_t k = 0; k < results.size(); ++k)
    expect_near(floats(results[k]), wanted_[k], labels_[k]);
}

INSTANTIATE_TEST_SUITE_P(Rows, OnednnViews, ::testing::ValuesIn(kBinary),
                         [](const auto& info) { return std::string(info.param.name); });

struct UnaryOp {
  const char* text;  // an op on x
  double (*f)(double x);
};
const UnaryOp kUnary[] = {
    {"relu(x)", [](double x) { return x < 0 ? 0 : x; }},
    {"leaky_relu(x)", [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"clip(x) {min=1.0, max=2.0}", [](double x) { return std::min(std::max(x, 1.0), 2.0); }},
    {"sigmoid(x)", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh(x)", [](double x) { return std::tanh(x); }},
    {"gelu(x)", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }},
    {"swish(x)", [](double x) { return x / (1 + std::exp(-x)); }},
    {"hard_swish(x)", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); }},
    {"elu(x)", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"abs(x)", [](double x) { return std::abs(x); }},
    {"sqrt(x)", [](double x) { return std::sqrt(x); }},
    {"mish(x)", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"softplus(x)", [](double x) { return std::log1p(std::exp(x)); }},
    {"negative(x)", [](double x) { return -x; }},
    {"reciprocal(x)", [](double x) { return 1 / x; }},
    {"exp(x)", [](double x) { return std::exp(x); }},
    {"log(x)", [](double x) { return std::log(x); }},
    {"rsqrt(x)", [](double x) { return 1 / std::sqrt(x); }},
};

// Computes each function on a separate view, all in one graph.
TEST(OnednnViews, AreReadByFunctionsWhateverTheStrideOfADimOfOne) {
  GraphOfViews graph;
  std::vector<std::vector<float>> wanted;
  std::vector<std::string> labels;
  for (const UnaryOp& op : kUnary) {
    for (const View& view : views()) {
      if (view.base.size() != 3 && &op != kUnary) continue;
      std::string base = graph.param("x", view.base);
      std::string x = graph.node(cat("transpose(", base, ") {perm=[", list(view.perm), "]}"));
      std::string text = op.text;
      graph.result(graph.node(text.replace(text.find("(x)"), 3, cat("(", x, ")"))));
      std::vector<float> cells = seen(view, graph.values(base));
      for (float& cell : cells) cell = static_cast<float>(op.f(cell));
      wanted.push_back(std::move(cells));
      labels.push_back(cat(op.text, " of [", list(view.base), "] by [", list(view.perm), "]"));
    }
  }
  auto plugins = built_plugins();
  Executable onednn = built_by(plugins, parse(graph.text()), {"onednn", "json"}, 2);
  EXPECT_EQ(ops_of(onednn, "json"), 0u);
  std::vector<Tensor> results = execute(onednn, plugins, graph.inputs());
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t k = 0; k < results.size(); ++k) expect_near(floats(results[k]), wanted[k], labels[k]);
}

struct Comparison {
  const char* name;
  bool (*holds)(float x, float y);
};
const Comparison kComparisons[] = {
    {"equal", [](float x, float y) { return x == y; }},
    {"not_equal", [](float x, float y) { return x != y; }},
    {"less", [](float x, float y) { return x < y; }},
    {"less_equal", [](float x, float y) { return x <= y; }},
};

// Results of comparisons are in another order than the operand: byte by byte in that of the result.
TEST(OnednnViews, AreComparedInTheOrderOfTheResult) {
  GraphOfViews graph;
  std::vector<std::vector<int>> wanted;
  for (const Comparison& op : kComparisons) {
    for (const View& view : views()) {
      std::string base = graph.param("x", view.base);
      std::string x = graph.node(cat("transpose(", base, ") {perm=[", list(view.perm), "]}"));
      std::vector<float> cells = seen(view, graph.values(base));
      for (const std::string& y :
           {graph.param("y", view.dims()), graph.param("v", {view.dims().back()})}) {
        graph.result(graph.node(cat(op.name, "(", x, ", ", y, ")")));
        const std::vector<float>& others = graph.values(y);
        std::vector<int>& truths = wanted.emplace_back();
        for (size_t k = 0; k < cells.size(); ++k)
          truths.push_back(op.holds(cells[k], others[k % others.size()]));
      }
    }
  }
  auto plugins = built_plugins();
  Executable onednn = built_by(plugins, parse(graph.text()), {"onednn", "json"}, 2);
  EXPECT_EQ(ops_of(onednn, "json"), 0u);
  std::vector<Tensor> results = execute(onednn, plugins, graph.inputs());
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t k = 0; k < results.size(); ++k) {
    auto* bytes = reinterpret_cast<const uint8_t*>(results[k].data());
    EXPECT_EQ(std::vector<int>(bytes, bytes + results[k].size_bytes()), wanted[k])
        << "result " << k;
  }
}

// Repeats the reported fault: 79 of 80 values were 0.
TEST(OnednnViews, TransposeThenMultiplyByAScalar) {
  auto plugins = built_plugins();
  Executable onednn =
      built_by(plugins,
               parse("fn main(%x: f32[1,5,16]) { %two = const([2.0]) : f32[] %0 = transpose(%x) "
                     "{perm=[1,0,2]} %1 = multiply(%0, %two) return %1 }"),
               {"onednn", "json"}, 2);
  std::vector<float> values(80), wanted;
  std::iota(values.begin(), values.end(), 1.0f);
  for (float value : values) wanted.push_back(2 * value);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({1, 5, 16}, values));
  EXPECT_EQ(floats(execute(onednn, plugins, inputs)[0]), wanted);
}

}  // namespace
}  // namespace byoc::test
