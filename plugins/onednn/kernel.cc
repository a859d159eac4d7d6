// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <omp.h>

#include <algorithm>
#include <map>

#include "library/format_text.h"
#include "library/implementations.h"

namespace byoc::onednn {
namespace {

constexpr size_t kMostOperands = 3;  // the operands of a loop

}  // namespace

ThreadScope::ThreadScope(uint32_t threads) : before_(omp_get_max_threads()) {
  if (before_ != static_cast<int>(threads)) omp_set_num_threads(static_cast<int>(threads));
}
ThreadScope::~ThreadScope() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}

// Memory objects of one run and, per step, the argument list the C API takes: built once, so that a
// run only sets the addresses that differ from those of the previous run.
struct OnednnKernel::State {
  struct Slot {
    dnnl::memory memory;
    uint32_t buffer;  // kScratchpad: the scratchpad
    uint64_t offset;  // in the buffer
    void* address;
  };
  static constexpr uint32_t kScratchpad = UINT32_MAX;
  explicit State(const dnnl::engine& engine) : stream(engine) {}
  dnnl::stream stream;
  std::vector<Slot> slots;
  std::vector<std::vector<dnnl_exec_arg_t>> args;  // per step
  std::vector<size_t> first_slot;                  // per step: of its first argument
};

OnednnKernel::OnednnKernel(Plan plan, dnnl::engine engine, uint32_t threads)
    : plan_(std::move(plan)), engine_(std::move(engine)), threads_(threads == 0 ? 1 : threads) {
  for (const Step& step : plan_.steps) {
    BYOC_ONEDNN_CHECK(!step.args.empty(), step.name + " writes a result");
    BYOC_ONEDNN_CHECK(!step.loop || step.args.size() <= kMostOperands + 1,
                      step.name + " is a loop over a few operands");
    formats_.push_back({format_text(step.args.front().desc), format_text(step.args.back().desc)});
  }
  pool_.reserve(64);
  pool_.push_back(make_state());
}

OnednnKernel::~OnednnKernel() = default;

std::unique_ptr<OnednnKernel::State> OnednnKernel::make_state() const {
  auto state = std::make_unique<State>(engine_);
  auto add = [&](const Desc& desc, uint32_t buffer, uint64_t offset, void* address) {
    state->slots.push_back({dnnl::memory(desc, engine_, address), buffer, offset, address});
    return state->slots.back().memory.get();
  };
  for (const Step& step : plan_.steps) {
    std::vector<dnnl_exec_arg_t> args;
    state->first_slot.push_back(state->slots.size());
    for (const Bound& bound : step.args) {
      const Buffer& buffer = plan_.buffers[bound.buffer];
      BYOC_ONEDNN_CHECK(buffer.home != Buffer::kConstant || buffer.index < plan_.held.size(),
                        step.name + " reads a constant that the plan holds");
      void* address = buffer.home == Buffer::kConstant
                          ? const_cast<char*>(plan_.held[buffer.index]->data<char>()) + bound.offset
                          : nullptr;
      args.push_back({bound.index, add(bound.desc, bound.buffer, bound.offset, address)});
    }
    if (step.scratchpad.get_size() > 0)
      args.push_back({DNNL_ARG_SCRATCHPAD, add(step.scratchpad, State::kScratchpad, 0, nullptr)});
    state->args.push_back(std::move(args));
  }
  return state;
}

std::unique_ptr<OnednnKernel::State> OnednnKernel::take_state() const {
  {
    std::lock_guard lock(mutex_);
    if (!pool_.empty()) {
      auto state = std::move(pool_.back());
      pool_.pop_back();
      return state;
    }
  }
  return make_state();
}

void OnednnKernel::bind(State& state, const sdk::Call& call, char* workspace) const {
  for (State::Slot& slot : state.slots) {
    void* address = slot.address;
    if (slot.buffer == State::kScratchpad) {
      address = workspace + plan_.arena_bytes;
    } else {
      const Buffer& buffer = plan_.buffers[slot.buffer];
      switch (buffer.home) {
        case Buffer::kInput:
          address = const_cast<char*>(call.in_data<char>(buffer.index)) + slot.offset;
          break;
        case Buffer::kOutput:
          address = call.out_data<char>(buffer.index) + slot.offset;
          break;
        case Buffer::kArena:
          address = workspace + buffer.offset + slot.offset;
          break;
        case Buffer::kConstant:
          break;
      }
    }
    if (address == slot.address) continue;
    slot.memory.set_data_handle(address);
    slot.address = address;
  }
}

dnnl_status_t OnednnKernel::execute(const State& state, size_t step) const {
  const Step& now = plan_.steps[step];
  const auto& args = state.args[step];
  dnnl_status_t status = dnnl_success;
  if (now.primitive) {
    status = dnnl_primitive_execute(now.primitive.get(), state.stream.get(),
                                    static_cast<int>(args.size()), args.data());
  }
  if (!now.loop || status != dnnl_success) return status;
  status = dnnl_stream_wait(state.stream.get());
  const void* in[kMostOperands] = {};
  size_t first = state.first_slot[step], last = now.args.size() - 1;
  for (size_t k = 0; k < std::min(last, kMostOperands); ++k) in[k] = state.slots[first + k].address;
  if (status == dnnl_success) now.loop(in, state.slots[first + last].address);
  return status;
}

// Records the step's span. A stream of the CPU has finished its work when execute returns.
void OnednnKernel::tell_span(const sdk::Call& call, size_t step, uint64_t begin_ns) const {
  const Step& done = plan_.steps[step];
  const Formats& formats = formats_[step];
  auto text = [](std::string_view t) { return byoc_str{t.data(), t.size()}; };
  const byoc_str details[] = {text("implementation"),
                              text(done.implementation),
                              text("src"),
                              text(formats.src),
                              text("dst"),
                              text(formats.dst),
                              text("is_reorder"),
                              text(done.is_reorder ? "1" : "0")};
  call.span(done.node, text(done.name), begin_ns, sdk::host().now_ns(), details);
}

void OnednnKernel::run_in(const sdk::Call& call, void* workspace) const {
  ThreadScope threads(threads_);
  std::unique_ptr<State> state = take_state();
  bind(*state, call, static_cast<char*>(workspace));
  dnnl_status_t status = dnnl_success;
  size_t failed = 0;
  const bool wants_spans = call.wants_spans();
  for (size_t s = 0; s < plan_.steps.size() && status == dnnl_success; ++s) {
    uint64_t begin = wants_spans ? sdk::host().now_ns() : 0;
    status = execute(*state, s);
    if (wants_spans) tell_span(call, s, begin);
    failed = s;
  }
  if (status == dnnl_success) status = dnnl_stream_wait(state->stream.get());
  {
    std::lock_guard lock(mutex_);
    pool_.push_back(std::move(state));
  }
  if (status == dnnl_success) return;
  throw sdk::Error(BYOC_INTERNAL, "oneDNN failed with status " + std::to_string(status) + " in " +
                                      plan_.steps[failed].name);
}

sdk::KernelInfo OnednnKernel::info() const {
  sdk::KernelInfo out;
  out.workspace_bytes = workspace_bytes();
  out.flags = BYOC_KERNEL_MAY_ALLOC;
  out.resident_bytes = plan_.packed_bytes;
  std::map<std::string, int> counts;
  for (const Step& step : plan_.steps)
    ++counts[step.is_reorder ? std::string(kReorderStep) : step.implementation];
  for (const auto& [name, count] : counts) {
    out.implementation += (out.implementation.empty() ? "" : ", ") + name +
                          (count > 1 ? " x" + std::to_string(count) : "");
  }
  return out;
}

}  // namespace byoc::onednn
