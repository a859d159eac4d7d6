// SPDX-License-Identifier: Apache-2.0
// `racy kernel` has a deliberate data race in a plugin, `racy workers` one in a function that
// parallel_for calls.
#include <atomic>
#include <cstdio>
#include <string_view>
#include <thread>

#include "byoc/runtime/session.h"
#include "runtime/host/threads.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

constexpr int kRounds = 1000;

/// Calls one kernel, which counts its runs without a lock, from two threads.
bool race_in_kernel() {
  auto session = Session::load(test::two_relus(), test::load_fault("faulty_none", "race"));
  if (!session.ok()) return std::puts(session.status().to_string().c_str()), false;
  auto call = [&] {
    auto context = *(*session)->make_context();
    test::Floats x({1, 2, 3, 4}), y({0, 0, 0, 0});
    DLTensor in = x.view(), out = y.view();
    for (int k = 0; k < kRounds; ++k) (void)(*session)->run(*context, {&in, 1}, {&out, 1});
  };
  std::thread other(call);
  call();
  other.join();
  return true;
}

struct Sum {
  uint64_t total = 0;
  std::atomic<uint32_t> workers{0};  // those in add_up; relaxed, so that it orders no access
};

/// Adds to the total without a lock. Each worker waits for the other, so each runs one block.
int32_t add_up(void* u, uint64_t lo, uint64_t, uint32_t) {
  Sum& sum = *static_cast<Sum*>(u);
  sum.workers.fetch_add(1, std::memory_order_relaxed);
  while (sum.workers.load(std::memory_order_relaxed) != 2) std::this_thread::yield();
  sum.total += lo;
  return 0;
}

/// Runs two workers that add to one number.
bool race_between_workers() {
  ThreadScope scope(2);
  Sum sum;
  return parallel_for(2, 1, add_up, &sum) == 0;
}

}  // namespace
}  // namespace byoc

int main(int argc, char** argv) {
  std::string_view where = argc == 2 ? argv[1] : "";
  if (where == "kernel") return byoc::race_in_kernel() ? 0 : 1;
  if (where == "workers") return byoc::race_between_workers() ? 0 : 1;
  std::fputs("racy kernel | racy workers\n", stderr);
  return 2;
}
