// SPDX-License-Identifier: Apache-2.0
// Allocates and fills in everything that a run needs and that does not depend on the caller's
// pointers, once.
#include <algorithm>
#include <new>

#include "byoc/base/check.h"
#include "runtime/session/run_code.h"
#include "runtime/session/session_state.h"

namespace byoc {
namespace {

constexpr uint64_t kAlignment = Buffer::kAlignment;

uint64_t round_up(uint64_t n, uint64_t align) { return (n + align - 1) / align * align; }

const TensorSpec& argument_type(const Program& program, size_t k) {
  size_t n_in = program.inputs.size();
  BYOC_CHECK(k < n_in + program.outputs.size(), "argument ", k, " of ", n_in, " inputs and ",
             program.outputs.size(), " outputs");
  return k < n_in ? program.inputs[k].type : program.outputs[k - n_in].type;
}

bool is_state(const Program& program, size_t k) {
  const size_t n_in = program.inputs.size();
  return k < n_in ? k >= program.run_inputs() : k - n_in >= program.run_outputs();
}

class ContextBuilder {
 public:
  ContextBuilder(const SessionState& session, std::shared_ptr<StateMemory> memory)
      : session_(session),
        program_(session.executable.program),
        state_memory_(std::move(memory)),
        context_(std::make_unique<ContextState>()) {}

  Result<std::unique_ptr<ContextState>> build() {
    context_->session = &session_;
    context_->counted = std::make_unique<CountedPlaces>(program_);
    if (!session_.sizes.empty())
      context_->open = std::make_unique<OpenViews>(session_.sizes, program_);
    if (session_.layout.blocks() != 0)
      context_->packed = std::make_unique<PackedArena>(session_.layout);
    BYOC_TRY_STATUS(allocate_memory());
    if (session_.devices) {
      BYOC_TRY(context_->devices, DeviceQueues::make(*session_.devices));
      context_->given =
          std::make_unique<GivenArguments>(*session_.devices, program_.steps.size(),
                                           [state = context_.get()](size_t step, size_t argument) {
                                             return &state->steps[step].tensors[argument].data;
                                           });
    }
    make_tensors();
    for (size_t k = 0; k < program_.steps.size(); ++k) bind_step(k);
    bind_code();
    for (const NamedTensor& output : program_.outputs)
      context_->output_bytes.push_back(bytes_at_first(output.type));
    for (const ProgramConstant& c : program_.constants)
      context_->constants.push_back(constant(c.key));
    context_->profile.resize(program_.steps.size());
    if (!program_.states.empty()) {
      BYOC_TRY(context_->states,
               ContextStates::make(program_, session_.state_writers, context_->open.get(),
                                   std::move(state_memory_)));
    }
    if (guards_memory()) context_->guarded = std::make_unique<GuardedSteps>(session_, *context_);
    return std::move(context_);
  }

 private:
  /// Returns the bytes of an open value as 0: each run sets them for its sizes.
  static uint64_t bytes_at_first(const TensorSpec& type) {
    return type.is_open() ? 0 : static_cast<uint64_t>(*size_bytes(type));
  }

  Status allocate_memory() {
    size_t arguments = program_.inputs.size() + program_.outputs.size();
    uint64_t staging = 0;
    for (size_t k = 0; k < arguments; ++k) {
      context_->staging_offsets.push_back(staging);
      if (is_state(program_, k)) continue;  // its memory is used as it is
      staging += round_up(bytes_at_first(argument_type(program_, k)), kAlignment);
    }
    context_->staging_offsets.push_back(staging);
    context_->values.resize(arguments);
    context_->output_ranges.reserve(program_.outputs.size());
    BYOC_TRY_STATUS(context_->arena.reserve(program_.arena_bytes, kAlignment, "an arena"));
    BYOC_TRY_STATUS(context_->workspace.reserve(session_.workspace_bytes, session_.workspace_align,
                                                "a workspace"));
    if (context_->open) return {};  // a run that copies arguments allocates memory for its sizes
    return context_->staging.reserve(staging, kAlignment, "inputs and outputs");
  }

  void make_tensors() {
    BYOC_CHECK(session_.kernels.size() == program_.steps.size(), session_.kernels.size(),
               " kernels for ", program_.steps.size(), " steps");
    size_t arguments = 0, data = 0;
    for (size_t k = 0; k < program_.steps.size(); ++k) {
      arguments += program_.steps[k].args.size();
      if (session_.kernels[k].kind == StepKernel::kNative) data += native_size(program_.steps[k]);
    }
    context_->tensors.reserve(arguments);  // pointers to them are taken
    context_->pointers.reserve(arguments);
    context_->native_data.reserve(data);
    context_->steps.resize(program_.steps.size());
  }

  const ExternalFunction& function_of(const Step& step) const {
    const auto& modules = session_.executable.modules;
    BYOC_CHECK(step.module < modules.size(), "module ", step.module, " of ", modules.size());
    const auto& functions = modules[step.module].functions;
    BYOC_CHECK(step.function < functions.size(), "function ", step.function, " of ",
               functions.size());
    return functions[step.function];
  }

  size_t native_size(const Step& step) const {
    const ExternalFunction& function = function_of(step);
    return step.args.size() + function.constants.size() + function.packed.size();  // at most
  }

  void bind_step(size_t index) {
    const Step& step = program_.steps[index];
    BoundStep& bound = context_->steps[index];
    BYOC_CHECK(step.types.size() == step.args.size(), "step ", index, " has ", step.args.size(),
               " operands and ", step.types.size(), " types");
    size_t first = context_->tensors.size();
    for (size_t k = 0; k < step.args.size(); ++k) add_tensor(step.args[k], step.types[k]);
    for (size_t k = 0; k < step.args.size(); ++k)
      if (step.types[k].counted != 0) bind_counted(step, k, bound);
    bound.tensors = context_->tensors.data() + first;
    bound.call = {.h = {sizeof(byoc_call), BYOC_TAG_CALL, nullptr},
                  .args = context_->pointers.data() + first,
                  .n_args = static_cast<uint32_t>(step.args.size()),
                  .workspace = context_->workspace.get(),
                  .workspace_bytes = context_->workspace.bytes()};
    if (step.is_compiled() && !function_of(step).sizes.empty())
      bound.call.sizes = context_->open->sizes(function_of(step).sizes);
    if (session_.devices) bind_device(step, bound);
    if (!bound.out_shapes.empty()) bound.call.out_shapes = bound.out_shapes.data();
    if (session_.kernels[index].kind == StepKernel::kNative) bind_native(step, bound);
  }

  /// Marks the views of arguments on a device, and gives its kernels the workspace there.
  void bind_device(const Step& step, BoundStep& bound) {
    for (size_t k = 0; k < step.args.size(); ++k) {
      if (step.args[k].kind != Place::kDevice) continue;
      bound.tensors[k].device = session_.devices->devices[step.args[k].index]->id();
    }
    if (!step.is_compiled()) return;
    const ExternalModule& module = session_.executable.modules[step.module];
    const std::optional<uint32_t> device = program_.device_of(module, function_of(step));
    if (!device) return;
    bound.call.workspace = context_->devices->workspace(*device);
    bound.call.workspace_bytes = session_.devices->workspace_bytes[*device];
  }

  /// Points the view of an input, or the place for the dims of an output, at this run's dims.
  void bind_counted(const Step& step, size_t k, BoundStep& bound) {
    const bool is_input = k < step.n_in;
    const size_t number = is_input ? k : k - step.n_in;
    const TensorSpec* type = &step.types[k];
    if (type->is_open()) type = &context_->open->type(*type);
    const CountedArgument argument{type, context_->counted->dims(step.args[k]), number};
    BYOC_CHECK(argument.dims != nullptr, "argument ", k, " of ", step.symbol,
               " has no counted dims");
    (is_input ? bound.counted_in : bound.counted_out).push_back(argument);
    if (is_input) {
      context_->tensors[context_->tensors.size() - step.args.size() + k].shape = argument.dims;
    } else {
      bound.out_shapes.resize(step.args.size() - step.n_in);
      bound.out_shapes[number] = argument.dims;
    }
  }

  void bind_code() {
    context_->code.resize(program_.code.size());  // pointers into it are taken
    for (size_t k = 0; k < program_.code.size(); ++k) {
      const Instruction& from = program_.code[k];
      BoundInstruction& bound = context_->code[k];
      bound.kind = from.kind;
      bound.step = from.index;
      BYOC_CHECK(from.args.size() <= std::size(bound.args), "instruction ", k, " has ",
                 from.args.size(), " operands");
      BYOC_CHECK(from.kind != Instruction::kCall || from.index < program_.steps.size(),
                 "instruction ", k, " calls step ", from.index, " of ", program_.steps.size());
      for (size_t a = 0; a < from.args.size(); ++a) set(bound.args[a], from.args[a]);
      const bool moves = from.kind == Instruction::kCopy || from.kind == Instruction::kAppend;
      if (moves) bound.bytes = bytes_at_first(from.types[0]);
      if (from.kind == Instruction::kAppend) bound.extent = from.types[1].dims[0];
      if (context_->open && moves) {
        bound.from_type = &context_->open->type(from.types[0]);
        if (from.kind == Instruction::kAppend) bound.to_type = &context_->open->type(from.types[1]);
      }
      if (from.args.size() > 1 && from.types[1].counted != 0) {
        bound.counts_rows = from.kind == Instruction::kAppend;
        bound.rank = from.types[1].dims.size();
        bound.dims_from = context_->counted->dims(from.args[0]);
        bound.dims_to = context_->counted->dims(from.args[1]);
        bound.bounds = from.types[1].dims.data();
      }
    }
    find_targets(context_->code);
  }

  void add_tensor(const Place& place, const TensorSpec& type) {
    BYOC_CHECK(context_->tensors.size() < context_->tensors.capacity(),
               "the tensors of a context would move");
    DLTensor& tensor = context_->tensors.emplace_back();
    tensor = {.data = nullptr,
              .device = {kDLCPU, 0},
              .ndim = static_cast<int32_t>(type.dims.size()),
              .dtype = to_dlpack(type.dtype),
              .shape = type.is_open() ? context_->open->dims(type)
                                      : const_cast<int64_t*>(type.dims.data()),  // no const there
              .strides = nullptr,
              .byte_offset = 0};
    context_->pointers.push_back(&tensor);
    set(tensor.data, place);
  }

  /// Sets the slot now when the place is fixed, else with every run.
  void set(void*& slot, const Place& place) {
    uint32_t n_in = static_cast<uint32_t>(program_.inputs.size());
    switch (place.kind) {
      case Place::kInput:
        BYOC_CHECK(place.index < n_in, "input ", place.index, " of ", n_in);
        context_->patches.push_back({&slot, place.index});
        break;
      case Place::kOutput:
        BYOC_CHECK(place.index < program_.outputs.size(), "output ", place.index, " of ",
                   program_.outputs.size());
        context_->patches.push_back({&slot, n_in + place.index});
        break;
      case Place::kConstant:
        BYOC_CHECK(place.index < program_.constants.size(), "constant ", place.index, " of ",
                   program_.constants.size());
        slot = constant(program_.constants[place.index].key);
        break;
      case Place::kArena:
        if (context_->packed) {
          context_->arena_slots.push_back({&slot, place});
          break;
        }
        BYOC_CHECK(place.offset <= program_.arena_bytes, "place ", place.offset, " of an arena of ",
                   program_.arena_bytes, " bytes");
        slot = context_->arena.get() + place.offset;
        break;
      case Place::kDevice:
        slot = context_->devices->arena(place.index) + place.offset;
        break;
    }
  }

  void* constant(const ContentKey& key) const {
    return const_cast<std::byte*>(
        session_.executable.constants.at(key)->data());  // read-only by contract
  }

  /// Lays out byoc_native_call::data: inputs, constants that are kept, packed constants, outputs.
  void bind_native(const Step& step, BoundStep& bound) {
    std::vector<void*>& data = context_->native_data;
    size_t first = data.size();
    void** const before = data.data();
    auto add_places = [&](size_t from, size_t to) {
      for (size_t k = from; k < to; ++k) set(data.emplace_back(nullptr), step.args[k]);
    };
    add_places(0, step.n_in);
    for (const ExternalConstant& c : function_of(step).constants) {
      if (c.use == BYOC_CONST_KEPT) data.push_back(constant(c.key));
    }
    for (const auto& packed : function_of(step).packed) data.push_back(constant(packed.first));
    add_places(step.n_in, step.args.size());
    BYOC_CHECK(data.size() - first <= native_size(step) && data.size() <= data.capacity(),
               step.symbol, " has ", data.size() - first, " addresses");
    BYOC_CHECK(data.data() == before, "the addresses of native code have moved");
    bound.native = {.h = {sizeof(byoc_native_call), BYOC_TAG_NATIVE_CALL, nullptr},
                    .data = data.data() + first,
                    .workspace = context_->workspace.get(),
                    .host = host_table(),
                    .failure = &bound.failure,
                    .sizes = bound.call.sizes};
    bound.failure.h = {sizeof bound.failure, BYOC_TAG_NATIVE_FAILURE, nullptr};
  }

  const SessionState& session_;
  const Program& program_;
  std::shared_ptr<StateMemory> state_memory_;
  std::unique_ptr<ContextState> context_;
};

}  // namespace

Result<std::unique_ptr<ContextState>> make_context_state(const SessionState& session,
                                                         std::shared_ptr<StateMemory> memory) {
  try {
    return ContextBuilder(session, std::move(memory)).build();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "no memory for a context").with_slug("no-memory");
  }
}

}  // namespace byoc
