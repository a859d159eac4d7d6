// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of parallel loops: the process's own workers (runtime/threads), or, in sessions with
// plugins that run OpenMP code such as oneDNN's, the teams of the distribution's libgomp, which
// both share. Two sets would take each other's cores: libgomp's workers keep theirs for a while.
#include <cstdint>

#include "byoc/plugin/abi.h"

namespace byoc {

inline constexpr uint32_t kMaxThreads = 1024;

/// Returns the number of cores this process may use: its affinity mask, not the machine's count,
/// and no more than the quota of its container, which is read once; at least 1.
uint32_t available_cores();

enum class Workers : uint8_t { kOwn, kOpenMp };

/// While it lives, parallel work started by this thread runs on `threads` workers, the thread
/// itself being one; OpenMP code on this thread (oneDNN) sees the same number. With more than one
/// worker, it holds a token of which the process has one, so that teams do not oversubscribe the
/// machine. Scopes nest: an inner one keeps the token of the outer; inside a worker of parallel_for
/// everything is inline and needs no token. 0 threads means all available cores.
class ThreadScope {
 public:
  explicit ThreadScope(uint32_t threads, Workers workers = Workers::kOpenMp);
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope();

 private:
  uint32_t outer_threads_;
  int outer_openmp_threads_;
  Workers outer_workers_;
  bool holds_token_ = false;
};

/// Returns the number of workers of a parallel_for started here: the scope's number inside a
/// ThreadScope. Outside of one, where a plugin may call it at open, returns the number that no
/// scope exceeds.
uint32_t max_workers();

/// Implements byoc_host.parallel_for: calls fn over the blocks [k * grain, (k + 1) * grain) of [0,
/// n), where a grain of 0 reads as 1; the caller is one of the workers. Blocks do not depend on the
/// number of workers, and neither do sums per block. Outside a ThreadScope, and nested in another
/// parallel_for, it runs inline, with the id of the worker that it runs on. A nonzero return stops
/// blocks not begun yet and is returned. Allocates nothing.
int32_t parallel_for(uint64_t n, uint64_t grain, byoc_range_fn fn, void* u);

}  // namespace byoc
