// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/given_shapes.h"

#include <algorithm>
#include <charconv>

#include "byoc/base/json.h"
#include "runtime/artifact/open_inputs.h"
#include "runtime/artifact/size_picker.h"
#include "runtime/cli/command.h"

namespace byoc::cli {
namespace {

Result<GivenShape> shape_of(const std::string& value, const TensorReaders& readers) {
  auto tensor = parse_value(value, nullptr, 0, readers);
  if (tensor.ok()) return GivenShape{.extents = tensor->spec().dims};
  if (tensor.status().slug() != "input-value") return std::move(tensor.status()).at(value);
  const auto commas = std::count(value.begin(), value.end(), ',');
  return GivenShape{.elements = commas > 0 ? commas + 1 : 0};
}

/// Returns "x f32[2,8]", or "3 elements of x", for the inputs whose values state something.
std::string describe(const std::vector<GivenShape>& given, const std::vector<NamedTensor>& inputs) {
  std::string out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const char* separator = out.empty() ? "" : ", ";
    const std::string& name = inputs[k].name;
    if (given[k].extents)
      out += cat(separator, name, " ", TensorSpec{inputs[k].type.dtype, *given[k].extents});
    else if (given[k].elements > 0) out += cat(separator, given[k].elements, " elements of ", name);
  }
  return out;
}

}  // namespace

bool GivenShape::fits(const TensorSpec& type, SizesByName& sizes) const {
  if (extents) {
    for (size_t d = 0; d < type.dims.size() && extents->size() == type.dims.size(); ++d)
      if (!type.is_open(d) && (*extents)[d] != type.dims[d]) return false;
    return note_sizes(type, *extents, sizes) && extents->size() == type.dims.size();
  }
  if (elements == 0) return true;
  if (type.is_open()) return type.dims.size() != 1 || note_sizes(type, {&elements, 1}, sizes);
  int64_t n = 1;
  for (int64_t dim : type.dims) n *= dim;
  return elements == n;
}

Result<std::vector<GivenShape>> given_shapes(const std::vector<std::string>& names,
                                             const std::vector<std::string>& bindings,
                                             const TensorReaders& readers) {
  std::vector<GivenShape> shapes(names.size());
  for (const std::string& binding : bindings) {
    auto [name, value] = split_binding(binding, names);
    auto found = name.empty() && names.size() == 1 ? names.begin()
                                                   : std::find(names.begin(), names.end(), name);
    if (found == names.end()) continue;
    BYOC_TRY(shapes[static_cast<size_t>(found - names.begin())], shape_of(value, readers));
  }
  return shapes;
}

Result<RunSizes> parse_run_sizes(const std::vector<std::string>& texts, const char* flag) {
  RunSizes out;
  auto wrong = [&](const std::string& part) {
    return usage_error(cat(flag, " is a size of the run, not \"", part, "\""))
        .with_help(cat("one number per size, or all of an input: ", flag, " B=2,T=17, ", flag,
                       " x=2x17x8"));
  };
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      const std::string part = text.substr(begin, end - begin);
      begin = end + 1;
      const size_t equals = part.rfind('=');
      if (equals == part.npos || equals == 0) return wrong(part);
      std::vector<int64_t> dims;
      for (size_t at = equals + 1; at <= part.size();) {
        const size_t to = std::min(part.find('x', at), part.size());
        int64_t dim = 0;
        auto [rest, error] = std::from_chars(part.data() + at, part.data() + to, dim);
        if (error != std::errc() || rest != part.data() + to) return wrong(part);
        dims.push_back(dim);
        at = to + 1;
      }
      if (!out.emplace(part.substr(0, equals), std::move(dims)).second)
        return usage_error(cat(flag, " names \"", part.substr(0, equals), "\" twice"));
    }
  }
  return out;
}

namespace {

const NamedTensor* find_named(const std::vector<NamedTensor>& inputs, const std::string& name) {
  auto found = std::ranges::find(inputs, name, &NamedTensor::name);
  return found == inputs.end() ? nullptr : &*found;
}

const OpenSize* find_size(std::span<const OpenSize> sizes, const std::string& name) {
  auto found = std::ranges::find(sizes, name, &OpenSize::name);
  return found == sizes.end() ? nullptr : &*found;
}

/// Returns "2x17".
std::string joined(const std::vector<int64_t>& dims) {
  std::string out;
  for (int64_t dim : dims) out += cat(out.empty() ? "" : "x", dim);
  return out;
}

/// Returns true when the label "B=2,T=128" has the part "T=128".
bool has_part(const std::string& label, const std::string& part) {
  return cat(",", label, ",").find(cat(",", part, ",")) != std::string::npos;
}

bool is_within(const OpenSize& size, int64_t number) {
  return number >= size.least && number <= size.most;
}

/// Returns true when the size takes all that is stated, and keeps in `open` what it leaves open.
bool fits_all(const SizedExecutable& size, const std::vector<GivenShape>& given,
              const RunSizes& run, RunSizes& open) {
  const Program& program = size.executable.program;
  SizesByName sizes;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    if (!given[k].fits(program.inputs[k].type, sizes)) return false;
  }
  for (const auto& [name, dims] : run) {
    const NamedTensor* input = find_named(program.inputs, name);
    if (input != nullptr && GivenShape{dims}.fits(input->type, sizes)) {
      open[name] = dims;
    } else if (const OpenSize* own = find_size(program.sizes, name);
               own != nullptr && dims.size() == 1) {
      if (sizes.emplace(name, dims[0]).first->second != dims[0]) return false;
      open[name] = dims;
    } else if (!has_part(size.label, cat(name, "=", joined(dims)))) {
      return false;
    }
  }
  return std::ranges::all_of(sizes, [&](const auto& known) {
    const OpenSize* own = find_size(program.sizes, known.first);
    return own == nullptr || is_within(*own, known.second);
  });
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& inputs) {
  std::vector<std::string> names;
  for (const NamedTensor& input : inputs) names.push_back(input.name);
  return names;
}

std::string described(const RunSizes& run) {
  std::string out;
  for (const auto& [name, dims] : run) out += cat(out.empty() ? "" : ", ", name, "=", joined(dims));
  return out;
}

/// Returns the number of the size to run; the open one with the most sizes where none fits, whose
/// run then reports what is wrong.
Result<size_t> pick(const std::vector<SizedExecutable>& sizes, const std::vector<GivenShape>& given,
                    PickedSize& out, const RunSizes& run) {
  out.is_given = !run.empty() || std::ranges::any_of(given, [](const GivenShape& shape) {
    return shape.extents || shape.elements > 0;
  });
  if (!out.is_given) return size_t{0};
  const std::vector<size_t> order = SizePicker::order_of(sizes);
  for (size_t k : order) {
    RunSizes open;
    if (!fits_all(sizes[k], given, run, open)) continue;
    out.run = std::move(open);
    return k;
  }
  const bool is_open = !sizes[order.back()].executable.program.sizes.empty();
  if (!is_open && sizes.size() > 1) {
    const std::string what = describe(given, sizes[0].executable.program.inputs);
    return no_such_size(cat(what, what.empty() || run.empty() ? "" : ", ", described(run)),
                        describe_sizes(sizes));
  }
  out.run = run;
  return order.back();
}

}  // namespace

Result<PickedSize> pick_size(std::vector<SizedExecutable> sizes,
                             const std::vector<std::string>& bindings, const RunSizes& run,
                             const TensorReaders& readers) {
  PickedSize out;
  for (const SizedExecutable& size : sizes) out.labels.push_back(size.label);
  size_t picked = 0;
  if (sizes.size() > 1 || !run.empty()) {
    const std::vector<std::string> names = names_of(sizes[0].executable.program.inputs);
    BYOC_TRY(auto given, given_shapes(names, bindings, readers));
    BYOC_TRY(picked, pick(sizes, given, out, run));
  }
  out.label = sizes[picked].label;
  out.executable = std::move(sizes[picked].executable);
  return out;
}

namespace {

/// Finds the number of each open size of a run.
class RunNumbers {
 public:
  RunNumbers(const std::vector<NamedTensor>& inputs, std::span<const OpenSize> sizes)
      : inputs_(inputs), sizes_(sizes) {}

  Status take_run(const RunSizes& run) {
    for (const auto& [name, dims] : run) {
      const OpenSize* size = find_size(sizes_, name);
      if (size != nullptr && dims.size() == 1) {
        BYOC_TRY_STATUS(set(*size, dims[0]));
        continue;
      }
      const NamedTensor* input = find_named(inputs_, name);
      if (input == nullptr) return unknown(name);
      if (!GivenShape{dims}.fits(input->type, known_)) {
        return invalid(cat("\"", name, "\" is ", input->type, " and cannot be ", joined(dims)))
            .with_slug("input-shape");
      }
    }
    return {};
  }

  /// Notes the sizes of values; those that disagree are reported by the run.
  void take_values(const std::vector<GivenShape>& given) {
    for (size_t k = 0; k < inputs_.size(); ++k) (void)given[k].fits(inputs_[k].type, known_);
  }

  AssumedSizes assume_rest() {
    AssumedSizes out;
    for (const OpenSize& size : sizes_) {
      const int64_t least = std::min(std::max<int64_t>(size.least, 1), size.most);
      if (known_.emplace(size.name, least).second) out.push_back({size.name, least});
    }
    return out;
  }

  const SizesByName& known() const { return known_; }

 private:
  Status set(const OpenSize& size, int64_t number) {
    if (!is_within(size, number)) {
      return invalid(cat("the size ", size.name, " is ", number, ", the model takes ", size.least,
                         " to ", size.most))
          .with_slug("input-size");
    }
    const int64_t known = known_.emplace(size.name, number).first->second;
    if (known == number) return {};
    return invalid(cat("the size ", size.name, " is ", number, " and in the values ", known))
        .with_slug("input-shape");
  }

  Status unknown(const std::string& name) const {
    std::string all;
    for (const OpenSize& size : sizes_)
      all += cat(all.empty() ? "" : ", ", size.name, "=", size.least, "..", size.most);
    return usage_error(cat("the model has no open size \"", name, "\""))
        .with_help(all.empty() ? "it is compiled for fixed sizes: leave it out"
                               : cat("it has ", all));
  }

  const std::vector<NamedTensor>& inputs_;
  std::span<const OpenSize> sizes_;
  SizesByName known_;
};

}  // namespace

Result<RunInputs> inputs_of_run(const std::vector<NamedTensor>& inputs,
                                std::span<const OpenSize> sizes,
                                const std::vector<std::string>& bindings, const RunSizes& run,
                                const TensorReaders& readers) {
  const std::vector<std::string> names = names_of(inputs);
  BYOC_TRY(auto given, given_shapes(names, bindings, readers));
  RunNumbers numbers(inputs, sizes);
  numbers.take_values(given);
  BYOC_TRY_STATUS(numbers.take_run(run));
  RunInputs out{bindings, numbers.assume_rest()};
  BYOC_TRY(const std::vector<NamedTensor> at, inputs_at(inputs, numbers.known()));
  std::vector<bool> is_given(inputs.size());
  for (std::string& binding : out.bindings) {
    auto [name, value] = split_binding(binding, names);
    auto found = name.empty() && names.size() == 1 ? names.begin() : std::ranges::find(names, name);
    if (found == names.end()) continue;  // make_inputs reports it
    const auto k = static_cast<size_t>(found - names.begin());
    is_given[k] = true;
    if (inputs[k].type.is_open() && !given[k].extents)
      binding = cat(names[k], "=", at[k].type, "=", value);
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!is_given[k] && inputs[k].type.is_open())
      out.bindings.push_back(cat(names[k], "=", at[k].type));
  }
  return out;
}

std::string assumed_text(const AssumedSizes& sizes) {
  if (sizes.empty()) return "";
  std::string list;
  for (const AssumedSize& size : sizes)
    list += cat(list.empty() ? "" : ", ", size.name, "=", size.extent);
  return cat("open sizes: ", list, ", which --shape or an --input sets\n");
}

void add_assumed_json(const AssumedSizes& sizes, Json& json) {
  if (sizes.empty()) return;
  json["assumed_sizes"] = Json::object();
  for (const AssumedSize& size : sizes) json["assumed_sizes"][size.name] = size.extent;
}

std::string size_text(const PickedSize& picked) {
  if (picked.labels.size() < 2) return "";
  std::string all;
  for (const std::string& label : picked.labels) all += cat(all.empty() ? "" : "; ", label);
  return cat("size ", picked.label, picked.is_given ? "" : ", as nothing gives one",
             "; compiled: ", all, "\n");
}

void add_size_json(const PickedSize& picked, Json& json) {
  if (picked.labels.size() < 2) return;
  json["size"] = picked.label;
  json["sizes"] = picked.labels;
}

}  // namespace byoc::cli
