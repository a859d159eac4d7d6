// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/open_sizes.h"

#include <algorithm>
#include <array>

#include "byoc/base/check.h"

namespace byoc {
namespace {

constexpr size_t kMostNames = 16;  // of one expression

Status bad_program(std::string message) {
  return invalid(std::move(message)).with_slug("executable");
}

std::string shown(const OpenSize& size) { return cat(size.least, " to ", size.most); }

}  // namespace

Result<uint32_t> OpenSizes::add(const std::string& text, int64_t most) {
  if (auto found = numbers_.find(text); found != numbers_.end()) {
    int64_t& known = expressions_[found->second].most;
    known = std::min(known, most);
    return found->second;
  }
  Expression added;
  BYOC_TRY(added.expression, SizeExpression::parse(text));
  if (added.expression.names().size() > kMostNames)
    return bad_program(cat("the size ", text, " has more than ", kMostNames, " names"));
  for (const std::string& name : added.expression.names()) {
    auto size = size_numbers_.find(name);
    if (size == size_numbers_.end())
      return bad_program(cat("the size ", text, " has the name ", name, ", which no input has"));
    added.names.push_back(size->second);
  }
  added.most = most;
  expressions_.push_back(std::move(added));
  const auto number = static_cast<uint32_t>(expressions_.size() - 1);
  numbers_.emplace(text, number);
  return number;
}

Result<uint32_t> OpenSizes::add(const std::string& text) { return add(text, INT64_MAX); }

Status OpenSizes::add(const TensorSpec& type) {
  for (size_t d = 0; d < type.open.size(); ++d) {
    if (!type.open[d].empty()) BYOC_TRY_STATUS(add(type.open[d], type.dims[d]).status());
  }
  return {};
}

std::string OpenSizes::text(std::span<const int64_t> sizes) const {
  std::string out;
  for (size_t k = 0; k < sizes.size(); ++k)
    out += cat(k == 0 ? "" : ", ", sizes_[k].name, " = ", sizes[k]);
  return out;
}

Result<OpenSizes> OpenSizes::make(const Program& program) {
  OpenSizes out;
  out.sizes_ = program.sizes;
  for (const OpenSize& size : program.sizes) {
    if (size.name.empty() || size.least > size.most ||
        !out.size_numbers_.emplace(size.name, out.size_numbers_.size()).second)
      return bad_program(cat("the size \"", size.name, "\" from ", shown(size)));
  }
  std::vector<bool> is_found(program.sizes.size());
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    const TensorSpec& type = program.inputs[k].type;
    if (k < program.run_inputs()) out.inputs_.push_back(program.inputs[k]);
    BYOC_TRY_STATUS(out.add(type));
    for (size_t d = 0; d < type.open.size(); ++d) {
      if (!type.is_open(d)) continue;
      auto size = out.size_numbers_.find(type.open[d]);
      if (size == out.size_numbers_.end()) {
        out.derived_.push_back({k, d, out.number(type.open[d])});
        continue;
      }
      out.sources_.push_back({k, d, size->second});
      is_found[size->second] = true;
    }
  }
  for (size_t k = 0; k < is_found.size(); ++k) {
    if (!is_found[k])
      return bad_program(cat("no input has the size \"", program.sizes[k].name, "\" as a dim"));
  }
  for (const NamedTensor& output : program.outputs) BYOC_TRY_STATUS(out.add(output.type));
  for (const ProgramState& state : program.states) {
    for (const TensorSpec& type : state.rows) BYOC_TRY_STATUS(out.add(type));
  }
  for (const Step& step : program.steps) {
    for (const TensorSpec& type : step.types) BYOC_TRY_STATUS(out.add(type));
  }
  for (const Instruction& instruction : program.code) {
    for (const TensorSpec& type : instruction.types) BYOC_TRY_STATUS(out.add(type));
  }
  return out;
}

Status OpenSizes::read(std::span<const DLTensor> inputs, std::span<int64_t> sizes) const {
  std::fill(sizes.begin(), sizes.end(), -1);
  std::array<size_t, 64> from{};  // the input that gave a size first
  for (const Source& source : sources_) {
    const DLTensor& view = inputs[source.input];
    const bool has_dim =
        view.shape != nullptr && view.ndim >= 0 && source.dim < static_cast<size_t>(view.ndim);
    if (!has_dim) continue;  // refused later
    const int64_t extent = view.shape[source.dim];
    const OpenSize& size = sizes_[source.size];
    int64_t& known = sizes[source.size];
    if (extent < size.least || extent > size.most) {
      return invalid(cat("the size ", size.name, " is ", extent, " in \"",
                         inputs_[source.input].name, "\", the model takes ", shown(size)))
          .with_slug("input-size")
          .with_help(cat("compile it for more: --shape ", size.name, "=",
                         std::min(size.least, std::max<int64_t>(extent, 0)), "..",
                         std::max(size.most, extent)));
    }
    if (known >= 0 && known != extent) {
      return invalid(cat("the size ", size.name, " is ", extent, " in \"",
                         inputs_[source.input].name, "\" and ", known, " in \"",
                         inputs_[from[source.size % from.size()]].name, "\""))
          .with_slug("input-shape");
    }
    if (known < 0) from[source.size % from.size()] = source.input;
    known = extent;
  }
  // A view of another rank gave no size; it is refused by its shape.
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] < 0) sizes[k] = sizes_[k].least;
  }
  return {};
}

// Returns whether the views have the ranks of the inputs, and their numbers.
bool OpenSizes::has_numbers(std::span<const DLTensor> views) const {
  if (views.size() != inputs_.size()) return false;
  for (size_t k = 0; k < views.size(); ++k) {
    const TensorSpec& type = inputs_[k].type;
    if (views[k].ndim < 0 || static_cast<size_t>(views[k].ndim) != type.dims.size()) return false;
    if (views[k].shape == nullptr && !type.dims.empty()) return false;
    for (size_t d = 0; d < type.dims.size(); ++d)
      if (!type.is_open(d) && views[k].shape[d] != type.dims[d]) return false;
  }
  return true;
}

bool OpenSizes::fits(std::span<const DLTensor> views) const {
  std::array<int64_t, 64> few{};
  std::vector<int64_t> many(sizes_.size() > few.size() ? sizes_.size() : 0);
  const std::span<int64_t> sizes(many.empty() ? few.data() : many.data(), sizes_.size());
  std::fill(sizes.begin(), sizes.end(), -1);
  if (!has_numbers(views)) return false;
  for (const Source& source : sources_) {
    const int64_t extent = views[source.input].shape[source.dim];
    const OpenSize& size = sizes_[source.size];
    int64_t& known = sizes[source.size];
    if (extent < size.least || extent > size.most || (known >= 0 && known != extent)) return false;
    known = extent;
  }
  return std::all_of(derived_.begin(), derived_.end(), [&](const Source& source) {
    const Result<int64_t> extent = value(expressions_[source.size], sizes);
    return extent.ok() && *extent == views[source.input].shape[source.dim];
  });
}

Result<int64_t> OpenSizes::value(const Expression& expression,
                                 std::span<const int64_t> sizes) const {
  std::array<int64_t, kMostNames> at{};
  for (size_t n = 0; n < expression.names.size(); ++n) at[n] = sizes[expression.names[n]];
  return expression.expression.evaluate({at.data(), expression.names.size()});
}

Status OpenSizes::evaluate(std::span<const int64_t> sizes, std::span<int64_t> values) const {
  for (size_t k = 0; k < expressions_.size(); ++k) {
    const Expression& one = expressions_[k];
    Result<int64_t> found = value(one, sizes);
    if (!found.ok())
      return Status(found.status().code(), cat(found.status().message(), " with ", text(sizes)))
          .with_slug(found.status().slug());
    values[k] = *found;
    if (values[k] > one.most) {
      return Status(Code::kOutOfRange, cat("a dim has ", values[k], " cells with ", text(sizes),
                                           ", the program takes ", one.most))
          .with_slug("input-size");
    }
  }
  return {};
}

OpenViews::OpenViews(const OpenSizes& sizes, const Program& program)
    : sizes_(sizes),
      now_(sizes.count(), -1),
      next_(sizes.count()),
      values_(sizes.expressions()),
      inputs_(program.inputs),
      outputs_(program.outputs) {
  for (auto* tensors : {&inputs_, &outputs_}) {
    for (NamedTensor& tensor : *tensors) {
      const TensorSpec with_open = tensor.type;
      tensor.type.open.clear();
      add_slots(tensor.type.dims.data(), with_open);
    }
  }
}

void OpenViews::add_slots(int64_t* dims, const TensorSpec& type) {
  for (size_t d = 0; d < type.open.size(); ++d) {
    if (type.is_open(d)) slots_.push_back({dims + d, sizes_.number(type.open[d])});
  }
}

int64_t* OpenViews::dims(const TensorSpec& type) {
  int64_t* out = dims_.emplace_back(type.dims).data();
  add_slots(out, type);
  return out;
}

const TensorSpec& OpenViews::type(const TensorSpec& type) {
  TensorSpec& out = types_.emplace_back(type);
  out.open.clear();
  add_slots(out.dims.data(), type);
  return out;
}

const int64_t* OpenViews::sizes(const std::vector<std::string>& names) {
  int64_t* out = dims_.emplace_back(names.size(), 0).data();
  for (size_t k = 0; k < names.size(); ++k)
    size_slots_.push_back({out + k, sizes_.size_number(names[k])});
  return out;
}

Result<bool> OpenViews::update(std::span<const DLTensor> inputs) {
  BYOC_CHECK(inputs.size() <= inputs_.size(), inputs.size(), " inputs of ", inputs_.size());
  BYOC_TRY_STATUS(sizes_.read(inputs, next_));
  if (next_ == now_) return false;
  std::fill(now_.begin(), now_.end(), -1);  // unless all can be computed
  BYOC_TRY_STATUS(sizes_.evaluate(next_, values_));
  now_ = next_;
  for (const Slot& slot : slots_) *slot.to = values_[slot.number];
  for (const Slot& slot : size_slots_) *slot.to = now_[slot.number];
  return true;
}

}  // namespace byoc
