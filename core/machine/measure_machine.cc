// SPDX-License-Identifier: Apache-2.0
#include "core/machine/measure_machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "byoc/base/check.h"
#include "core/machine/bound_threads.h"
#include "core/machine/core_rates.h"
#include "core/machine/peak_loops.h"
#include "core/machine/read_loops.h"
#include "core/measure/store/this_machine.h"
#include "runtime/host/threads.h"

namespace byoc::machine {
namespace {

constexpr double kBudgetNs = 0.7e9;  // after it each number gets one run
constexpr int kRuns = 5, kShortRuns = 30;
constexpr size_t kMemoryBytes = size_t{128} << 20;
constexpr size_t kMostCacheBytes = size_t{24} << 20;  // read of a cache; larger ones have one rate
constexpr size_t kReadPerRun = size_t{64} << 20;
constexpr uint32_t kTrips = 50;   // few, so that no thread loses its core in most runs
constexpr double kTripsNs = 5e6;  // for all of them
constexpr size_t kGrain = 1024;   // of read_all

/// Memory that holds nothing yet, so that pages are of the threads that write them first.
class Memory {
 public:
  explicit Memory(size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) data_ = nullptr;
    else ::madvise(data_, bytes, MADV_HUGEPAGE);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  size_t bytes_;
  void* data_;
};

class Measuring {
 public:
  Machine run() {
    Machine out = assumed_machine();
    out.processor = measure::machine_name();
    out.origin = "measured";
    out.cores = cores_;
    out.f32 = peak(has_avx512() ? Peak::kF32x512 : Peak::kF32x256, out.f32);
    out.f16 = peak(has_peak(Peak::kF16x512) ? Peak::kF16x512 : Peak::kBf16x512, {});
    out.i8 = peak(has_peak(Peak::kI8x512) ? Peak::kI8x512 : Peak::kI8x256, {});
    if (cores_ > 1) {
      auto known = [](double ns) { return std::isfinite(ns) ? ns : 0; };
      out.round_trip_ns =
          known(shortest(kShortRuns, [&] { return round_trip_ns(on_, kTrips, kTripsNs); }));
      out.barrier_ns = known(shortest(kShortRuns, [&] { return barrier_ns(); }));
      const std::optional<double> loop = loop_ns();
      out.is_busy = !loop;
      out.loop_ns = std::max(loop.value_or(2 * out.round_trip_ns), out.barrier_ns);
    }
    add_levels(out);
    return out;
  }

 private:
  bool has_time() const { return ns_since(begin_ns_) < kBudgetNs; }

  /// Returns the shortest of several times, of one when time is short.
  template <class F>
  double shortest(int runs, F&& time) const {
    double best = time();
    for (int run = 1; run < runs && has_time(); ++run) best = std::min(best, time());
    return std::max(best, 1.0);
  }

  template <class Work>
  Rate rate(double amount, Work&& work) const {
    Rate out;
    out.one = amount / shortest(kRuns, [&] { return bound_cpu_ns(1, on_, work); });
    out.all = out.one;
    if (cores_ > 1)
      out.all = amount * cores_ / shortest(kRuns, [&] { return bound_cpu_ns(cores_, on_, work); });
    return out;
  }

  Rate peak(Peak peak, Rate without) const {
    if (!has_peak(peak)) return without;
    return rate(operations_of(peak), [&](uint32_t) { rate_of(peak); });
  }

  /// Reads the sizes of the caches that the kernel lists for the first processor.
  std::vector<Level> caches() const {
    std::vector<Level> out;
    const std::string folder =
        cat("/sys/devices/system/cpu/cpu", on_.empty() ? 0 : on_[0], "/cache/index");
    for (int k = 0; k < 8; ++k) {
      auto text = [&](const char* name) {
        std::ifstream file(cat(folder, k, "/", name));
        std::string line;
        std::getline(file, line);
        return line;
      };
      const uint64_t kib = std::strtoull(text("size").c_str(), nullptr, 10);
      if (kib == 0 || text("type") == "Instruction") continue;
      out.push_back({kib << 10, cores_of(text("shared_cpu_list")), {}, {}});
    }
    if (out.empty()) {
      for (int name : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
        if (const long bytes = ::sysconf(name); bytes > 0)
          out.push_back({static_cast<uint64_t>(bytes), 1, {}, {}});
      }
    }
    return out;
  }

  /// Counts the processors of a list such as "0-3,8" that this process may use; at least 1.
  uint64_t cores_of(const std::string& list) const {
    uint64_t out = 0;
    for (size_t at = 0; at < list.size();) {
      char* end = nullptr;
      const size_t first = std::strtoull(list.c_str() + at, &end, 10);
      size_t last = first;
      if (*end == '-') last = std::strtoull(end + 1, &end, 10);
      for (size_t one : on_) out += one >= first && one <= last ? 1 : 0;
      at = static_cast<size_t>(end - list.c_str()) + 1;
    }
    return std::max<uint64_t>(out, 1);
  }

  void add_levels(Machine& out) const {
    std::vector<Level> levels = caches();
    levels.push_back({});
    const size_t each = std::max(kMemoryBytes / cores_, size_t{16} << 20);
    Memory memory(each * cores_);
    if (memory.data() == nullptr) return;  // the assumed levels stay
    bound_ns(cores_, on_, [&](uint32_t thread) {
      std::memset(memory.data() + each * thread, static_cast<int>(thread + 1), each);
    });
    uint64_t inner = 0;
    for (Level& level : levels) {
      size_t bytes = each;
      if (level.bytes != Level::kMemory) {
        // Half of a core's share, but not what the cache before it holds.
        bytes = static_cast<size_t>(std::min<uint64_t>(
            std::max(level.bytes / level.cores / 2, 2 * inner), kMostCacheBytes));
        bytes = std::max(std::min(bytes, each) / kGrain, size_t{1}) * kGrain;
      }
      measure_level(level, memory.data(), each, bytes);
      inner = level.bytes;
    }
    out.levels = std::move(levels);
  }

  void measure_level(Level& level, const char* data, size_t each, size_t bytes) const {
    BYOC_CHECK(bytes <= each, "a thread reads ", bytes, " of its ", each, " bytes");
    const size_t passes = std::max(kReadPerRun / bytes, size_t{1});
    const double amount = static_cast<double>(bytes) * static_cast<double>(passes);
    std::atomic<uint64_t> kept = 0;  // so that no read is left out
    auto work = [&](auto read) {
      return [&, read](uint32_t thread) {
        uint64_t sum = 0;
        for (size_t pass = 0; pass < passes; ++pass) sum += read(data + each * thread, bytes);
        kept.fetch_add(sum, std::memory_order_relaxed);
      };
    };
    level.read = rate(amount, work(read_all));
    level.fill = rate(amount, work(read_lines));
  }

  /// Returns what a loop of one block per core takes beyond a block: loops without work would end
  /// before a worker comes. nullopt: in no run did all workers come before one had done two blocks,
  /// because other programs had the processors.
  std::optional<double> loop_ns() const {
    constexpr uint64_t kBlockNs = 20'000;
    auto block = [](void*, uint64_t, uint64_t, uint32_t) {
      for (const uint64_t begin = now_ns(); ns_since(begin) < kBlockNs;) {
      }
      return 0;
    };
    ThreadScope threads(cores_, Workers::kOwn);
    const double ns = shortest(kShortRuns, [&] {
      const uint64_t begin = now_ns();
      parallel_for(cores_, 1, block, nullptr);
      return ns_since(begin);
    });
    if (ns > 1.75 * kBlockNs) return std::nullopt;
    return std::max(ns - kBlockNs, 0.0);
  }

  double barrier_ns() const {
    alignas(64) std::atomic<uint32_t> arrived = 0;
    Patience patience(kTripsNs);
    auto meet = [&](uint32_t) {
      for (uint32_t k = 1; k <= kTrips; ++k) {
        arrived.fetch_add(1, std::memory_order_acq_rel);
        auto all_came = [&] { return arrived.load(std::memory_order_acquire) >= k * cores_; };
        if (!patience.wait(all_came)) return;
      }
    };
    const double ns = bound_ns(cores_, on_, meet);
    return patience.is_over() ? std::numeric_limits<double>::infinity() : ns / kTrips;
  }

  const std::vector<size_t> on_ = processors();
  const uint32_t cores_ = std::max(1u, static_cast<uint32_t>(on_.size()));
  const uint64_t begin_ns_ = now_ns();
};

}  // namespace

Machine measure_machine() { return Measuring().run(); }

}  // namespace byoc::machine
