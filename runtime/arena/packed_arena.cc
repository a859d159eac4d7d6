// SPDX-License-Identifier: Apache-2.0
#include "runtime/arena/packed_arena.h"

#include "byoc/base/check.h"

namespace byoc {

Status PackedArena::fit(std::span<const int64_t> values) {
  BYOC_TRY_STATUS(layout_.measure(values, bytes_));
  return memory_.reserve(layout_.place(bytes_, offsets_), Buffer::kAlignment, "an arena");
}

std::byte* PackedArena::address(const Place& place) const {
  BYOC_CHECK(place.kind == Place::kArena && place.index < offsets_.size(), "block ", place.index,
             " of ", offsets_.size());
  return memory_.get() + offsets_[place.index] + place.offset;
}

}  // namespace byoc
