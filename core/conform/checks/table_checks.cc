// SPDX-License-Identifier: Apache-2.0
// Group 3: the table that the entry returns, and one instance.
#include "byoc/base/shared_library.h"
#include "byoc/host/plugins.h"
#include "byoc/runtime/tensor.h"
#include "core/conform/checks/function_test.h"
#include "core/conform/checks/struct_life.h"
#include "core/conform/checks/taken_sample.h"
#include "core/conform/context/check_context.h"
#include "core/conform/context/device_run.h"
#include "core/process/faults.h"
#include "runtime/guard/guarded_memory.h"
#include "runtime/host/host.h"
#include "runtime/host/plugin_loader.h"

namespace byoc::conform {
namespace {

Result<const byoc_plugin*> entered(const std::string& path, const std::string& id) {
  BYOC_TRY(SharedLibrary library, SharedLibrary::open(path));
  auto entry = reinterpret_cast<byoc_plugin_entry_fn>(library.symbol(BYOC_ENTRY_SYMBOL));
  library.keep();
  const byoc_plugin* raw = nullptr;
  BYOC_TRY_STATUS(call_plugin(id, "the entry", [&] { return entry(host_table(), &raw); }));
  return raw;
}

using TableCheck = Status (*)(const byoc_plugin& table, const PluginManifest& manifest);

Answer judge_table(CheckContext& context, TableCheck check) {
  const PluginManifest& manifest = *context.manifest();
  return context.judged_in_child([&]() -> std::vector<std::string> {
    process::doing("reading its table");
    const std::optional<byoc_plugin> registered = context.registered_table();
    Result<const byoc_plugin*> raw = registered ? Result<const byoc_plugin*>(&*registered)
                                                : entered(context.options().path, manifest.id);
    Status status = raw.ok() ? check_table_header(*raw) : raw.status();
    if (status.ok() && check) status = check(copy_table(**raw), manifest);
    if (status.ok()) return {};
    return {sentence(status)};
  });
}

Answer check_header(CheckContext& context) { return judge_table(context, nullptr); }
Answer check_slots(CheckContext& context) {
  return judge_table(context, [](const byoc_plugin& table, const PluginManifest&) {
    return check_table_slots(table);
  });
}
Answer check_identity(CheckContext& context) { return judge_table(context, check_table_identity); }
Answer check_minor(CheckContext& context) { return judge_table(context, check_table_abi); }

Answer check_instance(CheckContext& context) {
  return context.judged_in_child([&]() -> std::vector<std::string> {
    auto tested = load_plugin(context);
    if (!tested.ok()) return {sentence(tested.status())};
    return {};
  });
}

/// Compiles, loads and runs the function. Returns what fails.
std::string run_plainly(const LoadedPlugin& tested, const TakenSample& sample) {
  auto loaded = load_function(tested, sample.label, sample.module);
  if (!loaded.ok()) return loaded.status().message();
  const Function& main = sample.module.function("main");
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < main.num_params(); ++k)
    tensors.push_back(*Tensor::make(spec_of(main.nodes[k].types[0])));
  for (TypeId type : main.result_types()) tensors.push_back(*Tensor::make(spec_of(type)));
  std::vector<DLTensor> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  std::vector<const DLTensor*> args;
  for (const DLTensor& view : views) args.push_back(&view);
  const LoadedModule::Kernel& kernel = loaded->kernels()[0];
  GuardedMemory workspace("the workspace", kernel.workspace_bytes, kernel.workspace_align,
                          Placement::kAtStart);
  auto call = with_header<byoc_call>(BYOC_TAG_CALL);
  call.args = args.data();
  call.n_args = static_cast<uint32_t>(args.size());
  call.workspace = workspace.data();
  call.workspace_bytes = kernel.workspace_bytes;
  process::doing(cat("run, ", sample.label));
  const Status status = run_kernel(tested, kernel, static_cast<uint32_t>(main.num_params()), call);
  return status.ok() ? "" : cat("run fails: ", status.message());
}

template <StructForm kForm>
Answer check_structs(CheckContext& context) {
  if (const std::string& why = context.plain_failure(); !why.empty())
    return skip(cat("its first function does not run, see group 5: ", why));
  return skipped_without_sample(
      context.judged_in_child([&] { return check_struct_life(context, kForm); }));
}

const Check kTableChecks[] = {
    {3, "header", "the table has its tag, its size and no unknown requirement", "opens",
     check_header,
     "set h.tag and h.size, and no extension that must be understood; BYOC_PLUGIN does"},
    {3, "slots", "every required function is present", "header", check_slots,
     "implement the function and set it in the table; BYOC_PLUGIN does"},
    {3, "identity", "id and version are those of the manifest", "header", check_identity,
     "use one id and one version in the manifest and in the table; BYOC_PLUGIN does"},
    {3, "minor", "the table needs no newer host than this one", "header", check_minor,
     "require an older host, or use a newer byoc"},
    {3, "instance", "open gives an instance, and patterns a list of patterns",
     "slots identity minor", check_instance,
     "return an instance from open, and a list of byoc_pattern from patterns"},
    {3, "ends", "nothing after the end of a struct or a string is read", "instance",
     check_structs<StructForm::kGuarded>,
     "read h.size bytes of a struct and n bytes of a byoc_str, which has no final zero"},
    {3, "longer", "structs of a newer host, which are longer, are accepted", "instance",
     check_structs<StructForm::kLonger>,
     "accept structs with a larger h.size, and ignore what follows the known fields"},
    {3, "optional", "an unknown extension that may be ignored is ignored", "instance",
     check_structs<StructForm::kOptional>,
     "skip extensions without BYOC_EXT_MUST_UNDERSTAND in their id"},
    {3, "required", "an unknown extension that must be understood is refused", "instance",
     check_structs<StructForm::kRequired>,
     "return BYOC_UNIMPLEMENTED for an unknown extension with BYOC_EXT_MUST_UNDERSTAND"},
};

}  // namespace

const std::string& CheckContext::plain_failure() {
  if (plain_failure_) return *plain_failure_;
  process::ChildResult child = in_child([&]() -> std::string {
    process::name_faults();
    auto tested = load_plugin(*this);
    const auto sample = tested.ok() ? first_taken(*tested, options_.seed) : std::nullopt;
    return sample ? run_plainly(*tested, *sample) : "";
  });
  // An access outside of a struct, which name_faults finds, is for the check of that form.
  const bool has_ended = !child.finished && child.fault.empty();
  return plain_failure_.emplace(has_ended ? child.defect : child.finished ? child.result : "");
}

std::span<const Check> table_checks() { return kTableChecks; }

}  // namespace byoc::conform
