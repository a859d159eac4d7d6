// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <algorithm>

namespace byoc::onednn {
namespace {

constexpr uint64_t kAlign = 64;

// Extends live ranges: a buffer inside another is touched when that one is, and the reverse.
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

std::vector<uint32_t> largest_first(const Plan& plan) {
  std::vector<uint32_t> order;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.home == Buffer::kArena && buffer.whole == UINT32_MAX) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  return order;
}

}  // namespace

uint64_t buffer_bytes(const Desc& desc) { return (desc.get_size() + kAlign - 1) / kAlign * kAlign; }

// Places each buffer at the lowest offset that is free while it lives.
void place_arena(Plan& plan) {
  find_live_ranges(plan);
  std::vector<uint32_t> placed;  // by offset
  for (uint32_t b : largest_first(plan)) {
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
  for (Buffer& inner : plan.buffers) {
    if (inner.whole != UINT32_MAX) inner.offset += plan.buffers[inner.whole].offset;
  }
}

}  // namespace byoc::onednn
