// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams and events of a simulated device: a thread per stream, which works off a queue and waits
// a random time before each piece of work.
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "byoc/plugin/abi.h"

namespace sim {

/// The state that all streams of a device share.
struct Clock {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_lost = false;  // the device is gone
};

/// The end of some work. Guarded by the clock.
struct Mark {
  bool is_reached = true;
  byoc_status* error = nullptr;  // of the work before it, until someone takes it
  bool has_failed = false;
};

using Work = std::function<byoc_status*(const std::function<bool()>& is_dropped)>;

class Stream {
 public:
  Stream(Clock& clock, const byoc_host& host, uint64_t most_delay_us, uint64_t seed)
      : clock_(clock), host_(host), most_delay_us_(most_delay_us), random_(seed) {
    thread_ = std::thread([this] { work(); });
  }
  /// Drops what has not begun.
  ~Stream() {
    {
      std::lock_guard lock(clock_.mutex);
      is_dropped_ = true;
    }
    clock_.changed.notify_all();
    thread_.join();
    {
      std::lock_guard lock(clock_.mutex);
      for (const Item& item : items_) reach(item.mark);
    }
    clock_.changed.notify_all();
    host_.status_free(error_);
  }

  void enqueue(Work work) { add({std::move(work), nullptr, nullptr}); }
  void record(std::shared_ptr<Mark> mark) { add({nullptr, std::move(mark), nullptr}); }
  void wait(std::shared_ptr<Mark> mark) { add({nullptr, nullptr, std::move(mark)}); }

 private:
  struct Item {
    Work work;
    std::shared_ptr<Mark> mark, waited;
  };

  void add(Item item) {
    {
      std::lock_guard lock(clock_.mutex);
      items_.push_back(std::move(item));
    }
    clock_.changed.notify_all();
  }

  void work() {
    std::unique_lock lock(clock_.mutex);
    for (;;) {
      clock_.changed.wait(lock, [&] { return is_dropped_ || !items_.empty(); });
      if (is_dropped_) return;
      Item item = std::move(items_.front());
      items_.pop_front();
      if (item.waited)
        clock_.changed.wait(lock, [&] { return is_dropped_ || item.waited->is_reached; });
      if (item.work && !has_failed_ && !clock_.is_lost) {
        lock.unlock();
        run(item.work);
        lock.lock();
      }
      if (item.mark) reach(item.mark);
      clock_.changed.notify_all();
    }
  }

  void run(const Work& work) {
    if (most_delay_us_ != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % (most_delay_us_ + 1)));
    byoc_status* error = work([this] {
      std::lock_guard lock(clock_.mutex);
      return is_dropped_;
    });
    if (error == nullptr) return;
    std::lock_guard lock(clock_.mutex);
    error_ = error;
    has_failed_ = true;
  }

  /// Hands the error to the first event after the work that failed. The clock is locked.
  void reach(const std::shared_ptr<Mark>& mark) {
    if (!mark) return;
    mark->is_reached = true;
    mark->has_failed = has_failed_;
    mark->error = std::exchange(error_, nullptr);
  }

  Clock& clock_;
  const byoc_host& host_;
  const uint64_t most_delay_us_;
  std::minstd_rand random_;
  std::deque<Item> items_;
  byoc_status* error_ = nullptr;
  bool has_failed_ = false, is_dropped_ = false;
  std::thread thread_;
};

}  // namespace sim
