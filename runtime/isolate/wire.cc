// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/wire.h"

#include <algorithm>

namespace byoc::isolate {
namespace {

void put(Writer& to, const ContentKey& key) { to.plain(key.bytes); }
ContentKey get_key(Reader& from) { return {from.plain<decltype(ContentKey::bytes)>()}; }

void put(Writer& to, const TensorSpec& type) {
  to.number(static_cast<uint64_t>(type.dtype));
  to.number(type.dims.size());
  for (int64_t dim : type.dims) to.number(static_cast<uint64_t>(dim));
  to.number(type.counted);
  to.number(type.open.size());
  for (const std::string& size : type.open) to.text(size);
}

TensorSpec get_type(Reader& from) {
  TensorSpec type;
  type.dtype = static_cast<DType>(from.number());
  for (size_t n = from.count(); n > 0; --n)
    type.dims.push_back(static_cast<int64_t>(from.number()));
  type.counted = static_cast<uint32_t>(from.number());
  for (size_t n = from.count(); n > 0; --n) type.open.push_back(from.text());
  return type;
}

void put(Writer& to, const ExternalConstant& constant) {
  to.text(constant.name);
  put(to, constant.key);
  put(to, constant.type);
  to.number(constant.use);
}

ExternalConstant get_constant(Reader& from) {
  ExternalConstant constant;
  constant.name = from.text();
  constant.key = get_key(from);
  constant.type = get_type(from);
  constant.use = static_cast<uint8_t>(from.number());
  return constant;
}

void put(Writer& to, const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  to.number(pairs.size());
  for (const auto& pair : pairs) to.plain(pair.first), to.plain(pair.second);
}

std::vector<std::pair<uint32_t, uint32_t>> get_pairs(Reader& from) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (size_t n = from.count(); n > 0; --n) {
    const auto in = from.plain<uint32_t>();
    pairs.emplace_back(in, from.plain<uint32_t>());
  }
  return pairs;
}

// Work counts, locs and aliases are the host's: they do not cross.
void put(Writer& to, const ExternalFunction& function) {
  to.text(function.symbol);
  to.number(function.n_in);
  to.number(function.n_out);
  to.number(function.constants.size());
  for (const ExternalConstant& constant : function.constants) put(to, constant);
  to.number(function.packed.size());
  for (const auto& [key, align] : function.packed) put(to, key), to.number(align);
  put(to, function.inplace);
  to.number(function.workspace_bytes);
  to.number(function.workspace_align);
  to.number(function.flags);
  to.text(function.implementation);
}

ExternalFunction get_external(Reader& from) {
  ExternalFunction function;
  function.symbol = from.text();
  function.n_in = static_cast<uint32_t>(from.number());
  function.n_out = static_cast<uint32_t>(from.number());
  for (size_t n = from.count(); n > 0; --n) function.constants.push_back(get_constant(from));
  for (size_t n = from.count(); n > 0; --n) {
    const ContentKey key = get_key(from);
    function.packed.emplace_back(key, from.number());
  }
  function.inplace = get_pairs(from);
  function.workspace_bytes = from.number();
  function.workspace_align = from.number();
  function.flags = from.number();
  function.implementation = from.text();
  return function;
}

}  // namespace

void put(Writer& to, const Status& status) {
  to.number(static_cast<uint64_t>(status.code()));
  for (const std::string* text :
       {&status.message(), &status.slug(), &status.where(), &status.help()})
    to.text(*text);
}

Status get_status(Reader& from) {
  const uint64_t code = from.number();
  std::string message = from.text(), slug = from.text(), where = from.text(), help = from.text();
  if (code == 0) return {};
  Status out(
      code <= static_cast<uint64_t>(Code::kBadGraph) ? static_cast<Code>(code) : Code::kUnknown,
      std::move(message));
  if (!slug.empty()) out = std::move(out).with_slug(std::move(slug));
  if (!help.empty()) out = std::move(out).with_help(std::move(help));
  if (!where.empty()) out = std::move(out).at(where);
  return out;
}

void put(Writer& to, const PluginFacts& facts) {
  to.text(facts.version);
  to.number(facts.abi_minor);
  to.number(facts.flags);
  to.number(static_cast<uint64_t>(facts.priority));
  to.number(facts.max_ops);
  to.number(facts.max_bytes);
  to.number(facts.has_judge);
  to.number(facts.has_partition);
  to.number(facts.patterns.size());
  for (const PluginPattern& pattern : facts.patterns) {
    to.text(pattern.name);
    to.text(pattern.dag_json);
    to.plain(pattern.priority);
    to.plain(pattern.flags);
  }
}

PluginFacts get_facts(Reader& from) {
  PluginFacts facts;
  facts.version = from.text();
  facts.abi_minor = static_cast<uint32_t>(from.number());
  facts.flags = static_cast<uint32_t>(from.number());
  facts.priority = static_cast<int64_t>(from.number());
  facts.max_ops = from.number();
  facts.max_bytes = from.number();
  facts.has_judge = from.number() != 0;
  facts.has_partition = from.number() != 0;
  for (size_t n = from.count(); n > 0; --n) {
    PluginPattern pattern;
    pattern.name = from.text();
    pattern.dag_json = from.text();
    pattern.priority = from.plain<int32_t>();
    pattern.flags = from.plain<uint32_t>();
    facts.patterns.push_back(std::move(pattern));
  }
  return facts;
}

void put(Writer& to, const Verdict& verdict) {
  to.number(verdict.accept);
  to.number(verdict.est_ns);
  to.text(verdict.reason);
}

Verdict get_verdict(Reader& from) {
  Verdict verdict;
  verdict.accept = static_cast<Verdict::Accept>(std::min<uint64_t>(from.number(), Verdict::kSlow));
  verdict.est_ns = from.number();
  verdict.reason = from.text();
  return verdict;
}

void put(Writer& to, const byoc_machine* machine) {
  to.number(machine != nullptr);
  if (machine == nullptr) return;
  to.plain(*machine);
  for (uint32_t k = 0; k < machine->n_levels; ++k) to.plain(machine->levels[k]);
}

bool get_machine(Reader& from, byoc_machine& machine, std::vector<byoc_machine_level>& levels) {
  if (from.number() == 0) return false;
  machine = from.plain<byoc_machine>();
  for (uint32_t k = 0; k < machine.n_levels && from.ok(); ++k)
    levels.push_back(from.plain<byoc_machine_level>());
  machine.h.ext = nullptr;
  machine.levels = levels.data();
  return from.ok();
}

void put(Writer& to, const std::shared_ptr<const Buffer>& buffer, SentKeys& sent) {
  to.number(buffer != nullptr);
  if (buffer == nullptr) return;
  const bool is_new = sent.insert(buffer->key()).second;
  put(to, buffer->key());
  to.number(is_new);
  if (is_new) buffer->verify();  // puts it in order; the process compares it with the key
  if (is_new) to.bytes(buffer->bytes());
}

std::shared_ptr<const Buffer> get_buffer(Reader& from, Buffers& known, bool is_trusted) {
  if (from.number() == 0) return nullptr;
  const ContentKey key = get_key(from);
  if (from.number() == 0) {
    const auto found = known.find(key);
    if (found == known.end()) from.fail();
    return found == known.end() ? nullptr : found->second;
  }
  const auto bytes = from.bytes();
  auto buffer = is_trusted ? Buffer::adopt_keyed(bytes, from.owner(), key)
                           : Buffer::adopt(bytes, from.owner());
  if (buffer->key() != key) from.fail();
  known.emplace(key, buffer);
  return buffer;
}

void put(Writer& to, const CompileFunction& function, SentKeys& sent) {
  to.text(function.symbol);
  to.text(function.graph_json);
  to.number(function.constants.size());
  for (const ExternalConstant& constant : function.constants) put(to, constant);
  to.number(function.buffers.size());
  for (const auto& buffer : function.buffers) put(to, buffer, sent);
  to.number(function.n_in);
  to.number(function.n_out);
  to.text(function.point_json);
  to.number(function.gives_counted);
}

CompileFunction get_function(Reader& from, Buffers& known) {
  CompileFunction function;
  function.symbol = from.text();
  function.graph_json = from.text();
  for (size_t n = from.count(); n > 0; --n) function.constants.push_back(get_constant(from));
  for (size_t n = from.count(); n > 0; --n)
    function.buffers.push_back(get_buffer(from, known, true));
  function.n_in = static_cast<uint32_t>(from.number());
  function.n_out = static_cast<uint32_t>(from.number());
  function.point_json = from.text();
  function.gives_counted = from.number() != 0;
  if (function.constants.size() != function.buffers.size()) from.fail();
  return function;
}

void put(Writer& to, const CompileOptions& options) {
  to.text(options.target_json);
  to.number(options.threads);
  to.number(options.flags);
}

CompileOptions get_options(Reader& from) {
  CompileOptions options;
  options.target_json = from.text();
  options.threads = static_cast<uint32_t>(from.number());
  options.flags = static_cast<uint32_t>(from.number());
  return options;
}

void put(Writer& to, const ExternalModule& module, SentKeys& sent) {
  for (const std::string* text :
       {&module.plugin, &module.plugin_version, &module.compat, &module.options_json})
    to.text(*text);
  to.number(module.flags);
  to.number(module.functions.size());
  for (const ExternalFunction& function : module.functions) put(to, function);
  put(to, module.blob, sent);
  to.number(module.packed.size());
  for (const auto& [name, contents] : module.packed) put(to, name), put(to, contents);
}

ExternalModule get_module(Reader& from, Buffers& known, bool is_trusted) {
  ExternalModule module;
  for (std::string* text :
       {&module.plugin, &module.plugin_version, &module.compat, &module.options_json})
    *text = from.text();
  module.flags = from.number();
  for (size_t n = from.count(); n > 0; --n) module.functions.push_back(get_external(from));
  module.blob = get_buffer(from, known, is_trusted);
  for (size_t n = from.count(); n > 0; --n) {
    const ContentKey name = get_key(from);
    module.packed.emplace_back(name, get_key(from));
  }
  return module;
}

void put(Writer& to, const LoadedModule::Kernel& kernel) {
  to.number(kernel.workspace_bytes);
  to.number(kernel.workspace_align);
  to.number(kernel.flags);
  put(to, kernel.inplace);
  to.text({reinterpret_cast<const char*>(kernel.const_use.data()), kernel.const_use.size()});
  to.text(kernel.implementation);
  to.text(kernel.signature);
  to.text(kernel.open_workspace);
}

LoadedModule::Kernel get_kernel(Reader& from) {
  LoadedModule::Kernel kernel;
  kernel.workspace_bytes = from.number();
  kernel.workspace_align = from.number();
  kernel.flags = from.number();
  kernel.inplace = get_pairs(from);
  const std::string use = from.text();
  kernel.const_use.assign(use.begin(), use.end());
  kernel.implementation = from.text();
  kernel.signature = from.text();
  kernel.open_workspace = from.text();
  return kernel;
}

}  // namespace byoc::isolate
