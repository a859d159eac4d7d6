// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr uint32_t kNoStep = UINT32_MAX;

/// The steps that used some bytes last.
struct Users {
  uint32_t writer = kNoStep;
  std::map<uint32_t, uint32_t> readers;  // the last one per queue, since the writer
};

/// The users of one memory, by ranges of bytes: each key begins a range that ends at the next key.
class Memory {
 public:
  /// Calls f with each step that has to end before the access, and records the access.
  template <class F>
  void access(uint64_t begin, uint64_t end, bool writes, uint32_t queue, uint32_t step, F&& f) {
    split(begin);
    split(end);
    const auto last = ranges_.find(end);
    for (auto at = ranges_.find(begin); at != last; ++at) {
      Users& users = at->second;
      if (users.writer != kNoStep) f(users.writer);
      if (!writes) {
        users.readers[queue] = step;
        continue;
      }
      for (const auto& [reading, reader] : users.readers) f(reader);
      users = {step, {}};
    }
  }

 private:
  void split(uint64_t at) {
    auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) {
      ranges_.emplace(at, Users());
      return;
    }
    const auto before = std::prev(after);
    if (before->first != at) ranges_.emplace_hint(after, at, before->second);
  }
  std::map<uint64_t, Users> ranges_;
};

class Scheduler {
 public:
  Scheduler(const Executable& executable, std::span<const StepTraits> traits)
      : program_(executable.program), traits_(traits), orders_(program_.steps.size()) {}

  std::vector<StepOrder> run() {
    for (uint32_t k = 0; program_.code.empty() && k < orders_.size(); ++k) add(k);
    for (const Instruction& instruction : program_.code) {
      if (instruction.kind == Instruction::kCall) add(instruction.index);
      else end_block();
    }
    end_block();
    return std::move(orders_);
  }

 private:
  using MemoryKey = std::tuple<uint32_t, uint32_t>;

  void add(uint32_t k) {
    const Step& step = program_.steps[k];
    last_ = k;
    place_step(k, step);
    needed_.clear();
    for (size_t a = 0; a < step.args.size(); ++a) use_argument(k, step, a);
    const StepOrder& order = orders_[k];
    if (traits_[k].has_workspace) use({kWorkspace, order.device}, 0, 1, true, order.queue, k);
    wait_for_needed(k);
    if (order.queue != StepOrder::kHost) newest_[order.queue] = k;
  }

  void place_step(uint32_t k, const Step& step) {
    StepOrder& order = orders_[k];
    auto queue = [&](DeviceQueue which) {
      return order.device * kDeviceQueues + static_cast<uint32_t>(which);
    };
    order.device = traits_[k].device;
    if (step.module == Step::kDeviceCopy) {
      const bool goes_in = step.args[1].kind == Place::kDevice;
      order.device = step.args[goes_in ? 1 : 0].index;
      order.queue = queue(goes_in ? DeviceQueue::kIn : DeviceQueue::kOut);
    } else if (traits_[k].is_async) {
      order.queue = queue(DeviceQueue::kCompute);
    }
  }

  /// Records the use of one argument. Those of a kernel on the host are used within the call.
  void use_argument(uint32_t k, const Step& step, size_t a) {
    const Place& place = step.args[a];
    if (place.kind == Place::kConstant) return;
    const bool is_copy = step.module == Step::kDeviceCopy;
    const bool within_call = !is_copy && place.kind != Place::kDevice;
    const uint32_t queue = within_call ? StepOrder::kHost : orders_[k].queue;
    uint64_t begin = place.offset, end = UINT64_MAX;
    if (!step.types[a].is_open() || place.kind == Place::kDevice)  // there by the bounds
      end = begin + static_cast<uint64_t>(*size_bytes(step.types[a]));
    if (begin == end) return;
    // Blocks of a packed arena share bytes as the sizes of a run have it: all of them are one.
    if (place.kind == Place::kArena && !program_.packing.empty()) begin = 0, end = UINT64_MAX;
    const uint32_t index = place.kind == Place::kArena ? 0 : place.index;
    use({place.kind, index}, begin, end, a >= step.n_in, queue, k);
  }

  void use(MemoryKey key, uint64_t begin, uint64_t end, bool writes, uint32_t queue, uint32_t k) {
    memories_[key].access(begin, end, writes, queue, k, [&](uint32_t earlier) {
      const uint32_t before = orders_[earlier].queue;
      if (earlier == k || before == StepOrder::kHost || before == queue) return;
      uint32_t& newest =
          needed_.try_emplace({before, queue == StepOrder::kHost}, earlier).first->second;
      newest = std::max(newest, earlier);
    });
  }

  /// Turns the needed steps into waits, without those that an earlier wait has covered.
  void wait_for_needed(uint32_t k) {
    StepOrder& order = orders_[k];
    for (const auto& [from, earlier] : needed_) {
      const auto [queue, is_host] = from;
      const bool same_device = queue / kDeviceQueues == order.device;
      const bool by_host = is_host || order.queue == StepOrder::kHost || !same_device;
      const uint32_t waiter = by_host ? StepOrder::kHost : order.queue;
      if (has_waited(StepOrder::kHost, queue, earlier) || has_waited(waiter, queue, earlier))
        continue;
      waited_[{waiter, queue}] = earlier;
      (by_host ? order.host_waits : order.queue_waits).push_back(earlier);
      orders_[earlier].is_recorded = true;
    }
  }

  bool has_waited(uint32_t waiter, uint32_t queue, uint32_t step) const {
    const auto known = waited_.find({waiter, queue});
    return known != waited_.end() && known->second >= step;
  }

  /// Lets the host wait for all that is enqueued and not yet waited for.
  void end_block() {
    for (const auto& [queue, step] : newest_) {
      if (has_waited(StepOrder::kHost, queue, step)) continue;
      orders_[last_].drains.push_back(step);
      orders_[step].is_recorded = true;
    }
    newest_.clear();
    waited_.clear();
    memories_.clear();
  }

  static constexpr uint32_t kWorkspace = UINT32_MAX;  // among kinds of places
  const Program& program_;
  std::span<const StepTraits> traits_;
  std::vector<StepOrder> orders_;
  std::map<MemoryKey, Memory> memories_;
  std::map<std::pair<uint32_t, bool>, uint32_t> needed_;      // (queue, by the host): the newest
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> waited_;  // (waiter, queue): the newest
  std::map<uint32_t, uint32_t> newest_;                       // per queue, in this block
  uint32_t last_ = kNoStep;                                   // step of this block
};

}  // namespace

std::vector<StepOrder> order_steps(const Executable& executable,
                                   std::span<const StepTraits> traits) {
  BYOC_CHECK(traits.size() == executable.program.steps.size(), traits.size(), " traits for ",
             executable.program.steps.size(), " steps");
  return Scheduler(executable, traits).run();
}

}  // namespace byoc
