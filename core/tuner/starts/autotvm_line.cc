// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/autotvm_line.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "byoc/base/json.h"
#include "core/tuner/search/grid.h"

namespace byoc::tune {
namespace {

// Returns an array of integers from 0 to 2^31, so that the product of two fits; nullopt for others.
std::optional<std::vector<int64_t>> integers(const Json& json) {
  std::vector<int64_t> out;
  if (!json.is_array()) return std::nullopt;
  for (const Json& item : json) {
    if (!item.is_number_integer()) return std::nullopt;
    out.push_back(item.get<int64_t>());
    if (out.back() < 0 || out.back() > (int64_t{1} << 31)) return std::nullopt;
  }
  return out;
}

// Returns the shape of ["TENSOR", [...], dtype] as [n, c, h, w]: blocked images have five extents.
std::optional<std::vector<int64_t>> shape_of(const Json& args, size_t k) {
  if (args.size() <= k || !args[k].is_array() || args[k].size() < 2) return std::nullopt;
  auto shape = integers(args[k][1]);
  if (shape && k == 0 && shape->size() == 5) {
    (*shape)[1] *= shape->back();
    shape->pop_back();
  }
  if (shape && k == 1 && shape->size() == 6) {  // [o, c, kh, kw, inner c, inner o]
    (*shape)[0] *= (*shape)[5];
    (*shape)[1] *= (*shape)[4];
    shape->resize(4);
  }
  return shape;
}

std::optional<SumExtents> conv_extents(const Json& args) {
  const auto x = shape_of(args, 0), w = shape_of(args, 1);
  if (!x || !w || x->size() != 4 || w->size() != 4 || args.size() < 5) return std::nullopt;
  const auto strides = integers(args[2]), pads = integers(args[3]), dilation = integers(args[4]);
  if (!strides || !pads || !dilation || strides->size() != 2 || dilation->size() != 2)
    return std::nullopt;
  if (pads->size() != 2 && pads->size() != 4) return std::nullopt;  // top, left, bottom, right
  const auto outputs = [&](size_t d) {
    const int64_t padding = (*pads)[d] + (*pads)[pads->size() == 4 ? d + 2 : d];
    const int64_t reach = ((*w)[2 + d] - 1) * (*dilation)[d] + 1;
    return (*x)[2 + d] + padding < reach || (*strides)[d] == 0
               ? 0
               : ((*x)[2 + d] + padding - reach) / (*strides)[d] + 1;
  };
  SumExtents out{.is_conv = true};
  out.rows = 1.0 * (*x)[0] * outputs(0) * outputs(1);
  out.columns = (*w)[0], out.terms = (*w)[1], out.kh = (*w)[2], out.kw = (*w)[3];
  return out;
}

std::optional<SumExtents> dense_extents(const Json& args) {
  const auto x = shape_of(args, 0), w = shape_of(args, 1);
  if (!x || !w || x->size() != 2 || w->size() != 2 || (*x)[1] != (*w)[1]) return std::nullopt;
  SumExtents out;
  out.rows = (*x)[0], out.columns = (*w)[0], out.terms = (*x)[1];
  return out;
}

// Reads the entities; those of other forms are left out.
std::map<std::string, std::vector<int64_t>> choices_of(const Json& entity) {
  std::map<std::string, std::vector<int64_t>> out;
  for (const Json& item : entity) {
    if (!item.is_array() || item.size() != 3 || !item[0].is_string() || !item[1].is_string())
      continue;
    std::vector<int64_t>& parts = out[item[0].get<std::string>()];
    const Json& value = item[2];
    if (value.is_boolean()) parts.push_back(value.get<bool>() ? 1 : 0);
    if (value.is_number_integer()) parts.push_back(value.get<int64_t>());
    for (const Json& part : value.is_array() ? value : Json::array())
      if (part.is_number_integer()) parts.push_back(part.get<int64_t>());
  }
  return out;
}

// Returns the mean of the seconds; nullopt for a trial that failed.
std::optional<double> seconds_of(const Json& result) {
  if (!result.is_array() || result.size() < 2 || result[1] != 0) return std::nullopt;
  if (!result[0].is_array() || result[0].empty()) return std::nullopt;
  double sum = 0;
  for (const Json& seconds : result[0]) {
    if (!seconds.is_number()) return std::nullopt;
    sum += seconds.get<double>();
  }
  return sum > 0 ? std::optional(sum / static_cast<double>(result[0].size())) : std::nullopt;
}

bool is_llvm_target(const Json& target) {
  return target.is_string() && target.get<std::string>().starts_with("llvm");
}

bool is_autotvm_line(const Json& line) {
  if (!line.is_object()) return false;
  for (const char* field : {"input", "config", "result", "version"})
    if (!line.contains(field)) return false;
  return line["input"].is_array() && line["input"].size() >= 3 && line["input"][1].is_string() &&
         line["input"][2].is_array() && line["config"].is_object() &&
         line["config"].contains("entity") && line["config"]["entity"].is_array() &&
         line["version"].is_number();
}

// Returns a part of a split, the innermost one for 0; 0 without one.
double part_of(const AutotvmLine& line, const std::string& choice, size_t outwards) {
  const auto at = line.choices.find(choice);
  if (at == line.choices.end() || at->second.size() <= outwards) return 0;
  return static_cast<double>(*(at->second.rbegin() + static_cast<ptrdiff_t>(outwards)));
}

// Writes the tile of registers: rows by blocks of columns. `fit` gets the choices that it has.
void fit_tile(const AutotvmLine& line, const SumExtents& task, const Space& space, Point& out,
              std::vector<std::string>& fit) {
  const std::string rows = task.is_conv ? "tile_ow" : "tile_y";
  const std::string columns = task.is_conv ? "tile_oc" : "tile_x";
  const std::vector<double> tile = numbers_of(first_value(space, "tile"));
  const double cells = part_of(line, rows, 0) * std::max(part_of(line, "tile_oh", 0), 1.0);
  const double blocks = std::floor(part_of(line, columns, 0) / task.column_block);
  if (tile.size() != 2 || cells < 1) return;
  const bool is_vector = line.name != "dense_nopack.x86";  // there, columns are sums apart
  const bool has_blocks = is_vector && task.column_block > 1 && blocks >= 1;
  out["tile"] = cat(text_of(cells), "x", text_of(has_blocks ? blocks : tile[1]));
  fit.insert(fit.end(), {rows, "tile_oh"});
  if (has_blocks) fit.push_back(columns);
}

}  // namespace

Result<AutotvmLine> parse_autotvm_line(std::string_view text) {
  const auto json = parse_json(text);
  if (!json.ok() || !is_autotvm_line(*json)) return invalid("no record of a known format");
  const Json& line = *json;
  if (line["version"].get<double>() != 0.2) return unimplemented("other version of the format");
  if (!is_llvm_target(line["input"][0])) return unimplemented("other target than a CPU");
  AutotvmLine out{.name = line["input"][1].get<std::string>()};
  const bool is_dense = out.name == "dense_pack.x86" || out.name == "dense_nopack.x86";
  if (!is_dense && out.name != "conv2d_NCHWc.x86") return unimplemented("other template");
  const auto seconds = seconds_of(line["result"]);
  if (!seconds) return failed("trial that failed");
  out.seconds = *seconds;
  const Json& args = line["input"][2];
  const auto extents = is_dense ? dense_extents(args) : conv_extents(args);
  if (!extents) return invalid("arguments of another form");
  out.extents = *extents;
  out.choices = choices_of(line["config"]["entity"]);
  return out;
}

Point knobs_of(const AutotvmLine& line, const SumExtents& task, const Space& space,
               std::vector<std::string>& unfit) {
  Point out;
  std::vector<std::string> fit;
  fit_tile(line, task, space, out, fit);
  const double panel = part_of(line, "tile_x", 0) * part_of(line, "tile_x", 1);
  const bool has_panels = line.name == "dense_pack.x86" && panel >= 1;
  if (has_panels && !first_value(space, "o_panels").empty()) {
    out["o_panels"] = text_of(std::ceil(task.columns / panel));
    fit.emplace_back("tile_x");
  }
  if (line.choices.contains("unroll_kw") && !first_value(space, "unroll").empty()) {
    out["unroll"] = cat(part_of(line, "unroll_kw", 0) != 0 ? 2 : 0);
    fit.emplace_back("unroll_kw");
  }
  for (const auto& [name, parts] : line.choices)
    if (std::find(fit.begin(), fit.end(), name) == fit.end()) unfit.push_back(name);
  return out;
}

}  // namespace byoc::tune
