// SPDX-License-Identifier: Apache-2.0
#include "core/conform/checks/struct_life.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "byoc/base/shared_library.h"
#include "byoc/runtime/device_type.h"
#include "byoc/runtime/tensor.h"
#include "core/conform/checks/taken_sample.h"
#include "core/process/faults.h"
#include "runtime/guard/guarded_memory.h"
#include "runtime/host/host.h"
#include "runtime/host/plugin_loader.h"

namespace byoc::conform {
namespace {

constexpr uint32_t kUnknownExt = 0x4b1d;
constexpr size_t kFutureBytes = 64;
constexpr byoc_ext kOptionalExt = {sizeof(byoc_ext), kUnknownExt, nullptr};
constexpr byoc_ext kRequiredExt = {sizeof(byoc_ext), kUnknownExt | BYOC_EXT_MUST_UNDERSTAND,
                                   nullptr};

/// Makes structs and strings of one form, which live as long as this object.
class StructMaker {
 public:
  explicit StructMaker(StructForm form) : form_(form) {}
  void set_form(StructForm form) { form_ = form; }

  template <class T>
  T* make(const char* name, const T& plain) {
    bool longer = form_ == StructForm::kLonger;
    size_t size = sizeof(T) + (longer ? kFutureBytes : 0);
    GuardedMemory& memory = keep_.emplace_back(name, size, alignof(T), Placement::kAtEnd);
    std::memset(memory.data(), 0xee, size);
    std::memcpy(memory.data(), &plain, sizeof plain);
    T* out = reinterpret_cast<T*>(memory.data());
    out->h.size = static_cast<uint32_t>(size);
    if (form_ == StructForm::kOptional) out->h.ext = &kOptionalExt;
    if (form_ == StructForm::kRequired) out->h.ext = &kRequiredExt;
    return out;
  }
  /// Makes a struct that another one points at. With kRequired its extension is optional, because
  /// the outer struct has the one that must be refused.
  template <class T>
  T* make_part(const char* name, const T& plain) {
    StructForm all = form_;
    if (all == StructForm::kRequired) form_ = StructForm::kOptional;
    T* out = make(name, plain);
    form_ = all;
    return out;
  }
  byoc_str text(const char* name, std::string_view text) {
    if (form_ != StructForm::kGuarded) {
      const std::string& kept = texts_.emplace_back(text);
      return {kept.data(), kept.size()};
    }
    GuardedMemory& memory = keep_.emplace_back(name, text.size(), 1, Placement::kAtEnd);
    std::memcpy(memory.data(), text.data(), text.size());
    return {reinterpret_cast<const char*>(memory.data()), text.size()};
  }

 private:
  StructForm form_;
  std::deque<GuardedMemory> keep_;
  std::deque<std::string> texts_;
};

class StructLife {
 public:
  StructLife(const CheckContext& context, LoadedPlugin tested, TakenSample sample, StructForm form)
      : context_(context),
        form_(form),
        structs_(form),
        tested_(std::move(tested)),
        sample_(std::move(sample)),
        function_(compile_function(sample_.module, "conform_0")) {}

  /// Calls the slots in the order in which a host does, until one fails. Returns the findings.
  std::vector<std::string> run_all() {
    if (enter() && judge() && compile() && save() && get_kernel(module_) && load() &&
        get_kernel(loaded_))
      run();
    return std::move(findings_);
  }

 private:
  const std::string& id() const { return tested_.plugin->id(); }

  /// Calls a slot with structs of the form that is checked. With kRequired the slot has to refuse
  /// them, and is called again with kOptional so that later slots can be checked; otherwise it has
  /// to succeed. Returns false when no later slot can be checked.
  template <class F>
  bool call(const char* slot, F&& f) {
    process::doing(cat(slot, ", ", sample_.label));
    Status status = call_plugin(id(), slot, f);
    if (form_ != StructForm::kRequired) {
      if (!status.ok()) findings_.push_back(cat(slot, " fails: ", status.message()));
      return status.ok();
    }
    if (status.ok()) {
      findings_.push_back(cat(slot, " accepts an unknown extension that must be understood"));
      return true;
    }
    structs_.set_form(StructForm::kOptional);
    status = call_plugin(id(), slot, f);
    structs_.set_form(form_);
    return status.ok();
  }

  /// Gets the table from the entry, and the host that the entry was given.
  bool enter_file(const byoc_host*& host) {
    auto library = SharedLibrary::open(context_.options().path);
    if (!library.ok()) return false;
    auto entry = reinterpret_cast<byoc_plugin_entry_fn>(library->symbol(BYOC_ENTRY_SYMBOL));
    library->keep();
    const byoc_plugin* raw = nullptr;
    bool entered = call("the entry", [&] {
      host = structs_.make("byoc_host", *host_table());
      return entry(host, &raw);
    });
    if (!entered || !raw) return false;
    table_ = copy_table(*raw);
    return true;
  }

  bool enter() {
    const byoc_host* host = nullptr;
    if (const std::optional<byoc_plugin> registered = context_.registered_table()) {
      table_ = *registered;
      host = structs_.make("byoc_host", *host_table());
    } else if (!enter_file(host)) {
      return false;
    }
    byoc_str options = structs_.text("options_json", tested_.options_json);
    bool refuses = form_ == StructForm::kRequired;  // the entry has refused it already
    if (refuses) host = host_table();
    process::doing("open");
    Status status =
        call_plugin(id(), "open", [&] { return table_.open(host, options, &instance_); });
    if (!status.ok()) findings_.push_back(cat("open fails: ", status.message()));
    return status.ok() && instance_;
  }

  bool judge() {
    if (!table_.judge) return true;
    std::string json = candidate_json(sample_.module);
    process::doing(cat("judge, ", sample_.label));
    auto* verdict = structs_.make("byoc_verdict", with_header<byoc_verdict>(BYOC_TAG_VERDICT));
    Status status = call_plugin(id(), "judge", [&] {
      return table_.judge(instance_, sample_.pattern, structs_.text("candidate_json", json),
                          verdict);
    });
    bool yes = status.ok() && verdict->accept != 0;
    if (yes == (form_ == StructForm::kRequired)) {
      findings_.push_back(
          yes ? "judge accepts an unknown extension that must be understood"
              : cat("judge fails or refuses: ", status.message(), text_of(verdict->reason)));
    }
    return true;
  }

  /// Returns the constants of the function, each in a struct of the form that is checked.
  const byoc_const* const* constants() {
    auto table = std::make_unique<ConstantTable>();
    for (size_t k = 0; k < function_.constants.size(); ++k)
      (void)table->add(function_.constants[k], function_.buffers[k]);
    auto& pointers = pointers_.emplace_back();
    const byoc_const* const* plain = table->data();
    for (size_t k = 0; k < table->size(); ++k)
      pointers.push_back(structs_.make_part("byoc_const", *plain[k]));
    constants_.push_back(std::move(table));
    return pointers.data();
  }

  bool compile() {
    return call("compile",
                [&] {
                  auto raw = with_header<byoc_function>(BYOC_TAG_FUNCTION);
                  raw.symbol = structs_.text("symbol", function_.symbol);
                  raw.graph_json = structs_.text("graph_json", function_.graph_json);
                  raw.consts = constants();
                  raw.n_consts = function_.constants.size();
                  const byoc_function* function = structs_.make_part("byoc_function", raw);
                  const byoc_function** list = &functions_.emplace_back(function);
                  auto request = with_header<byoc_compile>(BYOC_TAG_COMPILE);
                  request.functions = list;
                  request.n_functions = 1;
                  request.options_json = structs_.text("options_json", tested_.options_json);
                  request.target_json = structs_.text("target_json", "{}");
                  request.threads = 1;
                  return table_.compile(instance_, structs_.make("byoc_compile", request),
                                        &module_);
                }) &&
           module_;
  }

  bool save() {
    return call("save", [&] {
      blob_.clear();
      auto sink = with_header<byoc_sink>(BYOC_TAG_SINK);
      sink.u = &blob_;
      sink.write = [](void* u, const void* bytes, uint64_t n) -> byoc_status* {
        static_cast<std::string*>(u)->append(static_cast<const char*>(bytes), n);
        return nullptr;
      };
      auto io = with_header<byoc_save>(BYOC_TAG_SAVE);
      io.blob = structs_.make_part("byoc_sink", sink);
      io.packed = [](void*, uint64_t, byoc_bytes, uint64_t) -> byoc_status* { return nullptr; };
      auto* request = structs_.make("byoc_save", io);
      byoc_status* status = table_.save(module_, request);
      compat_ = status ? "" : text_of(request->compat);
      return status;
    });
  }

  bool get_kernel(byoc_module* module) {
    byoc_str symbol = structs_.text("symbol", function_.symbol);
    process::doing("kernel");
    kernel_ = nullptr;
    Status status =
        call_plugin(id(), "kernel", [&] { return table_.kernel(module, symbol, &kernel_); });
    if (!status.ok() || !kernel_) {
      findings_.push_back(cat("kernel fails: ", status.message()));
      return false;
    }
    return call("info", [&] {
      info_ =
          structs_.make("byoc_kernel_info", with_header<byoc_kernel_info>(BYOC_TAG_KERNEL_INFO));
      return table_.info(kernel_, info_);
    });
  }

  bool load() {
    return call("load",
                [&] {
                  auto request = with_header<byoc_load>(BYOC_TAG_LOAD);
                  byoc_str blob = structs_.text("blob", blob_);
                  request.blob = {blob.p, blob.n};
                  request.compat = structs_.text("compat", compat_);
                  request.options_json = structs_.text("options_json", tested_.options_json);
                  request.consts = constants();
                  request.n_consts = function_.constants.size();
                  request.threads = 1;
                  return table_.load(instance_, structs_.make("byoc_load", request), &loaded_);
                }) &&
           loaded_;
  }

  void run() {
    if (device_type_of(info_->device) > kDLCPU) return;  // it takes no tensors of the host
    const Function& main = sample_.module.function("main");
    std::vector<Tensor> tensors;
    for (size_t k = 0; k < main.num_params(); ++k)
      tensors.push_back(*Tensor::make(spec_of(main.nodes[k].types[0])));
    for (TypeId type : main.result_types()) tensors.push_back(*Tensor::make(spec_of(type)));
    std::vector<DLTensor> views;
    for (const Tensor& tensor : tensors) views.push_back(tensor.view());
    std::vector<const DLTensor*> args;
    for (const DLTensor& view : views) args.push_back(&view);
    GuardedMemory workspace("the workspace", info_->workspace_bytes,
                            std::max<size_t>(64, info_->workspace_align), Placement::kAtStart);
    call("run", [&] {
      auto raw = with_header<byoc_call>(BYOC_TAG_CALL);
      raw.args = args.data();
      raw.n_args = static_cast<uint32_t>(args.size());
      raw.workspace = workspace.data();
      raw.workspace_bytes = info_->workspace_bytes;
      return table_.run(kernel_, structs_.make("byoc_call", raw));
    });
  }

  const CheckContext& context_;
  StructForm form_;
  StructMaker structs_;
  LoadedPlugin tested_;
  TakenSample sample_;
  CompileFunction function_;
  byoc_plugin table_{};
  byoc_instance* instance_ = nullptr;
  byoc_module *module_ = nullptr, *loaded_ = nullptr;
  byoc_kernel* kernel_ = nullptr;
  byoc_kernel_info* info_ = nullptr;
  std::string blob_, compat_;
  std::deque<std::vector<const byoc_const*>> pointers_;
  std::deque<const byoc_function*> functions_;
  std::vector<std::unique_ptr<ConstantTable>> constants_;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> check_struct_life(const CheckContext& context, StructForm form) {
  process::name_faults();
  auto tested = load_plugin(context);
  if (!tested.ok()) return {sentence(tested.status())};
  auto sample = first_taken(*tested, context.options().seed);
  if (!sample) return {kTakesNothing};
  return StructLife(context, *std::move(tested), *std::move(sample), form).run_all();
}

}  // namespace byoc::conform
