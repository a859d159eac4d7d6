// SPDX-License-Identifier: Apache-2.0
#include "knobs.h"

#include <algorithm>
#include <array>

#include "library/format_text.h"
#include "library/implementations.h"
#include "task.h"

namespace byoc::onednn {
namespace {

// A knob and all values that a region may have of it. Of values that build the same kernels, the
// first one is offered.
struct Row {
  std::string_view name;
  std::array<std::string_view, 5> values;
  bool (*concerns)(const Unit&);  // false: the unit is the same at each value
};

bool is_conv(const Unit& unit) { return unit.node->op.starts_with("conv"); }
bool is_max_pool(const Unit& unit) { return unit.node->op.ends_with("max_pool"); }
bool is_product(const Unit& unit) { return unit.node->op == "matmul" || unit.node->op == "gemm"; }
// Which ops have loops over cells is for build_unit to decide.
bool is_any(const Unit&) { return true; }

constexpr Row kKnobRows[] = {
    {"convolution", {"any", "loop", "blocked", "nhwc", "plain"}, is_conv},
    {"max_pool", {"loop", "primitive"}, is_max_pool},
    {"piece", {"4096", "16384", "65536"}, is_any},
    {"product", {"packed", "convolution", "plain"}, is_product},
};

void choose(Choices& choices, std::string_view knob, std::string_view value) {
  if (knob == "convolution") choices.convolution = value;
  if (knob == "max_pool") choices.max_pool = value;
  if (knob == "piece") choices.piece = std::stoll(std::string(value));
  if (knob == "product") choices.product = value;
}

struct Kernels {
  std::string text;
  size_t references = 0;  // kernels that oneDNN has not written for speed
};

// Returns the units' kernels and layouts as text; nothing where one cannot be built.
std::optional<Kernels> kernels_of(const Region& region, const Choices& choices,
                                  const dnnl::engine& engine, uint32_t threads) try {
  Kernels out;
  std::vector<Desc> formats;
  for (const Value& value : region.values) formats.push_back(plain_or_none(value.type));
  for (const Unit& unit : region.units) {
    const Built built = build_unit(region, unit, formats, engine, choices);
    formats[static_cast<size_t>(unit.out)] =
        canonical(built.out, data_type(region.type(unit.out).dtype));
    out.references += is_reference(built.implementation);
    out.text += built.implementation;
    for (const Argument& argument : built.inputs)
      out.text += " " + layout_text(argument.have) + ">" + layout_text(argument.want);
    out.text += " " + layout_text(built.out);
    out.text += " " + std::to_string(std::min<int64_t>(built.pieces, threads)) + "\n";
  }
  return out;
} catch (const Refusal&) {
  return std::nullopt;
} catch (const dnnl::error&) {
  return std::nullopt;
}

class Space {
 public:
  Space(const Region& region, const dnnl::engine& engine, uint32_t threads)
      : region_(region), engine_(engine), threads_(threads) {}
  void add(const Row& row, const Kernels& usual);
  sdk::KnobSpace take();

 private:
  const Region& region_;
  const dnnl::engine& engine_;
  uint32_t threads_;
  std::vector<sdk::Knob> knobs_;
  sdk::Point usual_;  // the values that compile takes by itself
};

void Space::add(const Row& row, const Kernels& usual) {
  const bool is_concerned = std::any_of(region_.units.begin(), region_.units.end(), row.concerns);
  if (!is_concerned || (row.name == "piece" && threads_ == 1)) return;
  sdk::Knob knob{std::string(row.name), {}};
  std::vector<std::string> seen;
  std::string own;
  for (std::string_view value : row.values) {
    if (value.empty()) continue;
    Choices choices;
    choose(choices, row.name, value);
    const std::optional<Kernels> made = kernels_of(region_, choices, engine_, threads_);
    if (!made || made->references > usual.references) continue;
    if (std::find(seen.begin(), seen.end(), made->text) != seen.end()) continue;
    if (made->text == usual.text) own = value;
    seen.push_back(made->text);
    knob.values.emplace_back(value);
  }
  if (knob.values.size() < 2 || own.empty()) return;
  usual_[knob.name] = own;
  knobs_.push_back(std::move(knob));
}

// Returns the space with the usual point, and those that differ from it in one value, as guesses.
sdk::KnobSpace Space::take() {
  sdk::KnobSpace space;
  if (knobs_.empty()) return space;
  space.kind = "onednn";
  space.guesses = {usual_};
  for (const sdk::Knob& knob : knobs_) {
    space.kind += (space.kind == "onednn" ? "." : "+") + knob.name;
    for (const std::string& value : knob.values) {
      sdk::Point point = usual_;
      point[knob.name] = value;
      if (point != usual_) space.guesses.push_back(std::move(point));
    }
  }
  space.knobs = std::move(knobs_);
  return space;
}

}  // namespace

sdk::KnobSpace space_of(const Graph& graph, const ChainRules& rules, const dnnl::engine& engine,
                        uint32_t threads) {
  const Region region = read_region(graph, rules);
  const std::optional<Kernels> usual = kernels_of(region, {}, engine, threads);
  if (!usual) throw Refusal{"oneDNN has no kernel for the region"};
  Space space(region, engine, threads);
  for (const Row& row : kKnobRows) space.add(row, *usual);
  sdk::KnobSpace out = space.take();
  if (out.knobs.empty()) return out;
  out.task = task_text(graph, rules);
  out.flops = flops_of(graph);
  out.bytes = bytes_of(graph);
  return out;
}

Choices choices_of(const sdk::Point& point) {
  auto refuse = [](const std::string& why) {
    throw sdk::Error(BYOC_INVALID_ARGUMENT, "the point is outside of the knob space: " + why);
  };
  Choices choices;
  for (const auto& [name, value] : point) {
    auto row = std::find_if(std::begin(kKnobRows), std::end(kKnobRows),
                            [&](const Row& r) { return r.name == name; });
    if (row == std::end(kKnobRows)) refuse("onednn has no knob \"" + name + "\"");
    std::string known;
    bool is_known = false;
    for (std::string_view one : row->values) {
      if (one.empty()) continue;
      is_known = is_known || one == value;
      known += (known.empty() ? "" : ", ") + std::string(one);
    }
    if (!is_known) refuse("\"" + name + "\" is \"" + value + "\", and not one of " + known);
    choose(choices, name, value);
  }
  return choices;
}

}  // namespace byoc::onednn
