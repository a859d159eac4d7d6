// SPDX-License-Identifier: Apache-2.0
// A plugin that takes the ops of its options and computes them with the reference kernels:
//   ops=relu,add              ops it lists as patterns of one node; "*" (the default): no patterns,
//                             and judge is called for every op
//   patterns=[{"name":"conv_relu","dag":{...},"priority":3}, ...]
//   refuse=tanh,max_pool/5,a.conv_relu   ops, ops whose first operand has that rank, and composites
//                             that judge refuses, with the reason "refused by its options"
//   reluctant=tanh            ops and composites that judge calls slow, "slow by its options"
//   est=relu:500,a.conv_relu:90  what judge estimates for ops and composites, ns
//   decline=exp               ops and composites with which compile declines the function
//   spoil=tanh                ops whose f32, u8 and i8 results come out 1 too large; integers that
//                             are the greatest come out too small
//   spoil_by=3                that much too large instead
//   spoil_node=Conv_7         ops with this name alone; functions that are equal share the kernel
//                             and the names of the first one
//   spoil_type=f32[1,8,4,4]   ops with a first result of this type alone, in all equal functions
//   nudge=conv2d              ops whose f32 results come out larger by a share of 5e-5, an error
//                             that right sums in another order may have
//   poison=exp,tanh           once a function with all of these was compiled in this process ...
//   poisoned=tanh             ... these are spoiled in it and in all that is compiled after it
//   slow=relu                 ops and composites with which a function computes for 0.2 ms longer
//   layouts=conv2d:8,matmul:16  the blocks it lists, in order of preference
//   count=1                   names implementations "function 1", "function 2", ...: the number
//                             of functions that compile got so far; declines have it too
//   groups=pair:a+b,pair:c+d  groups that partition lists: names, and the locs of their nodes or
//                             patterns of composites; ops that it does not have are left out
//   loops=1,2,4               functions have a knob "loop" with these values, first guess first;
//                             implementations are called "loop 2", and results are the same
//   computes=direct,fast      the same with a knob "compute"; costs=direct:20,fast:10 are its costs
//   bad_loop=4                compile refuses this value of the knob as an invalid argument
//   compile_ms=50             how long compile takes for each function; nothing when it is loaded
//   compiled_to=FILE          compile appends "(" for each function when it begins, ")" at the end
//   max_nodes=3               compile declines a function with more nodes at the first one too many
//   apart=softmax>relu        compile declines a function with both, at a relu after a softmax
//   leave=tanh,a.conv_relu    compile declines a function at the first of these ops and composites
//   gone=FILE                 load fails while the file exists: the device is gone
//   knobs=fail | knobs=bad    knobs returns an error | a space whose guess is outside of it
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "byoc/ir/visit.h"
#include "byoc/op/evaluate.h"
#include "byoc/plugin/sdk.h"
#include "byoc/text/graph_json.h"

namespace {

using namespace byoc::sdk;
using byoc::ValueId;
using Buffers = std::vector<std::shared_ptr<const byoc::Buffer>>;

std::set<std::string> split(const std::string& text) {
  std::set<std::string> out;
  for (size_t from = 0; from < text.size();) {
    size_t to = std::min(text.find(',', from), text.size());
    out.insert(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

// Returns the ops and types of the graph: no names, and no values of constants.
std::string task_of(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes) {
    out += node.is_call() ? graph.callee(node)->pattern : node.op;
    for (const Operand& arg : node.args)
      out += " " + std::to_string(static_cast<int>(arg.kind)) + ":" + std::to_string(arg.index) +
             ":" + graph.type(arg).text();
    out += " -> " + graph.type(node).text() + "\n";
  }
  return out;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, separator);) out.push_back(part);
  return out;
}

std::vector<std::string> in_order(const std::string& text) { return parts_of(text, ','); }

// Returns a group, written as NAME:LOC+LOC, of nodes of a graph.
Group read_group(const std::string& text, const Graph& graph) {
  const size_t colon = text.find(':');
  Group out{text.substr(0, colon), {}};
  for (const std::string& loc : parts_of(text.substr(colon + 1), '+')) {
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const Body* callee = graph.callee(graph.nodes[k]);
      if (graph.nodes[k].loc == loc || (callee != nullptr && callee->pattern == loc))
        out.nodes.push_back(k);
    }
  }
  return out;
}

std::vector<WantedLayout> read_layouts(const std::string& text) {
  std::vector<WantedLayout> out;
  std::stringstream rows(text);
  for (std::string row; std::getline(rows, row, ',');) {
    const size_t colon = row.find(':');
    out.push_back({row.substr(0, colon), std::stoull(row.substr(colon + 1))});
  }
  return out;
}

// The ops whose results come out too large.
struct Spoil {
  std::set<std::string> ops, nudged;
  std::string node, type;  // only ops of this name, or with this first result; empty: all
  int by = 1;
  bool names(const byoc::Call& call, const byoc::Node& at) const {
    return ops.contains(call.op->name) && (node.empty() || at.loc.text() == node) &&
           (type.empty() || byoc::cat(at.types[0]) == type);
  }
};

template <class T>
std::shared_ptr<const byoc::Buffer> larger(const byoc::Buffer& buffer, int by) {
  std::vector<T> values(buffer.size() / sizeof(T));
  std::memcpy(values.data(), buffer.data(), values.size() * sizeof(T));
  for (T& value : values) {
    const bool is_most = std::is_integral_v<T> && value > std::numeric_limits<T>::max() - by;
    value = static_cast<T>(is_most ? value - by : value + by);
  }
  return byoc::Buffer::copy(std::as_bytes(std::span(values)));
}

void spoil(Buffers& results, const std::vector<byoc::TypeId>& types, int by) {
  for (size_t k = 0; k < results.size(); ++k) {
    auto& buffer = results[k];
    if (types[k]->dtype == byoc::DType::kU8) buffer = larger<uint8_t>(*buffer, by);
    else if (types[k]->dtype == byoc::DType::kI8) buffer = larger<int8_t>(*buffer, by);
    else buffer = larger<float>(*buffer, by);
  }
}

void nudge(Buffers& results, const std::vector<byoc::TypeId>& types) {
  for (size_t k = 0; k < results.size(); ++k) {
    if (types[k]->dtype != byoc::DType::kF32) continue;
    std::vector<float> values(results[k]->size() / sizeof(float));
    std::memcpy(values.data(), results[k]->data(), results[k]->size());
    for (float& value : values) value *= 1.00005F;
    results[k] = byoc::Buffer::copy(std::as_bytes(std::span(values)));
  }
}

Buffers evaluate(const byoc::IRModule& module, const byoc::Function& f, const Buffers& inputs,
                 const Spoil& spoiled) {
  std::vector<Buffers> values(f.nodes.size());
  size_t params = 0;
  for (uint32_t n = 0; n < f.nodes.size(); ++n) {
    const byoc::Node& node = f.nodes[n];
    Buffers args;
    std::vector<byoc::TypeId> types, results;
    std::vector<const byoc::Buffer*> raw;
    for (ValueId arg : f.args(node)) {
      args.push_back(values[arg.node][arg.output]);
      raw.push_back(args.back().get());
      types.push_back(f.type(arg));
    }
    for (size_t k = 0; k < node.types.size(); ++k) results.push_back(node.types[k]);
    if (std::holds_alternative<byoc::Param>(node.kind)) {
      values[n] = {inputs[params++]};
    } else if (auto* constant = std::get_if<byoc::Constant>(&node.kind)) {
      values[n] = {byoc::Buffer::copy(constant->data->bytes())};
    } else if (auto* invoke = std::get_if<byoc::Invoke>(&node.kind)) {
      values[n] = evaluate(module, module.function(invoke->function), args, spoiled);
    } else {
      const byoc::Call& call = std::get<byoc::Call>(node.kind);
      auto out = byoc::evaluate(*call.op, *call.attrs, types, results, raw);
      if (!out.ok()) throw Error(BYOC_INTERNAL, out.status().to_string());
      values[n] = *std::move(out);
      if (spoiled.names(call, node)) spoil(values[n], results, spoiled.by);
      if (spoiled.nudged.contains(call.op->name)) nudge(values[n], results);
    }
  }
  Buffers out;
  for (ValueId v : f.results) out.push_back(values[v.node][v.output]);
  return out;
}

// Keeps the processor busy: tools that compare one-thread programs measure processor time.
void compute_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

class ReferenceKernel : public Kernel {
 public:
  ReferenceKernel(byoc::IRModule module, Spoil spoiled, std::string name, bool is_slow)
      : module_(std::move(module)),
        spoiled_(std::move(spoiled)),
        name_(std::move(name)),
        is_slow_(is_slow) {}
  KernelInfo info() const override {
    KernelInfo info{.flags = BYOC_KERNEL_MAY_ALLOC};
    info.implementation = name_;
    return info;
  }
  void run(const Call& call) const override {
    const byoc::Function& f = module_.function(module_.entry);
    Buffers inputs;
    for (uint32_t k = 0; k < call.n_in(); ++k) {
      size_t bytes = static_cast<size_t>(*byoc::size_bytes(*f.nodes[k].types[0]));
      inputs.push_back(byoc::Buffer::copy({call.in_data<std::byte>(k), bytes}));
    }
    Buffers outputs = evaluate(module_, f, inputs, spoiled_);
    if (is_slow_) compute_for(std::chrono::microseconds(200));
    for (uint32_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k]->size() > 0)
        std::memcpy(call.out_data<char>(k), outputs[k]->data(), outputs[k]->size());
    }
  }

 private:
  byoc::IRModule module_;
  Spoil spoiled_;
  std::string name_;
  bool is_slow_;
};

class Selective : public Plugin {
 public:
  void open(const Options& options) override {
    ops_ = split(options.get("ops", "*"));
    refuse_ = split(options.get("refuse"));
    reluctant_ = split(options.get("reluctant"));
    decline_ = split(options.get("decline"));
    spoil_ = {split(options.get("spoil")), split(options.get("nudge")), options.get("spoil_node"),
              options.get("spoil_type"), std::stoi(options.get("spoil_by", "1"))};
    slow_ = split(options.get("slow"));
    poison_ = split(options.get("poison"));
    poisoned_ = split(options.get("poisoned"));
    layouts_ = read_layouts(options.get("layouts"));
    counts_ = options.get("count") == "1";
    groups_ = in_order(options.get("groups"));
    loops_ = in_order(options.get("loops"));
    if (const std::string all = options.get("computes"); !all.empty())
      knob_ = "compute", loops_ = in_order(all);
    for (const std::string& cost : in_order(options.get("costs")))
      costs_[cost.substr(0, cost.find(':'))] = std::stod(cost.substr(cost.find(':') + 1));
    for (const std::string& est : in_order(options.get("est")))
      est_[est.substr(0, est.find(':'))] = std::stoull(est.substr(est.find(':') + 1));
    compile_ms_ = std::stoi(options.get("compile_ms", "0"));
    compiled_to_ = options.get("compiled_to");
    max_nodes_ = std::stoull(options.get("max_nodes", "0"));
    leave_ = split(options.get("leave"));
    if (const std::string apart = options.get("apart"); !apart.empty())
      apart_ = {apart.substr(0, apart.find('>')), apart.substr(apart.find('>') + 1)};
    gone_ = options.get("gone");
    bad_loop_ = options.get("bad_loop");
    knobs_ = options.get("knobs");
    for (const auto& row : nlohmann::json::parse(options.get("patterns", "[]"))) {
      patterns_.emplace_back(row["name"].get<std::string>(), op("relu"), row.value("priority", 0));
      patterns_.back().dag_json = row["dag"].dump();
    }
    if (!ops_.contains("*")) {
      for (const std::string& name : ops_) patterns_.emplace_back(name, op(name));
    }
  }
  std::vector<Pattern> patterns() const override { return patterns_; }
  std::vector<WantedLayout> layouts(std::string_view) const override { return layouts_; }
  Verdict judge(const Graph& graph) const override {
    if (names_one_of(graph, refuse_)) return Verdict::no("refused by its options");
    Cost cost;
    for (const auto& [name, ns] : est_) {
      if (cost.est_ns == 0 && names_one_of(graph, {name})) cost.est_ns = ns;
    }
    if (names_one_of(graph, reluctant_)) return Verdict::slow("slow by its options", cost);
    return Verdict::yes(cost);
  }
  std::vector<Group> partition(CompileRequest& request) override {
    std::vector<Group> out;
    for (const std::string& text : groups_) {
      Group group = read_group(text, request.functions[0].graph);
      if (group.nodes.size() > 1) out.push_back(std::move(group));
    }
    return out;
  }
  KnobSpace knobs(CompileRequest& request) override {
    if (knobs_ == "fail") throw Error(BYOC_INTERNAL, "knobs fails by its options");
    if (loops_.empty()) return {};
    const Graph& graph = request.functions[0].graph;
    KnobSpace out{task_of(graph), graph.nodes[0].op, 0, 0, {{knob_, loops_}}, {}};
    for (const Node& node : graph.nodes)
      out.flops += static_cast<double>(graph.type(node).elements());
    out.bytes = 8 * out.flops;
    out.guesses = {{{knob_, knobs_ == "bad" ? "none" : loops_[0]}}};
    for (size_t k = 1; k < loops_.size() && knob_ == "compute"; ++k)
      out.guesses.push_back({{knob_, loops_[k]}});
    if (!costs_.empty()) out.cost_ns[knob_] = costs_;
    return out;
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    std::string name = counts_ ? "function " + std::to_string(++compiled_) : "";
    if (!loops_.empty()) name = knob_ + " " + loop_of(function);
    if (!function.from_artifact) take_time();
    else if (!gone_.empty() && std::filesystem::exists(gone_))
      throw Error(BYOC_UNAVAILABLE, "the device is gone");
    check_nodes(function.graph);
    if (names_one_of(function.graph, decline_))
      throw Declined("declined by its options" + (counts_ ? " (" + name + ")" : ""));
    auto bytes_of = [&](const byoc::ContentKey& key) -> std::shared_ptr<const byoc::Buffer> {
      for (size_t k = 0; k < function.constants.size(); ++k) {
        if (function.graph.constants[k].key != key.hex()) continue;
        auto bytes =
            static_cast<size_t>(function.graph.types[function.graph.constants[k].type].bytes());
        return byoc::Buffer::copy({function.constants.data<std::byte>(k), bytes});
      }
      return nullptr;
    };
    auto module = byoc::read_graph_json(function.graph_json, byoc::all_ops(), bytes_of);
    if (!module.ok()) throw Error(BYOC_BAD_GRAPH, module.status().to_string());
    return std::make_unique<ReferenceKernel>(*std::move(module), spoiled_in(function.graph), name,
                                             names_one_of(function.graph, slow_));
  }

 private:
  void take_time() const {
    note("(");
    std::this_thread::sleep_for(std::chrono::milliseconds(compile_ms_));
    note(")");
  }
  // Several processes append to one file.
  void note(const char* text) const {
    if (compiled_to_.empty()) return;
    if (FILE* file = std::fopen(compiled_to_.c_str(), "a")) {
      std::fputs(text, file);
      std::fclose(file);
    }
  }
  void check_nodes(const Graph& graph) const {
    bool is_after = false;
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const auto node = static_cast<int64_t>(k);
      if (max_nodes_ != 0 && k == max_nodes_)
        throw Declined("has room for " + std::to_string(max_nodes_) + " nodes", node);
      if (is_after && graph.nodes[k].op == apart_.second)
        throw Declined(apart_.second + " after " + apart_.first + " does not fit", node);
      const Body* callee = graph.callee(graph.nodes[k]);
      if (leave_.contains(callee ? callee->pattern : graph.nodes[k].op))
        throw Declined("leaves it", node);
      is_after = is_after || (!apart_.first.empty() && graph.nodes[k].op == apart_.first);
    }
  }
  std::string loop_of(const Function& function) const {
    if (function.point.empty()) return loops_[0];
    const auto at = function.point.find(knob_);
    const bool is_known = function.point.size() == 1 && at != function.point.end() &&
                          std::count(loops_.begin(), loops_.end(), at->second) == 1;
    if (is_known && at->second != bad_loop_) return at->second;
    throw Error(BYOC_INVALID_ARGUMENT, "the point is not in the space", -1,
                static_cast<int64_t>(function.index));
  }
  Spoil spoiled_in(const Graph& graph) {
    static std::atomic<bool> is_poisoned = false;  // like a library's cache of kernels
    std::set<std::string> here;
    Spoil out = spoil_;
    for (const Node& node : graph.nodes) here.insert(node.op);
    if (!poison_.empty() && std::includes(here.begin(), here.end(), poison_.begin(), poison_.end()))
      is_poisoned = true;
    if (is_poisoned) out.ops.insert(poisoned_.begin(), poisoned_.end());
    return out;
  }
  // Returns true when a node of the graph is in the set. A composite is named by its pattern; its
  // inner ops are not compared.
  static bool names_one_of(const Graph& graph, const std::set<std::string>& names) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      if (const Body* callee = graph.callee(node)) return names.contains(callee->pattern);
      if (names.contains(node.op)) return true;
      if (node.args.empty()) return false;
      return names.contains(node.op + "/" + std::to_string(graph.type(node.args[0]).rank()));
    });
  }
  std::set<std::string> leave_, ops_, refuse_, reluctant_, decline_, slow_, poison_, poisoned_;
  Spoil spoil_;
  std::vector<Pattern> patterns_;
  std::vector<WantedLayout> layouts_;
  std::vector<std::string> loops_, groups_;
  std::string bad_loop_, knobs_, knob_ = "loop";
  std::map<std::string, double> costs_;
  std::map<std::string, uint64_t> est_;
  std::string compiled_to_, gone_;
  std::pair<std::string, std::string> apart_;
  int compile_ms_ = 0;
  uint64_t max_nodes_ = 0;
  bool counts_ = false;
  size_t compiled_ = 0;  // calls of compile are serialised
};

}  // namespace

BYOC_PLUGIN(Selective, ID, "1.0.0", .flags = FLAGS, .max_ops = MAX_OPS, .max_bytes = MAX_BYTES,
            .kept_compiles = KEPT, .parallel_compiles = PARALLEL, .weights_as_inputs = WEIGHTS)
