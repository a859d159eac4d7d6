// The 6 x 16 kernel of the llvm plugin on packed matrices of 512 x 512 x 512, as a share of what
// the processor's multiply-add units can do, which is measured in the same run. The result is
// checked first. The loops are those of tests/unit/llvm/kernel_loops.h, compiled as any function
// is.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "byoc/runtime/plugins.h"
#include "plugins/llvm/loaded.h"
#include "plugins/llvm/native.h"
#include "tests/unit/llvm/kernel_loops.h"

namespace byoc {
namespace {

constexpr int64_t kM = 512, kN = 512, kK = 512, kChunk = 512;
constexpr int64_t kPackedM = (kM + 5) / 6 * 6;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

/// A loop function, compiled for this machine and loaded.
class Code {
 public:
  explicit Code(const te::LoopFunction& function) {
    auto machine = llvm_plugin::machine_of(llvm_plugin::host_target());
    if (!machine.ok()) stop(machine.status().message());
    std::string symbol = llvm_plugin::kernel_symbol(function, *machine, {});
    auto kernel = llvm_plugin::compile_kernel(function, symbol, *machine, {});
    if (!kernel.ok()) stop(kernel.status().message());
    const llvm_plugin::Kernel* kernels[] = {&*kernel};
    auto object = llvm_plugin::link_native(kernels, *machine);
    if (!object.ok()) stop(object.status().message());
    auto loaded = llvm_plugin::LoadedObject::load(*object, host_table());
    if (!loaded.ok()) stop(loaded.status().message());
    loaded_ = *std::move(loaded);
  }
  void run(std::initializer_list<void*> data) const {
    byoc_native_call call{{sizeof call, BYOC_TAG_NATIVE_CALL, nullptr},
                          const_cast<void**>(data.begin()),
                          nullptr,
                          host_table(),
                          0};
    if (loaded_->function(0).run(&call) != 0) stop("the code failed");
  }

 private:
  std::unique_ptr<llvm_plugin::LoadedObject> loaded_;
};

constexpr int64_t kRounds = 1000000, kChains = 12;

/// 12 vectors of sums in registers, each multiplied and added to itself again and again:
/// independent chains, nothing is loaded.
te::LoopFunction peak_loops() {
  te::Tensor x("x", DType::kF32, {2}), y("y", DType::kF32, {kChains, test::kLanes});
  te::Tensor acc("acc", DType::kF32, {kChains, test::kLanes});
  auto each = [&](const std::function<te::Stmt(te::Expr, te::Expr)>& body) {
    return te::loop(
        "c", kChains,
        [&](te::Expr c) {
          return te::loop(
              "l", test::kLanes, [&](te::Expr l) { return body(c, l); }, te::LoopKind::kVectorized);
        },
        te::LoopKind::kUnrolled);
  };
  auto clear = each([&](te::Expr c, te::Expr l) {
    return te::make_store(acc, {c, l}, te::cast(DType::kF32, c + l));
  });
  auto sum = te::loop("r", kRounds, [&](te::Expr) {
    return each([&](te::Expr c, te::Expr l) {
      return te::make_store(acc, {c, l}, acc(c, l) * x(0) + x(1));
    });
  });
  auto put = each([&](te::Expr c, te::Expr l) { return te::make_store(y, {c, l}, acc(c, l)); });
  return {
      "peak", {x}, {y}, te::make_alloc(acc, te::Scope::kStack, te::make_block({clear, sum, put}))};
}

double gflops(double flops, const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return flops / time.count() / 1e9;
}

struct Matrices {
  std::vector<float> a, b, c;
  Matrices() : a(kPackedM * kK), b(kK * kN), c(kM * kN) {
    std::minstd_rand random(1);
    for (auto* matrix : {&a, &b})
      for (float& x : *matrix) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  }
  float entry(int64_t i, int64_t j) const {  // small integers: exact in any order
    float sum = 0;
    for (int64_t r = 0; r < kK; ++r)
      sum += a[static_cast<size_t>((i / 6 * kK + r) * 6 + i % 6)] *
             b[static_cast<size_t>((j / 16 * kK + r) * 16 + j % 16)];
    return sum;
  }
};

void packed_gemm(benchmark::State& state) {
  static const Code gemm(test::packed_gemm(kM, kN, kK, kChunk)), peak(peak_loops());
  Matrices m;
  auto run = [&] { gemm.run({m.a.data(), m.b.data(), m.c.data()}); };
  run();
  for (int64_t i = 0; i < kM; i += 7) {
    for (int64_t j = 0; j < kN; j += 5) {
      if (m.c[static_cast<size_t>(i * kN + j)] != m.entry(i, j))
        return state.SkipWithError("wrong");
    }
  }
  float factors[] = {0.5f, 1.0f};
  std::vector<float> sums(kChains * test::kLanes);
  auto run_peak = [&] { peak.run({factors, sums.data()}); };
  std::vector<double> shares, rates, peaks;
  for (auto _ : state) {
    peaks.push_back(gflops(2.0 * kRounds * kChains * test::kLanes, run_peak));
    rates.push_back(gflops(20 * 2.0 * kM * kN * kK, [&] {
      for (int k = 0; k < 20; ++k) run();
    }));
    shares.push_back(rates.back() / peaks.back());
  }
  auto median = [](std::vector<double>& x) {
    std::nth_element(x.begin(), x.begin() + static_cast<long>(x.size() / 2), x.end());
    return x[x.size() / 2];
  };
  state.counters["peak_GFLOPs"] = median(peaks);
  state.counters["GFLOPs"] = median(rates);
  state.counters["share"] = median(shares);
}
BENCHMARK(packed_gemm)->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace byoc

BENCHMARK_MAIN();
