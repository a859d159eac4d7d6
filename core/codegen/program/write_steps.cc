// SPDX-License-Identifier: Apache-2.0
// Writes functions as one list of instructions: bodies of control flow are written in their places.
//   before: fn main(%c: bool[], %x: f32[2]) {
//             %0 = if(%c, @then, @else, %x) : f32[2]
//             return %0
//           }
//   after:  if input 0
//             call then's steps, which write output 0
//           else
//             call else's steps, which write output 0
//           end
// A carried value of a loop is in the place of the loop's result. The body writes the next one to
// scratch memory; it is copied when the whole body has run.
#include "core/codegen/program/write_steps.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/visit.h"
#include "byoc/op/device_copy.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/devices/value_devices.h"
#include "core/codegen/program/control_scratch.h"
#include "core/codegen/program/entry_arguments.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

// The kernel of a symbol; the locs of an alias, which its steps have to hold themselves.
struct Target {
  uint32_t module, function;
  const std::vector<std::string>* alias_locs = nullptr;
};

uint64_t key(ValueId v) { return uint64_t{v.node} << 32 | v.output; }

const TensorSpec kCondition{DType::kBool, {}}, kCounter{DType::kI64, {}};

// A function that is being written.
struct Frame {
  const Function* function;
  uint64_t base = 0;           // of its arena
  std::vector<Place> results;  // where its results go
  std::unordered_map<uint64_t, Place> places;
  std::unordered_map<uint64_t, uint32_t> result_of;  // a value's first place in the results
  std::unordered_set<std::string> joins;  // symbols of steps that copy operands one after another
  Ints offsets, blocks;                   // no blocks: the arena is one
  uint32_t first_block = 0;
  size_t next_offset = 0;
  uint32_t node = 0;  // the next one

  Frame(const Function& f, uint64_t begin, uint32_t n_blocks, std::vector<Place> where)
      : function(&f), base(begin), results(std::move(where)), first_block(n_blocks) {
    offsets = f.attrs.ints("arena_offsets");
    blocks = f.attrs.ints("arena_blocks");
    for (std::string& symbol : f.attrs.strings(kJoinsAttr)) joins.insert(std::move(symbol));
    for (uint32_t k = 0; k < f.results.size(); ++k) result_of.emplace(key(f.results[k]), k);
    add_viewed_results();
  }
  // A value whose view is a result is written to the place of that result.
  void add_viewed_results() {
    for (uint32_t n = static_cast<uint32_t>(function->nodes.size()); n-- > 0 && !joins.empty();) {
      const auto* external = std::get_if<Extern>(&function->nodes[n].kind);
      const auto found = result_of.find(key({n, 0}));
      const bool is_view = external != nullptr && joins.contains(external->symbol.str()) &&
                           function->args(function->nodes[n]).size() == 1;
      if (is_view && found != result_of.end())
        result_of.emplace(key(function->args(function->nodes[n])[0]), found->second);
    }
  }
  Place place(ValueId value) const { return places.at(key(value)); }
  bool is_packed() const { return function->attrs.has("arena_blocks"); }
  uint32_t end_of_blocks() const {
    const auto most = std::max_element(blocks.begin(), blocks.end());
    return first_block + (most == blocks.end() ? 0 : static_cast<uint32_t>(*most + 1));
  }
  // Returns the place of result k of those that steps write.
  Place arena(size_t k) const {
    const auto offset = static_cast<uint64_t>(offsets[k]);
    if (!is_packed()) return {Place::kArena, 0, base + offset};
    return {Place::kArena, first_block + static_cast<uint32_t>(blocks[k]), offset};
  }
  const Node& now() const { return function->nodes[node]; }
};

// The places of a Control node that has begun.
struct Scope {
  std::vector<Place> results;
  uint64_t base = 0;                // of the scratch memory
  Place counter, condition;         // of a loop
  std::vector<Place> body_results;  // of a loop
  bool is_otherwise = false;        // the second body of an if is being written
};

class StepWriter {
 public:
  StepWriter(const IRModule& module, Executable& out)
      : module_(module), out_(out), devices_(module) {}
  Status run();

 private:
  void find_targets();
  Status begin_entry();
  void add_sizes(const Function& entry);
  Status end_entry();
  Status write_node(Frame& frame);
  void add_constant(Frame& frame, const Buffer& data, TensorSpec type);
  Result<Place> add_result(Frame& frame, uint32_t output);
  Status add_scratch(Frame& frame, Scope& scope);
  Status add_step(Frame& frame);
  bool is_joined(const Frame& frame, const Step& step) const;
  Status begin_control(Frame& frame);
  Status begin_loop(const Frame& frame, const Scope& scope);
  void enter_body(const Frame& frame);
  Status leave_body(Frame& body);
  Status end_iteration(const Frame& body, const Scope& scope);
  void copy(Place from, Place to, const TensorSpec& type);
  void emit(Instruction::Kind kind, std::vector<Place> args = {},
            std::vector<TensorSpec> types = {});

  const IRModule& module_;
  Executable& out_;
  const ValueDevices devices_;
  uint64_t n_on_device_ = 0;  // values, which plan_devices gives their places
  std::unordered_map<std::string, Target> targets_;
  std::vector<Frame> frames_;  // the entry, then bodies
  std::vector<Scope> scopes_;  // of the Controls of all frames but the last
  bool has_control_ = false;
  EntryArguments arguments_;
  uint32_t n_blocks_ = 0;  // of memory, in a program of open sizes
};

void StepWriter::emit(Instruction::Kind kind, std::vector<Place> args,
                      std::vector<TensorSpec> types) {
  out_.program.code.push_back({kind, 0, std::move(args), std::move(types)});
}

void StepWriter::copy(Place from, Place to, const TensorSpec& type) {
  if (from != to) emit(Instruction::kCopy, {from, to}, {type, type});
}

void StepWriter::find_targets() {
  for (uint32_t m = 0; m < out_.modules.size(); ++m) {
    for (uint32_t f = 0; f < out_.modules[m].functions.size(); ++f) {
      const ExternalFunction& external = module_.external_mods[m].functions[f];
      targets_[external.symbol] = {m, f};
      for (const ExternalAlias& alias : external.aliases)
        targets_[alias.symbol] = {m, f, &alias.locs};
      out_.modules[m].functions[f].aliases.clear();
    }
  }
}

Status StepWriter::begin_entry() {
  const Function& entry = module_.function(module_.entry);
  add_sizes(entry);
  BYOC_TRY(arguments_, add_arguments(entry, out_.program));
  std::vector<Place> results;
  for (uint32_t number : arguments_.output_of) results.push_back({Place::kOutput, number, 0});
  Frame& frame = frames_.emplace_back(entry, 0, 0, std::move(results));
  n_blocks_ = frame.end_of_blocks();
  for (; frame.node < entry.num_params(); ++frame.node)
    frame.places[key({frame.node, 0})] = {Place::kInput, arguments_.input_of[frame.node], 0};
  return {};
}

// Lists the open sizes of the inputs.
void StepWriter::add_sizes(const Function& entry) {
  std::map<Symbol, Dim> sizes;
  for (size_t k = 0; k < entry.num_params(); ++k) {
    for (Dim dim : entry.nodes[k].types[0]->shape) {
      if (!is_open(dim)) continue;
      for (Dim size : sizes_in(dim)) sizes.emplace(size.name(), size);
    }
  }
  for (const auto& [name, size] : sizes)
    out_.program.sizes.push_back({name.str(), size.min(), size.max()});
}

Status StepWriter::end_entry() {
  const Frame& frame = frames_.back();
  for (uint32_t k = 0; k < frame.results.size(); ++k) {
    Place from = frame.place(frame.function->results[k]);
    if (from != frame.results[k]) out_.program.copies.push_back({from, frame.results[k].index});
  }
  if (!has_control_) out_.program.code.clear();
  return {};
}

void StepWriter::add_constant(Frame& frame, const Buffer& data, TensorSpec type) {
  frame.places[key({frame.node, 0})] = {Place::kConstant,
                                        static_cast<uint32_t>(out_.program.constants.size()), 0};
  out_.program.constants.push_back({data.key(), std::move(type)});
}

// Returns the place of a result of the present node.
Result<Place> StepWriter::add_result(Frame& frame, uint32_t output) {
  const ValueId value{frame.node, output};
  const size_t k = frame.next_offset++;
  if (const uint32_t device = devices_.of(*frame.function, value); device != ValueDevices::kHost)
    return frame.places[key(value)] = Place{Place::kDevice, device, n_on_device_++};
  constexpr int64_t kOfOperand = -2;  // plan_memory.cc
  Place here;
  if (frame.offsets[k] == kOfOperand) here = frame.place(frame.function->args(frame.now())[0]);
  else if (frame.offsets[k] < 0) here = frame.results[frame.result_of.at(key(value))];
  else here = frame.arena(k);
  frame.places[key(value)] = here;
  return here;
}

// Returns true for a concat whose operands have been computed in its result, and for a view.
bool StepWriter::is_joined(const Frame& frame, const Step& step) const {
  if (!frame.joins.contains(step.symbol)) return false;
  const Place& whole = step.args.back();
  if (step.args.size() == 2 && step.args[0] == whole) return true;
  uint64_t offset = whole.offset;
  for (size_t k = 0; k + 1 < step.args.size(); ++k) {
    if (step.args[k] != Place{Place::kArena, whole.index, offset}) return false;
    offset += static_cast<uint64_t>(*size_bytes(step.types[k]));
  }
  return whole.kind == Place::kArena;
}

Status StepWriter::add_step(Frame& frame) {
  const Node& n = frame.now();
  Step step;
  const bool is_copy = is_device_copy(n);
  step.symbol = is_copy ? cat(std::get<Call>(n.kind).op->name, "(", n.loc.str(), ")")
                        : std::get<Extern>(n.kind).symbol.str();
  auto target = is_copy ? targets_.end() : targets_.find(step.symbol);
  if (is_copy) {
    step.module = Step::kDeviceCopy;
    step.locs.push_back(n.loc.str());
  } else if (target != targets_.end()) {
    step.module = target->second.module;
    step.function = target->second.function;
    if (target->second.alias_locs != nullptr) step.locs = *target->second.alias_locs;
  } else if (!n.loc.empty()) step.locs.push_back(n.loc.str());
  auto add = [&](Place place, ValueId value) -> Status {
    BYOC_TRY(TensorSpec type, spec_of(*frame.function, value));
    step.args.push_back(place);
    step.types.push_back(std::move(type));
    return {};
  };
  for (ValueId arg : frame.function->args(n)) BYOC_TRY_STATUS(add(frame.place(arg), arg));
  step.n_in = static_cast<uint32_t>(step.args.size());
  for (uint32_t k = 0; k < n.types.size(); ++k) {
    BYOC_TRY(Place here, add_result(frame, k));
    BYOC_TRY_STATUS(add(here, {frame.node, k}));
  }
  if (is_joined(frame, step)) return {};
  emit(Instruction::kCall);
  out_.program.code.back().index = static_cast<uint32_t>(out_.program.steps.size());
  out_.program.steps.push_back(std::move(step));
  return {};
}

Status StepWriter::write_node(Frame& frame) {
  const Node& node = frame.now();
  if (auto* constant = std::get_if<Constant>(&node.kind)) {
    BYOC_TRY(TensorSpec type, spec_of(*frame.function, {frame.node, 0}));
    add_constant(frame, *constant->data, std::move(type));
  } else if (std::holds_alternative<Extern>(node.kind) || is_device_copy(node)) {
    BYOC_TRY_STATUS(add_step(frame));
  } else if (std::holds_alternative<Control>(node.kind)) {
    return begin_control(frame);  // the node has run when its bodies are written
  }
  ++frame.node;
  return {};
}

Status StepWriter::begin_control(Frame& frame) {
  has_control_ = true;
  const Node& node = frame.now();
  const Control& control = std::get<Control>(node.kind);
  Scope scope;
  for (uint32_t k = 0; k < node.types.size(); ++k) {
    BYOC_TRY(Place here, add_result(frame, k));
    scope.results.push_back(here);
  }
  BYOC_TRY_STATUS(add_scratch(frame, scope));
  if (control.action == Control::kIf) {
    emit(Instruction::kIf, {frame.place(frame.function->args(node)[0])}, {kCondition});
  } else {
    BYOC_TRY_STATUS(begin_loop(frame, scope));
  }
  scopes_.push_back(std::move(scope));
  enter_body(frame);
  return {};
}

// Gives the scratch values of a Control their places: in blocks of their own, or in the part of the
// arena that the plan has for them.
Status StepWriter::add_scratch(Frame& frame, Scope& scope) {
  const Control& control = std::get<Control>(frame.now().kind);
  if (frame.is_packed()) {
    if (control.action == Control::kIf) return {};
    auto next = [&] { return Place{Place::kArena, n_blocks_++, 0}; };
    scope.counter = next();
    scope.condition = next();
    for (size_t k = 0; k < module_.function(control.body).results.size(); ++k)
      scope.body_results.push_back(next());
    return {};
  }
  scope.base = frame.base + static_cast<uint64_t>(frame.offsets[frame.next_offset++]);
  BYOC_TRY(const ControlScratch scratch, control_scratch(module_, control));
  auto place = [&](uint64_t offset) { return Place{Place::kArena, 0, scope.base + offset}; };
  scope.counter = place(scratch.counter);
  scope.condition = place(scratch.condition);
  for (uint64_t offset : scratch.results) scope.body_results.push_back(place(offset));
  return {};
}

Status StepWriter::begin_loop(const Frame& frame, const Scope& scope) {
  const Control& control = std::get<Control>(frame.now().kind);
  std::span<const ValueId> args = frame.function->args(control.args);
  copy(frame.place(args[1]), scope.condition, kCondition);
  for (uint32_t k = 0; k < control.carried; ++k) {
    BYOC_TRY(TensorSpec type, spec_of(*frame.function, {frame.node, k}));
    copy(frame.place(args[2 + k]), scope.results[k], type);
  }
  emit(Instruction::kLoop, {frame.place(args[0]), scope.condition, scope.counter},
       {kCounter, kCondition, kCounter});
  return {};
}

// Begins the body, or the second one, of the present node. `frame` is gone when it returns.
void StepWriter::enter_body(const Frame& frame) {
  const Scope& scope = scopes_.back();
  const Control& control = std::get<Control>(frame.now().kind);
  const bool is_loop = control.action == Control::kLoop;
  const Function& body = module_.function(scope.is_otherwise ? control.otherwise : control.body);
  std::vector<Place> results = scope.results, params;
  if (is_loop) {
    results = scope.body_results;
    params.push_back(scope.counter);
    for (uint32_t k = 0; k < control.carried; ++k) params.push_back(scope.results[k]);
  }
  const size_t passed = control.conditions() + control.carried;
  for (ValueId arg : frame.function->args(control.args).subspan(passed))
    params.push_back(frame.place(arg));
  Frame inner(body, scope.base, n_blocks_, std::move(results));
  n_blocks_ = inner.end_of_blocks();
  BYOC_CHECK(params.size() == body.num_params(), params.size(), " operands of @", control.body);
  for (; inner.node < params.size(); ++inner.node)
    inner.places[key({inner.node, 0})] = params[inner.node];
  frames_.push_back(std::move(inner));
}

// Ends an iteration: stacks rows, then passes the condition and the values to the next one. Values
// that the body did not compute go through scratch memory too: others may still read their places.
Status StepWriter::end_iteration(const Frame& body, const Scope& scope) {
  const Function& function = *body.function;
  const size_t carried = std::get<Control>(frames_[frames_.size() - 2].now().kind).carried;
  std::vector<TensorSpec> types;
  for (ValueId result : function.results) {
    BYOC_TRY(TensorSpec type, spec_of(function, result));
    types.push_back(std::move(type));
  }
  const Frame& outer = frames_[frames_.size() - 2];
  for (uint32_t k = static_cast<uint32_t>(carried); k < scope.results.size(); ++k) {
    BYOC_TRY(TensorSpec stacked, spec_of(*outer.function, {outer.node, k}));
    emit(Instruction::kAppend,
         {body.place(function.results[k + 1]), scope.results[k], scope.counter},
         {types[k + 1], std::move(stacked), kCounter});
  }
  copy(body.place(function.results[0]), scope.condition, kCondition);
  auto stays = [&](size_t k) { return body.place(function.results[k + 1]) == scope.results[k]; };
  for (size_t k = 0; k < carried; ++k) {
    if (!stays(k)) copy(body.place(function.results[k + 1]), body.results[k + 1], types[k + 1]);
  }
  for (size_t k = 0; k < carried; ++k) {
    if (!stays(k)) copy(body.results[k + 1], scope.results[k], types[k + 1]);
  }
  return {};
}

// Writes the end of the last frame and continues with what follows in the frame before it.
Status StepWriter::leave_body(Frame& body) {
  Scope& scope = scopes_.back();
  const Control& control = std::get<Control>(frames_[frames_.size() - 2].now().kind);
  if (control.action == Control::kLoop) {
    BYOC_TRY_STATUS(end_iteration(body, scope));
  } else {
    for (size_t k = 0; k < body.results.size(); ++k) {
      BYOC_TRY(TensorSpec type, spec_of(*body.function, body.function->results[k]));
      copy(body.place(body.function->results[k]), body.results[k], type);
    }
  }
  frames_.pop_back();
  if (control.action == Control::kIf && !scope.is_otherwise) {
    scope.is_otherwise = true;
    emit(Instruction::kElse);
    enter_body(frames_.back());
    return {};
  }
  emit(Instruction::kEnd);
  scopes_.pop_back();
  ++frames_.back().node;
  return {};
}

Status StepWriter::run() {
  find_targets();
  out_.program.devices = devices_.devices();
  BYOC_TRY_STATUS(begin_entry());
  while (true) {
    Frame& frame = frames_.back();
    if (frame.node < frame.function->nodes.size()) {
      BYOC_TRY_STATUS(write_node(frame));
    } else if (frames_.size() > 1) {
      BYOC_TRY_STATUS(leave_body(frame));
    } else {
      return end_entry();
    }
  }
}

}  // namespace

Status write_steps(const IRModule& module, Executable& out) {
  return StepWriter(module, out).run();
}

}  // namespace byoc
