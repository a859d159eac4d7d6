// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/session.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/clock.h"
#include "byoc/base/index_error.h"
#include "byoc/base/no_memory.h"
#include "runtime/artifact/check_view.h"
#include "runtime/host/host.h"
#include "runtime/host/threads.h"
#include "runtime/session/bind.h"
#include "runtime/session/load_modules.h"
#include "runtime/session/run_code.h"
#include "runtime/session/session_state.h"
#include "runtime/states/in_place.h"

namespace byoc {
namespace {

/// Returns `onednn_main_0 ("Conv_0", "Relu_1" and 3 more)`.
std::string describe(const Executable& executable, const Step& step) {
  constexpr size_t kShown = 2;
  const std::vector<std::string>& locs = executable.locs(step);
  std::string out = step.symbol;
  for (size_t k = 0; k < std::min(locs.size(), kShown); ++k)
    out += cat(k ? ", " : " (", "\"", locs[k], "\"");
  if (locs.size() > kShown) out += cat(" and ", locs.size() - kShown, " more");
  return locs.empty() ? out : out + ")";
}

Status missing_extern(const std::vector<std::string>& symbols) {
  std::string names;
  for (const std::string& symbol : symbols)
    names += cat(names.empty() ? "\"" : ", \"", symbol, "\"");
  return not_found(cat("no implementation of the external function",
                       symbols.size() == 1 ? " " : "s ", names))
      .with_slug("missing-extern")
      .with_help("session.register_extern(symbol, function) before the first run");
}

Status call_host(const ExternSlot& slot, const BoundStep& bound, uint32_t n_in) {
  if (!slot.function) return missing_extern({slot.symbol});
  try {
    return slot.function({bound.tensors, n_in}, {bound.tensors + n_in, bound.call.n_args - n_in});
  } catch (const std::exception& e) {
    return Status(Code::kInternal, cat("threw: ", e.what()));
  } catch (...) {
    return Status(Code::kInternal, "threw an exception");
  }
}

/// Returns the slot for the report of a fatal signal. Sessions with one thread do not write the
/// state that all threads share.
PluginSlot run_slot(const SessionState& session, const Step& step) {
  return {"run", step.symbol, session.options.threads > 1};
}

Status call_native(const SessionState& session, const Step& step, const StepKernel& kernel,
                   const BoundStep& bound) {
  PluginCallScope scope(session.executable.modules[step.module].plugin, run_slot(session, step));
  int32_t code = kernel.run_native(&bound.native);
  if (code == 0) [[likely]]
    return {};
  if (code == BYOC_OUT_OF_RANGE && bound.failure.op.n > 0) {
    const byoc_native_failure& f = bound.failure;
    return index_outside({f.op.p, f.op.n}, f.index, f.low, f.extent);
  }
  return Status(Code::kInternal, cat("native code returned ", code));
}

Status call_plugin_kernel(const SessionState& session, const Step& step, const StepKernel& kernel,
                          const BoundStep& bound) {
  return call_plugin(session.executable.modules[step.module].plugin, run_slot(session, step),
                     [&] { return kernel.run(kernel.kernel, &bound.call); });
}

Status call(const SessionState& session, size_t index, const BoundStep& bound) {
  const StepKernel& kernel = session.kernels[index];
  const Step& step = session.executable.program.steps[index];
  if (kernel.kind == StepKernel::kNative) return call_native(session, step, kernel, bound);
  BYOC_CHECK(kernel.kind != StepKernel::kCopy, "a copy has no kernel");
  if (kernel.kind == StepKernel::kHost)
    return call_host(session.externs[kernel.host_extern], bound, step.n_in);
  if (kernel.serial == nullptr) [[likely]]
    return call_plugin_kernel(session, step, kernel, bound);
  std::lock_guard lock(*kernel.serial);
  return call_plugin_kernel(session, step, kernel, bound);
}

Status step_failed(Status status, const Executable& executable, size_t index) {
  const bool has_own = !status.slug().empty() && status.slug() != kPluginError;
  std::string slug = has_own ? status.slug() : "run-failed";
  if (status.code() == Code::kOutOfRange && status.help().empty())
    status = std::move(status).with_help(
        "see which inputs hold indices; random ones may be outside, --input NAME=VALUE sets them");
  return std::move(status)
      .with_slug(std::move(slug))
      .at(describe(executable, executable.program.steps[index]));
}

Status interrupted() { return Status(Code::kCancelled, "interrupted").with_slug("interrupted"); }

Status call_counted(const SessionState& session, size_t index, const BoundStep& bound) {
  for (const CountedArgument& input : bound.counted_in) BYOC_TRY_STATUS(check_dims("input", input));
  for (const CountedArgument& output : bound.counted_out) clear_dims(output);
  BYOC_TRY_STATUS(call(session, index, bound));
  for (const CountedArgument& output : bound.counted_out)
    BYOC_TRY_STATUS(check_dims("output", output));
  return {};
}

/// Copies between the host and a device. Open sizes are those of this run.
Status copy_to_or_from(ContextState& context, size_t k, const Step& step) {
  const GivenArguments::Change& change = context.given->change(k);
  if (change.is_left_out) return {};
  DLTensor* tensors = context.steps[k].tensors;
  uint64_t bytes = tensors[0].dtype.bits / 8;
  for (int32_t d = 0; d < tensors[0].ndim; ++d) bytes *= static_cast<uint64_t>(tensors[0].shape[d]);
  const bool goes_in = step.args[1].kind == Place::kDevice;
  if (change.given != nullptr) {
    const void* from = goes_in ? change.given : tensors[0].data;
    return context.devices->copy(
        k, {goes_in ? tensors[1].data : change.given, from, true, true, bytes});
  }
  return context.devices->copy(k, {tensors[1].data, tensors[0].data, goes_in, !goes_in, bytes});
}

bool is_counted(const BoundStep& step) {
  return !step.counted_in.empty() || !step.counted_out.empty();
}

/// Runs a step whose operands are there.
Status run_now(const SessionState& session, ContextState& context, size_t k) {
  const BoundStep& step = context.steps[k];
  auto run = [&] {
    return is_counted(step) ? call_counted(session, k, step) : call(session, k, step);
  };
  const bool is_on_host = !context.devices || session.devices->orders[k].device == StepOrder::kHost;
  return context.guarded && is_on_host ? context.guarded->run(k, run) : run();
}

/// Runs a step of a program with devices after those that it waits for. A profile waits for each
/// step, so that its times are those of the work.
Status run_in_turn(const SessionState& session, ContextState& context, size_t k) {
  BYOC_TRY_STATUS(context.devices->before(k));
  const Step& step = session.executable.program.steps[k];
  context.steps[k].call.stream = context.devices->stream(k);
  if (step.module == Step::kDeviceCopy) BYOC_TRY_STATUS(copy_to_or_from(context, k, step));
  else if (Status status = run_now(session, context, k); !status.ok())
    return session.devices->orders[k].device == StepOrder::kHost ? status
                                                                 : device_error(std::move(status));
  return context.devices->after(k, context.profiling);
}

Status run_step(const SessionState& session, ContextState& context, size_t k) {
  const Cancellation* cancel = session.options.cancel;
  if (cancel && cancel->is_cancelled()) [[unlikely]] {
    context.stopped = {k, false};
    return interrupted();
  }
  uint64_t begin = context.profiling ? now_ns() : 0;
  Status status = context.devices ? run_in_turn(session, context, k) : run_now(session, context, k);
  if (!status.ok()) [[unlikely]] {
    // A kernel that finds an index outside of its tensor has written nothing in place.
    context.stopped = {k, status.code() != Code::kOutOfRange};
    if (cancel && cancel->is_cancelled()) status = interrupted();
    if (context.devices) k = context.devices->failed_step().value_or(k);
    return step_failed(std::move(status), session.executable, k);
  }
  if (!context.profiling) return {};
  uint64_t time = now_ns() - begin;
  StepProfile& profile = context.profile[k];
  profile = {profile.runs + 1, profile.total_ns + time, std::min(profile.min_ns, time), begin,
             time};
  return {};
}

Status run_steps(const SessionState& session, ContextState& context) {
  if (!context.code.empty()) {
    const Cancellation* cancel = session.options.cancel;
    return run_code(
        context.code, [&](size_t k) { return run_step(session, context, k); },
        [&] { return cancel && cancel->is_cancelled() ? interrupted() : Status(); });
  }
  for (size_t k = 0; k < context.steps.size(); ++k) BYOC_TRY_STATUS(run_step(session, context, k));
  return {};
}

void copy_dims(const Program& program, const ContextState& context, const Copy& copy) {
  std::copy_n(context.counted->dims(copy.from), program.outputs[copy.output].type.dims.size(),
              context.counted->dims({Place::kOutput, copy.output, 0}));
}

void run_copies(const SessionState& session, const ContextState& context) {
  const Program& program = session.executable.program;
  for (const Copy& copy : program.copies) {
    const void* from = nullptr;
    switch (copy.from.kind) {
      case Place::kInput:
        from = context.values[copy.from.index];
        break;
      case Place::kOutput:
        from = context.values[program.inputs.size() + copy.from.index];
        break;
      case Place::kConstant:
        from = context.constants[copy.from.index];
        break;
      case Place::kDevice:
        BYOC_CHECK(false, "output ", copy.output, " is a copy of a value on a device");
        break;
      case Place::kArena:
        from = context.packed ? context.packed->address(copy.from)
                              : context.arena.get() + copy.from.offset;
        break;
    }
    if (program.outputs[copy.output].type.counted != 0) copy_dims(program, context, copy);
    uint64_t size = context.output_bytes[copy.output];
    if (size != 0) std::memcpy(context.values[program.inputs.size() + copy.output], from, size);
  }
}

/// Lists what a caller gives and gets, and the states.
void list_arguments(SessionState& state) {
  const Program& program = state.executable.program;
  state.inputs = program.given();
  state.outputs = program.taken();
  state.state_writers = writers_of_states(state.executable);
  for (size_t k = 0; k < program.states.size(); ++k) {
    const NamedTensor& input = program.inputs[state.inputs.size() + k];
    state.states.push_back({input.name, program.outputs[state.outputs.size() + k].name, input.type,
                            state.state_writers[k] != kNoWriter});
  }
}

/// Runs with all inputs and outputs of the program.
Status run_whole(const SessionState& session, ContextState& state, std::span<const DLTensor> inputs,
                 std::span<DLTensor> outputs) {
  state.stopped = {};
  BYOC_TRY_STATUS(bind_arguments(state, inputs, outputs));
  for (const Patch& patch : state.patches) *patch.slot = state.values[patch.value];
  if (state.devices) BYOC_TRY_STATUS(state.devices->begin_run());
  {
    ThreadScope scope(session.options.threads, session.workers);
    Cancellation::Scope polled(session.options.cancel);
    Status status = run_steps(session, state);
    if (!status.ok() && state.devices) state.devices->end_failed_run();
    BYOC_TRY_STATUS(std::move(status));
  }
  run_copies(session, state);
  return return_outputs(state, outputs);
}

Status no_states() {
  return not_found("the model has no states")
      .with_slug("unknown-state")
      .with_help("byoc compile --state PAST=PRESENT declares them");
}

}  // namespace

Context::Context(std::unique_ptr<ContextState> state) : state_(std::move(state)) {}
Context::~Context() = default;

Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {}
Session::~Session() = default;

namespace {

bool is_gone(const Status& status) {
  return status.code() == Code::kUnavailable || status.slug() == "missing-plugin";
}

std::string plugins_of(const Executable& executable) {
  std::set<std::string> ids;
  for (const ExternalModule& module : executable.modules) ids.insert(module.plugin);
  std::string out;
  for (const std::string& id : ids) out += cat(out.empty() ? "" : ", ", id);
  return out;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::load(Executable executable,
                                               std::shared_ptr<const PluginSet> plugins,
                                               const SessionOptions& options) {
  const std::shared_ptr<const Executable> fallback = std::move(executable.fallback);
  auto session = load_one(std::move(executable), plugins, options);
  if (session.ok() || !fallback || !is_gone(session.status())) return session;
  const std::string why =
      cat(session.status().where(), session.status().where().empty() ? "" : ": ",
          session.status().message());
  session = load_one(*fallback, std::move(plugins), options);
  if (!session.ok()) return std::move(session.status()).at(cat("the fallback, because ", why));
  (*session)->state_->warnings.push_back(
      cat(why, "; the model runs by its fallback, compiled for ", plugins_of(*fallback)));
  return session;
}

Result<std::unique_ptr<Session>> Session::load_one(Executable executable,
                                                   std::shared_ptr<const PluginSet> plugins,
                                                   const SessionOptions& options) {
  return or_no_memory([&]() -> Result<std::unique_ptr<Session>> {
    auto state = std::make_unique<SessionState>();
    state->executable = std::move(executable);
    state->plugins = std::move(plugins);
    state->options = options;
    if (options.threads == 0) state->options.threads = available_cores();
    state->options.threads = std::min(state->options.threads, kMaxThreads);
    BYOC_TRY(state->sizes, OpenSizes::make(state->executable.program));
    if (guards_memory()) BYOC_TRY_STATUS(guard_constants(state->executable));
    BYOC_TRY_STATUS(load_modules(*state));
    state->layout = ArenaLayout(state->executable.program, state->sizes);
    list_arguments(*state);
    return std::unique_ptr<Session>(new Session(std::move(state)));
  });
}

const Executable& Session::executable() const { return state_->executable; }
const Program& Session::program() const { return state_->executable.program; }
const std::vector<NamedTensor>& Session::inputs() const { return state_->inputs; }
const std::vector<NamedTensor>& Session::outputs() const { return state_->outputs; }
const std::vector<StateInfo>& Session::states() const { return state_->states; }
uint64_t Session::workspace_bytes() const { return state_->workspace_bytes; }
uint64_t Session::arena_bytes(const Context& context) const {
  const ContextState& state = *context.state_;
  return state.packed ? state.packed->bytes() : state.arena.bytes();
}
uint64_t Session::workspace_bytes(const Context& context) const {
  return context.state_->workspace.bytes();
}
uint32_t Session::threads() const { return state_->options.threads; }
const std::vector<std::string>& Session::warnings() const { return state_->warnings; }

Status Session::register_extern(const std::string& symbol, HostExtern function) {
  for (ExternSlot& slot : state_->externs) {
    if (slot.symbol != symbol) continue;
    slot.function = std::move(function);
    return {};
  }
  return not_found(cat("no step calls the external function \"", symbol, "\""))
      .with_slug("unknown-extern");
}

Status Session::check_externs() const {
  std::vector<std::string> missing;
  for (const ExternSlot& slot : state_->externs) {
    if (!slot.function) missing.push_back(slot.symbol);
  }
  return missing.empty() ? Status() : missing_extern(missing);
}

namespace {

Result<std::unique_ptr<ContextState>> context_with(const SessionState& session,
                                                   std::shared_ptr<StateMemory> memory) {
  BYOC_TRY(auto context, make_context_state(session, std::move(memory)));
  if (session.options.cancel) {
    for (BoundStep& step : context->steps) step.call.cancel = session.options.cancel->raw();
  }
  return context;
}

}  // namespace

Result<std::unique_ptr<Context>> Session::make_context() const {
  BYOC_TRY(auto context, context_with(*state_, nullptr));
  return std::unique_ptr<Context>(new Context(std::move(context)));
}

Result<std::unique_ptr<Context>> Session::make_context(const Context& other) const {
  const ContextStates* states = other.state_->states.get();
  if (state_->states.empty() || states == nullptr) return no_states();
  BYOC_TRY(auto context, context_with(*state_, states->memory()));
  return std::unique_ptr<Context>(new Context(std::move(context)));
}

Status Session::run(Context& context, std::span<const DLTensor> inputs,
                    std::span<DLTensor> outputs) const {
  ContextState& state = *context.state_;
  if (state.session != state_.get())
    return failed("the context belongs to another session").with_slug("context");
  if (state.states == nullptr) [[likely]]
    return run_whole(*state_, state, inputs, outputs);
  BYOC_TRY_STATUS(state.states->begin(inputs, outputs));
  Status status = run_whole(*state_, state, state.states->inputs(), state.states->outputs());
  state.states->end(status.ok(), state.stopped);
  return status;
}

Status Session::reset_states(Context& context) const {
  return context.state_->states ? context.state_->states->reset() : no_states();
}
Status Session::get_state(const Context& context, std::string_view name, const DLTensor& to) const {
  return context.state_->states ? context.state_->states->read(name, to) : no_states();
}
Status Session::set_state(Context& context, std::string_view name, const DLTensor& from) const {
  return context.state_->states ? context.state_->states->write(name, from) : no_states();
}
StateTraffic Session::state_traffic(const Context& context) const {
  return context.state_->states ? context.state_->states->traffic() : StateTraffic();
}

}  // namespace byoc
