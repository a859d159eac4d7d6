// SPDX-License-Identifier: Apache-2.0
// Plugin::compile: turns functions into bytes; no object of the plugin stays alive. The slots that
// write texts about a function: show, knobs, partition.
#include <algorithm>
#include <bit>
#include <new>

#include "byoc/base/check.h"
#include "byoc/base/json.h"
#include "runtime/host/host.h"
#include "runtime/host/kernel_facts.h"
#include "runtime/host/packed.h"
#include "runtime/host/threads.h"
#include "runtime/isolate/remote_plugin.h"

namespace byoc {
namespace {

/// The flags that the artifact records: a graph that load compiles again must become
/// the same kernel.
constexpr uint32_t kFlagsForLoad = BYOC_STRICT_FP;

/// Returns what a process that runs the plugin is watched by.
isolate::Watch watch_of(const Cancellation* cancel) {
  if (cancel == nullptr) return {};
  return {[cancel] { return cancel->is_cancelled(); },
          [cancel](uint32_t permille, std::string_view what) {
            host_table()->progress(cancel->raw(), permille, to_str(what));
          }};
}

struct ModuleGuard {
  const byoc_plugin& table;
  byoc_module* module = nullptr;
  ~ModuleGuard() {
    if (!module) return;
    PluginCallScope scope({table.id.p, table.id.n}, "release");
    table.release(module);
  }
};

/// The ABI's view of the functions to compile.
class CompileTable {
 public:
  Status fill(std::span<const CompileFunction> functions) {
    constants_.resize(functions.size());
    for (size_t k = 0; k < functions.size(); ++k) {
      BYOC_TRY_STATUS(add(functions[k], constants_[k]));
    }
    for (const byoc_function& function : functions_) pointers_.push_back(&function);
    return {};
  }
  const std::vector<const byoc_function*>& functions() const { return pointers_; }

 private:
  Status add(const CompileFunction& function, ConstantTable& constants) {
    BYOC_CHECK(function.buffers.size() == function.constants.size(), function.symbol);
    for (size_t k = 0; k < function.constants.size(); ++k) {
      BYOC_TRY_STATUS(constants.add(function.constants[k], function.buffers[k]));
    }
    auto raw = with_header<byoc_function>(BYOC_TAG_FUNCTION);
    raw.symbol = to_str(function.symbol);
    raw.graph_json = to_str(function.graph_json);
    raw.consts = constants.data();
    raw.n_consts = constants.size();
    raw.point = to_str(function.point_json);
    functions_.push_back(raw);
    return {};
  }
  std::vector<ConstantTable> constants_;
  std::vector<byoc_function> functions_;
  std::vector<const byoc_function*> pointers_;
};

/// Returns a request that points into its arguments.
byoc_compile request(const std::vector<const byoc_function*>& functions,
                     const std::string& options_json, const CompileOptions& options) {
  auto raw = with_header<byoc_compile>(BYOC_TAG_COMPILE);
  raw.functions = functions.data();
  raw.n_functions = functions.size();
  raw.options_json = to_str(options_json);
  raw.target_json = to_str(options.target_json);
  raw.threads = options.threads;
  raw.flags = options.flags;
  raw.cancel = options.cancel ? options.cancel->raw() : nullptr;
  return raw;
}

ExternalFunction describe(const CompileFunction& function, LoadedModule::Kernel kernel) {
  ExternalFunction out;
  out.symbol = function.symbol;
  out.n_in = function.n_in;
  out.n_out = function.n_out;
  out.constants = function.constants;
  for (size_t k = 0; k < out.constants.size(); ++k) out.constants[k].use = kernel.const_use[k];
  out.inplace = std::move(kernel.inplace);
  out.workspace_bytes = kernel.workspace_bytes;
  out.workspace_align = kernel.workspace_align;
  out.flags = kernel.flags;
  out.implementation = std::move(kernel.implementation);
  out.device = std::move(kernel.device);
  out.placement = std::move(kernel.placement);
  return out;
}

byoc_status* refuse_call(uint32_t code, std::string_view why) {
  return host_table()->status_new(nullptr, code, -1, -1, nullptr, 0, to_str(why));
}

/// The target of `save`: the blob, and packed constants per function.
struct SaveTarget {
  std::vector<std::byte> blob;
  CompileResult* result;
  const PackedScope* made;  // by the plugin in this compile

  static byoc_status* write(void* u, const void* bytes, uint64_t n) noexcept {
    try {
      auto& blob = static_cast<SaveTarget*>(u)->blob;
      auto* from = static_cast<const std::byte*>(bytes);
      blob.insert(blob.end(), from, from + n);
      return nullptr;
    } catch (...) {
      return refuse_call(BYOC_RESOURCE_EXHAUSTED, "no memory for the saved module");
    }
  }
  static byoc_status* packed(void* u, uint64_t function, byoc_bytes data, uint64_t align) noexcept {
    try {
      const SaveTarget& self = *static_cast<SaveTarget*>(u);
      CompileResult& result = *self.result;
      size_t functions = result.module.functions.size();
      if (function >= functions) {
        return refuse_call(BYOC_OUT_OF_RANGE,
                           cat("packed: function ", function, " of ", functions));
      }
      if (!std::has_single_bit(align) || align > Buffer::kAlignment) {
        return refuse_call(BYOC_INVALID_ARGUMENT,
                           cat("packed: alignment ", align, " is no power of two up to 64"));
      }
      const std::span bytes(static_cast<const std::byte*>(data.p), data.n);
      auto buffer = self.made->view(bytes);
      if (!buffer) buffer = Buffer::copy(bytes);
      result.module.functions[function].packed.emplace_back(buffer->key(), align);
      result.packed.push_back(std::move(buffer));
      return nullptr;
    } catch (...) {
      return refuse_call(BYOC_RESOURCE_EXHAUSTED, "no memory for a packed constant");
    }
  }
};

Status save_module(const byoc_plugin& table, const std::string& id, byoc_module* module,
                   const PackedScope& made, CompileResult& result) {
  SaveTarget target{{}, &result, &made};
  auto sink = with_header<byoc_sink>(BYOC_TAG_SINK);
  sink.u = &target;
  sink.write = SaveTarget::write;
  auto save = with_header<byoc_save>(BYOC_TAG_SAVE);
  save.blob = &sink;
  save.u = &target;
  save.packed = SaveTarget::packed;
  const std::string symbols = symbols_of(result.module.functions);
  BYOC_TRY_STATUS(call_plugin(id, {"save", symbols}, [&] { return table.save(module, &save); }));
  result.module.compat = text_of(save.compat);
  result.module.flags |= save.flags & UINT32_MAX;
  result.module.blob = Buffer::copy(target.blob);
  return {};
}

/// Adds what packed_get returned in compile to a module that keeps it.
void keep_packed(const PackedScope& scope, CompileResult& result) {
  if ((result.module.flags & BYOC_MODULE_PACKED) == 0) return;
  for (auto& [name, bytes] : scope.made()) {
    result.module.packed.emplace_back(name, bytes->key());
    result.packed.push_back(bytes);
  }
}

}  // namespace

CompileResult Plugin::compile(std::span<const CompileFunction> functions,
                              const CompileOptions& options) const {
  CompileResult result;
  try {
    if (remote_) {
      Cancellation::Scope scope(options.cancel);
      return remote_->compile(functions, options, watch_of(options.cancel));
    }
    result.status = compile_into(functions, options, result);
  } catch (const std::bad_alloc&) {
    result.status =
        Status(Code::kResourceExhausted, cat(id_, ": out of memory")).with_slug("no-memory");
  }
  return result;
}

Status Plugin::compile_into(std::span<const CompileFunction> functions,
                            const CompileOptions& options, CompileResult& result) const {
  CompileTable table;
  BYOC_TRY_STATUS(table.fill(functions));
  const byoc_compile raw = request(table.functions(), options_json_, options);
  // Before the lock, as where modules are loaded.
  ThreadScope threads(options.workers == 0 ? options.threads : options.workers);
  std::unique_lock alone(mutex_, std::defer_lock);
  std::shared_lock together(mutex_, std::defer_lock);
  if (has_parallel_compiles_) together.lock();
  else alone.lock();
  ModuleGuard guard{table_};
  Cancellation::Scope scope(options.cancel);
  PackedScope packed;
  const std::string symbols = symbols_of(functions);
  Status status = call_plugin(
      id_, {"compile", symbols}, [&] { return table_.compile(instance_, &raw, &guard.module); },
      &result.function, &result.node);
  status = unless_cancelled(options.cancel, id_, std::move(status));
  if (result.function >= static_cast<int64_t>(functions.size())) result.function = result.node = -1;
  if (status.code() == Code::kDeclined && result.function < 0) {
    return plugin_defect(id_,
                         cat("declined none of the ", functions.size(), " functions by its index"));
  }
  BYOC_TRY_STATUS(std::move(status));
  if (!guard.module) return plugin_defect(id_, "compile gave no module");
  result.module.plugin = id_;
  result.module.plugin_version = version_;
  result.module.options_json = options_json_;
  result.module.flags = uint64_t{options.flags & kFlagsForLoad} << 32;
  for (const CompileFunction& function : functions) {
    KernelShape shape{function.symbol, function.n_in, function.n_out, function.constants.size(),
                      function.gives_counted};
    BYOC_TRY(LoadedModule::Kernel kernel, read_kernel(table_, id_, guard.module, shape));
    result.module.functions.push_back(describe(function, std::move(kernel)));
  }
  BYOC_TRY_STATUS(save_module(table_, id_, guard.module, packed, result));
  keep_packed(packed, result);
  return {};
}

namespace {

byoc_status* append_text(void* u, const void* bytes, uint64_t n) noexcept {
  try {
    static_cast<std::string*>(u)->append(static_cast<const char*>(bytes), n);
    return nullptr;
  } catch (...) {
    return refuse_call(BYOC_RESOURCE_EXHAUSTED, "no memory for the text");
  }
}

}  // namespace

Result<std::string> Plugin::text_of_slot(
    const CompileFunction& function, const CompileOptions& options, std::string_view slot,
    const std::function<byoc_status*(const byoc_compile&, const byoc_sink&)>& call) const {
  CompileTable table;
  BYOC_TRY_STATUS(table.fill({&function, 1}));
  const byoc_compile raw = request(table.functions(), options_json_, options);
  std::string text;
  auto sink = with_header<byoc_sink>(BYOC_TAG_SINK);
  sink.u = &text;
  sink.write = append_text;
  ThreadScope threads(options.threads);  // before the lock, as in compile
  std::lock_guard lock(mutex_);
  Cancellation::Scope scope(options.cancel);
  Status status = call_plugin(id_, {slot, function.symbol}, [&] { return call(raw, sink); });
  BYOC_TRY_STATUS(unless_cancelled(options.cancel, id_, std::move(status)));
  return text;
}

Result<std::string> Plugin::show(const CompileFunction& function, const CompileOptions& options,
                                 std::string_view form) const {
  if (remote_) return remote_->show(function, options, form, watch_of(options.cancel));
  if (!table_.show) return unimplemented(cat(id_, ": shows no code"));
  return text_of_slot(function, options, "show", [&](const auto& raw, const auto& sink) {
    return table_.show(instance_, &raw, to_str(form), &sink);
  });
}

Result<std::string> Plugin::knobs(const CompileFunction& function,
                                  const CompileOptions& options) const {
  if (remote_) return remote_->knobs(function, options, watch_of(options.cancel));
  if (!table_.knobs) return std::string();
  return text_of_slot(function, options, "knobs", [&](const auto& raw, const auto& sink) {
    return table_.knobs(instance_, &raw, &sink);
  });
}

namespace {

constexpr uint32_t kMinorOfGroups = 8;  // before it the slot was reserved, of another type

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<uint32_t>> nodes_of(const Json& json, const std::string& name,
                                       uint64_t n_nodes) {
  std::vector<uint32_t> out;
  for (const Json& node : json) {
    if (!node.is_number_unsigned() || node.get<uint64_t>() >= n_nodes)
      return invalid(cat("group \"", name, "\" has the node ", json_text(node),
                         ", and the graph has ", n_nodes, " nodes"));
    out.push_back(node.get<uint32_t>());
  }
  if (out.size() < 2)
    return invalid(cat("group \"", name, "\" has ", out.size(),
                       out.size() == 1 ? " node" : " nodes", ", and a group has at least two"));
  std::vector<uint32_t> sorted = out;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    return invalid(cat("group \"", name, "\" has node ", *twice, " twice"));
  return out;
}

constexpr size_t kMostNameBytes = 256;  // names are printed

Result<PluginGroup> group_of(const Json& json, uint64_t n_nodes) {
  const bool is_group = json.is_object() && json.contains("name") && json.contains("nodes") &&
                        json["name"].is_string() && json["nodes"].is_array();
  if (!is_group)
    return invalid(
        cat("a group has the text \"name\" and the list \"nodes\", not ", json_text(json)));
  PluginGroup out{json["name"].get<std::string>(), {}};
  if (out.name.empty()) return invalid("a group has no name: \"name\" is empty");
  const bool is_text = std::ranges::all_of(
      out.name, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
  if (!is_text || out.name.size() > kMostNameBytes)
    return invalid(cat("the name of a group has control characters or more than ", kMostNameBytes,
                       " bytes: ", json_text(json["name"])));
  BYOC_TRY(out.nodes, nodes_of(json["nodes"], out.name, n_nodes));
  return out;
}

Result<std::vector<PluginGroup>> parse_groups(std::string_view text, uint64_t n_nodes) {
  BYOC_TRY(const Json json, parse_json(text));
  if (!json.is_object() || !json.contains("groups") || !json["groups"].is_array())
    return invalid("expected an object with the list \"groups\"");
  std::vector<PluginGroup> out;
  for (const Json& group : json["groups"]) {
    BYOC_TRY(PluginGroup read, group_of(group, n_nodes));
    out.push_back(std::move(read));
  }
  return out;
}

}  // namespace

bool Plugin::has_partition() const {
  if (remote_) return remote_->facts().has_partition;
  return is_default_codegen() && table_.abi_minor >= kMinorOfGroups && table_.partition != nullptr;
}

Result<std::vector<PluginGroup>> Plugin::partition(const CompileFunction& function,
                                                   uint64_t n_nodes,
                                                   const CompileOptions& options) const {
  if (!has_partition()) return std::vector<PluginGroup>();
  if (remote_) return remote_->partition(function, n_nodes, options, watch_of(options.cancel));
  BYOC_TRY(const std::string text,
           text_of_slot(function, options, "partition", [&](const auto& raw, const auto& sink) {
             return table_.partition(instance_, &raw, &sink);
           }));
  if (text.empty()) return std::vector<PluginGroup>();
  Result<std::vector<PluginGroup>> groups = parse_groups(text, n_nodes);
  if (groups.ok()) return groups;
  return Status(Code::kInternal, cat(id_, ": the groups of @", function.symbol,
                                     " cannot be used: ", groups.status().message()))
      .with_slug("bad-groups")
      .with_help("docs/plugin-abi.md (Groups) describes what the slot `partition` writes");
}

}  // namespace byoc
