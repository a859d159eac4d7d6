// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/worker_pool.h"

#include <poll.h>

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::tune {

WorkerPool::WorkerPool(const WorkerCommand& builder, size_t builders, const WorkerCommand& runner) {
  for (size_t k = 0; k < std::max<size_t>(builders, 1); ++k)
    workers_.push_back({WorkerProcess(builder), &builds_, {}});
  workers_.push_back({WorkerProcess(runner), &runs_, {}});
}

Status WorkerPool::begin_jobs() {
  for (Busy& worker : workers_) {
    if (worker.process.is_busy() || worker.queue->empty()) continue;
    Job job = std::move(worker.queue->front());
    worker.queue->pop_front();
    BYOC_CHECK(job.request && job.done && !worker.done, "a worker does one job, and reports it");
    BYOC_TRY_STATUS(worker.process.begin(job.request(), job.limits));
    worker.done = std::move(job.done);
  }
  return {};
}

/// Waits for a line of a worker, at most until the next deadline and for a tenth of a second.
void WorkerPool::wait() const {
  constexpr std::chrono::milliseconds kLongest{100};
  std::vector<pollfd> polled;
  auto until = WorkerProcess::Clock::now() + kLongest;
  for (const Busy& worker : workers_) {
    if (!worker.process.is_busy()) continue;
    polled.push_back({worker.process.fd(), POLLIN, 0});
    until = std::min(until, worker.process.deadline());
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - WorkerProcess::Clock::now());
  poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
}

bool WorkerPool::is_idle() const {
  return builds_.empty() && runs_.empty() &&
         std::none_of(workers_.begin(), workers_.end(),
                      [](const Busy& worker) { return worker.process.is_busy(); });
}

void WorkerPool::drop_all() {
  builds_.clear();
  runs_.clear();
  for (Busy& worker : workers_) {
    worker.process.stop();
    worker.done = nullptr;
  }
}

Status WorkerPool::finish(const KeepGoing& keep_going) {
  while (!is_idle()) {
    Status begun = begin_jobs();
    if (begun.ok()) wait();
    if (begun.ok() && !keep_going())
      begun = Status(Code::kCancelled, "the tuner was stopped").with_slug("interrupted");
    if (!begun.ok()) {
      drop_all();
      return begun;
    }
    for (Busy& worker : workers_) {
      auto answer = worker.process.poll();
      if (!answer) continue;
      BYOC_CHECK(worker.done, "an answer to no job");
      std::exchange(worker.done, nullptr)(*std::move(answer));
    }
  }
  return {};
}

}  // namespace byoc::tune
