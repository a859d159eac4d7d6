// SPDX-License-Identifier: Apache-2.0
#pragma once
// BYOC_PLUGIN(Class, "id", "1.0.0"[, .flags = BYOC_PLUGIN_DEFAULT, .priority = 10, ...]), once per
// plugin, defines the table, the note and the one exported symbol; the C side of all in plugin.h.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <type_traits>

#include "byoc/plugin/manifest.h"
#include "byoc/plugin/sdk/device.h"
#include "byoc/plugin/sdk/graph_module.h"

namespace byoc::sdk {

/// The last arguments of BYOC_PLUGIN: fields of byoc_plugin.
struct PluginTraits {
  uint32_t flags = 0;                        ///< byoc_plugin_flags
  int64_t priority = 0;                      ///< among plugins; higher goes first
  uint64_t max_ops = 0, max_bytes = 0;       ///< limits of one region; 0: 4096 ops, no byte limit
  std::string_view vendor = "", build = "";  ///< reserved
  /// A promise for the manifest: compiled functions depend on the request, the plugin's file and
  /// the processor only, so that the host keeps them on disk.
  bool kept_compiles = false;
  /// Another one: several threads may call `compile` of one instance at once.
  bool parallel_compiles = false;
  /// A third one: what takes a function with constants of more than 64 elements also takes it with
  /// inputs in their place. Functions that differ in these alone are compiled once.
  bool weights_as_inputs = false;
};

namespace detail {

/// The note that BYOC_MANIFEST writes, with the traits of a plugin, which are no literals. An
/// aggregate: the compiler would put an object with a constructor into writable memory.
template <size_t N>
struct ManifestNote {
  uint32_t name_bytes, text_bytes, type;
  char name[(sizeof BYOC_MANIFEST_NOTE_NAME + 3) / 4 * 4];
  char json[(N +
             sizeof ",\"kept_compiles\":true,\"parallel_compiles\":true,\"weights_as_inputs\":true,"
                    "\"devices\":true,\"priority\":-9223372036854775808}" +
             3) /
            4 * 4];
};

template <size_t N>
consteval ManifestNote<N> manifest_note(const char (&members)[N], const PluginTraits& traits,
                                        bool has_devices) {
  ManifestNote<N> note{sizeof BYOC_MANIFEST_NOTE_NAME,
                       sizeof note.json,
                       BYOC_MANIFEST_NOTE_TYPE,
                       BYOC_MANIFEST_NOTE_NAME,
                       {}};
  char* end = note.json;
  auto append = [&](std::string_view text) { end = std::copy(text.begin(), text.end(), end); };
  const int64_t priority = traits.priority;
  append({members, N - 1});
  if (traits.kept_compiles) append(",\"kept_compiles\":true");
  if (traits.parallel_compiles) append(",\"parallel_compiles\":true");
  if (traits.weights_as_inputs) append(",\"weights_as_inputs\":true");
  if (has_devices) append(",\"devices\":true");
  append(priority < 0 ? ",\"priority\":-" : ",\"priority\":");
  char digits[20] = {};
  size_t n = sizeof digits;
  uint64_t rest = static_cast<uint64_t>(priority);
  for (rest = priority < 0 ? 0 - rest : rest; rest != 0 || n == sizeof digits; rest /= 10)
    digits[--n] = static_cast<char>('0' + rest % 10);
  append({digits + n, sizeof digits - n});
  append("}");
  return note;
}

struct KernelHandle {
  const Kernel* kernel;
  KernelInfo info;
  std::vector<uint32_t> inplace;
};

struct ModuleHandle {
  explicit ModuleHandle(std::unique_ptr<Module> m)
      : module(std::move(m)), compat(module->compat()) {}
  std::unique_ptr<Module> module;
  std::string compat;
  std::mutex mutex;
  std::map<std::string, KernelHandle, std::less<>> kernels;

  KernelHandle* kernel(std::string_view symbol) {
    std::lock_guard lock(mutex);
    if (auto found = kernels.find(symbol); found != kernels.end()) return &found->second;
    Module::Entry entry = module->find(symbol);
    if (!entry.kernel)
      throw Error(BYOC_NOT_FOUND, "no function \"" + std::string(symbol) + "\" in this module");
    KernelHandle handle{entry.kernel, std::move(entry.info), {}};
    for (auto [in, out] : handle.info.inplace)
      handle.inplace.insert(handle.inplace.end(), {in, out});
    return &kernels.emplace(symbol, std::move(handle)).first->second;
  }
};

struct Instance {
  std::unique_ptr<Plugin> plugin;
  std::vector<Pattern> patterns;
  std::vector<byoc_pattern> raw;
  std::vector<const byoc_pattern*> pointers;
  std::mutex mutex;
  std::map<std::thread::id, std::string> reasons;  // of each thread's last judge
  std::vector<WantedLayout> layouts;               // until the next call, with what points into it
  std::vector<byoc_layout> raw_layouts;
  std::vector<const byoc_layout*> layout_pointers;
  DeviceRows devices;
};

template <class T, uint32_t tag>
constexpr void set_header(T& out) {
  out.h = {sizeof(T), tag, nullptr};
}

inline Options parse_options(byoc_str json) {
  std::map<std::string, std::string, std::less<>> values;
  if (json.n != 0) {
    const Tree tree(to_view(json));  // outlives the loop over its items
    for (const auto& [name, value] : tree.root().items()) {
      values[name] = value.is_string() ? value.template get<std::string>() : value.dump();
    }
  }
  return Options(std::move(values));
}

inline void check_constants_understood(const byoc_const* const* constants, uint64_t n) {
  for (uint64_t k = 0; k < n; ++k) check_understood(constants[k]->h);
}

inline std::string print_space(const KnobSpace& space) {
  if (space.knobs.empty()) return {};
  Json knobs = Json::array();
  for (const Knob& knob : space.knobs)
    knobs.push_back({{"name", knob.name}, {"values", knob.values}});
  Json guesses = Json::array();
  for (const Point& point : space.guesses) guesses.push_back(point);
  Json out = {{"task", space.task},   {"kind", space.kind}, {"flops", space.flops},
              {"bytes", space.bytes}, {"knobs", knobs},     {"guesses", guesses}};
  if (!space.cost_ns.empty()) out["cost_ns"] = space.cost_ns;
  if (!space.constant_bytes.empty()) out["constant_bytes"] = space.constant_bytes;
  return out.dump();
}

inline std::string print_groups(const std::vector<Group>& groups) {
  if (groups.empty()) return {};
  Json list = Json::array();
  for (const Group& group : groups) list.push_back({{"name", group.name}, {"nodes", group.nodes}});
  return Json{{"groups", list}}.dump();
}

inline CompileRequest make_request(const byoc_compile& raw) {
  CompileRequest request{{}, to_view(raw.options_json), raw};
  for (uint64_t k = 0; k < raw.n_functions; ++k) {
    const byoc_function& f = *raw.functions[k];
    try {
      check_understood(f.h);
      check_constants_understood(f.consts, f.n_consts);
      Graph graph = parse_graph(to_view(f.graph_json));
      if (graph.constants.size() != f.n_consts) {
        bad_graph("the graph has " + std::to_string(graph.constants.size()) + " constants, " +
                  std::to_string(f.n_consts) + " were given");
      }
      Constants constants({f.consts, f.consts + f.n_consts}, graph);
      request.functions.push_back({k,
                                   to_view(f.graph_json),
                                   std::move(graph),
                                   std::move(constants),
                                   raw.threads,
                                   raw.flags,
                                   to_view(raw.target_json),
                                   false,
                                   Cancel(raw.cancel),
                                   {}});
      request.functions.back().graph.symbol = std::string(to_view(f.symbol));
      if (f.h.size >= offsetof(byoc_function, point) + sizeof f.point)
        request.functions.back().point = parse_point(to_view(f.point));
    } catch (Error& e) {
      e.function = static_cast<int64_t>(k);
      throw;
    }
  }
  return request;
}

/// The C functions of the table, for a plugin class P.
template <class P>
struct Glue {
  static Instance& self(byoc_instance* i) { return *reinterpret_cast<Instance*>(i); }
  static ModuleHandle& self(byoc_module* m) { return *reinterpret_cast<ModuleHandle*>(m); }

  static byoc_status* open(const byoc_host* host, byoc_str options_json,
                           byoc_instance** out) noexcept {
    return guarded([&] {
      check_understood(host->h);
      auto instance = std::make_unique<Instance>();
      instance->plugin = std::make_unique<P>();
      Options options = parse_options(options_json);
      instance->plugin->open(options);
      options.check_all_known();
      instance->patterns = instance->plugin->patterns();
      for (const Pattern& pattern : instance->patterns) {
        byoc_pattern raw{};
        set_header<byoc_pattern, BYOC_TAG_PATTERN>(raw);
        raw.name = to_str(pattern.name);
        raw.dag_json = to_str(pattern.dag_json);
        raw.priority = pattern.priority;
        instance->raw.push_back(raw);
      }
      for (const byoc_pattern& raw : instance->raw) instance->pointers.push_back(&raw);
      *out = reinterpret_cast<byoc_instance*>(instance.release());
    });
  }
  static void close(byoc_instance* i) noexcept { delete &self(i); }
  static byoc_status* patterns(byoc_instance* i, const byoc_pattern* const** out,
                               uint64_t* n) noexcept {
    *out = self(i).pointers.data();
    *n = self(i).pointers.size();
    return nullptr;
  }
  static byoc_status* judge(byoc_instance* i, uint32_t, byoc_str json, byoc_verdict* io) noexcept {
    return guarded([&] {
      check_understood(io->h);
      const byoc_machine* machine = BYOC_HAS(io, machine) ? io->machine : nullptr;
      Verdict verdict = judged(*self(i).plugin, to_view(json), machine);
      io->accept = verdict.accept;
      io->est_ns = verdict.cost.est_ns;
      io->workspace = verdict.cost.workspace;
      io->packed_bytes = verdict.cost.packed_bytes;
      if (verdict.reason.empty()) return;
      std::lock_guard lock(self(i).mutex);
      std::string& kept = self(i).reasons[std::this_thread::get_id()];
      kept = std::move(verdict.reason);
      io->reason = to_str(kept);
    });
  }
  /// Turns a graph that this SDK cannot read, or an attribute the plugin fails on, into a "no",
  /// not into a failure.
  static Verdict judged(const Plugin& plugin, std::string_view json, const byoc_machine* machine) {
    try {
      if (machine != nullptr) return plugin.judge_on(parse_graph(json), Machine(*machine));
      return plugin.judge(parse_graph(json));
    } catch (const Error& e) {
      return Verdict::no(e.message());
    }
  }
  static byoc_status* compile(byoc_instance* i, const byoc_compile* raw,
                              byoc_module** out) noexcept {
    return guarded([&] {
      check_understood(raw->h);
      CompileRequest request = make_request(*raw);
      *out = wrap(compile_module(*self(i).plugin, request));
    });
  }
  static byoc_status* load(byoc_instance* i, const byoc_load* raw, byoc_module** out) noexcept {
    return guarded([&] {
      check_understood(raw->h);
      check_constants_understood(raw->consts, raw->n_consts);
      *out = wrap(load_module(*self(i).plugin, *raw));
    });
  }
  static byoc_module* wrap(std::unique_ptr<Module> module) {
    return reinterpret_cast<byoc_module*>(new ModuleHandle(std::move(module)));
  }
  static byoc_status* save(const byoc_module* m, byoc_save* io) noexcept {
    return guarded([&] {
      check_understood(io->h);
      check_understood(io->blob->h);
      const auto& handle = *reinterpret_cast<const ModuleHandle*>(m);
      io->compat = to_str(handle.compat);
      Saver saver(*io);
      handle.module->save(saver);
    });
  }
  static byoc_status* kernel(byoc_module* m, byoc_str symbol, byoc_kernel** out) noexcept {
    return guarded([&] { *out = reinterpret_cast<byoc_kernel*>(self(m).kernel(to_view(symbol))); });
  }
  static byoc_status* info(const byoc_kernel* k, byoc_kernel_info* io) noexcept {
    return guarded([&] {
      check_understood(io->h);
      fill_info(*reinterpret_cast<const KernelHandle*>(k), *io);
    });
  }
  static void fill_info(const KernelHandle& handle, byoc_kernel_info& io) {
    const KernelInfo& info = handle.info;
    io.n_in = info.n_in;
    io.n_out = info.n_out;
    io.workspace_bytes = info.workspace_bytes;
    io.workspace_align = info.workspace_align;
    io.flags = info.flags;
    io.inplace_pairs = handle.inplace.data();
    io.n_inplace = info.inplace.size();
    io.const_use = info.const_use.data();
    io.n_consts = info.const_use.size();
    io.resident_bytes = info.resident_bytes;
    io.device = info.device;
    io.implementation = to_str(info.implementation);
    constexpr size_t kMinor2 = offsetof(byoc_kernel_info, signature) + sizeof io.signature;
    if (io.h.size >= kMinor2) io.signature = to_str(info.signature);
    constexpr size_t kPlaces = offsetof(byoc_kernel_info, n_placement) + sizeof io.n_placement;
    if (io.h.size >= kPlaces) {
      io.placement = info.placement.data();
      io.n_placement = info.placement.size();
    }
    if (info.open_workspace.empty()) return;
    constexpr size_t kOpen = offsetof(byoc_kernel_info, open_workspace) + sizeof io.open_workspace;
    if (io.h.size >= kOpen) io.open_workspace = to_str(info.open_workspace);
    else io.workspace_bytes = UINT64_MAX;  // refused by a host that would give too little
  }
  static byoc_status* run(byoc_kernel* k, const byoc_call* call) noexcept {
    return guarded([&] {
      check_understood(call->h);
      const auto& handle = *reinterpret_cast<const KernelHandle*>(k);
      handle.kernel->run(Call(*call, handle.info.n_in));
    });
  }
  static byoc_status* compat(byoc_instance* i, byoc_str text, uint32_t* level) noexcept {
    return guarded([&] { *level = detail::compat(*self(i).plugin, to_view(text)); });
  }
  static void release(byoc_module* m) noexcept { delete &self(m); }
  static byoc_status* shutdown() noexcept requires requires { P::shutdown(); }
  {
    return guarded([] { P::shutdown(); });
  }
  static byoc_status* layouts(byoc_instance* i, byoc_str target_json,
                              const byoc_layout* const** out, uint64_t* n) noexcept {
    return guarded([&] {
      Instance& me = self(i);
      me.layouts = me.plugin->layouts(to_view(target_json));
      me.raw_layouts.clear();
      me.layout_pointers.clear();
      for (const WantedLayout& layout : me.layouts) {
        byoc_layout raw{};
        set_header<byoc_layout, BYOC_TAG_LAYOUT>(raw);
        raw.op = to_str(layout.op);
        raw.block = layout.block;
        me.raw_layouts.push_back(raw);
      }
      for (const byoc_layout& raw : me.raw_layouts) me.layout_pointers.push_back(&raw);
      *out = me.layout_pointers.data();
      *n = me.layout_pointers.size();
    });
  }
  static byoc_status* show(byoc_instance* i, const byoc_compile* raw, byoc_str form,
                           const byoc_sink* out) noexcept {
    return guarded([&] {
      check_understood(raw->h);
      check_understood(out->h);
      CompileRequest request = make_request(*raw);
      std::string text = self(i).plugin->show(request, to_view(form));
      detail::check(out->write(out->u, text.data(), text.size()));
    });
  }

  static byoc_status* knobs(byoc_instance* i, const byoc_compile* raw,
                            const byoc_sink* out) noexcept {
    return write_about_one("knobs", raw, out, [&](CompileRequest& request) {
      return print_space(self(i).plugin->knobs(request));
    });
  }
  static byoc_status* partition(byoc_instance* i, const byoc_compile* raw,
                                const byoc_sink* out) noexcept {
    return write_about_one("partition", raw, out, [&](CompileRequest& request) {
      return print_groups(self(i).plugin->partition(request));
    });
  }
  /// Writes the text that `text_of` makes of a request with one function.
  static byoc_status* write_about_one(const char* slot, const byoc_compile* raw,
                                      const byoc_sink* out, auto&& text_of) noexcept {
    return guarded([&] {
      check_understood(raw->h);
      check_understood(out->h);
      CompileRequest request = make_request(*raw);
      if (request.functions.size() != 1)
        throw Error(BYOC_INVALID_ARGUMENT, std::string(slot) + " expects one function, got " +
                                               std::to_string(request.functions.size()));
      const std::string text = text_of(request);
      detail::check(out->write(out->u, text.data(), text.size()));
    });
  }
  /// False when P has the default of partition, which makes no group: its table has no slot then,
  /// so that the host writes no request.
  static constexpr bool has_partition() {
    if constexpr (requires { &P::partition; })
      return !std::is_same_v<decltype(&P::partition), decltype(&Plugin::partition)>;
    return true;
  }

  /// For DeviceGlue.
  struct DevicesOf {
    static Devices& devices_of(byoc_instance* i) { return static_cast<P&>(*self(i).plugin); }
    static DeviceRows& rows_of(byoc_instance* i) { return self(i).devices; }
  };

  static constexpr byoc_plugin table(std::string_view id, std::string_view version,
                                     PluginTraits traits) {
    byoc_plugin t{};
    set_header<byoc_plugin, BYOC_TAG_PLUGIN>(t);
    t.abi_major = BYOC_ABI_MAJOR;
    t.abi_minor = BYOC_ABI_MINOR;
    t.flags = traits.flags;
    t.priority = traits.priority;
    t.max_ops = traits.max_ops;
    t.max_bytes = traits.max_bytes;
    t.id = to_str(id);
    t.version = to_str(version);
    t.vendor = to_str(traits.vendor);
    t.build = to_str(traits.build);
    t.open = open, t.close = close, t.patterns = patterns, t.judge = judge;
    t.compile = compile, t.load = load, t.save = save, t.release = release;
    t.kernel = kernel, t.info = info, t.run = run, t.compat = compat;
    t.layouts = layouts, t.show = show, t.knobs = knobs;
    if constexpr (has_partition()) t.partition = partition;
    if constexpr (std::is_base_of_v<Devices, P>) {
      constexpr uint32_t kMinorOfDevices = 10;  // older hosts would pass memory of their own
      t.device = &DeviceGlue<DevicesOf>::table;
      t.min_host_minor = kMinorOfDevices;
    }
    if constexpr (requires { P::shutdown(); }) t.shutdown = shutdown;
    return t;
  }
};

}  // namespace detail
}  // namespace byoc::sdk

/// BYOC_PLUGIN(Class, "id", "1.0.0", .priority = 1): the manifest, the table and the entry of a
/// plugin, once per plugin. Class is a Plugin; the last arguments are fields of PluginTraits.
#define BYOC_PLUGIN(Class, id, version, ...)                                                  \
  static constexpr auto byoc_manifest_note                                                    \
      __attribute__((section(".note.byoc"), used, aligned(4))) =                              \
          ::byoc::sdk::detail::manifest_note(BYOC_MANIFEST_MEMBERS(id, version),              \
                                             ::byoc::sdk::PluginTraits{__VA_ARGS__},          \
                                             std::is_base_of_v<::byoc::sdk::Devices, Class>); \
  extern "C" byoc_status* byoc_plugin_entry_v1(const byoc_host* host,                         \
                                               const byoc_plugin** out) noexcept {            \
    static constinit const byoc_plugin kTable = ::byoc::sdk::detail::Glue<Class>::table(      \
        id, version, ::byoc::sdk::PluginTraits{__VA_ARGS__});                                 \
    ::byoc::sdk::detail::host_pointer = host;                                                 \
    return ::byoc::sdk::detail::guarded([&] {                                                 \
      ::byoc::sdk::detail::check_understood(host->h);                                         \
      *out = &kTable;                                                                         \
    });                                                                                       \
  }
