// SPDX-License-Identifier: Apache-2.0
#pragma once
// The classes that a plugin author writes: a Plugin, which makes Kernels. All of it may
// throw (error.h).
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "byoc/plugin/sdk/graph.h"
#include "byoc/plugin/sdk/host.h"
#include "byoc/plugin/sdk/machine.h"
#include "byoc/plugin/sdk/pattern.h"
#include "byoc/plugin/sdk/sizes.h"

namespace byoc::sdk {

/// --plugin-option ID.name=value. An option that Plugin::open did not read is refused by name.
class Options {
 public:
  /// Takes the values by name.
  explicit Options(std::map<std::string, std::string, std::less<>> values)
      : values_(std::move(values)) {}
  /// Returns the value, or the fallback when it is not given.
  std::string get(std::string_view name, std::string fallback = "") const {
    known_.emplace_back(name);
    auto found = values_.find(name);
    return found == values_.end() ? std::move(fallback) : found->second;
  }
  /// Returns the value of an option that is 0 or 1. Throws for another text.
  bool get_bool(std::string_view name, bool fallback) const {
    std::string value = get(name, fallback ? "1" : "0");
    if (value == "1" || value == "true") return true;
    if (value == "0" || value == "false") return false;
    throw Error(BYOC_INVALID_ARGUMENT,
                "option \"" + std::string(name) + "\" must be 0 or 1, not \"" + value + "\"");
  }
  /// Throws when an option was given that get has not read.
  void check_all_known() const {
    for (const auto& [name, value] : values_) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      std::string known;
      for (const std::string& k : known_) known += (known.empty() ? "" : ", ") + k;
      throw Error(BYOC_INVALID_ARGUMENT,
                  "no option \"" + name + "\"; known: " + (known.empty() ? "none" : known));
    }
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  mutable std::vector<std::string> known_;
};

/// An estimate. est_ns: the time of one run on the machine that judge_on was given, 0: not known.
/// The others are reserved: nothing is decided by them.
struct Cost {
  uint64_t est_ns = 0, workspace = 0, packed_bytes = 0;  ///< ns, bytes, bytes
};
/// The result of judge. Its reason reaches the user in reports and in `byoc explain`.
struct Verdict {
  static Verdict yes() { return {1, {}, {}}; }             ///< accepts
  static Verdict yes(Cost cost) { return {1, cost, {}}; }  ///< accepts, with an estimate
  /// how: the code that will run it, "jit:avx2".
  static Verdict yes(std::string how, Cost cost = {}) { return {1, cost, std::move(how)}; }
  /// Accepts, with a remark.
  static Verdict slow(std::string reason, Cost cost = {}) { return {2, cost, std::move(reason)}; }
  static Verdict no(std::string reason) { return {0, {}, std::move(reason)}; }  ///< refuses
  uint32_t accept = 0;                                                          ///< as byoc_verdict
  Cost cost;                                                                    ///< the estimate
  std::string reason;  ///< the reason; with yes, the implementation
};

/// The constants of one function, in the order of Graph::constants. Types are the graph's.
class Constants {
 public:
  /// raw[k]: the host's constant for types[k]. Throws BYOC_BAD_GRAPH when sizes differ.
  Constants(std::vector<const byoc_const*> raw, const Graph& graph)
      : raw_(std::move(raw)), use_(raw_.size()) {
    for (size_t k = 0; k < raw_.size(); ++k) {
      const Type& type = graph.types[graph.constants[k].type];
      if (bytes_of(*raw_[k]->view) == static_cast<uint64_t>(type.bytes())) continue;
      throw Error(BYOC_BAD_GRAPH,
                  "constant \"" + graph.constants[k].name + "\" is not " + type.text());
    }
  }
  size_t size() const { return raw_.size(); }  ///< the number of constants
  /// Returns the elements, to be read or copied now: valid until compile returns.
  template <class T = void>
  const T* data(size_t k) {
    mark(k, is_filling_ ? BYOC_CONST_PACKED : BYOC_CONST_COPIED);
    const DLTensor& view = *raw_[k]->view;
    return reinterpret_cast<const T*>(static_cast<const char*>(view.data) + view.byte_offset);
  }
  /// Returns the host's own memory, for as long as the result lives; no copy.
  Held keep(size_t k) {
    byoc_held held{};
    detail::check(detail::host_table()->const_keep(raw_[k]->ref, &held));
    mark(k, BYOC_CONST_KEPT);
    return Held(held);
  }
  /// Returns the address of the constant on the kernel's device, for as long as the module lives;
  /// nullptr when it is compiled and not loaded. The host copies it there once per device.
  const void* on_device(size_t k) {
    mark(k, BYOC_CONST_DEVICE);
    return BYOC_HAS(raw_[k], device_data) ? raw_[k]->device_data : nullptr;
  }
  /// Returns the constant in another layout, made once per process:
  /// fill(void* memory) writes `bytes`.
  template <class Fill>
  Held packed(size_t k, std::string_view layout, uint64_t bytes, Fill&& fill, uint64_t align = 64) {
    mark(k, BYOC_CONST_PACKED);
    std::string key(layout);
    key.append(reinterpret_cast<const char*>(raw_[k]->key), sizeof raw_[k]->key);
    return host().packed(key, bytes, align, [&](void* memory) {
      struct Scope {
        bool& is_filling;
        ~Scope() { is_filling = false; }
      } scope{is_filling_};
      is_filling_ = true;
      fill(memory);
    });
  }
  const byoc_const& raw(size_t k) const { return *raw_[k]; }  ///< as the host passed it
  const std::vector<uint8_t>& use() const { return use_; }    ///< byoc_const_use so far

 private:
  // Uses, each with the next one that includes it: unused, packed, copied, kept, on the device.
  void mark(size_t k, uint8_t use) {
    auto rank = [](uint8_t u) { return u == BYOC_CONST_PACKED ? 1 : u == 0 ? 0 : u + 1; };
    constexpr uint32_t kMinorOfPacked = 4;
    if (use == BYOC_CONST_PACKED && detail::host_table()->abi_minor < kMinorOfPacked)
      use = BYOC_CONST_COPIED;
    if (rank(use) > rank(use_[k])) use_[k] = use;
  }
  static uint64_t bytes_of(const DLTensor& view) {
    uint64_t n = view.dtype.bits / 8;
    for (int32_t k = 0; k < view.ndim; ++k) n *= static_cast<uint64_t>(view.shape[k]);
    return n;
  }
  std::vector<const byoc_const*> raw_;
  std::vector<uint8_t> use_;
  bool is_filling_ = false;  // inside a fill of packed()
};

/// A value per knob, by name.
using Point = std::map<std::string, std::string, std::less<>>;
/// One choice that a plugin has for a function.
struct Knob {
  std::string name;                 ///< unique in the space
  std::vector<std::string> values;  ///< at least one; numbers in ascending order
};
/// The choices of a plugin for one function (byoc_plugin::knobs).
struct KnobSpace {
  /// The computation without names: functions with equal texts share measurements.
  std::string task = {};
  std::string kind = {};         ///< spaces of one kind have the same knobs
  double flops = 0, bytes = 0;   ///< operations of one run, and bytes of operands and results
  std::vector<Knob> knobs = {};  ///< none: no choice
  /// Some points, best first. The first one is what compile does without a point.
  std::vector<Point> guesses = {};
  /// Estimates of ns per run, by knob and value: {"compute", {{"direct", 1e5}}}; may lack any.
  std::map<std::string, std::map<std::string, double>> cost_ns = {};
  /// Bytes of the constants that the kernel then reads, by knob and value; may lack any.
  std::map<std::string, std::map<std::string, double>> constant_bytes = {};

  /// Throws BYOC_INVALID_ARGUMENT, which names the knob, for a point outside of the space. An empty
  /// point, the plugin's own choice, is no error.
  void check(const Point& point) const {
    auto refuse = [](const std::string& why) {
      throw Error(BYOC_INVALID_ARGUMENT, "the point is outside of the knob space: " + why);
    };
    if (point.empty()) return;
    for (const Knob& knob : knobs) {
      const auto at = point.find(knob.name);
      if (at == point.end()) refuse("it has no value for \"" + knob.name + "\"");
      if (std::find(knob.values.begin(), knob.values.end(), at->second) != knob.values.end())
        continue;
      std::string known;
      for (const std::string& value : knob.values) known += (known.empty() ? "" : ", ") + value;
      refuse("\"" + knob.name + "\" is \"" + at->second + "\", and not one of " + known);
    }
    if (point.size() != knobs.size()) refuse("it has a knob that the space lacks");
  }
};

/// Ops that a default codegen compiles to one kernel (byoc_plugin::partition).
struct Group {
  std::string name;             ///< for messages, such as "attention"; not empty
  std::vector<uint64_t> nodes;  ///< indices in Graph::nodes, at least two
};

/// One function to compile, or to rebuild from an artifact.
struct Function {
  uint64_t index = 0;               ///< in the request
  std::string_view graph_json;      ///< valid until compile returns
  Graph graph;                      ///< the graph to compile
  Constants constants;              ///< in the order of the graph
  uint32_t threads = 1, flags = 0;  ///< workers a run may use | byoc_compile_flags
  std::string_view target_json;     ///< empty when rebuilt
  bool from_artifact = false;       ///< true when `load` rebuilds the kernel
  Cancel cancel = {};               ///< to be polled in long work
  /// A point of the function's knob space; empty: the plugin's own choice. The kernel that an
  /// artifact's graph is compiled to again gets the point of the first time.
  Point point = {};
};

/// The arguments of one run; everything is borrowed for the call.
class Call {
 public:
  /// Wraps a call of a kernel with `n_in` inputs.
  Call(const byoc_call& raw, uint32_t n_in) : raw_(raw), n_in_(n_in) {}
  uint32_t n_in() const { return n_in_; }                       ///< the number of inputs
  uint32_t n_out() const { return raw_.n_args - n_in_; }        ///< the number of outputs
  const DLTensor& in(size_t k) const { return *raw_.args[k]; }  ///< the view of an input
  /// The view of an output.
  const DLTensor& out(size_t k) const { return *raw_.args[n_in_ + k]; }
  /// Returns the elements, one after another in row-major order; throws when they lie otherwise. A
  /// kernel that accepts strides reads them in in(k) and out(k).
  template <class T>
  const T* in_data(size_t k) const {
    return static_cast<const T*>(data(in(k), "input", k));
  }
  /// Returns the elements to write; throws when they are not compact.
  template <class T>
  T* out_data(size_t k) const {
    return static_cast<T*>(data(out(k), "output", k));
  }
  /// Returns the place for the dims of output `k`; nullptr when they are numbers. Kernels with
  /// BYOC_KERNEL_OUT_SHAPES write there the dims of this run.
  int64_t* out_shape(size_t k) const { return raw_.out_shapes ? raw_.out_shapes[k] : nullptr; }
  void* workspace() const { return raw_.workspace; }  ///< as info requested
  /// Returns the value of Graph::sizes[k] in this run.
  int64_t size(size_t k) const { return BYOC_HAS(&raw_, sizes) ? raw_.sizes[k] : 0; }
  /// True once the user has interrupted the run.
  bool cancelled() const { return Cancel(raw_.cancel).is_requested(); }
  /// Returns true when this run is profiled. When it is false, read no clock and report no spans.
  bool wants_spans() const { return (raw_.flags & BYOC_CALL_SPANS) != 0; }
  /// Reports a span of the kernel from begin_ns to end_ns (of host().now_ns()); see
  /// byoc_host::span. details: keys and values in turn. Reports interpret "implementation", "src"
  /// and "dst" (formats of memory) and "is_reorder" ("1": it only changes a format), and show
  /// others as they are.
  void span(int64_t node, byoc_str name, uint64_t begin_ns, uint64_t end_ns,
            std::span<const byoc_str> details = {}) const {
    const byoc_host* host = detail::host_table();
    host->span(host->ctx, raw_.call_id, node, name, begin_ns, end_ns, details.data(),
               details.size());
  }
  const byoc_call& raw() const { return raw_; }  ///< as the host passed it

 private:
  static void* data(const DLTensor& t, const char* what, size_t k) {
    int64_t compact = 1;
    for (int32_t d = t.ndim; t.strides && d-- > 0; compact *= t.shape[d]) {
      if (t.shape[d] == 1 || t.strides[d] == compact) continue;
      throw Error(BYOC_INVALID_ARGUMENT,
                  std::string(what) + " " + std::to_string(k) + " is not compact row-major");
    }
    return t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  }
  const byoc_call& raw_;
  uint32_t n_in_;
};

/// The facts about a kernel (byoc_kernel_info).
struct KernelInfo {
  uint64_t workspace_bytes = 0, workspace_align = 64;  ///< scratch memory of a run
  std::string open_workspace;  ///< its bytes as an expression of sizes; empty: workspace_bytes
  uint64_t flags = 0;          ///< byoc_kernel_flags
  std::vector<std::pair<uint32_t, uint32_t>> inplace;  ///< (input, output) that may be one memory
  uint64_t resident_bytes = 0;          ///< memory of its own, packed weights and all
  DLDevice device = {kDLCPU, 0};        ///< where it runs: the host, or one of Devices::devices
  std::vector<uint8_t> placement = {};  ///< byoc_place per input, then per output; empty: there
  std::string implementation;           ///< "jit:avx2", for reports
  /// Filled in by the SDK for kernels that Plugin::compile made:
  uint32_t n_in = 0, n_out = 0;
  std::string signature;           ///< Graph::signature
  std::vector<uint8_t> const_use;  ///< byoc_const_use per constant
};

/// A compiled function; run may be called by several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual KernelInfo info() const { return {}; }  ///< called once
  /// Re-entrant unless info has SERIAL; allocates nothing unless info has MAY_ALLOC.
  virtual void run(const Call& call) const = 0;
};

/// Receives the bytes from save that load will be given.
class Saver {
 public:
  explicit Saver(byoc_save& raw) : raw_(raw) {}  ///< Wraps the request.
  /// Appends to the blob.
  void write(std::string_view bytes) {
    detail::check(raw_.blob->write(raw_.blob->u, bytes.data(), bytes.size()));
  }
  void set_flags(uint64_t flags) { raw_.flags = flags; }  ///< byoc_module_flags
  /// Saves a constant in the layout that native code reads; function: index in the request.
  void packed(uint64_t function, byoc_bytes data, uint64_t align) {
    detail::check(raw_.packed(raw_.u, function, data, align));
  }

 private:
  byoc_save& raw_;
};

/// The result of compile_module and load_module. Most plugins use Plugin::compile and never see it.
class Module {
 public:
  /// A kernel and its facts.
  struct Entry {
    const Kernel* kernel = nullptr;  ///< owned by the module
    KernelInfo info;                 ///< the facts
  };
  virtual ~Module() = default;
  virtual Entry find(std::string_view symbol) = 0;  ///< no kernel: unknown symbol
  virtual void save(Saver& saver) const = 0;  ///< Writes the bytes that load_module will read.
  virtual std::string compat() const = 0;     ///< the text that Plugin::compat will get
};

/// The request of compile_module.
struct CompileRequest {
  std::vector<Function> functions;                      ///< the functions to compile
  std::string_view options_json;                        ///< the options, as `open` received them
  const byoc_compile& raw;                              ///< as the host passed it
  Cancel cancel() const { return Cancel(raw.cancel); }  ///< to be polled in long work
};

/// A row of Plugin::layouts, as byoc_layout.
struct WantedLayout {
  std::string op;      ///< "conv2d" or "matmul"
  uint64_t block = 0;  ///< elements; a power of two up to 64
};

/// A plugin: derive from it, and name the class in BYOC_PLUGIN.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual void open(const Options&) {}  ///< Reads options; throw to be refused with a reason.
  /// Lists what the plugin can run. Called once.
  virtual std::vector<Pattern> patterns() const = 0;
  /// Judges a graph of one node: an op, or the call of a composite (whose Body::pattern names the
  /// pattern). Called by any number of threads at a time, once per distinct candidate.
  virtual Verdict judge(const Graph&) const { return Verdict::yes(); }
  /// The same with an estimate of the time on a machine, for the choice of plugins by cost. Without
  /// one the host uses its own.
  virtual Verdict judge_on(const Graph& graph, const Machine&) const { return judge(graph); }
  /// Makes the kernel of one function. Also called to rebuild it from an artifact, which stores
  /// the graph.
  virtual std::unique_ptr<Kernel> compile(Function&) {
    throw Error(BYOC_UNIMPLEMENTED, "neither compile nor compile_module is overridden");
  }

  /// Returns what kernels depend on in addition to their graph: a library's version, the CPU. An
  /// artifact that was saved under another text is loaded too, with the advice to compile again.
  virtual std::string made_with() const { return {}; }

  /// Returns whether the artifact keeps what Constants::packed returned in compile, so that load
  /// maps it and fills nothing. Names of layouts then include the version of the library.
  virtual bool stores_packed() const { return false; }

  /// For plugins whose artifact holds more than graphs, all three; none returns nothing then.
  virtual std::unique_ptr<Module> compile_module(CompileRequest&) { return nullptr; }
  /// Makes a module from the bytes of Module::save; nullptr: the default.
  virtual std::unique_ptr<Module> load_module(const byoc_load&) { return nullptr; }
  /// Compares with Module::compat: 0 unknown, 1 no, 2 works but recompiling is better, 3 best.
  virtual std::optional<uint32_t> compat(std::string_view) const { return std::nullopt; }

  /// Returns the layouts this plugin computes in on the machine of target_json, in
  /// order of preference.
  virtual std::vector<WantedLayout> layouts(std::string_view /*target_json*/) const { return {}; }
  /// Returns the groups of nodes of the request's one function that are to be one kernel each. Only
  /// default codegens are called. The host refuses groups that no function can be made of, by name.
  virtual std::vector<Group> partition(CompileRequest&) { return {}; }
  /// Returns the choices for the request's one function; without knobs: there is no choice.
  virtual KnobSpace knobs(CompileRequest&) { return {}; }
  /// Returns the code of the request's functions as text; form: "llvm" or "asm".
  virtual std::string show(CompileRequest&, std::string_view form) {
    throw Error(BYOC_UNIMPLEMENTED, "shows no code of the form \"" + std::string(form) + "\"");
  }

  // A class may have a public `static void shutdown()`; it is called as byoc_plugin::shutdown.
};

}  // namespace byoc::sdk
