// SPDX-License-Identifier: Apache-2.0
// racy kernel | racy workers: a data race on purpose, in a plugin or in a function of parallel_for.
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

/// Two callers of one kernel that counts its runs without a lock.
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
  std::atomic<uint32_t> workers{0};  // that have come; relaxed, so that it orders nothing
};

/// Two blocks, one for each worker: none is left before both have come.
int32_t add_up(void* u, uint64_t lo, uint64_t, uint32_t) {
  Sum& sum = *static_cast<Sum*>(u);
  sum.workers.fetch_add(1, std::memory_order_relaxed);
  while (sum.workers.load(std::memory_order_relaxed) != 2) std::this_thread::yield();
  sum.total += lo;
  return 0;
}

/// Two workers that add to one number.
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
