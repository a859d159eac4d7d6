// SPDX-License-Identifier: Apache-2.0
#include "core/tools/sizes/open_sizes.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "byoc/base/json.h"
#include "byoc/import.h"
#include "byoc/text/text.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/libraries.h"
#include "runtime/cli/given_shapes.h"

namespace byoc::driver {
namespace {

struct Extent {
  int64_t number = -1;  // -1: open
  std::string name;     // of an open one; empty: none
  int64_t least = 1;    // the number of an open one that nothing gives
};

struct Input {
  std::string name;
  std::vector<Extent> extents;
  bool has_rank = true, is_set = false;  // is_set: a flag gives its shape
};

/// The inputs of a model, and a module with these inputs.
struct Signature {
  std::vector<Input> inputs;
  IRModule module;
};

Result<Signature> onnx_signature(const std::string& path) {
  Signature out;
  BYOC_TRY(auto inputs, onnx_inputs(path));
  out.module = signature_module(inputs);
  for (const ModelInput& input : inputs) {
    if (input.has_default) continue;
    Input& added = out.inputs.emplace_back(Input{.name = input.name, .has_rank = input.has_rank});
    for (size_t k = 0; k < input.dims.size(); ++k)
      added.extents.push_back({input.dims[k], input.dim_names[k]});
  }
  return out;
}

Result<Signature> ir_signature(const std::string& path) {
  Signature out;
  BYOC_TRY(out.module, read_module(path, all_ops()));
  const Function* entry = out.module.find(out.module.entry);
  if (entry == nullptr) return out;  // reading reports it
  for (size_t k = 0; k < entry->num_params(); ++k) {
    Input& added =
        out.inputs.emplace_back(Input{.name = std::get<Param>(entry->nodes[k].kind).name.str()});
    for (Dim dim : entry->nodes[k].types[0]->shape) {
      if (dim.is_static()) added.extents.push_back({dim.extent()});
      else added.extents.push_back({-1, dim.name().str(), std::max<int64_t>(dim.min(), 1)});
    }
  }
  return out;
}

/// Finds numbers for the open sizes of a signature.
class Sizes {
 public:
  explicit Sizes(Signature signature) : signature_(std::move(signature)) {}

  bool has_open() const {
    return std::any_of(inputs().begin(), inputs().end(), [](const Input& input) {
      return !input.has_rank || std::any_of(input.extents.begin(), input.extents.end(),
                                            [](const Extent& e) { return e.number < 0; });
    });
  }

  Status take_flags(const ModelOptions& options) {
    BYOC_TRY(auto bound, parse_bindings(options[option::kBind], signature_.module));
    for (const auto& [name, value] : bound) set(name, given_shape(value.type.shape));
    BYOC_TRY(auto shapes, parse_shapes(options[option::kShape]));
    for (const auto& [name, extents] : shapes) {
      if (!set(name, extents) && extents.size() == 1) set_size(name, extents[0]);
    }
    return {};
  }

  Status take_values(const std::vector<std::string>& values) {
    std::vector<std::string> names;
    for (const Input& input : inputs()) names.push_back(input.name);
    BYOC_TRY(auto given, cli::given_shapes(names, values, tensor_readers()));
    for (size_t k = 0; k < given.size(); ++k) {
      Input& input = signature_.inputs[k];
      if (given[k].elements > 0 && input.extents.size() == 1)
        given[k].extents = std::vector{given[k].elements};
      if (!given[k].extents || input.is_set || !is_open(input)) continue;
      shapes_.push_back(text(input.name, *given[k].extents));
      set(input.name, {given[k].extents->begin(), given[k].extents->end()});
    }
    return {};
  }

  /// Gives a shape to every input that is still open.
  void assume_rest() {
    for (Input& input : signature_.inputs) {
      if (input.is_set || !input.has_rank || !is_open(input)) continue;
      std::vector<int64_t> extents;
      for (size_t k = 0; k < input.extents.size(); ++k) {
        const Extent& e = input.extents[k];
        extents.push_back(e.number >= 0    ? e.number
                          : e.name.empty() ? assume(cat(input.name, "_dim", k), e.least)
                                           : assume(e.name, e.least));
      }
      shapes_.push_back(text(input.name, extents));
    }
  }

  const std::vector<std::string>& shapes() const { return shapes_; }
  AssumedSizes take_assumed() { return std::move(assumed_); }

 private:
  const std::vector<Input>& inputs() const { return signature_.inputs; }

  /// Returns true unless all extents are numbers or named sizes that --shape gives by name.
  bool is_open(const Input& input) const {
    return !input.has_rank ||
           std::any_of(input.extents.begin(), input.extents.end(), [&](const Extent& e) {
             return e.number < 0 && !named_by_flag_.contains(e.name);
           });
  }

  /// Notes the sizes in the shape of the input `name`. Returns false when there is no such input.
  bool set(const std::string& name, const std::vector<GivenSize>& extents) {
    auto input = std::find_if(signature_.inputs.begin(), signature_.inputs.end(),
                              [&](const Input& one) { return one.name == name; });
    if (input == signature_.inputs.end()) return false;
    input->is_set = true;
    for (size_t k = 0; k < std::min(extents.size(), input->extents.size()); ++k) {
      const Extent& e = input->extents[k];
      if (e.number < 0 && !e.name.empty()) known_.emplace(e.name, extents[k].most);
    }
    return true;
  }

  /// Notes the size that a flag gives by name: that of the file, or the one that messages print,
  /// which has '_' in place of other characters.
  void set_size(const std::string& name, const GivenSize& extent) {
    for (const Input& input : inputs()) {
      for (const Extent& e : input.extents) {
        if (e.number >= 0 || (e.name != name && printable(e.name) != name)) continue;
        known_.emplace(e.name, extent.most);
        named_by_flag_.insert(e.name);
      }
    }
  }

  static std::string printable(std::string name) {
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
  }

  int64_t assume(const std::string& name, int64_t least) {
    auto [at, is_new] = known_.emplace(name, least);
    if (is_new) assumed_.push_back({name, least});
    return at->second;
  }

  static std::string text(const std::string& name, const std::vector<int64_t>& extents) {
    std::string out;
    for (int64_t extent : extents) out += cat(out.empty() ? "" : "x", extent);
    return cat(name, "=", out);
  }

  Signature signature_;
  std::map<std::string, int64_t> known_;
  std::set<std::string> named_by_flag_;
  std::vector<std::string> shapes_;
  AssumedSizes assumed_;
};

}  // namespace

Result<AssumedSizes> set_open_sizes(ModelOptions& options, const std::vector<std::string>& inputs) {
  BYOC_TRY_STATUS(load_libraries(options));  // a text names their ops
  BYOC_TRY(std::string path, model_path(options.model));
  const bool is_onnx = path.ends_with(".onnx");
  if (!is_onnx && !path.ends_with(".ir")) return AssumedSizes{};
  BYOC_TRY(Signature signature, is_onnx ? onnx_signature(path) : ir_signature(path));
  Sizes sizes(std::move(signature));
  if (!sizes.has_open()) return AssumedSizes{};
  BYOC_TRY_STATUS(sizes.take_flags(options));
  BYOC_TRY_STATUS(sizes.take_values(inputs));
  sizes.assume_rest();
  auto& given = options[option::kShape];
  given.insert(given.end(), sizes.shapes().begin(), sizes.shapes().end());
  return sizes.take_assumed();
}

}  // namespace byoc::driver
