// SPDX-License-Identifier: Apache-2.0
// Calls of byoc/c/byoc.h in any order, decoded from bytes: handles that are null or of other
// programs, numbers out of range, tensors that do not fit. What a caller must never do is left out:
// freed handles, and memory that is smaller than a view's description.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "byoc/base/file.h"
#include "byoc/c/byoc.h"
#include "byoc/c/devices.h"
#include "byoc/c/states.h"
#include "mutants/c_arguments.h"
#include "mutants/targets.h"

namespace byoc::test {
namespace {

constexpr size_t kSlots = 3;

/// Files of programs, and the plugin that runs them.
struct Setting {
  std::vector<Bytes> artifacts;
  std::string plugin;
};
const Setting& setting() {
  static const Setting made = [] {
    Setting out;
    const char* list = std::getenv("BYOC_MUTANT_ARTIFACTS");
    const char* plugin = std::getenv("BYOC_MUTANT_PLUGIN");
    out.plugin = plugin ? plugin : "";
    for (std::string_view rest = list ? list : ""; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (auto bytes = read_file(std::string(rest.substr(0, end))); bytes.ok())
        out.artifacts.push_back(*std::move(bytes));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }();
  return made;
}

/// The handles, and what they are used by.
class Calls {
 public:
  explicit Calls(std::string_view bytes) : in_(bytes) {}
  ~Calls() {
    for (auto& context : contexts_) byoc_context_free(context.handle);
    for (byoc_session* session : sessions_) byoc_session_free(session);
    for (byoc_program* program : programs_) byoc_program_free(program);
    byoc_options_free(options_);
    byoc_canceller_free(canceller_);
  }

  void run() {
    note(byoc_options_new(&options_));
    note(byoc_canceller_new(&canceller_));
    load();
    open();
    for (int n = 0; n < 60 && !in_.is_empty(); ++n) one();
  }

 private:
  void note(byoc_error* error) {
    if (error == nullptr) return;
    const std::string_view text = byoc_error_text(error), message = byoc_error_message(error);
    if (text.empty() || message.empty() || byoc_error_code(error) == BYOC_OK) std::abort();
    if (byoc_error_slug(error) == nullptr || byoc_error_where(error) == nullptr ||
        byoc_error_help(error) == nullptr)
      std::abort();
    if (byoc_error_code(error) == BYOC_INTERNAL &&
        message.find("defect") != std::string_view::npos) {
      std::fprintf(stderr, "%s\n", byoc_error_text(error));
      std::abort();
    }
    byoc_error_free(error);
  }
  size_t slot() { return in_.byte() % kSlots; }

  void load() {
    const size_t at = slot();
    if (programs_[at] != nullptr) return;
    const Bytes& bytes = setting().artifacts[in_.byte() % setting().artifacts.size()];
    const uint8_t drawn = in_.byte();
    const size_t size = drawn < 200 ? bytes.size() : bytes.size() * (drawn - 200) / 56;
    note(byoc_program_load_memory(drawn == 199 ? nullptr : bytes.data(), size,
                                  drawn == 198 ? nullptr : &programs_[at]));
  }
  void open() {
    const size_t at = slot();
    if (sessions_[at] != nullptr) return;
    byoc_options* options = nullptr;
    note(byoc_options_new(&options));
    note(byoc_options_set(options, "plugin", setting().plugin.c_str()));
    byoc_watch watch{sizeof watch, canceller_, nullptr, nullptr};
    if (in_.byte() > 250) watch.size = static_cast<size_t>(in_.number());
    const bool is_odd = in_.byte() > 250;
    note(byoc_session_new(programs_[slot()],
                          in_.byte() > 240 ? static_cast<size_t>(in_.number()) : 0,
                          is_odd ? options_ : options, &watch, &sessions_[at]));
    byoc_options_free(options);
  }

  void one() {
    switch (in_.byte() % 16) {
      case 0:
        return load();
      case 1:
        return open();
      case 2:
        return make_context();
      case 3:
        return free_one();
      case 4:
        return ask_program();
      case 5:
        return ask_session();
      case 6:
        return states();
      case 7:
        return options();
      case 8:
        return devices();
      default:
        return call();
    }
  }

  void make_context() {
    const size_t at = slot(), from = slot();
    if (contexts_[at].handle != nullptr) return;
    const bool is_shared = in_.byte() % 4 == 0;
    const size_t other = slot();
    note(is_shared ? byoc_context_new_sharing(sessions_[from], contexts_[other].handle,
                                              &contexts_[at].handle)
                   : byoc_context_new(sessions_[from], &contexts_[at].handle));
    contexts_[at].session = from;
  }
  void free_one() {
    const size_t at = slot();
    if (in_.byte() % 2 == 0) {
      byoc_program_free(programs_[at]);
      programs_[at] = nullptr;
      return;
    }
    for (Context& context : contexts_) {
      if (context.session != at) continue;
      byoc_context_free(context.handle);
      context.handle = nullptr;
    }
    byoc_session_free(sessions_[at]);
    sessions_[at] = nullptr;
  }
  void ask_program() {
    const byoc_program* program = programs_[slot()];
    const auto k = static_cast<size_t>(in_.number());
    if (byoc_program_size_label(program, k) == nullptr ||
        byoc_program_size_entry(program, k) == nullptr)
      std::abort();
    size_t first = 0, count = 0;
    note(byoc_program_find_entry(program, in_.text(), &first, &count));
    if (first + count > std::max<size_t>(byoc_program_size_count(program), 1)) std::abort();
  }
  void ask_session() {
    const byoc_session* session = sessions_[slot()];
    const auto k = static_cast<size_t>(in_.number());
    byoc_tensor_info info{};
    byoc_used_device device{};
    note(byoc_session_input(session, k, in_.byte() > 250 ? nullptr : &info));
    note(byoc_session_output(session, k, &info));
    note(byoc_session_state(session, k, &info));
    note(byoc_session_device(session, k, &device));
    (void)byoc_session_output_is_counted(session, k);
    (void)byoc_session_is_open(session);
    (void)byoc_session_state_is_in_place(session, k);
    (void)byoc_session_input_device(session, k);
    if (byoc_session_warning(session, k) == nullptr ||
        byoc_session_state_output(session, k) == nullptr)
      std::abort();
    note(byoc_session_set_extern(
        sessions_[slot()], in_.text(),
        [](void*, const DLTensor*, size_t, DLTensor*, size_t) -> byoc_error* {
          return byoc_error_new(BYOC_ABORTED, "extern");
        },
        nullptr));
  }
  void options() {
    if (in_.byte() % 8 == 0) {
      byoc_options_free(options_);
      options_ = nullptr;
      note(byoc_options_new(&options_));
    }
    note(byoc_options_set(options_, in_.text(), in_.text()));
    if (in_.byte() == 255) byoc_canceller_cancel(canceller_);
    note(byoc_error_new(static_cast<enum byoc_code>(in_.byte()), in_.text() ? "text" : "message"));
  }
  void devices() {
    byoc_device_memory* memory = nullptr;
    char bytes[64] = {};
    note(byoc_device_memory_new(sessions_[slot()], static_cast<size_t>(in_.number()),
                                static_cast<size_t>(in_.number()), &memory));
    note(byoc_device_memory_write(memory, bytes, sizeof bytes));
    note(byoc_device_memory_read(memory, bytes, sizeof bytes));
    (void)byoc_device_memory_data(memory);
    byoc_device_memory_free(memory);
  }

  /// Fills `all` with views that fit `count` arguments of the session, but for some changes.
  std::vector<DLTensor> make(byoc_session* session, bool is_input,
                             std::vector<std::unique_ptr<Tensor>>& all) {
    const size_t right =
        is_input ? byoc_session_input_count(session) : byoc_session_output_count(session);
    const uint8_t drawn = in_.byte();
    const size_t count = drawn < 230 ? right : drawn % 5;
    std::vector<DLTensor> views;
    for (size_t k = 0; k < count; ++k) {
      auto tensor = std::make_unique<Tensor>();
      byoc_tensor_info info{};
      note(is_input ? byoc_session_input(session, k, &info)
                    : byoc_session_output(session, k, &info));
      tensor->dims.assign(info.shape, info.shape + info.ndim);
      for (int64_t& dim : tensor->dims)
        dim = dim > 64 ? in_.byte() % 9 : dim;  // of an open session
      tensor->view.dtype = info.dtype;
      tensor->view.device = {kDLCPU, 0};
      tensor->view.ndim = info.ndim;
      if (in_.byte() % 4 == 0) tensor->change(in_);
      tensor->finish(in_);
      views.push_back(tensor->view);
      all.push_back(std::move(tensor));
    }
    if (views.size() > 1 && in_.byte() > 250) views[0].data = views[1].data;
    return views;
  }
  void call() {
    Context& context = contexts_[slot()];
    byoc_session* session = context.handle != nullptr ? sessions_[context.session] : nullptr;
    std::vector<std::unique_ptr<Tensor>> memory;
    std::vector<DLTensor> in = make(session, true, memory), out = make(session, false, memory);
    if (in_.byte() % 4 == 0) note(byoc_context_take_inputs(context.handle, in.data(), in.size()));
    note(byoc_run(context.handle, in.data(), in.size(), out.data(), out.size()));
    const int64_t* shape = nullptr;
    int32_t rank = 0;
    note(byoc_context_output_shape(context.handle, static_cast<size_t>(in_.number()), &shape,
                                   &rank));
    int64_t sum = 0;
    for (int32_t k = 0; k < rank; ++k) sum ^= shape[k];
    if (sum == 0x123456789) std::puts("");  // reads them all
  }
  void states() {
    Context& context = contexts_[slot()];
    byoc_session* session = context.handle != nullptr ? sessions_[context.session] : nullptr;
    byoc_tensor_info info{};
    note(byoc_session_state(session, 0, &info));
    Tensor tensor;
    tensor.dims.assign(info.shape, info.shape + info.ndim);
    tensor.view = {nullptr, {kDLCPU, 0}, info.ndim, info.dtype, nullptr, nullptr, 0};
    if (in_.byte() % 4 == 0) tensor.change(in_);
    tensor.finish(in_);
    const char* name = in_.byte() % 4 != 0 && info.name != nullptr ? info.name : in_.text();
    note(byoc_context_set_state(context.handle, name, &tensor.view));
    note(byoc_context_get_state(context.handle, name, &tensor.view));
    if (in_.byte() % 4 == 0) note(byoc_context_reset_states(context.handle));
  }

  struct Context {
    byoc_context* handle = nullptr;
    size_t session = 0;
  };
  Input in_;
  byoc_program* programs_[kSlots] = {};
  byoc_session* sessions_[kSlots] = {};
  Context contexts_[kSlots];
  byoc_options* options_ = nullptr;
  byoc_canceller* canceller_ = nullptr;
};

}  // namespace

bool read_calls(std::string_view bytes) {
  if (setting().artifacts.empty()) return false;
  Calls(bytes).run();
  return true;
}

}  // namespace byoc::test
