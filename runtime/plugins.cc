#include "byoc/runtime/plugins.h"

#include <bit>
#include <cstring>
#include <map>
#include <new>

#include "runtime/host.h"

namespace byoc {
namespace {

constexpr uint64_t kDefaultMaxOps = 4096;
constexpr uint64_t kMaxWorkspace = uint64_t{1} << 46;

byoc_str to_str(std::string_view text) { return {text.data(), text.size()}; }
std::string text_of(byoc_str text) { return text.p ? std::string(text.p, text.n) : ""; }

template <class T>
T with_header(uint32_t tag) {
  T out{};
  out.h = {sizeof(T), tag, nullptr};
  return out;
}

/// A defect in what the plugin `id` gave us.
Status defect(const std::string& id, const std::string& what) {
  return Status(Code::kInternal, cat(id, ": ", what))
      .with_slug("plugin-defect")
      .with_help("a defect of the plugin");
}

/// Releases a module that was not handed on.
struct ModuleGuard {
  const byoc_plugin& table;
  byoc_module* module = nullptr;
  ~ModuleGuard() {
    if (module) table.release(module);
  }
};

struct KernelCheck {
  const std::string& id;
  const std::string& symbol;
  uint32_t n_in, n_out;
  size_t n_consts;

  Status operator()(const byoc_kernel_info& info) const {
    if (info.n_in != n_in || info.n_out != n_out) {
      return wrong(cat("takes ", info.n_in, " inputs and ", info.n_out, " outputs, its graph ",
                       n_in, " and ", n_out));
    }
    if (info.workspace_align != 0 &&
        (!std::has_single_bit(info.workspace_align) || info.workspace_align > 4096)) {
      return wrong(cat("wants its workspace aligned to ", info.workspace_align,
                       ", not a power of two up to 4096"));
    }
    if (info.workspace_bytes > kMaxWorkspace)
      return wrong(cat("wants a workspace of ", info.workspace_bytes, " bytes"));
    if (info.flags & BYOC_KERNEL_OUT_SHAPES)
      return wrong("wants to give output shapes at run time, which this byoc does not offer");
    if (info.device.device_type != kDLCPU && info.device.device_type != 0) {
      return wrong(cat("wants device type ", static_cast<int>(info.device.device_type),
                       ", this byoc has the CPU alone"));
    }
    BYOC_TRY_STATUS(check_inplace(info));
    return check_const_use(info);
  }

 private:
  Status wrong(const std::string& what) const {
    return defect(id, cat("kernel \"", symbol, "\" ", what));
  }
  Status check_inplace(const byoc_kernel_info& info) const {
    if (info.n_inplace != 0 && !info.inplace_pairs)
      return wrong("has in-place pairs at a null pointer");
    if (info.n_inplace > std::min(n_in, n_out))
      return wrong(cat("has ", info.n_inplace, " in-place pairs"));
    std::vector<bool> used_in(n_in), used_out(n_out);
    for (uint64_t k = 0; k < info.n_inplace; ++k) {
      uint32_t in = info.inplace_pairs[2 * k], out = info.inplace_pairs[2 * k + 1];
      if (in >= n_in || out >= n_out)
        return wrong(cat("has the in-place pair (", in, ", ", out, "), out of range"));
      if (used_in[in] || used_out[out])
        return wrong(cat("names input ", in, " or output ", out, " in two in-place pairs"));
      used_in[in] = used_out[out] = true;
    }
    return {};
  }
  Status check_const_use(const byoc_kernel_info& info) const {
    if (info.n_consts == 0) return {};  // absent: all are kept
    if (info.n_consts != n_consts || !info.const_use) {
      return wrong(cat("says the use of ", info.n_consts, " constants, its graph has ", n_consts));
    }
    for (uint64_t k = 0; k < info.n_consts; ++k) {
      if (info.const_use[k] > BYOC_CONST_KEPT)
        return wrong(cat("says use ", info.const_use[k], " of constant ", k));
    }
    return {};
  }
};

std::vector<uint8_t> const_use(const byoc_kernel_info& info, size_t n_consts) {
  if (info.n_consts == 0) return std::vector<uint8_t>(n_consts, BYOC_CONST_KEPT);
  return {info.const_use, info.const_use + info.n_consts};
}

/// The kernel of `check.symbol` and what it says of itself, checked.
Result<byoc_kernel*> read_kernel(const byoc_plugin& table, byoc_module* module,
                                 const KernelCheck& check, byoc_kernel_info& info) {
  byoc_kernel* kernel = nullptr;
  BYOC_TRY_STATUS(call_plugin(check.id, "kernel",
                              [&] { return table.kernel(module, to_str(check.symbol), &kernel); }));
  if (!kernel) return defect(check.id, cat("gave no kernel for \"", check.symbol, "\""));
  info = with_header<byoc_kernel_info>(BYOC_TAG_KERNEL_INFO);
  BYOC_TRY_STATUS(call_plugin(check.id, "info", [&] { return table.info(kernel, &info); }));
  BYOC_TRY_STATUS(check(info));
  return kernel;
}

ExternalFunction describe(const CompileFunction& function, const byoc_kernel_info& info) {
  ExternalFunction out;
  out.symbol = function.symbol;
  out.n_in = function.n_in;
  out.n_out = function.n_out;
  out.constants = function.constants;
  std::vector<uint8_t> use = const_use(info, out.constants.size());
  for (size_t k = 0; k < use.size(); ++k) out.constants[k].use = use[k];
  for (uint64_t k = 0; k < info.n_inplace; ++k)
    out.inplace.emplace_back(info.inplace_pairs[2 * k], info.inplace_pairs[2 * k + 1]);
  out.workspace_bytes = info.workspace_bytes;
  out.workspace_align = std::max<uint64_t>(info.workspace_align, 1);
  out.flags = info.flags;
  out.implementation = text_of(info.implementation);
  return out;
}

/// What `save` writes to: the blob, and packed constants per function.
struct SaveTarget {
  std::vector<std::byte> blob;
  CompileResult* result;

  static byoc_status* refuse(uint32_t code, std::string_view why) {
    return host_table()->status_new(nullptr, code, -1, -1, nullptr, 0, to_str(why));
  }
  static byoc_status* write(void* u, const void* bytes, uint64_t n) noexcept {
    try {
      auto& blob = static_cast<SaveTarget*>(u)->blob;
      auto* from = static_cast<const std::byte*>(bytes);
      blob.insert(blob.end(), from, from + n);
      return nullptr;
    } catch (...) {
      return refuse(BYOC_RESOURCE_EXHAUSTED, "no memory for the saved module");
    }
  }
  static byoc_status* packed(void* u, uint64_t function, byoc_bytes data, uint64_t align) noexcept {
    try {
      CompileResult& result = *static_cast<SaveTarget*>(u)->result;
      if (function >= result.module.functions.size())
        return refuse(BYOC_OUT_OF_RANGE, "packed: no such function");
      if (!std::has_single_bit(align) || align > Buffer::kAlignment) {
        return refuse(BYOC_INVALID_ARGUMENT, "packed: the alignment is no power of two up to 64");
      }
      auto buffer = Buffer::copy({static_cast<const std::byte*>(data.p), data.n});
      result.module.functions[function].packed.emplace_back(buffer->key(), align);
      result.packed.push_back(std::move(buffer));
      return nullptr;
    } catch (...) {
      return refuse(BYOC_RESOURCE_EXHAUSTED, "no memory for a packed constant");
    }
  }
};

Status save_module(const byoc_plugin& table, const std::string& id, byoc_module* module,
                   CompileResult& result) {
  SaveTarget target{{}, &result};
  auto sink = with_header<byoc_sink>(BYOC_TAG_SINK);
  sink.u = &target;
  sink.write = SaveTarget::write;
  auto save = with_header<byoc_save>(BYOC_TAG_SAVE);
  save.blob = &sink;
  save.u = &target;
  save.packed = SaveTarget::packed;
  BYOC_TRY_STATUS(call_plugin(id, "save", [&] { return table.save(module, &save); }));
  result.module.compat = text_of(save.compat);
  result.module.flags = save.flags;
  result.module.blob = Buffer::copy(target.blob);
  return {};
}

/// The ABI's view of what is to be compiled.
class CompileTable {
 public:
  Status fill(std::span<const CompileFunction> functions) {
    constants_.resize(functions.size());
    for (size_t k = 0; k < functions.size(); ++k) {
      const CompileFunction& function = functions[k];
      for (size_t c = 0; c < function.constants.size(); ++c) {
        BYOC_TRY_STATUS(constants_[k].add(function.constants[c], function.buffers[c]));
      }
      auto raw = with_header<byoc_function>(BYOC_TAG_FUNCTION);
      raw.symbol = to_str(function.symbol);
      raw.graph_json = to_str(function.graph_json);
      raw.consts = constants_[k].data();
      raw.n_consts = constants_[k].size();
      functions_.push_back(raw);
    }
    for (const byoc_function& function : functions_) pointers_.push_back(&function);
    return {};
  }
  const std::vector<const byoc_function*>& functions() const { return pointers_; }

 private:
  std::vector<ConstantTable> constants_;
  std::vector<byoc_function> functions_;
  std::vector<const byoc_function*> pointers_;
};

/// In-place pairs were planned for at compile: memory is shared whether the kernel still likes it
/// or not.
Status check_pairs_kept(const std::string& id, const ExternalFunction& function,
                        const byoc_kernel_info& info) {
  for (auto [in, out] : function.inplace) {
    bool kept = false;
    for (uint64_t k = 0; k < info.n_inplace; ++k)
      kept |= info.inplace_pairs[2 * k] == in && info.inplace_pairs[2 * k + 1] == out;
    if (!kept) {
      return Status(Code::kStaleArtifact,
                    cat(id, ": kernel \"", function.symbol, "\" no longer works in place"))
          .with_slug("stale-artifact")
          .with_help("compile the model again with this version of the plugin");
    }
  }
  return {};
}

template <class F>
auto without_throwing(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "out of memory");
  }
}

}  // namespace

LoadedModule::LoadedModule(const byoc_plugin* table, byoc_module* module)
    : table_(table), module_(module) {
  ++host_counts().modules;
}

LoadedModule::LoadedModule(LoadedModule&& other) noexcept
    : table_(other.table_),
      module_(std::exchange(other.module_, nullptr)),
      kernels_(std::move(other.kernels_)) {}

LoadedModule& LoadedModule::operator=(LoadedModule&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(module_, other.module_);
  std::swap(kernels_, other.kernels_);
  return *this;
}

LoadedModule::~LoadedModule() {
  if (!module_) return;
  table_->release(module_);
  --host_counts().modules;
}

Plugin::~Plugin() {
  if (!instance_) return;
  table_.close(instance_);
  --host_counts().instances;
}

Result<std::unique_ptr<Plugin>> Plugin::open(const std::string& path, const byoc_plugin& table,
                                             std::string options_json) {
  auto plugin = std::unique_ptr<Plugin>(new Plugin);
  plugin->table_ = table;
  plugin->path_ = path;
  plugin->id_ = text_of(table.id);
  plugin->version_ = text_of(table.version);
  plugin->options_json_ = std::move(options_json);
  BYOC_TRY_STATUS(call_plugin(plugin->id_, "open", [&] {
    return table.open(host_table(), to_str(plugin->options_json_), &plugin->instance_);
  }));
  if (!plugin->instance_) return defect(plugin->id_, "open gave no instance");
  ++host_counts().instances;
  BYOC_TRY_STATUS(plugin->read_patterns());
  return plugin;
}

Status Plugin::read_patterns() {
  const byoc_pattern* const* raw = nullptr;
  uint64_t n = 0;
  BYOC_TRY_STATUS(
      call_plugin(id_, "patterns", [&] { return table_.patterns(instance_, &raw, &n); }));
  if (n != 0 && !raw) return defect(id_, cat("gave ", n, " patterns at a null pointer"));
  for (uint64_t k = 0; k < n; ++k) {
    if (!raw[k] || raw[k]->h.tag != BYOC_TAG_PATTERN ||
        raw[k]->h.size < offsetof(byoc_pattern, priority)) {
      return defect(id_, cat("pattern ", k, " is no byoc_pattern"));
    }
    byoc_pattern pattern{};
    std::memcpy(&pattern, raw[k], std::min<size_t>(raw[k]->h.size, sizeof pattern));
    patterns_.push_back(
        {text_of(pattern.name), text_of(pattern.dag_json), pattern.priority, pattern.flags});
    if (patterns_.back().name.empty()) return defect(id_, cat("pattern ", k, " has no name"));
  }
  return {};
}

int64_t Plugin::priority() const { return table_.priority; }
uint32_t Plugin::flags() const { return table_.flags; }
bool Plugin::is_default_codegen() const { return table_.flags & BYOC_PLUGIN_DEFAULT; }
bool Plugin::is_horizontal() const { return table_.flags & BYOC_PLUGIN_HORIZONTAL; }
uint64_t Plugin::max_ops() const { return table_.max_ops ? table_.max_ops : kDefaultMaxOps; }
uint64_t Plugin::max_bytes() const { return table_.max_bytes; }
bool Plugin::has_judge() const { return table_.judge != nullptr; }

Result<Verdict> Plugin::judge(uint32_t pattern, std::string_view candidate_json) const {
  if (!has_judge()) return Verdict{Verdict::kYes, 0, ""};
  auto raw = with_header<byoc_verdict>(BYOC_TAG_VERDICT);
  BYOC_TRY_STATUS(call_plugin(id_, "judge", [&] {
    return table_.judge(instance_, pattern, to_str(candidate_json), &raw);
  }));
  if (raw.accept > Verdict::kSlow)
    return defect(id_, cat("judge answered ", raw.accept, ", not 0, 1 or 2"));
  Verdict verdict{static_cast<Verdict::Accept>(raw.accept), raw.est_ns, text_of(raw.reason)};
  if (verdict.reason.empty() && verdict.accept != Verdict::kYes) verdict.reason = "no reason given";
  return verdict;
}

CompileResult Plugin::compile(std::span<const CompileFunction> functions,
                              const std::string& target_json, uint32_t threads,
                              uint32_t flags) const {
  CompileResult result;
  result.status = without_throwing(
      [&] { return compile_into(functions, target_json, threads, flags, result); });
  return result;
}

Status Plugin::compile_into(std::span<const CompileFunction> functions,
                            const std::string& target_json, uint32_t threads, uint32_t flags,
                            CompileResult& result) const {
  CompileTable table;
  BYOC_TRY_STATUS(table.fill(functions));
  auto raw = with_header<byoc_compile>(BYOC_TAG_COMPILE);
  raw.functions = table.functions().data();
  raw.n_functions = table.functions().size();
  raw.options_json = to_str(options_json_);
  raw.target_json = to_str(target_json);
  raw.threads = threads;
  raw.flags = flags;
  std::lock_guard lock(mutex_);
  ModuleGuard guard{table_};
  Status status = call_plugin(
      id_, "compile", [&] { return table_.compile(instance_, &raw, &guard.module); },
      &result.function, &result.node);
  bool points_at_one =
      result.function >= 0 && static_cast<uint64_t>(result.function) < functions.size();
  if (status.code() == Code::kDeclined && !points_at_one)
    return defect(id_, cat("declined without naming one of the ", functions.size(),
                           " functions: ", status.message()));
  if (!points_at_one) result.function = result.node = -1;
  BYOC_TRY_STATUS(std::move(status));
  if (!guard.module) return defect(id_, "compile gave no module");
  result.module.plugin = id_;
  result.module.plugin_version = version_;
  result.module.options_json = options_json_;
  for (const CompileFunction& function : functions) {
    byoc_kernel_info info;
    KernelCheck check{id_, function.symbol, function.n_in, function.n_out,
                      function.constants.size()};
    BYOC_TRY_STATUS(read_kernel(table_, guard.module, check, info).status());
    result.module.functions.push_back(describe(function, info));
  }
  return save_module(table_, id_, guard.module, result);
}

Result<LoadedModule> Plugin::load(const ExternalModule& module,
                                  const std::vector<std::shared_ptr<const Buffer>>& constants,
                                  uint32_t threads) const {
  return without_throwing([&] { return load_module(module, constants, threads); });
}

Result<LoadedModule> Plugin::load_module(
    const ExternalModule& module, const std::vector<std::shared_ptr<const Buffer>>& constants,
    uint32_t threads) const {
  ConstantTable table;
  std::map<ContentKey, size_t> seen;
  for (const ExternalFunction& function : module.functions) {
    for (const ExternalConstant& constant : function.constants) {
      size_t index = seen.size();
      if (!seen.emplace(constant.key, index).second) continue;
      BYOC_TRY_STATUS(table.add(constant, index < constants.size() ? constants[index] : nullptr));
    }
  }
  auto raw = with_header<byoc_load>(BYOC_TAG_LOAD);
  if (module.blob) raw.blob = {module.blob->data(), module.blob->size()};
  raw.compat = to_str(module.compat);
  raw.options_json = to_str(module.options_json);
  raw.consts = table.data();
  raw.n_consts = table.size();
  raw.threads = threads;
  std::lock_guard lock(mutex_);
  byoc_module* handle = nullptr;
  BYOC_TRY_STATUS(call_plugin(id_, "load", [&] { return table_.load(instance_, &raw, &handle); }));
  if (!handle) return defect(id_, "load gave no module");
  LoadedModule loaded(&table_, handle);
  for (const ExternalFunction& function : module.functions) {
    byoc_kernel_info info;
    KernelCheck check{id_, function.symbol, function.n_in, function.n_out,
                      function.constants.size()};
    BYOC_TRY(byoc_kernel * kernel, read_kernel(table_, handle, check, info));
    BYOC_TRY_STATUS(check_pairs_kept(id_, function, info));
    loaded.kernels_.push_back({kernel, info.workspace_bytes,
                               std::max<uint64_t>(info.workspace_align, 1), info.flags,
                               const_use(info, function.constants.size())});
  }
  return loaded;
}

Result<uint32_t> Plugin::compat(const std::string& compat) const {
  if (!table_.compat) return 0u;
  uint32_t level = 0;
  std::lock_guard lock(mutex_);
  BYOC_TRY_STATUS(
      call_plugin(id_, "compat", [&] { return table_.compat(instance_, to_str(compat), &level); }));
  if (level > 3) return defect(id_, cat("compat answered ", level, ", not 0 to 3"));
  return level;
}

}  // namespace byoc
