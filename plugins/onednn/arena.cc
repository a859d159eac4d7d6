#include "arena.h"

#include <algorithm>
#include <map>
#include <set>

namespace byoc::onednn {
namespace {

constexpr uint64_t kAlign = 64;
constexpr size_t kMostPairs = 4096;  // buffers up to which each is compared with all others

// A buffer inside another is touched when that one is, and the other way round.
void find_live_ranges(Plan& plan) {
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    for (const Bound& bound : plan.steps[s].args) {
      BYOC_ONEDNN_CHECK(bound.buffer < plan.buffers.size(),
                        plan.steps[s].name + " has its buffers");
      Buffer& buffer = plan.buffers[bound.buffer];
      buffer.first = std::min(buffer.first, s);
      buffer.last = std::max(buffer.last, s);
    }
    plan.scratchpad_bytes = std::max(plan.scratchpad_bytes, buffer_bytes(plan.steps[s].scratchpad));
  }
  for (const Buffer& inner : plan.buffers) {
    if (inner.whole == UINT32_MAX) continue;
    BYOC_ONEDNN_CHECK(inner.whole < plan.buffers.size(),
                      "a buffer inside another has an outer one");
    Buffer& whole = plan.buffers[inner.whole];
    BYOC_ONEDNN_CHECK(whole.whole == UINT32_MAX && inner.offset <= whole.bytes,
                      "buffers are inside each other one level deep");
    whole.first = std::min(whole.first, inner.first);
    whole.last = std::max(whole.last, inner.last);
  }
}

std::vector<uint32_t> buffers_of_arena(const Plan& plan) {
  std::vector<uint32_t> order;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.home == Buffer::kArena && buffer.whole == UINT32_MAX) order.push_back(b);
  }
  return order;
}

// Places the largest first, each at the lowest offset that is free while it lives. O(n^2).
void place_largest_first(Plan& plan, std::vector<uint32_t> order) {
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  std::vector<uint32_t> placed;  // by offset
  for (uint32_t b : order) {
    Buffer& now = plan.buffers[b];
    for (uint32_t other : placed) {
      const Buffer& there = plan.buffers[other];
      if (there.first > now.last || there.last < now.first) continue;
      if (there.offset >= now.offset + now.bytes) break;
      now.offset = std::max(now.offset, there.offset + there.bytes);
    }
    plan.arena_bytes = std::max(plan.arena_bytes, now.offset + now.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), now.offset,
                         [&](uint64_t o, uint32_t p) { return o < plan.buffers[p].offset; }),
        b);
  }
}

// Free blocks of the arena; the smallest that fits is taken, and the arena grows when none does.
class FreeBlocks {
 public:
  uint64_t take(uint64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    auto [size, offset] = *fit;
    erase(offset, size);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }
  void give(uint64_t offset, uint64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        erase(before, size);
        offset = before;
        bytes += size;
      }
    }
    next = by_offset_.find(offset + bytes);
    if (next != by_offset_.end()) {
      uint64_t more = next->second;
      erase(next->first, more);
      bytes += more;
    }
    insert(offset, bytes);
  }
  uint64_t end() const { return end_; }

 private:
  void insert(uint64_t offset, uint64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void erase(uint64_t offset, uint64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t end_ = 0;
};

// Places buffers in order of the steps, in blocks that are free again. O(n log n).
void place_by_time(Plan& plan, std::vector<uint32_t> order) {
  FreeBlocks free;
  std::vector<uint32_t> by_end = order;
  auto first = [&](uint32_t b) { return plan.buffers[b].first; };
  auto last = [&](uint32_t b) { return plan.buffers[b].last; };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return first(a) < first(b); });
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](uint32_t a, uint32_t b) { return last(a) < last(b); });
  size_t ended = 0;
  for (uint32_t b : order) {
    Buffer& now = plan.buffers[b];
    if (now.first > now.last || now.bytes == 0) continue;  // no step touches it
    for (; last(by_end[ended]) < now.first; ++ended) {
      const Buffer& over = plan.buffers[by_end[ended]];
      if (over.first <= over.last && over.bytes > 0) free.give(over.offset, over.bytes);
    }
    now.offset = free.take(now.bytes);
  }
  plan.arena_bytes = std::max(plan.arena_bytes, free.end());
}

}  // namespace

uint64_t buffer_bytes(const Desc& desc) { return (desc.get_size() + kAlign - 1) / kAlign * kAlign; }

void place_arena(Plan& plan) {
  find_live_ranges(plan);
  std::vector<uint32_t> order = buffers_of_arena(plan);
  if (order.size() <= kMostPairs) place_largest_first(plan, std::move(order));
  else place_by_time(plan, std::move(order));
  for (Buffer& inner : plan.buffers) {
    if (inner.whole != UINT32_MAX) inner.offset += plan.buffers[inner.whole].offset;
  }
}

}  // namespace byoc::onednn
