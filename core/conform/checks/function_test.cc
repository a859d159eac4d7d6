// SPDX-License-Identifier: Apache-2.0
#include "core/conform/checks/function_test.h"

#include <algorithm>
#include <cfenv>
#include <cstring>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "byoc/base/size_expression.h"
#include "byoc/runtime/tensor.h"
#include "core/conform/checks/argument.h"
#include "core/conform/checks/compare.h"
#include "core/conform/checks/recorded_spans.h"
#include "core/conform/context/device_run.h"
#include "core/conform/context/reference.h"
#include "core/conform/context/watched_runs.h"
#include "core/conform/process/process_state.h"
#include "runtime/guard/guarded_memory.h"
#include "runtime/host/host.h"

namespace byoc::conform {
namespace {

// Tensors that end at a guard page come first; those of the others begin at one.
const Arrangement kPlain = {"", nullptr, Placement::kAtEnd};
const Arrangement kOthers[] = {
    {.name = "tensors aligned to their elements alone",
     .check = "misaligned",
     .placement = Placement::kAtEnd,
     .by_elements = true},
    {.name = "tensors with a byte_offset", .check = "offset", .offset = true},
    {.name = "strided inputs", .check = "strided", .strided_inputs = true},
    {.name = "strided outputs", .check = "strided", .strided_outputs = true},
    {.name = "NaN, infinities and denormals", .check = "special", .special = true},
    {.name = "spans requested", .check = "spans", .spans = true},
    {.name = "another run with other values", .check = "other_values", .other_values = true},
    {.name = "values far from 0", .check = "large_values", .large_values = true},
};

constexpr const char* kRunFails =
    "run what compile has accepted; refuse in judge, or decline in compile, what run cannot do";

class FunctionTestRun {
 public:
  FunctionTestRun(const LoadedPlugin& tested, const FunctionTest& test, uint64_t seed,
                  const ReportFinding& report)
      : tested_(tested), test_(test), seed_(seed), report_(report) {
    use(test.runs.empty() ? test.reference : test.runs[0].reference);
  }

  FunctionTestEnd run() {
    if (!compile()) return declined_ ? FunctionTestEnd::kDeclined : FunctionTestEnd::kDone;
    if (!test_.runs.empty()) return run_open();
    if (!try_in(kPlain)) return FunctionTestEnd::kDone;  // other arrangements would fail likewise
    if (test_.is_plain) return FunctionTestEnd::kDone;
    try_others();
    return FunctionTestEnd::kDone;
  }

 private:
  void report(std::string_view check, std::string text, std::string cure = "") const {
    report_({std::string(check), std::move(text), std::move(cure)});
  }

  /// Makes later runs those of `main` of this module.
  void use(const IRModule& reference) {
    reference_ = &reference;
    main_ = &reference.function("main");
    inputs_.clear();
    for (size_t k = 0; k < main_->num_params(); ++k) inputs_.push_back(main_->nodes[k].types[0]);
    outputs_ = main_->result_types();
    auto no_elements = [](TypeId type) { return *num_elements(type->shape) == 0; };
    is_empty_ = std::any_of(inputs_.begin(), inputs_.end(), no_elements) ||
                std::any_of(outputs_.begin(), outputs_.end(), no_elements);
  }

  FunctionTestEnd run_open() {
    for (const OpenRun& one : test_.runs) {
      run_ = &one;
      use(one.reference);
      if (!try_in(kPlain)) break;
    }
    return FunctionTestEnd::kDone;
  }

  /// Reports what the pages around tensors of the host have not caught.
  void report_guarded() {
    report("inputs", "");
    report("guards", "");
    if (module_.kernels()[0].workspace_bytes > 0) report("workspace", "");
  }

  void try_others() {
    report("outputs", "");
    if (!is_on_device()) report_guarded();
    if (has_constants()) report("constants", "");
    for (const Arrangement& how : kOthers) {
      if (how.special && !can_be_special()) continue;
      if (how.large_values && !can_be_large()) continue;
      const bool is_about_memory = !how.special && !how.other_values && !how.large_values;
      if (is_on_device() && is_about_memory) continue;  // it gets compact and aligned tensors
      if ((how.strided_inputs || how.strided_outputs) && is_empty_) continue;
      (void)try_in(how);
    }
    const auto& pairs = module_.kernels()[0].inplace;
    for (size_t k = 0; k < pairs.size() && !is_on_device(); ++k) {
      Arrangement how = {"an output in its input's memory", "in_place"};
      how.in_place = static_cast<int>(k);
      bool fits = *size_bytes(*inputs_[pairs[k].first]) == *size_bytes(*outputs_[pairs[k].second]);
      if (fits) (void)try_in(how);
    }
  }

  uint32_t n_in() const { return static_cast<uint32_t>(inputs_.size()); }
  bool is_on_device() const { return !module_.kernels()[0].device.empty(); }
  bool has_constants() const { return !test_.reference.constants.empty(); }

  void begin_activity(std::string_view slot, const Arrangement& how) const {
    process::doing(cat(slot, ", ", test_.label, at_sizes(), *how.name ? ", " : "", how.name));
  }
  std::string at_sizes() const { return run_ == nullptr ? "" : cat(" at ", run_->text); }

  bool compile() {
    if (auto graph = parse_json(compile_function(test_.compiled, "conform_0").graph_json);
        graph.ok())
      graph_nodes_ = static_cast<int64_t>((*graph)["nodes"].size());
    auto loaded = load_function(tested_, test_.label, test_.compiled, test_.point_json);
    declined_ = loaded.status().code() == Code::kDeclined;
    if (declined_) return false;
    report("compiles", loaded.ok() ? "" : cat(test_.label, ": ", loaded.status().message()));
    if (loaded.ok()) module_ = *std::move(loaded);
    return loaded.ok();
  }

  /// Returns true when the results for special floats can be compared: some input is a float, every
  /// output a float or bool.
  bool can_be_special() const {
    auto is_real = [](TypeId type) { return is_float(type->dtype); };
    return !is_empty_ && std::any_of(inputs_.begin(), inputs_.end(), is_real) &&
           std::all_of(outputs_.begin(), outputs_.end(),
                       [&](TypeId type) { return is_real(type) || type->dtype == DType::kBool; });
  }

  /// Returns true when some operand may have any values of its type, and the results are compared
  /// at their own size: the result of several ops may be a small difference of large values.
  bool can_be_large() const {
    if (is_empty_ || test_.is_chain) return false;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (large_domain(*inputs_[k], test_.domains[k], test_.is_exact)) return true;
    }
    return false;
  }

  Buffers values(const Arrangement& how) const {
    constexpr uint64_t kOthers = uint64_t{1} << 32;
    const uint64_t seed = how.other_values ? seed_ + kOthers : seed_;
    Buffers out;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const bool here = how.special && (test_.is_exact || k == 0);
      Domain domain = test_.domains[k];
      if (how.large_values)
        domain = large_domain(*inputs_[k], domain, test_.is_exact).value_or(domain);
      out.push_back(Buffer::make(static_cast<size_t>(*size_bytes(*inputs_[k])), [&](std::byte* to) {
        fill(to, *inputs_[k], domain, seed + k, here ? test_.special : Special::kNone);
      }));
    }
    return out;
  }

  /// Runs the function in this arrangement. Returns true when nothing is wrong.
  bool try_in(const Arrangement& how) {
    Buffers given = values(how);
    process::doing(cat("the reference kernel, ", test_.label));
    const uint64_t begin_ns = now_ns();
    auto expected = reference_results(*reference_, given);
    const uint64_t reference_ns = now_ns() - begin_ns;
    if (!expected.ok()) return false;  // the reference has no such kernel
    std::vector<std::unique_ptr<Argument>> args = arguments(how, given);
    const auto& kernel = module_.kernels()[0];
    const uint64_t bytes = workspace_bytes(kernel, run_);
    GuardedMemory workspace("the workspace", bytes, kernel.workspace_align, Placement::kAtEnd);
    std::fill_n(workspace.data(), workspace.size(), kFill);
    std::vector<const DLTensor*> views;
    for (size_t k = 0; k < args.size(); ++k) views.push_back(args[shared(how, k)]->view());
    auto call = with_header<byoc_call>(BYOC_TAG_CALL);
    call.args = views.data();
    call.n_args = static_cast<uint32_t>(views.size());
    call.workspace = workspace.data();
    call.workspace_bytes = bytes;
    if (run_ != nullptr) call.sizes = run_->sizes.data();
    bool recorded_any = false;
    Status status = run_kernel(how, call, recorded_any);
    bool may_refuse = how.strided_inputs || how.strided_outputs;
    std::string check = how.check ? how.check : is_empty_ ? "empty" : test_.value_check;
    if (!how.spans || recorded_any) report(check, "");
    if (!status.ok()) {
      if (!may_refuse)
        report(check, cat(labelled(how), "run fails: ", status.message()),
               check == test_.value_check ? kRunFails : "");
      return false;
    }
    if (workspace.changed_margin() != nullptr)
      report("workspace", cat(labelled(how), "it writes outside of the workspace"));
    if (!compare_outputs(how, check, args, *expected)) return false;
    if (test_.is_watched && &how == &kPlain) watch(call, static_cast<double>(reference_ns));
    return true;
  }

  /// Runs it again and again, and reports memory that runs keep and their time.
  void watch(const byoc_call& call, double reference_ns) {
    begin_activity("run again and again", kPlain);
    const WatchedRuns seen = watch_runs([&] {
      process::activity().beats.fetch_add(1);  // the limit is that of one call
      return conform::run_kernel(tested_, module_.kernels()[0], n_in(), call);
    });
    report("memory", seen.kept_bytes == 0
                         ? ""
                         : cat(test_.label, ": each run keeps ", seen.kept_bytes, " bytes"));
    report("time", seen.is_slow(reference_ns)
                       ? cat(test_.label, ": a run takes ", seen.run_ns / 1e6,
                             " ms, that of the reference kernels ", reference_ns / 1e6)
                       : "");
  }

  Status run_kernel(const Arrangement& how, byoc_call& call, bool& recorded_any) {
    begin_activity("run", how);
    const uint64_t mode = float_mode();
    RecordedSpans spans(call, how.spans);
    Status status = conform::run_kernel(tested_, module_.kernels()[0], n_in(), call);
    for (const std::string& defect : spans.defects(graph_nodes_))
      report("spans", labelled(how) + defect);
    recorded_any = spans.has_any();
    if (float_mode() != mode)
      report("surroundings", cat(labelled(how), "run leaves the floating-point mode changed"));
    std::fesetenv(FE_DFL_ENV);
    return status;
  }

  std::string labelled(const Arrangement& how) const {
    return cat(test_.label, at_sizes(), *how.name ? ", " : "", how.name, ": ");
  }

  /// Returns the argument whose memory argument `k` uses: for an in-place output, its input.
  size_t shared(const Arrangement& how, size_t k) const {
    if (how.in_place < 0) return k;
    auto [in, out] = module_.kernels()[0].inplace[static_cast<size_t>(how.in_place)];
    return k == inputs_.size() + out ? in : k;
  }

  std::vector<std::unique_ptr<Argument>> arguments(const Arrangement& how, const Buffers& given) {
    std::vector<std::unique_ptr<Argument>> args;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      args.push_back(
          std::make_unique<Argument>(cat("input ", k), inputs_[k], how, how.strided_inputs));
      args.back()->write(given[k]->data());
      bool is_output = how.in_place >= 0 && shared(how, inputs_.size() + place_of(how)) == k;
      if (!is_output) args.back()->memory().make_read_only();
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      args.push_back(
          std::make_unique<Argument>(cat("output ", k), outputs_[k], how, how.strided_outputs));
    }
    return args;
  }
  size_t place_of(const Arrangement& how) const {
    return module_.kernels()[0].inplace[static_cast<size_t>(how.in_place)].second;
  }

  bool compare_outputs(const Arrangement& how, std::string_view check,
                       const std::vector<std::unique_ptr<Argument>>& args,
                       const Buffers& expected) {
    for (size_t k = 0; k < outputs_.size(); ++k) {
      size_t place = inputs_.size() + k;
      const Argument& argument = *args[shared(how, place)];
      if (!argument.gaps_are_whole()) {
        report("guards", cat(labelled(how), "it writes outside of output ", k));
        return false;
      }
      std::vector<std::byte> got = argument.read();
      // sigmoid(-30) is computed from values about 1 by some, as 0
      const bool is_near_one = test_.is_chain || how.large_values;
      Comparison found =
          compare(*outputs_[k], got.data(), expected[k]->data(), kFill, test_.is_exact,
                  is_near_one ? rounding_of_chain(outputs_[k]->dtype) : 0);
      std::string which = outputs_.size() > 1 ? cat("output ", k, " ") : "";
      if (!found.difference.empty()) report(check, cat(labelled(how), which, found.difference));
      else if (found.unwritten >= 0)
        report("outputs", cat(labelled(how), "it leaves element ", found.unwritten, " of output ",
                              k, " ", outputs_[k], " unwritten"));
      if (!found.difference.empty() || found.unwritten >= 0) return false;
    }
    return true;
  }

  const LoadedPlugin& tested_;
  const FunctionTest& test_;
  const IRModule* reference_ = nullptr;
  const Function* main_ = nullptr;
  const OpenRun* run_ = nullptr;  // of a function with open sizes
  uint64_t seed_;
  const ReportFinding& report_;
  std::vector<TypeId> inputs_, outputs_;
  bool is_empty_ = false, declined_ = false;
  int64_t graph_nodes_ = 0;
  LoadedModule module_;
};

std::shared_ptr<const Buffer> read_only(const Buffer& buffer, const std::string& name) {
  auto memory = std::make_shared<GuardedMemory>(name, buffer.size(), 64, Placement::kAtEnd);
  std::copy(buffer.bytes().begin(), buffer.bytes().end(), memory->data());
  memory->make_read_only();
  return Buffer::adopt_keyed({memory->data(), buffer.size()}, memory, buffer.key());
}

// Only compile may decline.
Status failed_slot(std::string_view slot, const Status& status) {
  const bool declines = status.code() == Code::kDeclined && slot == "compile";
  return Status(declines ? Code::kDeclined : Code::kInternal,
                cat(slot, " fails: ", status.message()));
}

}  // namespace

uint64_t workspace_bytes(const LoadedModule::Kernel& kernel, const OpenRun* run) {
  if (kernel.open_workspace.empty() || run == nullptr) return kernel.workspace_bytes;
  const auto bytes = SizeExpression::parse(kernel.open_workspace);
  if (!bytes.ok()) return 0;
  std::vector<int64_t> sizes;
  for (const std::string& name : bytes->names()) {
    const auto found = std::ranges::find(run->names, name);
    if (found == run->names.end()) return 0;
    sizes.push_back(run->sizes[static_cast<size_t>(found - run->names.begin())]);
  }
  const auto value = bytes->evaluate(sizes);
  return value.ok() ? static_cast<uint64_t>(*value) : 0;
}

Result<LoadedModule> load_function(const LoadedPlugin& tested, const std::string& label,
                                   const IRModule& module, const std::string& point_json) {
  CompileFunction function = compile_function(module, "conform_0");
  function.point_json = point_json;
  for (size_t k = 0; k < function.buffers.size(); ++k)
    function.buffers[k] = read_only(*function.buffers[k], cat("constant ", k));
  process::doing(cat("compile, ", label));
  CompileResult result = tested.plugin->compile({&function, 1}, "{}", 1, 0);
  if (!result.status.ok()) return failed_slot("compile", result.status);
  process::doing(cat("load, ", label));
  Buffers distinct;
  for (const auto& buffer : function.buffers) {
    bool known = std::any_of(distinct.begin(), distinct.end(),
                             [&](const auto& other) { return other->key() == buffer->key(); });
    if (!known) distinct.push_back(buffer);
  }
  Result<DeviceConstants> there = constants_there(tested, result.module, function.buffers);
  if (!there.ok()) return failed_slot("copy", there.status());
  auto loaded = tested.plugin->load(result.module, distinct, 1, nullptr, true, there->addresses);
  tested.on_devices->push_back(*std::move(there));
  if (!loaded.ok()) return failed_slot("load", loaded.status());
  return loaded;
}

FunctionTestEnd run_function_test(const LoadedPlugin& tested, const FunctionTest& test,
                                  uint64_t seed, const ReportFinding& report) {
  return FunctionTestRun(tested, test, seed, report).run();
}

}  // namespace byoc::conform
