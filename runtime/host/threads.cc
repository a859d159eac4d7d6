// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "byoc/base/clock.h"
#include "byoc/base/memory.h"
#include "runtime/host/host.h"
#include "runtime/host/packed.h"
#include "runtime/threads/quota.h"
#include "runtime/threads/team.h"

#if defined(__SANITIZE_THREAD__)
#define BYOC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BYOC_TSAN 1
#endif
#endif

// libgomp's entry points, declared by name: calling these functions instead of using a pragma keeps
// a compiler from adding a second OpenMP runtime.
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
#ifdef BYOC_TSAN
void __tsan_acquire(void* address);
void __tsan_release(void* address);
#endif
}

namespace byoc {
namespace {

// libgomp is not instrumented: these calls declare to the sanitizer that a fork and a
// join order memory.
#ifdef BYOC_TSAN
void happens_before(void* address) { __tsan_release(address); }
void happens_after(void* address) { __tsan_acquire(address); }
#else
void happens_before(void*) {}
void happens_after(void*) {}
#endif

constinit thread_local uint32_t scope_threads = 0;  // 0: no scope
constinit thread_local Workers scope_workers = Workers::kOpenMp;
constinit thread_local bool scope_has_token = false;  // this scope's or an outer one's
constinit thread_local int64_t worker = -1;           // -1: in no parallel_for
std::mutex token;

// Blocks that one worker takes first, and others when they have none left.
struct alignas(64) Share {
  uint64_t next, end;
};
constexpr uint32_t kMostShares = 64;
constexpr uint64_t kOwnerNs = 100'000'000;

// Each worker begins with a part of its own, the same in every run: cores then seldom write to one
// line of the cache, and each finds weights and values of the last loop in its own caches. Where
// cores have no cache in common, a line takes some 200 ns from one to the other.
struct Region {
  Region(byoc_range_fn fn_, void* u_, uint64_t n_, uint64_t grain_, uint32_t workers)
      : fn(fn_), u(u_), n(n_), grain(grain_), blocks(n / grain + (n % grain != 0)) {
    shares = std::clamp<uint32_t>(workers, 1, kMostShares);
    const uint64_t each = blocks / shares, rest = blocks % shares;
    for (uint64_t k = 0, begin = 0; k < shares; begin = share[k++].end) {
      share[k].next = begin;
      share[k].end = begin + each + (k < rest);
    }
  }
  byoc_range_fn fn;
  void* u;
  uint64_t n, grain, blocks;
  uint32_t shares;
  const PluginCall* call = current_plugin_call.load(std::memory_order_relaxed);
  const bool releases = fills_spilled();
  char fork = 0, join = 0;  // addresses for the sanitizer
  alignas(64) std::atomic<int32_t> result{0};
  Share share[kMostShares];  // the first `shares`
};

// Releases spilled memory 16 times in a loop. Only loops of `fill` do, whose memory is large.
void release_after(const Region& region, uint64_t block) {
  const uint64_t every = std::max<uint64_t>(region.blocks / 16, 1);
  if (block % every == every - 1) release_spilled();
}

// A share without blocks is read and not written: its line then stays in the caches of all workers
// that look for blocks at the end of a loop.
void run_share(Region& region, Share& share, uint32_t id) {
  auto is_over = [&] {
    return std::atomic_ref(share.next).load(std::memory_order_relaxed) >= share.end;
  };
  while (!is_over() && region.result.load(std::memory_order_relaxed) == 0) {
    const uint64_t block = std::atomic_ref(share.next).fetch_add(1, std::memory_order_relaxed);
    if (block >= share.end) return;
    const uint64_t lo = block * region.grain;
    const uint64_t hi = block + 1 == region.blocks ? region.n : lo + region.grain;
    if (int32_t result = region.fn(region.u, lo, hi, id)) {
      int32_t none = 0;
      region.result.compare_exchange_strong(none, result);
    }
    if (region.releases) release_after(region, block);
  }
}

// Gives the owner of a share the time to do it all, unless the system gives it no core.
void wait_for_owner(const Region& region, Share& share) {
  const uint64_t end_ns = now_ns() + kOwnerNs;
  while (std::atomic_ref(share.next).load(std::memory_order_relaxed) < share.end &&
         region.result.load(std::memory_order_relaxed) == 0 && now_ns() < end_ns)
    ::sched_yield();
}

void run_blocks(Region& region, uint32_t id) {
  for (uint32_t k = 0; k < region.shares; ++k) {
    Share& share = region.share[(id + k) % region.shares];
    const bool is_own = k == 0 && id < region.shares;
    if (!is_own && team::needs_all()) wait_for_owner(region, share);
    run_share(region, share, id);
  }
}

void run_worker(void* data, uint32_t id) {
  Region& region = *static_cast<Region*>(data);
  const int64_t outer = worker;
  worker = id;
  current_plugin_call.store(region.call, std::memory_order_release);
  run_blocks(region, id);
  current_plugin_call.store(id == 0 ? region.call : nullptr, std::memory_order_release);
  worker = outer;
}

/// Runs one member of the team: libgomp calls it on every thread, the caller's own included.
void run_openmp_worker(void* data) {
  Region& region = *static_cast<Region*>(data);
  happens_after(&region.fork);
  run_worker(data, static_cast<uint32_t>(omp_get_thread_num()));
  happens_before(&region.join);
}

}  // namespace

uint32_t available_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  static const uint32_t quota = quota_cores();
  return std::clamp(std::min(static_cast<uint32_t>(CPU_COUNT(&cores)), quota), 1U, kMaxThreads);
}

ThreadScope::ThreadScope(uint32_t threads, Workers workers)
    : outer_threads_(scope_threads),
      outer_openmp_threads_(omp_get_max_threads()),
      outer_workers_(scope_workers) {
  if (threads == 0) threads = available_cores();
  threads = worker >= 0 ? 1 : std::min(threads, kMaxThreads);
  if (threads > 1 && !scope_has_token) {
    token.lock();
    scope_has_token = holds_token_ = true;
  }
  scope_threads = threads;
  scope_workers = workers;
  if (workers == Workers::kOwn && team::size() < threads) team::start(threads, available_cores());
  if (outer_openmp_threads_ != static_cast<int>(threads))
    omp_set_num_threads(static_cast<int>(threads));
}

ThreadScope::~ThreadScope() {
  if (outer_openmp_threads_ != static_cast<int>(scope_threads))
    omp_set_num_threads(outer_openmp_threads_);
  scope_threads = outer_threads_;
  scope_workers = outer_workers_;
  if (holds_token_) {
    scope_has_token = false;
    token.unlock();
  }
}

namespace {

/// Returns as many workers as there are blocks, `most` at most: others would come for nothing.
uint32_t workers_for(uint64_t n, uint64_t grain, uint32_t most) {
  return static_cast<uint32_t>(std::min<uint64_t>(n / grain + (n % grain != 0), most));
}

}  // namespace

uint32_t max_workers() { return scope_threads == 0 ? kMaxThreads : scope_threads; }

int32_t parallel_for(uint64_t n, uint64_t grain, byoc_range_fn fn, void* u) {
  if (n == 0) return 0;
  grain = std::max<uint64_t>(grain, 1);
  const bool is_alone = worker >= 0 || scope_threads <= 1 || n <= grain;
  const uint32_t workers = workers_for(n, grain, is_alone ? 1 : scope_threads);
  Region region(fn, u, n, grain, workers);
  if (is_alone) {
    run_blocks(region, worker >= 0 ? static_cast<uint32_t>(worker) : 0);
    return region.result.load();
  }
  if (scope_workers == Workers::kOwn) {
    team::run(workers, run_worker, &region);
    return region.result.load();
  }
  happens_before(&region.fork);
  // The whole team starts in every case, even when some members are idle: libgomp keeps a team for
  // reuse, and allocates when its size changes.
  GOMP_parallel(run_openmp_worker, &region, scope_threads, 0);
  happens_after(&region.join);
  return region.result.load();
}

}  // namespace byoc
