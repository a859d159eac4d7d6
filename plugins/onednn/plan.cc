// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "arena.h"
#include "library/code_memory.h"
#include "library/format_text.h"
#include "region/integers.h"

namespace byoc::onednn {
namespace {

// Returns whether concat's operands, in the layouts it requires, follow one another in its result:
// the same layout, without padding, and no dim of more than one outside of the axis.
bool lie_in_a_row(const Region& region, const Unit& unit, const Built& built) {
  const Dims& dims = region.type(unit.out).dims;
  int64_t axis = unit.node->attrs.i("axis", 0);
  auto letter =
      static_cast<char>('a' + (axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis));
  std::string format = format_text(built.out);
  for (char at : format) {
    char dim = static_cast<char>(std::tolower(at));
    if (dim == letter) break;
    if (dims[static_cast<size_t>(dim - 'a')] != 1) return false;
  }
  uint64_t sum = 0;
  for (const Argument& argument : built.inputs) {
    if (argument.is_reshaped || format_text(argument.want) != format) return false;
    if (argument.want.get_size() != static_cast<uint64_t>(region.type(argument.value).bytes()))
      return false;
    sum += argument.want.get_size();
  }
  return format != "opaque" && sum == built.out.get_size();
}

long reads_of(const Unit& unit, int value) {
  long reads = std::count(unit.args.begin(), unit.args.end(), value);
  for (const Post& post : unit.posts) reads += post.other == value;
  return reads;
}

const std::string& name_of(const Unit& unit) {
  return unit.name.empty() ? unit.node->op : unit.name;
}

class Planner {
 public:
  Planner(const Graph& graph, ConstantStore& constants, const dnnl::engine& engine,
          const ChainRules& rules, const Choices& choices)
      : constants_(constants),
        engine_(engine),
        choices_(choices),
        region_(read_region(graph, rules)) {}
  Plan make();

 private:
  struct Place {
    uint32_t buffer = UINT32_MAX;
    uint64_t offset = 0;  // a view's bytes after the buffer's first
  };
  struct Standing {  // a value in one format
    Place at;
    Desc desc;
  };
  uint32_t new_buffer(Buffer::Home home, uint32_t index, const Desc& desc) {
    plan_.buffers.push_back({home, index, 0, buffer_bytes(desc)});
    return static_cast<uint32_t>(plan_.buffers.size() - 1);
  }
  Standing& home_of(int value) {
    BYOC_ONEDNN_CHECK(static_cast<size_t>(value) < homes_.size(), "the region has such a value");
    return homes_[static_cast<size_t>(value)];
  }
  void place_inputs();
  void read_numbers();
  uint32_t constant_in(const Argument& argument);
  Place place_of(const Argument& argument);
  uint32_t copy_buffer(const Argument& argument);
  void add_reorder(Place from, const Desc& from_desc, uint32_t to, const Desc& to_desc);
  void add_view(const Unit& unit, const Built& built);
  void stand(const Unit& unit, Place at, const Desc& made);
  bool may_move_into(int value, const Desc& desc) const;
  bool add_concat_in_place(const Unit& unit, const Built& built);
  void add_unit(size_t index);
  uint32_t result_buffer(const Unit& unit, const Built& built);
  void copy_residual(const Built& built, uint32_t to);
  std::optional<uint32_t> buffer_to_take_over(int value, const Desc& desc, size_t unit) const;
  void finish_outputs();

  ConstantStore& constants_;
  const dnnl::engine& engine_;
  const Choices& choices_;
  Region region_;
  Plan plan_;
  size_t current_ = 0;           // unit that is being added; all are, when outputs are finished
  std::vector<Standing> homes_;  // per value: where it was made
  std::vector<Desc> formats_;    // per value: of its home
  std::map<std::pair<int, std::string>, Place>
      copies_;                                  // (value, layout) -> buffer of a reordered copy
  std::vector<size_t> last_reader_;             // per value: the unit
  std::map<int, PackedOutput> packed_outputs_;  // by value
};

void Planner::place_inputs() {
  last_reader_.assign(region_.values.size(), 0);
  for (size_t u = 0; u < region_.units.size(); ++u) {
    for (int arg : region_.units[u].args) last_reader_[static_cast<size_t>(arg)] = u;
    for (const Post& post : region_.units[u].posts) {
      if (post.other >= 0) last_reader_[static_cast<size_t>(post.other)] = u;
    }
  }
  homes_.resize(region_.values.size());
  formats_.resize(region_.values.size());
  for (size_t v = 0; v < region_.values.size(); ++v) {
    const Value& value = region_.values[v];
    if (value.origin == Value::kUnit) continue;
    formats_[v] = plain_or_none(value.type);
    homes_[v].desc = formats_[v];
    if (value.origin == Value::kInput)  // a constant is placed when a unit reads it in a layout
      homes_[v].at.buffer = new_buffer(Buffer::kInput, value.index, formats_[v]);
  }
}

// Reads the elements that the graph does not state: those of scales and biases of many channels.
void Planner::read_numbers() {
  for (const Unit& unit : region_.units) {
    for (int value : values_of_numbers(unit)) {
      if (!region_.numbers.contains(value))
        region_.numbers[value] = constants_.numbers(region_.at(value).index);
    }
  }
}

void Planner::add_reorder(Place from, const Desc& from_desc, uint32_t to, const Desc& to_desc) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::reorder::primitive_desc pd(engine_, from_desc, engine_, to_desc, attr);
  require_code_memory();
  plan_.steps.push_back(
      {dnnl::reorder(pd),
       {{DNNL_ARG_FROM, from.buffer, from_desc, from.offset}, {DNNL_ARG_TO, to, to_desc}},
       pd.scratchpad_desc(),
       true,
       pd.impl_info_str(),
       current_ < region_.units.size() ? name_of(region_.units[current_]) : "(result)",
       {},
       current_ < region_.units.size() ? region_.units[current_].graph_node : -1});
}

// Returns a constant in the required layout, or elements that were computed from several constants.
uint32_t Planner::constant_in(const Argument& argument) {
  const uint32_t constant = region_.at(argument.value).index;
  const uint64_t bytes = argument.want.get_size();
  if (argument.elements.empty()) {
    plan_.held.push_back(constants_.in_layout(constant, argument.have, argument.want));
    if (argument.have != argument.want) plan_.packed_bytes += bytes;
  } else {
    BYOC_ONEDNN_CHECK(bytes == argument.elements.size() * sizeof(float),
                      "there is an element per place");
    plan_.held.push_back(constants_.computed(constant, argument.elements));
    plan_.packed_bytes += bytes;
  }
  return new_buffer(Buffer::kConstant, static_cast<uint32_t>(plan_.held.size() - 1), argument.want);
}

Planner::Place Planner::place_of(const Argument& argument) {
  const Standing home = home_of(argument.value);
  bool is_constant = region_.at(argument.value).origin == Value::kConstant;
  BYOC_ONEDNN_CHECK(is_constant || home.at.buffer < plan_.buffers.size(),
                    "units are in an order in which values are made before they are read");
  if (!is_constant && !argument.is_reshaped && home.desc == argument.want) return home.at;
  if (!argument.elements.empty()) return {constant_in(argument), 0};
  auto key = std::pair(argument.value, layout_key(argument.have, argument.want));
  auto known = copies_.find(key);
  if (known != copies_.end()) return known->second;
  if (is_constant) return copies_[key] = {constant_in(argument), 0};
  Place from = home.at;
  Desc plain = plain_desc(region_.type(argument.value));
  if (argument.is_reshaped && home.desc != plain) {  // other dims need the plain order first
    Argument flat{argument.index, argument.value, false, home.desc, plain};
    from = place_of(flat);
  }
  if (argument.have == argument.want) return from;
  uint32_t to = copy_buffer(argument);
  add_reorder(from, argument.have, to, argument.want);
  return copies_[key] = {to, 0};
}

// Returns memory for the value in the required layout: the output's that is to have it so.
uint32_t Planner::copy_buffer(const Argument& argument) {
  auto packed = packed_outputs_.find(argument.value);
  const bool is_output = packed != packed_outputs_.end() && !argument.is_reshaped &&
                         format_text(argument.want) == packed->second.format;
  if (!is_output) return new_buffer(Buffer::kArena, 0, argument.want);
  return new_buffer(Buffer::kOutput, packed->second.index, argument.want);
}

// Returns the buffer of the value, or of a copy of it in the required layout, when no later unit
// reads the value, this unit reads it once, and it is no result. Earlier readers do not matter.
std::optional<uint32_t> Planner::buffer_to_take_over(int value, const Desc& desc,
                                                     size_t unit) const {
  if (value < 0 || reads_of(region_.units[unit], value) != 1) return std::nullopt;
  bool is_result =
      std::find(region_.outputs.begin(), region_.outputs.end(), value) != region_.outputs.end();
  if (is_result || last_reader_[static_cast<size_t>(value)] != unit) return std::nullopt;
  const Standing& home = homes_[static_cast<size_t>(value)];
  Place at = home.at;
  if (home.desc != desc) {
    auto copy = copies_.find({value, layout_key(home.desc, desc)});
    if (copy == copies_.end()) return std::nullopt;
    at = copy->second;
  }
  if (at.buffer == UINT32_MAX) return std::nullopt;  // a constant that no unit has read yet
  const Buffer& buffer = plan_.buffers[at.buffer];
  if (buffer.home != Buffer::kArena || buffer.is_shared) return std::nullopt;
  return at.buffer;
}

uint32_t Planner::result_buffer(const Unit& unit, const Built& built) {
  size_t index = static_cast<size_t>(&unit - region_.units.data());
  auto output = std::find(region_.outputs.begin(), region_.outputs.end(), unit.out);
  if (output != region_.outputs.end() && built.out == plain_desc(region_.type(unit.out))) {
    auto place = static_cast<uint32_t>(output - region_.outputs.begin());
    uint32_t to = new_buffer(Buffer::kOutput, place, built.out);
    copy_residual(built, to);
    return to;
  }
  auto packed = packed_outputs_.find(unit.out);
  if (packed != packed_outputs_.end() && format_text(built.out) == packed->second.format) {
    uint32_t to = new_buffer(Buffer::kOutput, packed->second.index, built.out);
    copy_residual(built, to);
    return to;
  }
  int dying = built.sum >= 0 ? built.sum : built.in_place;
  if (auto taken = buffer_to_take_over(dying, built.out, index)) return *taken;
  uint32_t to = new_buffer(Buffer::kArena, 0, built.out);
  copy_residual(built, to);
  return to;
}

void Planner::copy_residual(const Built& built, uint32_t to) {
  if (built.sum < 0) return;
  const Desc& format = formats_[static_cast<size_t>(built.sum)];
  add_reorder(place_of({0, built.sum, false, format, format}), format, to, built.out);
}

// Adds a view. The memory then has two owners: neither may be overwritten in place.
void Planner::add_view(const Unit& unit, const Built& built) {
  BYOC_ONEDNN_CHECK(built.inputs.size() == 1, "a view has one operand");
  Place at = place_of(built.inputs[0]);
  plan_.buffers[at.buffer].is_shared = true;
  stand(unit, {at.buffer, at.offset + built.offset}, built.out);
}

void Planner::stand(const Unit& unit, Place at, const Desc& made) {
  Desc desc = canonical(made, data_type(region_.type(unit.out).dtype));
  homes_[static_cast<size_t>(unit.out)] = {at, desc};
  formats_[static_cast<size_t>(unit.out)] = desc;
}

// Returns whether a value can be made inside another buffer: a unit makes it in memory of its own,
// in this layout.
bool Planner::may_move_into(int value, const Desc& desc) const {
  const Standing& home = homes_[static_cast<size_t>(value)];
  if (region_.values[static_cast<size_t>(value)].origin != Value::kUnit || home.desc != desc)
    return false;
  const Buffer& buffer = plan_.buffers[home.at.buffer];
  return buffer.home == Buffer::kArena && !buffer.is_shared && buffer.whole == UINT32_MAX;
}

// Makes the operands one after another in the result: the units that make them write them there.
// Operands that cannot move are copied.
bool Planner::add_concat_in_place(const Unit& unit, const Built& built) {
  bool is_result =
      std::find(region_.outputs.begin(), region_.outputs.end(), unit.out) != region_.outputs.end();
  if (unit.node->op != "concat" || is_result || !lie_in_a_row(region_, unit, built)) return false;
  if (std::none_of(built.inputs.begin(), built.inputs.end(),
                   [&](const Argument& a) { return may_move_into(a.value, a.want); }))
    return false;
  uint32_t whole = new_buffer(Buffer::kArena, 0, built.out);
  uint64_t offset = 0;
  for (const Argument& argument : built.inputs) {
    uint32_t part = home_of(argument.value).at.buffer;
    if (!may_move_into(argument.value, argument.want)) {
      Place from = place_of(argument);
      part = new_buffer(Buffer::kArena, 0, argument.want);
      add_reorder(from, argument.want, part, argument.want);
    }
    plan_.buffers[part].whole = whole;
    plan_.buffers[part].offset = offset;
    plan_.buffers[part].is_shared = true;
    offset += argument.want.get_size();
  }
  BYOC_ONEDNN_CHECK(offset == built.out.get_size(), "concat's operands fill its result");
  plan_.buffers[whole].is_shared = true;
  stand(unit, {whole}, built.out);
  return true;
}

void Planner::add_unit(size_t index) {
  const Unit& unit = region_.units[index];
  Built built = build_unit(region_, unit, formats_, engine_, choices_);
  if (built.is_view) return add_view(unit, built);
  if (add_concat_in_place(unit, built)) return;
  if (built.is_nothing) return stand(unit, {new_buffer(Buffer::kArena, 0, built.out)}, built.out);
  Step step{built.primitive, {},         built.scratchpad, false, built.implementation,
            name_of(unit),   built.loop, unit.graph_node};
  for (const Argument& argument : built.inputs) {
    Place at = place_of(argument);
    step.args.push_back({argument.index, at.buffer, argument.want, at.offset});
  }
  uint32_t out = result_buffer(unit, built);
  step.args.push_back({DNNL_ARG_DST, out, built.out_view.value_or(built.out)});
  BYOC_ONEDNN_CHECK(step.primitive || step.loop, step.name + " runs something");
  BYOC_ONEDNN_CHECK(!built.out_view || built.out_view->get_size() <= built.out.get_size(),
                    step.name + " writes into its own buffer");
  plan_.steps.push_back(std::move(step));
  stand(unit, {out}, built.out);
}

void Planner::finish_outputs() {
  for (size_t k = 0; k < region_.outputs.size(); ++k) {
    int value = region_.outputs[k];
    if (region_.type(value).elements() == 0) continue;
    Desc plain = plain_desc(region_.type(value));
    const Desc& format = formats_[static_cast<size_t>(value)];
    Place from = place_of({0, value, false, format, format});
    const Buffer& home = plan_.buffers[from.buffer];
    if (home.home == Buffer::kOutput && home.index == k && format == plain && from.offset == 0)
      continue;
    add_reorder(from, format, new_buffer(Buffer::kOutput, static_cast<uint32_t>(k), plain), plain);
  }
}

Plan Planner::make() {
  place_inputs();
  read_numbers();
  packed_outputs_ = packed_outputs(region_);
  for (current_ = 0; current_ < region_.units.size(); ++current_) add_unit(current_);
  finish_outputs();
  place_arena(plan_);
  return std::move(plan_);
}

}  // namespace

Plan make_plan(const Graph& graph, ConstantStore& constants, const dnnl::engine& engine,
               const ChainRules& rules, const Choices& choices) {
  return Planner(graph, constants, engine, rules, choices).make();
}

}  // namespace byoc::onednn
