// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/guarded.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/base/memory.h"
#include "runtime/session/guard_scope.h"
#include "runtime/session/session_state.h"

namespace byoc {
namespace {

constexpr size_t kMostConstants = 8192;  // three mappings each, of the system's 65530
constexpr int kCanary = 0xff;            // NaN as a float
constexpr size_t kPiece = size_t{4} << 20;

std::map<ContentKey, std::string> names_of_constants(const Executable& executable) {
  std::map<ContentKey, std::string> names;
  for (const ExternalModule& module : executable.modules) {
    for (const ExternalFunction& function : module.functions) {
      for (const ExternalConstant& constant : function.constants)
        names.emplace(constant.key, cat("constant ", constant.type, " of ", function.symbol));
    }
  }
  return names;
}

/// Copies a constant in pieces, and releases what was copied: it is in memory once.
void move_to(std::byte* to, std::span<const std::byte> constant) {
  while (!constant.empty()) {
    const auto piece = constant.first(std::min(constant.size(), kPiece));
    std::memcpy(to, piece.data(), piece.size());
    release_spilled(piece);
    to += piece.size();
    constant = constant.subspan(piece.size());
  }
}

uint64_t compact_bytes(const DLTensor& tensor) {
  uint64_t bytes = tensor.dtype.bits / 8;
  for (int32_t k = 0; k < tensor.ndim; ++k) bytes *= static_cast<uint64_t>(tensor.shape[k]);
  return bytes;
}

}  // namespace

GuardScope::GuardScope(bool guards) : outer_(set_guards_memory(guards)) {}
GuardScope::~GuardScope() { set_guards_memory(outer_); }

Status guard_constants(Executable& executable) {
  const std::map<ContentKey, std::string> names = names_of_constants(executable);
  size_t count = 0;
  for (auto& [key, buffer] : executable.constants) {
    if (buffer == nullptr || buffer->size() == 0 || ++count > kMostConstants) continue;
    BYOC_TRY(GuardedMemory reserved, GuardedMemory::reserve(buffer->size()));
    auto memory = std::make_shared<GuardedMemory>(std::move(reserved));
    auto name = names.find(key);
    BYOC_TRY_STATUS(memory->place(name == names.end() ? "a constant" : name->second, buffer->size(),
                                  Buffer::kAlignment, Placement::kAtEnd));
    move_to(memory->data(), buffer->bytes());
    memory->make_read_only();
    buffer = Buffer::adopt_unverified({memory->data(), memory->size()}, memory, key);
  }
  return {};
}

Status GuardedSteps::run(size_t step, const std::function<Status()>& call) {
  Status status = enter(step);
  if (status.ok()) status = call();
  if (status.ok()) status = check(step);
  leave(step, status.ok());
  return status;
}

bool GuardedSteps::is_output(size_t step, size_t index) const {
  return index >= session_.executable.program.steps[step].n_in;
}

std::string GuardedSteps::name_of(size_t step, size_t index) const {
  const Step& called = session_.executable.program.steps[step];
  const bool is_out = is_output(step, index);
  return cat(is_out ? "output " : "input ", is_out ? index - called.n_in : index, " ",
             called.types[index]);
}

Status GuardedSteps::enter(size_t step) {
  const BoundStep& bound = context_.steps[step];
  arguments_.clear();
  for (size_t k = 0; k < bound.call.n_args; ++k) {
    const uint64_t bytes = compact_bytes(bound.tensors[k]);
    if (bytes == 0) continue;
    arguments_.push_back({k, static_cast<std::byte*>(bound.tensors[k].data), bytes, nullptr});
  }
  std::sort(arguments_.begin(), arguments_.end(),
            [](const Argument& a, const Argument& b) { return a.data < b.data; });
  BYOC_TRY_STATUS(place_workspace(step));
  size_t slot = 1;
  for (size_t first = 0; first < arguments_.size(); ++slot) {
    size_t last = first;
    for (std::byte* end = nullptr;
         last < arguments_.size() && (last == first || arguments_[last].data < end); ++last)
      end = std::max(end, arguments_[last].data + arguments_[last].bytes);
    BYOC_TRY_STATUS(copy_in(step, first, last, slot));
    first = last;
  }
  return {};
}

/// Copies arguments [first, last), whose memory overlaps, to one slot.
Status GuardedSteps::copy_in(size_t step, size_t first, size_t last, size_t slot) {
  BYOC_CHECK(first < last && last <= arguments_.size(), "arguments ", first, " to ", last, " of ",
             arguments_.size());
  std::byte *begin = arguments_[first].data, *end = begin;
  std::string name;
  bool is_written = false;
  for (size_t k = first; k < last; ++k) {
    end = std::max(end, arguments_[k].data + arguments_[k].bytes);
    is_written |= is_output(step, arguments_[k].index);
    name += cat(k == first ? "" : " and ", name_of(step, arguments_[k].index));
  }
  const auto bytes = static_cast<uint64_t>(end - begin);
  BYOC_TRY(GuardedMemory * memory, this->memory(slot, bytes));
  BYOC_CHECK(slot < names_.size(), "slot ", slot, " of ", names_.size());
  names_[slot] = name;
  name += cat(" of ", session_.executable.program.steps[step].symbol);
  BYOC_TRY_STATUS(memory->place(name, bytes, Buffer::kAlignment, Placement::kAtEnd));
  std::memset(memory->data(), kCanary, bytes);
  for (size_t k = first; k < last; ++k) {
    Argument& argument = arguments_[k];
    argument.copy = memory->data() + (argument.data - begin);
    if (!is_output(step, argument.index)) std::memcpy(argument.copy, argument.data, argument.bytes);
    point(step, argument, argument.copy);
  }
  if (!is_written) memory->make_read_only();
  return {};
}

Status GuardedSteps::place_workspace(size_t step) {
  const StepKernel& kernel = session_.kernels[step];
  BoundStep& bound = context_.steps[step];
  const uint64_t bytes =
      kernel.workspace_size == StepKernel::kFixed
          ? kernel.workspace_bytes
          : static_cast<uint64_t>(context_.open->values()[kernel.workspace_size]);
  BYOC_TRY(GuardedMemory * memory, this->memory(0, bytes));
  names_.assign(slots_.size(), "");
  names_[0] = "the workspace";
  BYOC_TRY_STATUS(
      memory->place(cat("the workspace of ", session_.executable.program.steps[step].symbol), bytes,
                    kernel.workspace_align, Placement::kAtEnd));
  bound.call.workspace = bound.native.workspace = memory->data();
  bound.call.workspace_bytes = bytes;
  return {};
}

/// Returns a slot with room for that many bytes.
Result<GuardedMemory*> GuardedSteps::memory(size_t slot, uint64_t bytes) {
  for (size_t k = slots_.size(); k <= slot; ++k) {
    BYOC_TRY(GuardedMemory fresh, GuardedMemory::reserve(0));
    slots_.push_back(std::move(fresh));
    names_.emplace_back();
  }
  if (slots_[slot].capacity() < bytes) {
    BYOC_TRY(GuardedMemory larger, GuardedMemory::reserve(bytes));
    slots_[slot] = std::move(larger);
  }
  return &slots_[slot];
}

Status GuardedSteps::check(size_t step) const {
  for (size_t k = 0; k < slots_.size(); ++k) {
    const char* where = names_[k].empty() ? nullptr : slots_[k].changed_margin();
    if (where == nullptr) continue;
    const uint32_t module = session_.executable.program.steps[step].module;
    const bool is_host = module >= Step::kDeviceCopy;
    return Status(Code::kInternal,
                  cat(is_host ? "the host function" : session_.executable.modules[module].plugin,
                      " wrote ", where, " ", names_[k]))
        .with_slug("outside-write")
        .with_help("a defect of the plugin; report it to its author");
  }
  return {};
}

/// Copies the outputs back when they are right, and points the step at its own tensors again.
void GuardedSteps::leave(size_t step, bool is_right) {
  for (const Argument& argument : arguments_) {
    if (argument.copy == nullptr) continue;
    if (is_right && is_output(step, argument.index))
      std::memcpy(argument.data, argument.copy, argument.bytes);
    point(step, argument, argument.data);
  }
  BoundStep& bound = context_.steps[step];
  bound.call.workspace = bound.native.workspace = context_.workspace.get();
  bound.call.workspace_bytes = context_.workspace.bytes();
}

/// Sets the address of an argument, for native code in its table, too: inputs, constants, outputs.
void GuardedSteps::point(size_t step, const Argument& argument, std::byte* data) {
  BoundStep& bound = context_.steps[step];
  BYOC_CHECK(argument.index < bound.call.n_args, "argument ", argument.index, " of ",
             bound.call.n_args);
  bound.tensors[argument.index].data = data;
  if (session_.kernels[step].kind != StepKernel::kNative) return;
  const Step& called = session_.executable.program.steps[step];
  size_t place = argument.index;
  if (is_output(step, place)) {
    const ExternalFunction& function =
        session_.executable.modules[called.module].functions[called.function];
    place += function.packed.size() +
             static_cast<size_t>(
                 std::count_if(function.constants.begin(), function.constants.end(),
                               [](const ExternalConstant& c) { return c.use == BYOC_CONST_KEPT; }));
  }
  const_cast<void**>(bound.native.data)[place] = data;
}

}  // namespace byoc
