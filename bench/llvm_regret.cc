// SPDX-License-Identifier: Apache-2.0
// Measures the regret of the llvm plugin's own choices: the time of the kernel that a build without
// a tuning log has, divided by the time of the fastest point that is found for the same function.
// With --list, the best points of each function are printed as well.
// Points are the plugin's guesses, which have each kernel family that it considers, and random
// ones. Functions are the distinct ones of the given models, with their constants. All points of a
// function run in turns in one process, each time in other memory; large constants are evicted from
// the caches before. Results are compared with those of the first guess. Points that are slow in
// the first rounds are left out of the later ones; functions of less than a microsecond are left
// out of the result.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/compile.h"
#include "byoc/import.h"
#include "byoc/tune/task.h"
#include "core/measure/session/timed_session.h"
#include "core/tuner/measure/artifact_of_point.h"
#include "core/tuner/measure/task_folder.h"
#include "support/paths.h"

namespace byoc::bench {
namespace {

constexpr double kSampleNs = 3e5;          // of a sample: several runs of a short kernel
constexpr uint64_t kColdBytes = 16 << 10;  // of constants that are evicted
constexpr double kLeastNs = 1000;          // shorter functions are mostly the call
constexpr double kTolerance = 2e-5;        // of the largest output, the bound of Winograd's family

struct Arguments {
  std::vector<std::string> models;
  int rounds = 12;
  size_t points = 12, listed = 0, evicted = size_t{4} << 20;
  std::string only;  // in the name of a function; empty: all
  std::string vary;  // knobs, with commas: all of their values at the other ones of the first guess
  uint32_t threads = 1, seed = 1;
};

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "error: %s\n", result.status().to_string().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

/// A point, compiled, with its times.
struct Measured {
  tune::Point point;
  std::unique_ptr<measure::TimedSession> timed;
  double best_ns = INFINITY;
};

// Returns the first guess with all values of the knobs that `names` has, each by each.
std::vector<tune::Point> varied(const tune::Space& space, const std::string& names) {
  std::vector<tune::Point> out = {space.guesses[0]};
  for (const tune::Knob& knob : space.knobs) {
    if (cat(",", names, ",").find(cat(",", knob.name, ",")) == std::string::npos) continue;
    std::vector<tune::Point> before;
    std::swap(before, out);
    for (const tune::Point& point : before) {
      for (const std::string& value : knob.values) out.emplace_back(point)[knob.name] = value;
    }
  }
  return out;
}

std::vector<tune::Point> points_of(const tune::Space& space, const Arguments& arguments) {
  std::vector<tune::Point> out;
  std::set<std::string> known;
  auto add = [&](const tune::Point& point) {
    if (known.insert(tune::print(point)).second) out.push_back(point);
  };
  for (const tune::Point& guess : space.guesses) add(guess);
  for (const tune::Point& point : varied(space, arguments.vary)) add(point);
  std::minstd_rand random(arguments.seed);
  for (size_t k = 0; k < arguments.points; ++k) {
    tune::Point point;
    for (const tune::Knob& knob : space.knobs)
      point[knob.name] = knob.values[random() % knob.values.size()];
    add(point);
  }
  return out;
}

// Returns true when floats differ by little of the largest one.
bool agrees(const Tensor& a, const Tensor& b) {
  if (a.spec().dtype != DType::kF32) return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  const auto* x = reinterpret_cast<const float*>(a.data());
  const auto* y = reinterpret_cast<const float*>(b.data());
  double largest = 0, error = 0;
  for (size_t k = 0; k < a.size_bytes() / sizeof(float); ++k) {
    largest = std::max(largest, std::abs(double{y[k]}));
    error = std::max(error, std::abs(double{x[k]} - double{y[k]}));
  }
  return error <= kTolerance * largest;
}

// Compiles all points of a task. Those that the plugin refuses, or whose result differs, end the
// program: they are defects.
std::vector<Measured> compiled(const tune::Task& task, const BuildOptions& options,
                               const Arguments& arguments, uint64_t& constant_bytes) {
  const driver::ReplayCase replay = must(tune::case_of(task, options, "json", arguments.seed));
  constant_bytes = 0;
  for (const auto& buffer : replay.buffers) constant_bytes += buffer->size();
  std::vector<Tensor> inputs;
  for (const driver::ReplayTensor& input : replay.inputs)
    inputs.push_back(must(input.tensor.copy()));
  std::vector<Measured> out;
  for (const tune::Point& point : points_of(task.space, arguments)) {
    Executable executable = must(tune::executable_of_point(replay, point, 0, *options.plugins));
    auto session =
        must(Session::load(std::move(executable), options.plugins, {.threads = arguments.threads}));
    out.push_back({point, must(measure::TimedSession::make(std::move(session), inputs))});
    for (size_t k = 0; k < replay.outputs.size(); ++k)
      BYOC_CHECK(agrees(out.back().timed->outputs()[k], out[0].timed->outputs()[k]),
                 cat(task.symbols[0], " has another result at ", tune::print(point)));
  }
  return out;
}

/// Evicts constants from the caches of a core: those of a network come from the last cache, or from
/// memory, where a function alone would find them in its own.
class Evictor {
 public:
  explicit Evictor(size_t bytes) : memory_(bytes / sizeof(uint64_t), 1) {}
  void evict(std::span<const Tensor> inputs) {
    for (size_t k = 0; k < memory_.size(); k += kLine / sizeof(uint64_t)) sum_ = sum_ + memory_[k];
    for (const Tensor& input : inputs) {  // which the kernel before has just written
      const auto* bytes = reinterpret_cast<const uint8_t*>(input.data());
      for (size_t k = 0; k < input.size_bytes(); k += kLine) sum_ = sum_ + bytes[k];
    }
  }

 private:
  static constexpr size_t kLine = 64;
  std::vector<uint64_t> memory_;
  volatile uint64_t sum_ = 0;
};

void time_in_rounds(std::vector<Measured>& points, const Arguments& arguments,
                    uint64_t constant_bytes) {
  const bool is_cold = constant_bytes >= kColdBytes && arguments.evicted > 0;
  Evictor evictor(arguments.evicted);
  const uint64_t begin = now_ns();
  BYOC_CHECK(points[0].timed->run().ok(), "a run failed");
  const int turns =
      is_cold ? 1 : std::clamp(static_cast<int>(kSampleNs / ns_since(begin)), 1, 10000);
  std::vector<Measured*> left;
  for (Measured& point : points) left.push_back(&point);
  for (int round = 0; round < arguments.rounds; ++round) {
    for (Measured* point : left) {
      // which pages the tensors are in can be worth a half of the time
      BYOC_CHECK(point->timed->renew().ok() && point->timed->run().ok(), "a run failed");
      if (is_cold) evictor.evict(point->timed->inputs());
      const uint64_t from = now_ns();
      for (int k = 0; k < turns; ++k) BYOC_CHECK(point->timed->run().ok(), "a run failed");
      point->best_ns = std::min(point->best_ns, ns_since(from) / turns);
    }
    if (round != 1 && round != 4) continue;
    std::sort(left.begin() + 1, left.end(),  // the first one stays
              [](const Measured* a, const Measured* b) { return a->best_ns < b->best_ns; });
    left.resize(std::min(left.size(), 1 + points.size() / (round == 1 ? 2 : 5)));
  }
}

/// The ratios of functions.
struct Regret {
  double sum_of_logs = 0, worst = 1, first_ns = 0, best_ns = 0;
  size_t functions = 0;
  std::string worst_name;

  void add(const std::string& name, double first, double best) {
    sum_of_logs += std::log(first / best), ++functions;
    first_ns += first, best_ns += best;
    if (first / best > worst) worst = first / best, worst_name = name;
  }
  void add(const Regret& other) {
    sum_of_logs += other.sum_of_logs, functions += other.functions;
    first_ns += other.first_ns, best_ns += other.best_ns;
    if (other.worst > worst) worst = other.worst, worst_name = other.worst_name;
  }
  void print(const char* of) const {
    const auto count = static_cast<double>(std::max<size_t>(functions, 1));
    std::printf(
        "%s: %zu functions: geometric mean %.3f, of the sum of times %.3f, worst %.3f (%s)\n", of,
        functions, std::exp(sum_of_logs / count), first_ns / std::max(best_ns, 1.0), worst,
        worst_name.c_str());
  }
};

void print_best(std::vector<Measured> points, size_t count) {
  std::ranges::stable_sort(points, {}, &Measured::best_ns);
  points.resize(std::min(points.size(), count));
  for (const Measured& point : points)
    std::printf("       %9.2f us  %s\n", point.best_ns / 1e3, tune::print(point.point).c_str());
}

void measure_model(const std::string& model, const Arguments& arguments,
                   std::set<std::string>& done, Regret& regret) {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  BuildOptions options{.plugins = PluginSet::load(search), .compilers = {"llvm"}};
  options.threads = arguments.threads;
  IRModule module = must(import_onnx(model, all_ops()));
  for (const tune::Task& task : must(tune::extract_tasks(std::move(module), options))) {
    const std::string name = cat(task.space.kind, " ", task.locs.empty() ? "" : task.locs[0]);
    if (name.find(arguments.only) == std::string::npos) continue;
    if (!done.insert(task.space.task).second) continue;
    uint64_t constant_bytes = 0;
    std::vector<Measured> points = compiled(task, options, arguments, constant_bytes);
    time_in_rounds(points, arguments, constant_bytes);
    if (points[0].best_ns < kLeastNs) continue;
    const Measured& best = *std::ranges::min_element(points, {}, &Measured::best_ns);
    const double ratio = points[0].best_ns / best.best_ns;
    regret.add(cat(name, " of ", model), points[0].best_ns, best.best_ns);
    std::printf("%6.3f %9.1f us  %s\n", ratio, points[0].best_ns / 1e3, name.c_str());
    if (ratio > 1.05)
      std::printf("       first %s\n       best  %s\n", tune::print(points[0].point).c_str(),
                  tune::print(best.point).c_str());
    print_best(std::move(points), arguments.listed);
    std::fflush(stdout);
  }
}

// Returns nullopt for unknown arguments.
std::optional<Arguments> parse_arguments(int argc, char** argv) {
  Arguments out;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    if (!name.starts_with("--")) {
      out.models.push_back(name);
      continue;
    }
    if (k + 1 == argc) return std::nullopt;
    const auto value = std::strtoul(argv[++k], nullptr, 10);
    if (name == "--rounds") out.rounds = static_cast<int>(std::max(value, 6ul));
    else if (name == "--points") out.points = value;
    else if (name == "--threads") out.threads = static_cast<uint32_t>(std::max(value, 1ul));
    else if (name == "--list") out.listed = value;
    else if (name == "--evict") out.evicted = value << 20;
    else if (name == "--only") out.only = argv[k];
    else if (name == "--vary") out.vary = argv[k];
    else if (name == "--seed") out.seed = static_cast<uint32_t>(value);
    else return std::nullopt;
  }
  return out.models.empty() ? std::nullopt : std::optional(out);
}

int run(int argc, char** argv) {
  const std::optional<Arguments> arguments = parse_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(
        stderr,
        "usage: bench_llvm_regret MODEL.onnx... [--threads N] [--points N] [--rounds N] "
        "[--seed N]\n       [--only TEXT] [--vary KNOBS] [--list N] [--evict MIB]\n\n"
        "  bench_llvm_regret resnet50.onnx gpt2.onnx --threads 2\n"
        "  bench_llvm_regret resnet50.onnx --only fc/Gemm --points 60 --list 10\n"
        "  bench_llvm_regret resnet50.onnx --evict 0      constants stay in the caches\n"
        "  bench_llvm_regret resnet50.onnx --points 0 --vary compute,winograd_tile --list 40\n");
    return 2;
  }
  std::printf(
      "%u threads; the guesses and %zu random points; smallest of %d rounds\n"
      "regret     first\n",
      arguments->threads, arguments->points, arguments->rounds);
  std::set<std::string> done;
  Regret all;
  for (const std::string& model : arguments->models) {
    Regret own;
    std::printf("%s\n", model.c_str());
    measure_model(model, *arguments, done, own);
    own.print(" ");
    all.add(own);
  }
  all.print("all");
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) { return byoc::bench::run(argc, argv); }
