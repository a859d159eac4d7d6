// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/team.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "byoc/base/clock.h"
#include "byoc/base/env.h"
#include "runtime/threads/cores.h"

namespace byoc::team {
namespace {

// Workers look for the next loop for some time before they sleep, since waking one up takes longer
// than most loops. The caller sleeps sooner: its core is then free for a worker that lost its own.
constexpr uint64_t kIdleNs = 200'000, kJoinNs = 50'000;
// A worker that lost its core inside of a loop delays it by a time slice of another process. After
// that, the caller runs loops by itself for some multiple of the delay. When a worker is late soon
// again, a process keeps its core busy: that time grows fourfold, up to a second. When it was
// in time for longer, it has saved more than the delay: every system has tasks that take a core
// for some milliseconds a second.
constexpr uint64_t kLateNs = 300'000, kAloneTimes = 2, kSoonTimes = 8;
constexpr uint64_t kLongestAloneNs = 1'000'000'000;
constexpr uint32_t kOpen = 1u << 31;

struct Team {
  // Written by the caller before each loop. Workers that the loop does not call read only this
  // line of a cache.
  alignas(64) std::atomic<uint32_t> turn = 0;  // number of the loop; sleeping workers wait for it
  std::atomic<uint32_t> threads = 0;
  std::atomic<int> core = -1;  // that the caller began its last loop on
  std::atomic<uint64_t> idle_ns = kIdleNs;
  alignas(64) std::atomic<uint32_t> gate =
      0;                // kOpen while a loop may be entered, + workers inside
  Work work = nullptr;  // read only by workers inside, as is the next one
  void* data = nullptr;
  alignas(64) uint64_t alone_until_ns = 0;  // the caller's: the last time alone
  uint64_t alone_ns = 0;
  std::atomic<uint32_t> started = 0;
};
constinit Team the_team;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <class Done>
bool spin(uint64_t limit_ns, Done done) {
  const uint64_t end = now_ns() + limit_ns;
  do {
    for (int k = 0; k < 32; ++k, pause()) {
      if (done()) return true;
    }
  } while (now_ns() < end);
  return done();
}

/// Returns false when the loop is over; else the caller stays until this worker leaves.
bool enter() {
  uint32_t gate = the_team.gate.load(std::memory_order_relaxed);
  while (gate & kOpen) {
    if (the_team.gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void leave() {
  const uint32_t before = the_team.gate.fetch_sub(1, std::memory_order_release);
  if (before == 1) the_team.gate.notify_one();  // the last of a closed gate
}

void serve(uint32_t worker, int core) {
  if (core >= 0) keep_core(core, worker);
  for (uint32_t seen = 0;;) {
    auto is_new = [&] { return the_team.turn.load(std::memory_order_acquire) != seen; };
    if (!spin(the_team.idle_ns.load(std::memory_order_relaxed), is_new)) the_team.turn.wait(seen);
    leave_core(the_team.core.load(std::memory_order_relaxed));
    seen = the_team.turn.load(std::memory_order_acquire);
    // Workers that the loop does not call leave its gate alone. When this is of a later loop,
    // `turn` has its number.
    auto is_called = [&] { return worker < the_team.threads.load(std::memory_order_relaxed); };
    if (!is_called() || !enter()) continue;
    if (is_called()) the_team.work(the_team.data, worker);
    leave();
  }
}

/// A forked child has this thread alone.
void forget_workers() {
  the_team.started = 0;
  the_team.gate = 0;
  the_team.alone_until_ns = the_team.alone_ns = 0;
}

}  // namespace

uint64_t time_alone_ns(uint64_t late_ns, uint64_t since_ns, uint64_t last_ns) {
  if (since_ns >= kSoonTimes * late_ns) last_ns = 0;
  return std::max(kAloneTimes * late_ns, std::min(4 * last_ns, kLongestAloneNs));
}

bool needs_all() {
  static const bool is_set = env_value("BYOC_ALL_WORKERS") == "1";
  return is_set;
}

uint32_t size() { return the_team.started.load(std::memory_order_relaxed) + 1; }

void start(uint32_t threads, uint32_t cores) {
  static const int is_registered = pthread_atfork(nullptr, nullptr, forget_workers);
  static_cast<void>(is_registered);
  the_team.idle_ns.store(threads <= cores ? kIdleNs : 0, std::memory_order_relaxed);
  uint32_t started = the_team.started.load(std::memory_order_relaxed);
  try {
    const int core = env_value("BYOC_PIN") == "1" ? current_core() : -1;
    if (core >= 0) keep_core(core, 0);  // this thread
    for (; started + 1 < threads; the_team.started = ++started)
      std::thread(serve, started + 1, core).detach();
  } catch (const std::system_error&) {  // the others, and this thread, do the work
  }
}

namespace {

/// Begins a time without workers, after one was late by `late_ns`.
void run_alone(uint64_t end_ns, uint64_t late_ns) {
  const uint64_t since_ns = end_ns - the_team.alone_until_ns;
  the_team.alone_ns = time_alone_ns(late_ns, since_ns, the_team.alone_ns);
  the_team.alone_until_ns = end_ns + the_team.alone_ns;
}

/// Waits for the workers inside.
void join(uint32_t inside) {
  auto none = [&] { return (inside = the_team.gate.load(std::memory_order_acquire)) == 0; };
  spin(kJoinNs, none);
  for (; inside != 0; inside = the_team.gate.load(std::memory_order_acquire))
    the_team.gate.wait(inside, std::memory_order_acquire);
}

}  // namespace

void run(uint32_t threads, Work work, void* data) {
  const uint64_t begin_ns = now_ns();
  if (begin_ns < the_team.alone_until_ns && !needs_all()) return work(data, 0);
  the_team.work = work;
  the_team.data = data;
  the_team.threads.store(threads, std::memory_order_relaxed);
  the_team.core.store(current_core(), std::memory_order_relaxed);
  the_team.gate.store(kOpen, std::memory_order_release);
  the_team.turn.fetch_add(1, std::memory_order_release);
  the_team.turn.notify_all();
  work(data, 0);
  const uint32_t inside = the_team.gate.fetch_and(~kOpen, std::memory_order_acquire) & ~kOpen;
  if (inside == 0) return;
  const uint64_t own_end_ns = now_ns();
  join(inside);
  const uint64_t end_ns = now_ns(), waited_ns = end_ns - own_end_ns;
  if (waited_ns > std::max(kLateNs, own_end_ns - begin_ns)) run_alone(end_ns, waited_ns);
}

}  // namespace byoc::team
