// SPDX-License-Identifier: Apache-2.0
// The types of outputs by the sizes of a run, and the memory and copies that these sizes need.
// fit_sizes is not called for a run with the sizes of the last one.
#include <algorithm>

#include "runtime/session/bind.h"
#include "runtime/session/session_state.h"

namespace byoc {
namespace {

uint64_t round_up(uint64_t n) {
  return (n + Buffer::kAlignment - 1) / Buffer::kAlignment * Buffer::kAlignment;
}

Status fit_arguments(ContextState& context) {
  const OpenViews& open = *context.open;
  uint64_t offset = 0;
  size_t k = 0;
  for (const auto* tensors : {&open.inputs(), &open.outputs()}) {
    for (const NamedTensor& tensor : *tensors) {
      BYOC_TRY(const uint64_t bytes, bytes_of_tensor(tensor, open));
      if (k >= open.inputs().size()) context.output_bytes[k - open.inputs().size()] = bytes;
      const Program& program = context.session->executable.program;
      const bool is_state = tensors == &open.inputs()
                                ? k >= program.run_inputs()
                                : k - open.inputs().size() >= program.run_outputs();
      context.staging_offsets[k++] = offset;
      if (!is_state) offset += round_up(bytes);
    }
  }
  context.staging_offsets[k] = offset;
  return {};
}

Status fit_code(ContextState& context) {
  for (BoundInstruction& instruction : context.code) {
    if (instruction.from_type != nullptr) {
      BYOC_TRY(const int64_t bytes, size_bytes(*instruction.from_type));
      instruction.bytes = static_cast<uint64_t>(bytes);
    }
    if (instruction.to_type != nullptr) instruction.extent = instruction.to_type->dims[0];
  }
  return {};
}

Status fit_workspace(ContextState& context) {
  const SessionState& session = *context.session;
  uint64_t bytes = session.workspace_bytes;
  for (const StepKernel& kernel : session.kernels) {
    if (kernel.workspace_size == StepKernel::kFixed) continue;
    bytes = std::max(bytes, static_cast<uint64_t>(context.open->values()[kernel.workspace_size]));
  }
  if (bytes <= context.workspace.bytes()) return {};
  BYOC_TRY_STATUS(context.workspace.reserve(bytes, session.workspace_align, "a workspace"));
  for (size_t k = 0; k < context.steps.size(); ++k) {
    if (session.devices && session.devices->traits[k].device != StepOrder::kHost) continue;
    BoundStep& step = context.steps[k];
    step.call.workspace = step.native.workspace = context.workspace.get();
    step.call.workspace_bytes = context.workspace.bytes();
  }
  return {};
}

Status fit_arena(ContextState& context) {
  if (!context.packed) return {};
  BYOC_TRY_STATUS(context.packed->fit(context.open->values()));
  for (const ArenaSlot& slot : context.arena_slots)
    *slot.slot = context.packed->address(slot.place);
  return {};
}

}  // namespace

Result<uint64_t> bytes_of_tensor(const NamedTensor& tensor, const OpenViews& open) {
  const Result<int64_t> bytes = size_bytes(tensor.type);
  if (bytes.ok()) return static_cast<uint64_t>(*bytes);
  return Status(Code::kOutOfRange, cat("\"", tensor.name, "\" is ", tensor.type, " with ",
                                       open.text(), ", which has more than 2^63 bytes"))
      .with_slug("size-overflow");
}

Status fit_sizes(ContextState& context) {
  auto with_sizes = [&](Status status) {
    if (status.ok()) return status;
    return Status(status.code(), cat(status.message(), " with ", context.open->text()))
        .with_slug(status.slug())
        .with_help(status.help());
  };
  BYOC_TRY_STATUS(fit_arguments(context));
  BYOC_TRY_STATUS(with_sizes(fit_arena(context)));
  BYOC_TRY_STATUS(with_sizes(fit_code(context)));
  BYOC_TRY_STATUS(with_sizes(fit_workspace(context)));
  context.is_fitted = true;
  return {};
}

namespace {

Status check_input_count(const Program& program, size_t count) {
  if (count == program.run_inputs()) return {};
  return invalid(cat("the model has ", program.run_inputs(), " inputs, ", count, " were given"))
      .with_slug("input-count");
}

/// Sets counted dims of outputs to their bounds, which the next run replaces.
void set_bounds(const CountedPlaces& counted, const std::vector<NamedTensor>& outputs) {
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    int64_t* dims = counted.dims({Place::kOutput, k, 0});
    if (dims != nullptr)
      std::copy_n(outputs[k].type.dims.data(), outputs[k].type.dims.size(), dims);
  }
}

Status check_input_types(std::span<const DLTensor> inputs, const std::vector<NamedTensor>& wanted) {
  for (size_t k = 0; k < inputs.size(); ++k)
    BYOC_TRY_STATUS(check_type("input", inputs[k], wanted[k]));
  return {};
}

}  // namespace

Result<std::vector<TensorSpec>> Session::output_types(std::span<const DLTensor> inputs) const {
  BYOC_TRY_STATUS(check_input_count(program(), inputs.size()));
  std::vector<TensorSpec> out;
  auto add_types = [&](const std::vector<NamedTensor>& outputs) {
    for (size_t k = 0; k < program().run_outputs(); ++k) out.push_back(outputs[k].type);
  };
  if (state_->sizes.empty()) {
    BYOC_TRY_STATUS(check_input_types(inputs, program().inputs));
    add_types(program().outputs);
    return out;
  }
  OpenViews views(state_->sizes, program());
  BYOC_TRY_STATUS(views.update(inputs).status());
  BYOC_TRY_STATUS(check_input_types(inputs, views.inputs()));
  for (const NamedTensor& output : views.outputs())
    BYOC_TRY_STATUS(bytes_of_tensor(output, views).status());
  add_types(views.outputs());
  return out;
}

Status Session::take_sizes(Context& context, std::span<const DLTensor> inputs) const {
  BYOC_TRY_STATUS(check_input_count(program(), inputs.size()));
  ContextState& state = *context.state_;
  BYOC_TRY_STATUS(byoc::take_sizes(state, inputs));
  BYOC_TRY_STATUS(check_input_types(inputs, state.open ? state.open->inputs() : program().inputs));
  set_bounds(*state.counted, state.open ? state.open->outputs() : program().outputs);
  return {};
}

std::span<const int64_t> Session::output_dims(const Context& context, size_t k) const {
  const ContextState& state = *context.state_;
  const std::vector<int64_t>& dims = (state.open ? state.open->outputs() : outputs())[k].type.dims;
  const int64_t* now = context.state_->counted->dims({Place::kOutput, static_cast<uint32_t>(k), 0});
  return {now != nullptr ? now : dims.data(), dims.size()};
}

void Session::set_profiling(Context& context, bool on) const {
  ContextState& state = *context.state_;
  state.profiling = on;
  if (on && !state.spans) state.spans = std::make_unique<SpanRecorder>(state.steps.size());
  for (size_t k = 0; k < state.steps.size(); ++k) {
    uint64_t call_id = on ? state.spans->call_id(k) : 0;
    state.steps[k].call.call_id = state.steps[k].native.call_id = call_id;
    state.steps[k].call.flags = on ? BYOC_CALL_SPANS : 0;
  }
}

std::span<const StepProfile> Session::profile(const Context& context) const {
  return context.state_->profile;
}

const SpanLog& Session::spans(const Context& context) const {
  static const SpanLog kNone;
  return context.state_->spans ? context.state_->spans->log() : kNone;
}

}  // namespace byoc
