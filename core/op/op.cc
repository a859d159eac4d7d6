// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/op.h"

#include "byoc/base/check.h"
#include "byoc/base/nearest.h"
#include "byoc/op/placement_attr.h"

namespace byoc {
namespace {

// Returns the attribute that every op but annotations may have.
const AttrSpec& placement_spec() {
  static const AttrSpec spec{std::string(kPlacementAttribute), std::string(),
                             "the plugin that runs it, or !PLUGIN", AttrSpec::kOptional};
  return spec;
}

const AttrSpec* find_spec(const OpDef& op, std::string_view name) {
  for (const AttrSpec& spec : op.attrs) {
    if (spec.name == name) return &spec;
  }
  return name == kPlacementAttribute && !op.is_annotation ? &placement_spec() : nullptr;
}

Status unknown_attr(const OpDef& op, Symbol name) {
  std::vector<std::string> known;
  for (const AttrSpec& spec : op.attrs) known.push_back(spec.name);
  std::string has = known.empty() ? "; it has none" : did_you_mean(name.text(), known);
  return invalid(cat(op.name, " has no attribute \"", name, "\"", has)).with_slug("unknown-attr");
}

bool is_list(const AttrValue& value) { return attr_kind(value).starts_with("list"); }

// Returns `value` in the kind of `spec`: an integer becomes a float, an empty list any list.
Result<AttrValue> coerce(const OpDef& op, const AttrSpec& spec, const AttrValue& value) {
  const AttrValue& due = spec.fallback;
  if (value.index() == due.index()) return value;
  if (auto* integer = std::get_if<int64_t>(&value); integer && std::holds_alternative<double>(due))
    return AttrValue(static_cast<double>(*integer));
  if (auto* integers = std::get_if<Ints>(&value); integers && is_list(due)) {
    if (integers->empty()) return value;
    if (std::holds_alternative<Floats>(due))
      return AttrValue(Floats(integers->begin(), integers->end()));
  }
  std::string text;
  print_to(text, value);
  return invalid(cat(op.name, ": attribute \"", spec.name, "\" is a ", attr_kind(due), ", got the ",
                     attr_kind(value), " ", text))
      .with_slug("attr-kind");
}

std::string counted_inputs(size_t least, size_t most, bool variadic) {
  std::string count = std::to_string(least);
  if (variadic) count += " or more";
  else if (most != least) count += cat(" to ", most);
  return count + (most == 1 && !variadic ? " input" : " inputs");
}

Status check_input_count(const OpDef& op, size_t given) {
  size_t least = 0;
  for (const InputSpec& input : op.inputs) least += !input.optional;
  bool variadic = !op.inputs.empty() && op.inputs.back().variadic;
  if (given >= least && (variadic || given <= op.inputs.size())) return {};
  return invalid(cat(op.name, " takes ", counted_inputs(least, op.inputs.size(), variadic),
                     ", got ", given))
      .with_slug("op-inputs");
}

}  // namespace

std::string_view fusion_kind_name(FusionKind kind) {
  static constexpr std::string_view kNames[] = {"elementwise", "broadcast", "injective",
                                                "reduction",   "anchor",    "opaque"};
  return kNames[static_cast<int>(kind)];
}

Result<Attrs> complete_attrs(const OpDef& op, Attrs given) {
  for (const auto& [name, value] : given) {
    if (!find_spec(op, name.text())) return unknown_attr(op, name);
  }
  Attrs complete;
  for (const AttrSpec& spec : op.attrs) {
    if (const AttrValue* value = given.find(spec.name)) {
      BYOC_TRY(AttrValue coerced, coerce(op, spec, *value));
      complete.set(spec.name, std::move(coerced));
    } else if (spec.need == AttrSpec::kHasDefault) {
      complete.set(spec.name, spec.fallback);
    } else if (spec.need == AttrSpec::kRequired) {
      return invalid(cat(op.name, " needs the attribute \"", spec.name, "\" (",
                         attr_kind(spec.fallback), ")"))
          .with_slug("missing-attr");
    }
  }
  if (const AttrValue* rules = given.find(kPlacementAttribute)) {
    BYOC_TRY(AttrValue text, coerce(op, placement_spec(), *rules));
    complete.set(kPlacementAttribute, std::move(text));
  }
  return complete;
}

namespace {

// Refuses tensors that no machine has memory for, before a kernel is prepared or compiled for them.
Status check_size(const OpDef& op, const TensorType& type) {
  constexpr int64_t kMostBytes = int64_t{1} << 40;
  if (!is_static(type.shape)) return {};
  auto bytes = size_bytes(type);
  if (!bytes.ok()) return std::move(bytes.status()).at(op.name);
  if (*bytes <= kMostBytes) return {};
  return Status(Code::kOutOfRange, cat(op.name, ": the result ", type, " has ", *bytes,
                                       " bytes, a tensor has at most 2^40"))
      .with_slug("too-large");
}

}  // namespace

Result<std::vector<TypeId>> infer_types(const OpDef& op, Types inputs, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_input_count(op, inputs.size()));
  BYOC_TRY(std::vector<TensorType> inferred, op.infer(inputs, attrs));
  std::vector<TypeId> results;
  results.reserve(inferred.size());
  for (const TensorType& type : inferred) {
    if (type.shape.size() > kMaxRank)
      return invalid(cat(op.name, ": the result has rank ", type.shape.size(), ", at most ",
                         kMaxRank, " is possible"));
    BYOC_TRY_STATUS(check_size(op, type));
    results.push_back(type);
  }
  return results;
}

double flops(const OpDef& op, Types inputs, Types outputs, const Attrs& attrs) {
  for (Types types : {inputs, outputs}) {
    for (TypeId type : types) {
      if (!is_static(type->shape)) return 0;
    }
  }
  if (op.flops) return op.flops(inputs, outputs, attrs);
  double total = 0;
  for (TypeId type : outputs) {
    double elements = 1;
    for (Dim dim : type->shape) elements *= static_cast<double>(dim.extent());
    total += elements;
  }
  return total;
}

}  // namespace byoc
