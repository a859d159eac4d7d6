// SPDX-License-Identifier: Apache-2.0
#include "runtime/states/state_memory.h"

#include <cstring>

#include "runtime/states/in_place.h"

namespace byoc {
namespace {

constexpr uint64_t kAlign = Buffer::kAlignment;

}  // namespace

Result<std::shared_ptr<StateMemory>> StateMemory::make(const Program& program) {
  auto out = std::make_shared<StateMemory>();
  out->states_.resize(program.states.size());
  for (size_t k = 0; k < out->states_.size(); ++k) {
    State& state = out->states_[k];
    state.type = program.inputs[program.run_inputs() + k];
    BYOC_TRY(const int64_t bytes, size_bytes(state.type.type));
    state.bytes = static_cast<uint64_t>(bytes);
    BYOC_TRY(state.now, context_memory(state.bytes, kAlign, "a state"));
    out->set_zero(k);
  }
  return out;
}

Status StateMemory::begin() {
  if (!is_used_.exchange(true, std::memory_order_acquire)) return {};
  return failed("another thread runs with these states, or reads or sets them")
      .with_slug("state-in-use")
      .with_help("make a context for each sequence, or wait for the run to end");
}

Status StateMemory::add_buffers(std::span<const size_t> writers) {
  for (size_t k = 0; k < states_.size(); ++k) {
    if (writers[k] != kNoWriter || states_[k].next) continue;
    BYOC_TRY(states_[k].next, context_memory(states_[k].bytes, kAlign, "a state"));
  }
  return {};
}

Status StateMemory::check_whole() const {
  for (const State& state : states_) {
    if (!state.is_broken) continue;
    return failed(cat("the state \"", state.type.name,
                      "\" is broken: the last run failed after it had written a part of it"))
        .with_slug("state-broken")
        .with_help("reset the states, or set them to values that were read before");
  }
  return {};
}

Status StateMemory::check_fits(const Program& program) const {
  if (program.states.size() != states_.size())
    return invalid(
               cat("the contexts have ", states_.size(), " and ", program.states.size(), " states"))
        .with_slug("state-type");
  for (size_t k = 0; k < states_.size(); ++k) {
    const NamedTensor& other = program.inputs[program.run_inputs() + k];
    if (other.name == states_[k].type.name && other.type == states_[k].type.type) continue;
    return invalid(cat("the state \"", states_[k].type.name, "\" is ", states_[k].type.type,
                       " and \"", other.name, "\" ", other.type))
        .with_slug("state-type");
  }
  return {};
}

void StateMemory::set_zero(size_t k) {
  if (states_[k].bytes != 0) std::memset(states_[k].now.get(), 0, states_[k].bytes);
  states_[k].is_broken = false;
}

uint64_t StateMemory::total_bytes() const {
  uint64_t out = 0;
  for (const State& state : states_) out += state.bytes * (state.next ? 2 : 1);
  return out;
}

}  // namespace byoc
