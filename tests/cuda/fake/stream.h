// SPDX-License-Identifier: Apache-2.0
#pragma once
// A queue of work, which a thread does in order.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace fake_cuda {

using Mark = std::shared_ptr<std::atomic<bool>>;

struct Event {
  Mark mark = std::make_shared<std::atomic<bool>>(true);  // reached until it is recorded
};

class Stream {
 public:
  using Work = std::function<int(const std::atomic<bool>& is_dropped)>;
  Stream() : thread_([this] { run(); }) {}
  ~Stream() {
    is_dropped_ = true;
    changed_.notify_all();
    thread_.join();
  }
  void enqueue(Work work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  Mark record() {
    auto mark = std::make_shared<std::atomic<bool>>(false);
    enqueue([mark](auto&) { return mark->store(true), 0; });
    return mark;
  }
  void wait(Mark mark) {
    enqueue([mark](const auto& is_dropped) {
      while (!mark->load() && !is_dropped) sleep();
      return 0;
    });
  }
  bool is_idle() {
    std::lock_guard lock(mutex_);
    return queue_.empty() && !is_busy_;
  }
  static void sleep() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_for(lock, std::chrono::milliseconds(50),
                        [&] { return is_dropped_ || !queue_.empty(); });
      if (is_dropped_) return;
      if (queue_.empty()) continue;
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      is_busy_ = true;
      lock.unlock();
      work(is_dropped_);
      lock.lock();
      is_busy_ = false;
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::atomic<bool> is_dropped_{false};
  bool is_busy_ = false;
  std::thread thread_;  // after what it uses
};

}  // namespace fake_cuda
