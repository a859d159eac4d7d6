// SPDX-License-Identifier: Apache-2.0
// Random points of sketches: each gives the results of the reference kernels, and has a trace that
// can be replayed.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "byoc/base/check.h"
#include "byoc/te/schedule.h"
#include "byoc/text/text.h"
#include "byoc/translate/translate.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/loaded.h"
#include "plugins/llvm/sketch/sketch_template.h"
#include "support/evaluate.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using llvm_plugin::topi::Choices;
using llvm_plugin::topi::Knob;
using llvm_plugin::topi::Point;
using llvm_plugin::topi::Template;

using Random = std::minstd_rand;

template <class T>
const T& one_of(const std::vector<T>& values, Random& random) {
  return values[random() % values.size()];
}

int64_t extent(Random& random) {
  return one_of<int64_t>({1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 48}, random);
}

std::string type(const std::string& dtype, const std::vector<int64_t>& shape) {
  std::string out = dtype + "[";
  for (size_t k = 0; k < shape.size(); ++k) out += cat(k > 0 ? "," : "", shape[k]);
  return out + "]";
}

// A family of functions: the text of one with random extents.
struct Family {
  const char* name;
  std::vector<std::string> dtypes;
  std::function<std::string(const std::string& dtype, Random&)> text;
  int64_t reductions;  // in the Dag, at least
};

std::ostream& operator<<(std::ostream& out, const Family& f) { return out << f.name; }

std::string function(const std::string& parameters, const std::string& body) {
  return cat("fn main(", parameters, ") {\n", body, "\n}");
}

std::string softmax(const std::string& dtype, Random& random) {
  const std::vector<int64_t> shape = {extent(random), extent(random), 4 * extent(random)};
  return function(cat("%x: ", type(dtype, shape)),
                  cat("%0 = softmax(%x) {axis=", random() % 3, "}\nreturn %0"));
}

std::string layer_norm(const std::string& dtype, Random& random) {
  const int64_t m = extent(random), n = extent(random) * 3;
  return function(cat("%x: ", type(dtype, {m, n}), ", %s: ", type(dtype, {n})),
                  "%0 = layer_norm(%x) {axis=-1}\n%1 = multiply(%0, %s)\nreturn %1");
}

std::string matmul(const std::string& dtype, Random& random) {
  const int64_t m = extent(random), k = extent(random), n = extent(random);
  return function(cat("%a: ", type(dtype, {2, m, k}), ", %b: ", type(dtype, {2, k, n}),
                      ", %c: ", type(dtype, {n})),
                  "%0 = matmul(%a, %b)\n%1 = add(%0, %c)\nreturn %1");
}

std::string gemm(const std::string& dtype, Random& random) {
  const int64_t m = extent(random), k = extent(random), n = extent(random);
  return function(cat("%a: ", type(dtype, {m, k}), ", %b: ", type(dtype, {n, k})),
                  "%0 = gemm(%a, %b) {trans_b=true}\nreturn %0");
}

// softmax(q k) v, in one function.
std::string attention(const std::string& dtype, Random& random) {
  const int64_t h = 2, t = extent(random), s = extent(random), d = extent(random);
  return function(cat("%q: ", type(dtype, {h, t, d}), ", %k: ", type(dtype, {h, d, s}),
                      ", %v: ", type(dtype, {h, s, d}), ", %m: ", type(dtype, {1, t, s})),
                  "%0 = matmul(%q, %k)\n%1 = add(%0, %m)\n%2 = softmax(%1) {axis=-1}\n"
                  "%3 = matmul(%2, %v)\nreturn %3");
}

std::string conv(const std::string& dtype, Random& random) {
  const int64_t c = extent(random) % 9 + 1, o = extent(random) % 11 + 1, h = extent(random) + 2,
                k = 1 + random() % 3, stride = 1 + random() % 2;
  return function(cat("%x: ", type(dtype, {1, c, h, h + 3}), ", %w: ", type(dtype, {o, c, k, k})),
                  cat("%0 = conv2d(%x, %w) {strides=[", stride, ",", stride, "], pads=[1,0,1,1]}\n",
                      "%1 = relu(%0)\nreturn %1"));
}

std::string mean(const std::string& dtype, Random& random) {
  static const std::vector<std::string> axes = {"[0]", "[1]", "[2]", "[0,2]", "[0,1,2]"};
  const std::vector<int64_t> shape = {extent(random), extent(random), extent(random)};
  return function(cat("%x: ", type(dtype, shape)),
                  cat("%0 = mean(%x) {axes=", one_of(axes, random),
                      ", keepdims=true}\n%1 = subtract(%x, %0)\n%2 = multiply(%1, %1)\n",
                      "%3 = mean(%2) {axes=[2], keepdims=false}\nreturn %3, %1"));
}

std::string greatest(const std::string& dtype, Random& random) {
  const std::vector<int64_t> shape = {extent(random), extent(random)};
  return function(cat("%x: ", type(dtype, shape)),
                  cat("%0 = add(%x, %x)\n%1 = argmax(%0) {axis=", random() % 2,
                      "}\n%2 = max(%0) {axes=[", random() % 2, "], keepdims=true}\nreturn %1, %2"));
}

std::string moved(const std::string& dtype, Random& random) {
  const int64_t a = extent(random), b = extent(random), c = extent(random);
  return function(cat("%x: ", type(dtype, {a, b, c}), ", %y: ", type(dtype, {c, a, b}),
                      ", %z: ", type(dtype, {b})),
                  "%0 = add(%x, %x)\n%1 = transpose(%0) {perm=[2,0,1]}\n%2 = multiply(%1, %y)\n"
                  "%3 = add(%2, %z)\n%4 = multiply(%3, %y)\nreturn %4, %3");
}

const std::vector<std::string> kFloats = {"f32", "f32", "f64", "f16"};
const std::vector<std::string> kNumbers = {"f32", "f32", "f64", "f16", "i32"};

const Family kFamilies[] = {
    {"Softmax", kFloats, softmax, 2},     {"LayerNorm", kFloats, layer_norm, 2},
    {"Matmul", kNumbers, matmul, 1},      {"Gemm", kNumbers, gemm, 1},
    {"Attention", kFloats, attention, 4}, {"Conv", kFloats, conv, 1},
    {"Mean", kFloats, mean, 2},           {"Greatest", kNumbers, greatest, 1},
    {"Moved", kNumbers, moved, 0},
};

// A function with its Dag and its points.
struct Case {
  explicit Case(std::string source, const char* cpu = "native", uint32_t threads = 1)
      : text(std::move(source)) {
    auto parsed = parse_module(text, all_ops());
    BYOC_CHECK(parsed.ok(), parsed.status().to_string(), "\n", text);
    module = *std::move(parsed);
    target = *te::parse_target(cpu);
    target.threads = threads;
    auto translated = te::translate_to_te(module, module.function(module.entry), target,
                                          te::by_level(), llvm_plugin::strategies());
    BYOC_CHECK(translated.ok(), translated.status().to_string());
    dag = *std::move(translated);
    schedules = llvm_plugin::sketch::template_of(dag, target);
    choices = schedules.choices();
  }
  Case(const Case&) = delete;

  const Knob& knob(std::string_view name) const {
    return *std::find_if(choices.knobs.begin(), choices.knobs.end(),
                         [&](const Knob& knob) { return knob.name == name; });
  }
  Point random_sketch(Random& random) const {
    Point out;
    for (const Knob& knob : choices.knobs) out[knob.name] = one_of(knob.values, random);
    const auto& sketches = knob("sketch").values;
    while (sketches.size() > 1 && out["sketch"] == "template")
      out["sketch"] = one_of(sketches, random);
    return out;
  }

  std::string text;
  IRModule module;
  te::Target target;
  te::Dag dag;
  Template schedules;
  Choices choices;
};

std::string print(const Point& point) {
  std::string out;
  for (const auto& [name, value] : point) out += cat(name, "=", value, " ");
  return out;
}

// Sums of up to 150 terms in another order: a few units in the last place of the greatest. f16 is
// rounded after each op, once more or less where ops are joined.
double tolerance(DType dtype) {
  if (dtype == DType::kF16) return 4e-3;
  return dtype == DType::kF64 ? 1e-13 : 1e-5;
}

void expect_results(const Case& c, const te::LoopFunction& loops) {
  const auto inputs = testing::random_inputs(c.module, 1);
  const auto expected = testing::evaluate(c.module, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  std::vector<test::Data> in;
  for (const testing::Values& input : inputs)
    in.push_back({input.type.dtype, testing::to_bytes(input)});
  const auto out = test::run_loops(loops, in, {.threads = c.target.threads});
  ASSERT_EQ(out.size(), expected->size());
  for (size_t k = 0; k < out.size(); ++k) {
    const testing::Values& right = (*expected)[k];
    testing::expect_near(testing::from_bytes(right.type, out[k].bytes.data()), right,
                         tolerance(right.type.dtype));
  }
}

// Expects right results at the point. Returns the loops, or "".
std::string try_point(const Case& c, const Point& point) {
  SCOPED_TRACE(cat(c.text, "\n", print(point)));
  auto schedule = c.schedules.at(point);
  EXPECT_TRUE(schedule.ok()) << schedule.status().to_string();
  if (!schedule.ok()) return "";
  SCOPED_TRACE(te::print(schedule->trace()));
  auto loops = te::lower(*schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  if (!loops.ok()) return "";
  expect_results(c, *loops);
  return te::print(*loops);
}

class Sketches : public ::testing::TestWithParam<Family> {};

TEST_P(Sketches, OfRandomFunctionsGiveTheRightResults) {
  Random random(7);
  std::set<std::string> done;
  for (int k = 0; k < 12; ++k) {
    const uint32_t threads = k % 3 == 2 ? 2 : 1;
    const char* cpu = k % 2 == 0 ? "native" : "x86-64-v2";
    Case c(GetParam().text(one_of(GetParam().dtypes, random), random), cpu, threads);
    for (int n = 0; n < 5; ++n) done.insert(try_point(c, c.random_sketch(random)));
    if (HasFailure()) return;
  }
  EXPECT_GT(done.size(), 30u);
}

TEST_P(Sketches, HaveTracesThatReplay) {
  Random random(3);
  Case c(GetParam().text("f32", random));
  for (int n = 0; n < 20; ++n) {
    auto schedule = c.schedules.at(c.random_sketch(random));
    ASSERT_TRUE(schedule.ok());
    const std::string text = te::print(schedule->trace());
    auto trace = te::parse_trace(text);
    ASSERT_TRUE(trace.ok()) << text;
    auto again = te::replay(c.dag, *trace);
    ASSERT_TRUE(again.ok()) << again.status().to_string() << "\n" << text;
    auto a = te::lower(*schedule), b = te::lower(*again);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(te::print(*a), te::print(*b));
  }
}

// y[i, j] = sum over k of a[i, k] b[k, j], in tiles of all levels.
TEST(SketchLevels, OfAProductAreInTheOrderOfTheRule) {
  Case c("fn main(%a: f32[64,96], %b: f32[96,256]) {\n%0 = matmul(%a, %b)\nreturn %0\n}",
         "x86-64-v3");
  Point point;
  for (const Knob& knob : c.choices.knobs) point[knob.name] = knob.values[0];
  point["sketch"] = "tiles", point["sums"] = "8", point["tile_vectors"] = "2";
  point["middle"] = point["outer"] = "2x2", point["terms"] = "16", point["unroll"] = "0";
  auto schedule = c.schedules.at(point);
  ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
  const std::string result = c.dag.stages.back().name;
  EXPECT_THAT(schedule->loops(result + ".cache"),
              ::testing::ElementsAre("r0.o", "i0.o", "i1.o", "r0.i", "i0.i", "i1.i"));
  EXPECT_THAT(schedule->loops(result), ::testing::ElementsAre("i0.o", "i1.o", "i0.i.o", "i1.i.o",
                                                              "i0.i.i", "i1.i.i.o", "i1.i.i.i"));
}

// Returns the largest extent of a loop that threads share; 0 where there is none.
int64_t shared_extent(const Case& c, const Point& point) {
  const std::string loops = try_point(c, point), word = "parallel ";
  int64_t most = 0;
  for (size_t at = loops.find(word); at != std::string::npos; at = loops.find(word, at + 1)) {
    const std::string line = loops.substr(at, loops.find('\n', at) - at);
    most = std::max<int64_t>(most, std::stoll(line.substr(line.find("..") + 2)));
  }
  return most;
}

// The first loop, over one image, has nothing to share.
TEST(SketchThreads, ShareLoopsInsideOfALoopOfOneIteration) {
  for (const char* body :
       {"%0 = max(%x) {axes=[3], keepdims=false}", "%0 = transpose(%x) {perm=[0,1,3,2]}"}) {
    Case c(cat("fn main(%x: f32[1,16,64,64]) {\n", body, "\nreturn %0\n}"), "native", 2);
    Point point = c.schedules.first;
    point["sketch"] = c.knob("sketch").values.back();
    for (const std::string& sketch : c.knob("sketch").values) {
      if (sketch == "loops") point["sketch"] = sketch;
    }
    EXPECT_GE(shared_extent(c, point), 8) << print(point);
  }
}

// Columns in one panel are fastest on one thread, and several share them all the same.
TEST(SketchThreads, ShareARowWhosePointHasOnePanel) {
  Case c("fn main(%a: f32[1,256], %b: f32[256,2048]) {\n%0 = matmul(%a, %b)\nreturn %0\n}",
         "native", 2);
  Point point = c.schedules.first;
  ASSERT_TRUE(point.contains("col_panels")) << print(point);
  point["col_panels"] = "1";
  EXPECT_GE(shared_extent(c, point), 8) << print(point);
}

// A function without elements has the template alone.
TEST(SketchSpaces, AreEmptyForExtentsOfZero) {
  for (const char* text : {"fn main(%x: f32[0,7]) {\n%0 = softmax(%x) {axis=-1}\nreturn %0\n}",
                           "fn main(%a: f32[3,0], %b: f32[0,5]) {\n%0 = matmul(%a, %b)\nreturn "
                           "%0\n}"}) {
    Case c(text);
    EXPECT_THAT(c.knob("sketch").values, ::testing::ElementsAre("template")) << text;
  }
}

// Softmax has the maximum and the sum of a row: each by lanes, in tiles of rows, or as it is.
TEST(SketchSpaces, HaveADerivationPerChoiceOfRules) {
  Case c("fn main(%x: f32[64,128]) {\n%0 = softmax(%x) {axis=-1}\nreturn %0\n}", "x86-64-v3");
  const auto& values = c.knob("sketch").values;
  for (const char* name : {"template", "lanes-lanes", "lanes-loops", "loops-lanes", "loops-loops"})
    EXPECT_THAT(values, ::testing::Contains(name));
  Point other = c.schedules.first;  // of a function with one reduction
  other["sketch"] = "tiles";
  EXPECT_TRUE(c.schedules.at(other).ok());
}

INSTANTIATE_TEST_SUITE_P(All, Sketches, ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc
