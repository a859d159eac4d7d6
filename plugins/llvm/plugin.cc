// SPDX-License-Identifier: Apache-2.0
// The llvm plugin: the default codegen. Functions become loops, loops become LLVM IR, and all of a
// request becomes one native module, which the runtime loads without this plugin.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "byoc/base/buffer.h"
#include "byoc/base/env.h"
#include "byoc/ir/intern.h"
#include "byoc/plugin/sdk.h"
#include "plugins/llvm/estimate/estimate.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/functions.h"
#include "plugins/llvm/knobs.h"
#include "plugins/llvm/module.h"
#include "plugins/llvm/sequence.h"
#include "plugins/llvm/store/build_id.h"

namespace byoc::llvm_plugin {
namespace {

/// Throws the error of compile that the host expects: a function that has no code goes to
/// another codegen.
[[noreturn]] void fail(const Status& status, int64_t function) {
  if (status.code() == Code::kUnimplemented) throw sdk::Declined(status.message(), -1, function);
  throw sdk::Error(static_cast<uint32_t>(status.code()), status.message(), -1, function);
}

template <class T>
T value_of(Result<T> result, int64_t function = -1) {
  if (!result.ok()) fail(result.status(), function);
  return *std::move(result);
}

class LlvmPlugin : public sdk::Plugin {
 public:
  void open(const sdk::Options& options) override {
    const std::string root = user_cache_folder(), own = root.empty() ? "" : root + "/llvm";
    const std::string folder = options.get("cache_dir", own);  // which makes it a known option
    cache_folder_ = options.get_bool("cache", true) ? folder : "";
    families_ = options.get("families", "");
    if (Status status = check_families(families_); !status.ok()) fail(status, -1);
    shares_all_ = options.get_bool("shares_all", false);
  }
  std::vector<sdk::Pattern> patterns() const override { return {}; }  // judge gets every op
  sdk::Verdict judge(const sdk::Graph& graph) const override {
    Status status = can_translate(graph.json, host_target());
    return status.ok() ? sdk::Verdict::yes() : sdk::Verdict::no(status.message());
  }
  sdk::Verdict judge_on(const sdk::Graph& graph, const sdk::Machine& machine) const override {
    double ns = 0;
    Status status = can_translate(graph.json, host_target(), [&](const IRModule& module) {
      ns = estimate_ns(module, graph.inputs.size(), machine);
    });
    if (!status.ok()) return sdk::Verdict::no(status.message());
    return sdk::Verdict::yes({.est_ns = sdk::est_ns(ns)});
  }
  std::vector<sdk::WantedLayout> layouts(std::string_view target_json) const override;
  std::unique_ptr<sdk::Module> compile_module(sdk::CompileRequest& request) override;
  std::unique_ptr<sdk::Module> load_module(const byoc_load& load) override;
  std::optional<uint32_t> compat(std::string_view text) const override;
  std::string show(sdk::CompileRequest& request, std::string_view form) override;
  sdk::KnobSpace knobs(sdk::CompileRequest& request) override;
  std::vector<sdk::Group> partition(sdk::CompileRequest& request) override;

 private:
  KernelCache open_cache() const;
  te::Target target_of(const byoc_compile& request) const;
  void pack_again(const byoc_load& load, const SavedModule& saved,
                  std::vector<KernelConstants>& constants) const;

  std::string cache_folder_;
  std::string families_;     // kFamiliesAttr of all functions
  bool shares_all_ = false;  // te::Target, for tests
};

te::Target target_named(std::string_view text) {
  return text.empty() ? host_target() : value_of(te::parse_target(text));
}

// Returns blocks of channels, which are a vector of f32, or two where vectors are short, and panels
// of columns, which are two blocks. Extents that these do not divide get smaller ones, but panels
// have whole vectors: the plugin packs other constant matrices itself, with a last panel of zeros.
std::vector<sdk::WantedLayout> LlvmPlugin::layouts(std::string_view target_json) const {
  const bool is_wide = target_named(target_json).lanes(sizeof(float)) >= 16;
  std::vector<sdk::WantedLayout> rows = {{"conv2d", 8}, {"matmul", 16}, {"matmul", 8}};
  if (is_wide) rows = {{"conv2d", 16}, {"conv2d", 8}, {"matmul", 32}, {"matmul", 16}};
  for (const char* op :
       {"conv2d_integers", "matmul_integers", "add_integers", "matmul_blocks", "matmul_widened"})
    rows.push_back({op, 1});
  return rows;
}

te::Target LlvmPlugin::target_of(const byoc_compile& request) const {
  te::Target target = target_named(sdk::to_view(request.target_json));
  target.threads = std::max(request.threads, 1u);
  target.shares_all = target.shares_all || shares_all_;
  return target;
}

/// Runs work on the host's threads, whose number the user limits.
void for_each(size_t n, const std::function<void(size_t)>& work) {
  sdk::host().parallel_for(n, 1, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t k = begin; k < end; ++k) work(k);
  });
}

CompileOptions options_of(const sdk::CompileRequest& request, const KernelCache& cache) {
  CompileOptions options;
  options.for_each = for_each;
  options.cache = &cache;
  options.is_cancelled = [cancel = request.cancel()] { return cancel.is_requested(); };
  options.set_progress = [cancel = request.cancel()](uint32_t permille) {
    cancel.progress(permille, 1000, "compiling with llvm");
  };
  return options;
}

std::vector<FunctionToLower> functions_of(const sdk::CompileRequest& request,
                                          const std::string& families) {
  const bool is_strict = (request.raw.flags & BYOC_STRICT_FP) != 0;
  const bool shares_weights = (request.raw.flags & BYOC_SHARED_WEIGHTS) != 0;
  std::vector<FunctionToLower> out;
  for (const sdk::Function& f : request.functions) {
    const RequestFacts facts{std::ssize(f.constants), is_strict, shares_weights, families};
    out.push_back({f.graph_json, facts, f.point});
  }
  return out;
}

/// Runs work on the functions of a request, until it is cancelled.
ForEach each_of(const sdk::CompileRequest& request) {
  return [&request](size_t n, const std::function<void(size_t)>& work) {
    for_each(n, [&](size_t k) {
      request.functions[k].cancel.check();
      work(k);
    });
  };
}

std::string key_of(const byoc_const& constant) {
  return {reinterpret_cast<const char*>(constant.key), sizeof constant.key};
}

Signature signature_of(sdk::Function& function, const Workspace& workspace) {
  Signature out{function.graph.symbol,
                static_cast<uint32_t>(function.graph.inputs.size()),
                static_cast<uint32_t>(function.graph.outputs.size()),
                workspace,
                {},
                function.graph.signature()};
  for (size_t c = 0; c < function.constants.size(); ++c)
    out.constants.push_back(key_of(function.constants.raw(c)));
  out.const_use = function.constants.use();
  out.inplace = inplace_of(function.graph);
  return out;
}

/// Returns the types of byoc_native_call.data: constants that are kept follow the inputs, then
/// packed ones.
std::string native_signature(const sdk::Graph& graph, const std::optional<ConstantKernel>& loops,
                             const PackedConstants& packed) {
  std::vector<sdk::Type> constants;
  for (size_t k = 0; k < graph.constants.size(); ++k) {
    if (!loops || loops->is_kept[k]) constants.push_back(graph.types[graph.constants[k].type]);
  }
  for (const auto& one : packed)
    constants.push_back({sdk::DType::kU8, {static_cast<int64_t>(one.bytes.size())}});
  return graph.signature_with(constants);
}

/// The kernels of all functions and of their sequences, and those that make packed constants.
struct Kernels {
  std::vector<std::shared_ptr<const Kernel>> of_function, callees;
  std::vector<std::optional<ConstantKernel>> constants;  // per function
};

std::vector<const Kernel*> pointers_to(std::span<const std::shared_ptr<const Kernel>> kernels) {
  std::vector<const Kernel*> out;
  for (const auto& kernel : kernels) out.push_back(kernel.get());
  return out;
}

void add_sequences(std::span<const CompiledFunction> functions, const Machine& machine,
                   Kernels& out) {
  std::vector<LinkedSequence> sequences;
  for (const CompiledFunction& function : functions) {
    if (function.sequence) sequences.push_back({*function.sequence, function.kernels});
  }
  if (sequences.empty()) return;
  CompiledSequences compiled = value_of(compile_sequences(sequences, machine));
  size_t next = 0;
  for (size_t f = 0; f < functions.size(); ++f) {
    if (!functions[f].sequence) continue;
    const auto& pieces = sequences[next].pieces;
    out.callees.insert(out.callees.end(), pieces.begin(), pieces.end());
    out.of_function[f] = std::make_shared<const Kernel>(std::move(compiled.functions[next++]));
  }
  out.callees.push_back(std::make_shared<const Kernel>(std::move(compiled.code)));
}

Kernels compile_all(const sdk::CompileRequest& request, std::span<const FunctionToLower> functions,
                    const te::Target& target, const Machine& machine,
                    const CompileOptions& options) {
  CompiledFunctions compiled = compile_functions(
      functions, target, (request.raw.flags & BYOC_STRICT_FP) == 0, options, each_of(request));
  for (size_t f = 0; f < compiled.errors.size(); ++f)  // first: others may have no kernels then
    if (!compiled.errors[f].ok()) fail(compiled.errors[f], static_cast<int64_t>(f));
  Kernels out;
  for (size_t f = 0; f < compiled.functions.size(); ++f) {
    CompiledFunction& function = compiled.functions[f];
    const std::vector<std::string>& sizes = request.functions[f].graph.sizes;
    out.of_function.push_back(function.sequence ? nullptr
                                                : with_names(function.kernels.at(0), sizes));
    out.constants.push_back(std::move(function.constants));
  }
  add_sequences(compiled.functions, machine, out);
  return out;
}

// Links the code that makes the packed constants of all functions.
Packing packing_of(const Kernels& kernels) {
  std::vector<const ConstantKernel*> makers;
  for (const auto& constants : kernels.constants)
    if (constants) makers.push_back(&*constants);
  if (makers.empty()) return {};
  const Machine machine = value_of(machine_of(host_target()));
  const bool has_tiles = std::ranges::any_of(makers, &Kernel::has_tiles, &ConstantKernel::kernel);
  return {value_of(link_constants(makers, machine)), compat_of(machine, has_tiles)};
}

std::vector<PackedConstants> packed_constants(sdk::CompileRequest& request, const Kernels& kernels,
                                              const Packing& packing) {
  std::vector<ConstantInputs> inputs;
  for (sdk::Function& function : request.functions) {
    const auto& constants = kernels.constants[function.index];
    if (!constants) continue;
    auto& read = inputs.emplace_back();
    for (uint64_t c : constants->reads) {
      read.data.push_back(function.constants.data<void>(c));
      read.keys += key_of(function.constants.raw(c));
    }
  }
  std::vector<PackedConstants> made = value_of(run_constants(packing.code, inputs));
  std::vector<PackedConstants> out;
  size_t next = 0;
  for (const auto& constants : kernels.constants)
    out.push_back(constants ? std::move(made[next++]) : PackedConstants());
  return out;
}

KernelConstants constants_of(sdk::Function& function, const std::optional<ConstantKernel>& loops,
                             PackedConstants packed) {
  KernelConstants out{{}, std::move(packed)};
  for (size_t c = 0; c < function.constants.size(); ++c) {
    if (!loops || loops->is_kept[c]) out.held.push_back(function.constants.keep(c));
  }
  return out;
}

// The cache is of this build of the plugin, because another one may make other code. The image that
// runs counts, and not its file, which may be a newer build already.
KernelCache LlvmPlugin::open_cache() const {
  static const int in_this_image = 0;
  static const std::string build = build_id_at(&in_this_image);
  return {build.empty() ? "" : cache_folder_, build};  // unknown: nothing can be cached
}

std::unique_ptr<sdk::Module> LlvmPlugin::compile_module(sdk::CompileRequest& request) {
  te::Target target = target_of(request.raw);
  Machine machine = value_of(machine_of(target));
  const KernelCache cache = open_cache();
  Kernels kernels = compile_all(request, functions_of(request, families_), target, machine,
                                options_of(request, cache));
  Packing packing = packing_of(kernels);
  std::vector<PackedConstants> packed = packed_constants(request, kernels, packing);
  std::vector<Signature> signatures;
  std::vector<std::string> native_signatures;
  std::vector<KernelConstants> constants;
  for (sdk::Function& function : request.functions) {
    const size_t f = signatures.size();
    native_signatures.push_back(native_signature(function.graph, kernels.constants[f], packed[f]));
    constants.push_back(constants_of(function, kernels.constants[f], std::move(packed[f])));
    Signature& signature =
        signatures.emplace_back(signature_of(function, kernels.of_function[f]->workspace));
    if (const auto& loops = kernels.constants[f])
      signature.packed_from.emplace(loops->reads.begin(), loops->reads.end());
  }
  std::string object = value_of(link_native(pointers_to(kernels.of_function), machine,
                                            native_signatures, pointers_to(kernels.callees)));
  const bool has_tiles = std::ranges::any_of(kernels.of_function, &Kernel::has_tiles) ||
                         std::ranges::any_of(kernels.callees, &Kernel::has_tiles);
  return std::make_unique<NativeModule>(std::move(object), compat_of(machine, has_tiles),
                                        std::move(signatures), std::move(constants),
                                        std::move(packing));
}

/// Compiles without the cache, so that the text is the same whatever the cache has.
std::string LlvmPlugin::show(sdk::CompileRequest& request, std::string_view form) {
  if (form != "llvm" && form != "asm" && form != "work") return Plugin::show(request, form);
  te::Target target = target_of(request.raw);
  Machine machine = value_of(machine_of(target));
  std::string out;
  const std::vector<FunctionToLower> functions = functions_of(request, families_);
  std::vector<FunctionModule> modules = read_functions(functions, each_of(request));
  EmitOptions emit{(request.raw.flags & BYOC_STRICT_FP) == 0, target.threads};
  emit.shares_all = target.shares_all;
  for (size_t f = 0; f < functions.size(); ++f) {
    const Lowered function = value_of(lower_function(modules[f], target, functions[f].point),
                                      static_cast<int64_t>(request.functions[f].index));
    if (form == "work") out += work_of(function, target);
    for (size_t k = 0; form != "work" && k < function.kernels.size(); ++k) {
      Listings code = value_of(list_kernel(function.kernels[k], machine, emit));
      out += form == "llvm" ? code.llvm : code.assembly;
    }
  }
  return out;
}

sdk::KnobSpace published(FunctionSpace space) {
  auto& [knobs, guesses] = space.choices;
  sdk::KnobSpace out{space.task, space.kind, space.flops, space.bytes, {}, std::move(guesses)};
  for (const topi::Knob& knob : knobs) out.knobs.push_back({knob.name, knob.values});
  if (!space.compute_ns.empty()) out.cost_ns["compute"] = std::move(space.compute_ns);
  if (!space.constant_bytes.empty()) out.constant_bytes["compute"] = space.constant_bytes;
  return out;
}

sdk::KnobSpace LlvmPlugin::knobs(sdk::CompileRequest& request) {
  if (!request.functions.at(0).graph.loops.empty()) return {};  // written as they are to run
  std::vector<FunctionModule> modules = read_functions(functions_of(request, families_), for_each);
  if (!modules[0].error.ok()) fail(modules[0].error, 0);
  const te::Target target = target_of(request.raw);
  const KernelCache cache = open_cache();
  const std::string name = cache.is_usable() ? name_in_cache('s', modules[0], target, "knobs") : "";
  if (auto known = cache.find_space(name)) return *std::move(known);
  InternScope scope(modules[0].arena);
  std::optional<FunctionSpace> space = value_of(space_of(modules[0].module, target), 0);
  const sdk::KnobSpace out = space ? published(*std::move(space)) : sdk::KnobSpace();
  cache.put_space(name, out);
  return out;
}

std::vector<sdk::Group> LlvmPlugin::partition(sdk::CompileRequest& request) {
  std::vector<sdk::Group> out;
  for (const KernelGroup& group :
       value_of(groups_of_graph(functions_of(request, families_).at(0)), 0))
    out.push_back({std::string(group.family), {group.nodes.begin(), group.nodes.end()}});
  return out;
}

/// Returns the host's constant with that key, held.
sdk::Held keep(const byoc_load& load, const std::string& key) {
  for (uint64_t k = 0; k < load.n_consts; ++k) {
    const byoc_const& raw = *load.consts[k];
    if (std::memcmp(raw.key, key.data(), sizeof raw.key) != 0) continue;
    byoc_held held{};
    sdk::detail::check(sdk::host().table()->const_keep(raw.ref, &held));
    return sdk::Held(held);
  }
  throw sdk::Error(BYOC_DATA_LOSS, "a constant of the saved module is not in the artifact");
}

/// Makes the packed constants of a saved module, as compile did.
void LlvmPlugin::pack_again(const byoc_load& load, const SavedModule& saved,
                            std::vector<KernelConstants>& constants) const {
  if (compat(saved.packing.compat) == 1)
    throw sdk::Error(BYOC_FAILED_PRECONDITION,
                     "its packed constants are for another processor; compile the model again");
  std::vector<sdk::Held> held;
  std::vector<ConstantInputs> inputs;
  for (const Signature& function : saved.functions) {
    if (!function.packed_from) continue;
    auto& read = inputs.emplace_back();
    for (uint64_t c : *function.packed_from) {
      if (c >= function.constants.size())
        throw sdk::Error(BYOC_DATA_LOSS, "the saved module is cut short or changed");
      held.push_back(keep(load, function.constants[c]));
      read.data.push_back(held.back().data<char>());
      read.keys += function.constants[c];
    }
  }
  if (inputs.size() != saved.packing.code.makers.size())
    throw sdk::Error(BYOC_DATA_LOSS, "the saved module is cut short or changed");
  auto made = value_of(run_constants(saved.packing.code, inputs));
  size_t next = 0;
  for (size_t f = 0; f < constants.size(); ++f)
    if (saved.functions[f].packed_from) constants[f].packed = std::move(made[next++]);
}

std::unique_ptr<sdk::Module> LlvmPlugin::load_module(const byoc_load& load) {
  if ((load.flags & BYOC_NO_NATIVE) != 0)
    throw sdk::Error(BYOC_PERMISSION_DENIED, "the module is native code, which is not allowed");
  SavedModule saved = read_saved({static_cast<const char*>(load.blob.p), load.blob.n});
  std::vector<KernelConstants> constants;
  for (const Signature& function : saved.functions) {
    std::vector<sdk::Held>& held = constants.emplace_back().held;
    for (size_t c = 0; c < function.constants.size(); ++c) {
      if (function.keeps(c)) held.push_back(keep(load, function.constants[c]));
    }
  }
  if (!saved.packing.code.makers.empty()) pack_again(load, saved, constants);
  return std::make_unique<NativeModule>(
      std::move(saved.object), std::string(sdk::to_view(load.compat)), std::move(saved.functions),
      std::move(constants), std::move(saved.packing));
}

/// Checks like the runtime: every feature that the code uses is one that the processor has.
std::optional<uint32_t> LlvmPlugin::compat(std::string_view text) const {
  if (!text.starts_with("cpu=")) return 0;
  const te::Target here = host_target();
  for (text.remove_prefix(4); !text.empty();) {
    size_t end = std::min(text.find(','), text.size());
    if (std::find(here.features.begin(), here.features.end(), text.substr(0, end)) ==
        here.features.end())
      return 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 3;
}

}  // namespace
}  // namespace byoc::llvm_plugin

BYOC_PLUGIN(byoc::llvm_plugin::LlvmPlugin, "llvm", "0.1.0",
            .flags = BYOC_PLUGIN_DEFAULT | BYOC_PLUGIN_ONE_ANCHOR | BYOC_PLUGIN_LOOPS |
                     BYOC_PLUGIN_OPEN_SIZES,
            .priority = 100,
            .max_ops = 1 << 20)  // large functions are split here (split.h)
