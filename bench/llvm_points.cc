// SPDX-License-Identifier: Apache-2.0
// Measures points of the llvm plugin's knob spaces: the guesses of the plugin's models and random
// points, in turns in one process, on one thread. The first guess is what a build without tuning
// has; the ratio of the best point to it is the gain that tuning can find. All results are compared
// with those of the first guess before anything is timed. Points that are slow in the first rounds
// are left out of the later ones.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "bench/support/kernel_shapes.h"
#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "byoc/compile.h"
#include "byoc/runtime/tensor.h"
#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "core/measure/session/timed_session.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

using Json = nlohmann::json;

template <class T>
T must(Result<T> result) {
  BYOC_CHECK(result.ok(), result.status().to_string());
  return *std::move(result);
}

/// A function of parameters alone, in the layouts that the plugin selects inside a network.
struct Program {
  std::string name, text;
};

std::string dims(const std::vector<int64_t>& extents) {
  std::string out = "f32[";
  for (size_t k = 0; k < extents.size(); ++k) out += cat(k > 0 ? "," : "", extents[k]);
  return out + "]";
}

std::string conv_of(const Shape& s, int64_t b) {
  const bool is_plain = s.c % b != 0;
  const int64_t i = is_plain || s.group > 1 ? 1 : b;
  const std::vector<int64_t> image = is_plain ? std::vector<int64_t>{1, s.c, s.size, s.size}
                                              : std::vector<int64_t>{1, s.c / b, s.size, s.size, b};
  return cat("fn main(%x: ", dims(image),
             ", %w: ", dims({s.o / b, s.c / s.group / i, s.kernel, s.kernel, i, b}),
             ", %b: ", dims({1, s.o / b, 1, 1, b}), ") {\n  %0 = conv2d_nchwc(%x, %w) {strides=[",
             s.stride, ",", s.stride, "], pads=[", s.pad(), ",", s.pad(), ",", s.pad(), ",",
             s.pad(), "], group=", s.group,
             "}\n  %1 = add(%0, %b)\n  %2 = relu(%1)\n  return %2\n}");
}

// Returns the text of a shape with channels in blocks of b and columns in panels of 2 b.
std::string text_of(const Shape& s, int64_t b) {
  const std::string image = dims({1, s.c / b, s.size, s.size, b});
  switch (s.kind) {
    case Kind::kConv:
      return conv_of(s, b);
    case Kind::kMatmul: {
      const int64_t panel = s.o % (2 * b) == 0 ? 2 * b : 8;
      return cat("fn main(%a: ", dims({s.size, s.c}), ", %b: ", dims({s.o / panel, s.c, panel}),
                 ", %c: ", dims({s.o}),
                 ") {\n  %0 = matmul_packed(%a, %b)\n  %1 = add(%0, %c)\n  %2 = relu(%1)\n  "
                 "return %2\n}");
    }
    case Kind::kMaxPool:
      return cat("fn main(%x: ", image, ") {\n  %0 = max_pool(%x) {kernel_shape=[", s.kernel, ",",
                 s.kernel, ",1], strides=[", s.stride, ",", s.stride, ",1], pads=[", s.pad(), ",",
                 s.pad(), ",0,", s.pad(), ",", s.pad(), ",0]}\n  return %0\n}");
    case Kind::kMean:
      return cat("fn main(%x: ", image,
                 ") {\n  %0 = mean(%x) {axes=[2,3], keepdims=true}\n  return %0\n}");
  }
  return {};
}

// Functions of other kinds than those of kShapes.
std::vector<Program> programs_of_rows() {
  auto of_rows = [](const char* op, int64_t rows, int64_t n) {
    return Program{
        cat(op, " ", rows, "x", n),
        cat("fn main(%x: ", dims({rows, n}), ") {\n  %0 = ", op, "(%x) {axis=-1}\n  return %0\n}")};
  };
  return {of_rows("softmax", 1536, 128),
          of_rows("softmax", 128, 1000),
          of_rows("layer_norm", 128, 768),
          of_rows("log_softmax", 64, 4096),
          {"matmul plain 128x64x128",
           "fn main(%a: f32[12,128,64], %b: f32[12,64,128]) {\n  %0 = matmul(%a, %b)\n  return "
           "%0\n}"},
          {"gelu 128x3072",
           "fn main(%x: f32[128,3072], %b: f32[3072]) {\n  %0 = add(%x, %b)\n  %1 = gelu(%0)\n  "
           "return %1\n}"},
          {"add 64@56 in rows",
           "fn main(%x: f32[1,64,56,56], %s: f32[64,1,1], %y: f32[1,64,56,56]) {\n  %0 = "
           "multiply(%x, %s)\n  %1 = add(%0, %y)\n  %2 = relu(%1)\n  return %2\n}"},
          {"transpose 512x768",
           "fn main(%x: f32[512,768]) {\n  %0 = transpose(%x) {perm=[1,0]}\n  return %0\n}"}};
}

std::shared_ptr<const PluginSet> plugins() {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  static const auto set = PluginSet::load(search);
  return set;
}

/// A point, compiled, with its times.
struct Measured {
  Json point;
  std::unique_ptr<measure::TimedSession> timed;
  std::vector<double> ns;
  double best() const { return *std::min_element(ns.begin(), ns.end()); }
};

class Bench {
 public:
  explicit Bench(const Program& program) : name_(program.name) {
    module_ = must(parse_module(program.text, all_ops()));
    BuildOptions options{.plugins = plugins(), .compilers = {"llvm"}, .strict = true};
    usual_ = must(build(module_, options));
    BYOC_CHECK(usual_.program.steps.size() == 1, name_, " has several steps");
  }
  void run(size_t random_points, int rounds, uint32_t seed, size_t listed);

 private:
  CompileFunction function_at(const std::string& point) const;
  void add(const Json& point);
  void compare() const;
  void time(int rounds);
  void report(const Json& space, size_t guesses) const;
  void list(size_t most);

  std::string name_;
  IRModule module_;
  Executable usual_;
  std::vector<Measured> points_;
};

CompileFunction Bench::function_at(const std::string& point) const {
  CompileFunction out;
  out.symbol = usual_.modules.at(0).functions.at(0).symbol;
  const Function& function = module_.function(module_.entry);
  write_graph_json(module_, function, out.symbol, out.graph_json);
  out.n_in = function.num_params();
  out.n_out = 1;
  out.point_json = point;
  return out;
}

// Compiles a point in the place of the usual code.
void Bench::add(const Json& point) {
  const CompileFunction function = function_at(point.dump());
  CompileResult result = plugins()->find("llvm")->compile({&function, 1}, {});
  BYOC_CHECK(result.status.ok(), name_, " at ", point.dump(), ": ", result.status.to_string());
  Executable executable = usual_;
  executable.modules[0].blob = result.module.blob;
  auto session = must(Session::load(std::move(executable), nullptr, {.threads = 1}));
  std::vector<Tensor> inputs;
  for (const TypeId& type : signature(module_.function(module_.entry)).params) {
    inputs.push_back(must(Tensor::make({type->dtype, static_extents(type->shape)})));
    fill_random(inputs.back(), inputs.size());
  }
  points_.push_back({point, must(measure::TimedSession::make(std::move(session), inputs)), {}});
}

void Bench::compare() const {
  const Tensor& right = points_[0].timed->outputs()[0];
  const auto n = right.size_bytes() / sizeof(float);
  const auto* expected = reinterpret_cast<const float*>(right.data());
  for (const Measured& point : points_) {
    const auto* y = reinterpret_cast<const float*>(point.timed->outputs()[0].data());
    double largest = 0, error = 0;
    for (size_t k = 0; k < n; ++k) {
      largest = std::max(largest, static_cast<double>(std::abs(expected[k])));
      error = std::max(error, static_cast<double>(std::abs(y[k] - expected[k])));
    }
    BYOC_CHECK(error <= 1e-5 * largest, name_, " at ", point.point.dump(), ": an error of ", error,
               " of ", largest);
  }
}

void Bench::time(int rounds) {
  constexpr double kSampleNs = 5e5;
  const uint64_t begin_ns = now_ns();
  BYOC_CHECK(points_[0].timed->run().ok(), "a run failed");
  const int turns = std::clamp(static_cast<int>(kSampleNs / ns_since(begin_ns)), 1, 10000);
  std::vector<Measured*> left;
  for (Measured& point : points_) left.push_back(&point);
  for (int round = 0; round < rounds; ++round) {
    for (Measured* point : left) {
      BYOC_CHECK(point->timed->run().ok(), "a run failed");
      const uint64_t from_ns = now_ns();
      for (int k = 0; k < turns; ++k) BYOC_CHECK(point->timed->run().ok(), "a run failed");
      point->ns.push_back(ns_since(from_ns) / turns);
    }
    if (round != 2 && round != 6) continue;
    std::sort(left.begin() + 1, left.end(),  // the first one stays
              [](const Measured* a, const Measured* b) { return a->best() < b->best(); });
    left.resize(std::min(left.size(), 1 + points_.size() / (round == 2 ? 3 : 8)));
  }
}

void Bench::report(const Json& space, size_t guesses) const {
  auto is_faster = [](const Measured& a, const Measured& b) { return a.best() < b.best(); };
  const auto end = points_.begin() + static_cast<ptrdiff_t>(guesses);
  const Measured& guess = *std::min_element(points_.begin(), end, is_faster);
  const Measured& best = *std::min_element(points_.begin(), points_.end(), is_faster);
  const double first_ns = points_[0].best();
  double size = 1;
  for (const Json& knob : space.at("knobs")) size *= static_cast<double>(knob.at("values").size());
  std::printf("%-26s %8.0f  %10.1f  %6.3f  %6.3f  %7.1f\n    first %s\n    best  %s\n",
              name_.c_str(), size, first_ns / 1e3, guess.best() / first_ns, best.best() / first_ns,
              space.at("flops").get<double>() / best.best(), points_[0].point.dump().c_str(),
              best.point.dump().c_str());
  std::fflush(stdout);
}

// Prints the fastest points.
void Bench::list(size_t most) {
  const double first_ns = points_[0].best();
  std::sort(points_.begin(), points_.end(),
            [](const Measured& a, const Measured& b) { return a.best() < b.best(); });
  for (size_t k = 0; k < std::min(most, points_.size()); ++k)
    std::printf("    %6.3f  %s\n", points_[k].best() / first_ns, points_[k].point.dump().c_str());
}

void Bench::run(size_t random_points, int rounds, uint32_t seed, size_t listed) {
  const std::string text = must(plugins()->find("llvm")->knobs(function_at(""), {}));
  if (text.empty()) {
    std::printf("%-26s has no choice\n", name_.c_str());
    return;
  }
  const Json space = Json::parse(text);
  std::set<std::string> done;
  auto add_new = [&](const Json& point) {
    if (done.insert(point.dump()).second) add(point);
  };
  for (const Json& guess : space.at("guesses")) add_new(guess);
  const size_t guesses = points_.size();
  std::minstd_rand random(seed);
  for (size_t k = 0; k < random_points; ++k) {
    Json point;
    for (const Json& knob : space.at("knobs")) {
      const Json& values = knob.at("values");
      point[knob.at("name").get<std::string>()] = values.at(random() % values.size());
    }
    add_new(point);
  }
  compare();
  time(rounds);
  report(space, guesses);
  list(listed);
}

struct Arguments {
  int rounds = 15;
  size_t points = 32, listed = 0;
  uint32_t seed = 1;
  std::string only;
  bool has_help = false;
};

// Returns nullopt for unknown arguments.
std::optional<Arguments> parse_arguments(int argc, char** argv) {
  Arguments out;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    out.has_help |= name == "--help" || name == "-h";
    if (out.has_help) return out;
    if (k + 1 == argc) return std::nullopt;
    const char* value = argv[++k];
    if (name == "--rounds") out.rounds = std::max(8, std::atoi(value));
    else if (name == "--points") out.points = std::strtoull(value, nullptr, 10);
    else if (name == "--list") out.listed = std::strtoull(value, nullptr, 10);
    else if (name == "--seed") out.seed = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    else if (name == "--only") out.only = value;
    else return std::nullopt;
  }
  return out;
}

std::vector<Program> all_programs() {
  std::vector<Program> out;
  const auto layouts = must(must(plugins()->get("llvm"))->layouts("{}"));
  const int64_t block = layouts.at(0).block;
  for (const Shape& s : kShapes) {
    const bool divides = s.o % block == 0 || s.is_matmul();
    out.push_back({s.name, text_of(s, divides ? block : 8)});
  }
  for (Program& program : programs_of_rows()) out.push_back(std::move(program));
  return out;
}

int run(int argc, char** argv) {
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  if (!arguments || arguments->has_help) {
    std::fprintf(arguments ? stdout : stderr,
                 "usage: bench_llvm_points [--points N] [--rounds N] [--seed N] [--only TEXT]\n"
                 "       [--list N]\n\n"
                 "  bench_llvm_points --only 3x3 --points 100 --list 10\n");
    return arguments ? 0 : 2;
  }
  std::printf(
      "one thread; the guesses and %zu random points; smallest of %d rounds; times divided by "
      "that of the first guess\n%-26s %8s  %10s  %6s  %6s  %7s\n",
      arguments->points, arguments->rounds, "", "points", "first us", "guess", "best", "GFLOP/s");
  for (const Program& program : all_programs()) {
    if (program.name.find(arguments->only) != std::string::npos)
      Bench(program).run(arguments->points, arguments->rounds, arguments->seed, arguments->listed);
  }
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) { return byoc::bench::run(argc, argv); }
