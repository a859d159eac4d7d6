// SPDX-License-Identifier: Apache-2.0
#include "runtime/states/context_states.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/nearest.h"
#include "runtime/artifact/check_view.h"
#include "runtime/artifact/view.h"
#include "runtime/states/in_place.h"

namespace byoc {
namespace {

Status check_count(const char* kind, size_t have, size_t want) {
  if (have == want) return {};
  return invalid(cat("the model has ", want, " ", kind, want == 1 ? "" : "s",
                     " besides its states, ", have, " were given"))
      .with_slug(cat(kind, "-count"));
}

/// Ends the access to the memory that begin() began.
struct Access {
  explicit Access(StateMemory& memory) : memory_(memory) {}
  Access(const Access&) = delete;
  ~Access() { memory_.end(); }
  StateMemory& memory_;
};

}  // namespace

Result<std::unique_ptr<ContextStates>> ContextStates::make(const Program& program,
                                                           std::span<const size_t> writers,
                                                           OpenViews* open,
                                                           std::shared_ptr<StateMemory> memory) {
  std::unique_ptr<ContextStates> out(new ContextStates(program, writers));
  if (memory == nullptr) {
    BYOC_TRY(memory, StateMemory::make(program));
  }
  BYOC_TRY_STATUS(memory->check_fits(program));
  BYOC_TRY_STATUS(memory->begin());
  const Access access(*memory);
  BYOC_TRY_STATUS(memory->add_buffers(writers));
  out->memory_ = std::move(memory);
  out->make_views(open);
  return out;
}

void ContextStates::make_views(OpenViews* open) {
  auto view = [](const TensorSpec& type) {
    return DLTensor{.data = nullptr,
                    .device = {kDLCPU, 0},
                    .ndim = static_cast<int32_t>(type.dims.size()),
                    .dtype = to_dlpack(type.dtype),
                    .shape = const_cast<int64_t*>(type.dims.data()),  // no const there
                    .strides = nullptr,
                    .byte_offset = 0};
  };
  inputs_.resize(program_.run_inputs());
  outputs_.resize(program_.run_outputs());
  for (size_t k = 0; k < program_.states.size(); ++k) {
    inputs_.push_back(view(program_.inputs[program_.run_inputs() + k].type));
    outputs_.push_back(view(program_.outputs[program_.run_outputs() + k].type));
    std::vector<const TensorSpec*>& rows = rows_.emplace_back();
    for (const TensorSpec& type : program_.states[k].rows)
      rows.push_back(open != nullptr && type.is_open() ? &open->type(type) : &type);
  }
}

Status ContextStates::begin(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs) {
  BYOC_TRY_STATUS(check_count("input", inputs.size(), program_.run_inputs()));
  BYOC_TRY_STATUS(check_count("output", outputs.size(), program_.run_outputs()));
  BYOC_TRY_STATUS(memory_->begin());
  if (Status whole = memory_->check_whole(); !whole.ok()) {
    memory_->end();
    return whole;
  }
  std::copy(inputs.begin(), inputs.end(), inputs_.begin());
  std::copy(outputs.begin(), outputs.end(), outputs_.begin());
  for (size_t k = 0; k < writers_.size(); ++k) {
    inputs_[inputs.size() + k].data = memory_->now(k);
    outputs_[outputs.size() + k].data =
        writers_[k] == kNoWriter ? memory_->next(k) : memory_->now(k);
  }
  return {};
}

bool ContextStates::is_broken(size_t k, const StoppedAt& stopped) const {
  if (writers_[k] == kNoWriter) return false;
  return writers_[k] < stopped.step || (writers_[k] == stopped.step && stopped.may_have_written);
}

uint64_t ContextStates::row_bytes(size_t k) const {
  if (rows_[k].empty()) return memory_->bytes(k);
  uint64_t out = 0;
  for (const TensorSpec* type : rows_[k]) {
    const Result<int64_t> bytes = size_bytes(*type);
    out += bytes.ok() ? static_cast<uint64_t>(*bytes) : 0;
  }
  return out;
}

void ContextStates::end(bool succeeded, const StoppedAt& stopped) {
  traffic_.runs += succeeded;
  for (size_t k = 0; k < writers_.size(); ++k) {
    if (!succeeded) {
      memory_->set_broken(k, is_broken(k, stopped));
    } else if (writers_[k] == kNoWriter) {
      memory_->swap(k);
      traffic_.whole_bytes += memory_->bytes(k);
    } else {
      traffic_.in_place_bytes += row_bytes(k);
    }
  }
  memory_->end();
}

Result<size_t> ContextStates::find(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t k = 0; k < memory_->size(); ++k) {
    const std::string& input = program_.inputs[program_.run_inputs() + k].name;
    const std::string& output = program_.outputs[program_.run_outputs() + k].name;
    if (name == input || name == output) return k;
    names.insert(names.end(), {input, output});
  }
  return not_found(cat("the model has no state \"", name, "\"", did_you_mean(name, names)))
      .with_slug("unknown-state");
}

Status ContextStates::read(std::string_view name, const DLTensor& to) {
  BYOC_TRY(const size_t k, find(name));
  BYOC_TRY_STATUS(check_view("state", to, memory_->type(k)));
  if (!is_compact(to))
    return invalid(cat("\"", name, "\" has strides; states are written compactly"))
        .with_slug("state-shape");
  BYOC_TRY_STATUS(memory_->begin());
  const Access access(*memory_);
  BYOC_TRY_STATUS(memory_->check_whole());
  if (memory_->bytes(k) != 0) std::memcpy(data_of(to), memory_->now(k), memory_->bytes(k));
  return {};
}

Status ContextStates::write(std::string_view name, const DLTensor& from) {
  BYOC_TRY(const size_t k, find(name));
  BYOC_TRY_STATUS(check_view("state", from, memory_->type(k)));
  BYOC_TRY_STATUS(memory_->begin());
  const Access access(*memory_);
  if (memory_->bytes(k) != 0) copy_to_compact(from, memory_->now(k));
  memory_->set_broken(k, false);
  return {};
}

Status ContextStates::reset() {
  BYOC_TRY_STATUS(memory_->begin());
  const Access access(*memory_);
  for (size_t k = 0; k < memory_->size(); ++k) memory_->set_zero(k);
  return {};
}

}  // namespace byoc
