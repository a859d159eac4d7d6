// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/intern.h"

#include "core/ir/interner.h"

namespace byoc {
namespace {

constinit thread_local InternArena::Owned* current = nullptr;

}  // namespace

InternArena::Owned* current_arena() { return current; }

InternArena::InternArena() : owned_(std::make_unique<Owned>()) {}

InternArena::~InternArena() {
  static constexpr void (*kRelease[])(std::span<const uint32_t>) = {
      release_attrs, release_type_lists, release_types, release_named_sizes, release_symbols};
  static_assert(std::size(kRelease) == kInternTables);
  for (size_t k = 0; k < kInternTables; ++k) {
    if (!owned_->tables[k].all.empty()) kRelease[k](owned_->tables[k].all);
  }
}

InternScope::InternScope(InternArena& arena) : outer_(std::exchange(current, &arena.owned())) {}
InternScope::~InternScope() { current = outer_; }

WithoutScope::WithoutScope() : outer_(std::exchange(current, nullptr)) {}
WithoutScope::~WithoutScope() { current = outer_; }

Symbol lasting_symbol(std::string_view text) {
  WithoutScope pinned;
  return text;
}

}  // namespace byoc
