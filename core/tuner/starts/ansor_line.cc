// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/ansor_line.h"

#include <charconv>

#include "core/tuner/starts/seconds.h"

namespace byoc::tune {
namespace {

bool is_ansor_line(const Json& line) {
  if (!line.is_object() || !line.contains("i") || !line.contains("r") || !line.contains("v"))
    return false;
  const Json &i = line["i"], &r = line["r"];
  return i.is_array() && i.size() == 2 && i[0].is_array() && i[0].size() >= 2 &&
         i[0][1].is_string() && i[1].is_array() && i[1].size() == 2 && i[1][1].is_array() &&
         r.is_array() && r.size() >= 2 && line["v"].is_string();
}

std::optional<int64_t> count_of(const Json& json) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (!json.is_number_integer()) return std::nullopt;
  const auto value = json.get<int64_t>();
  return value >= 1 && value <= kMost ? std::optional(value) : std::nullopt;
}

/// Returns the parts of a split step; nothing for one of another form, or whose lengths do not
/// divide the extent.
std::optional<TiledLoop> split_loop_of(const Json& step) {
  if (step.size() < 5 || !step[4].is_array()) return std::nullopt;
  const auto extent = count_of(step[3]);
  if (!extent) return std::nullopt;
  TiledLoop out{{1}};
  double lengths = 1;
  for (const Json& length : step[4]) {
    const auto part = count_of(length);
    if (!part) return std::nullopt;
    lengths *= static_cast<double>(*part);
    out.parts.push_back(*part);
  }
  if (!(lengths <= static_cast<double>(*extent)) || *extent % static_cast<int64_t>(lengths) != 0)
    return std::nullopt;
  out.parts[0] = *extent / static_cast<int64_t>(lengths);
  return out;
}

/// Reads the steps of all stages.
class Steps {
 public:
  void take(const Json& step) {
    if (!step.is_array() || step.size() < 2 || !step[0].is_string()) return;
    const auto kind = step[0].get<std::string>();
    if (kind == "SP") return split(step);
    if (kind == "PR") return pragma(step);
    static const std::map<std::string, std::string> kOthers = {
        {"CA", "compute_at"},    {"CI", "compute_inline"},
        {"CHW", "cache_write"},  {"CHR", "cache_read"},
        {"RF", "rfactor"},       {"AN", "annotation"},
        {"FU", "fuse"},          {"RE", "reorder"},
        {"FSP", "follow_split"}, {"FFSP", "follow_fused_split"},
        {"CR", "compute_root"},  {"SA", "storage_align"}};
    const auto other = kOthers.find(kind);
    sums_.others.insert(other == kOthers.end() ? "unknown step" : other->second);
  }

  /// Returns the stage with the most iterations that has loops over terms.
  std::optional<TiledSum> largest() const { return sums_.largest(); }

 private:
  void split(const Json& step) {
    const auto loop = split_loop_of(step);
    if (!loop || !step[1].is_number_integer() || !sums_.add(step[1].get<int64_t>(), *loop))
      sums_.others.insert("split of another form");
  }

  void pragma(const Json& step) {
    constexpr std::string_view kUnroll = "auto_unroll_max_step$";
    const std::string text = step.back().is_string() ? step.back().get<std::string>() : "";
    if (!text.starts_with(kUnroll)) return void(sums_.others.insert("pragma"));
    int64_t steps = 0;
    std::from_chars(text.data() + kUnroll.size(), text.data() + text.size(), steps);
    sums_.has_unroll = true;
    sums_.is_unrolled = sums_.is_unrolled || steps > 0;
  }

  TiledSums<int64_t> sums_;  // by stage
};

}  // namespace

Result<TiledSum> parse_ansor_line(const Json& line) {
  if (!is_ansor_line(line)) return invalid("no record of auto_scheduler");
  if (line["v"] != "v0.6") return unimplemented("other version of the format");
  if (!line["i"][0][1].get<std::string>().starts_with("llvm"))
    return unimplemented("other target than a CPU");
  const auto seconds = mean_seconds(line["r"][0]);
  if (line["r"][1] != 0 || !seconds) return failed("trial that failed");
  Steps steps;
  for (const Json& step : line["i"][1][1]) steps.take(step);
  auto sum = steps.largest();
  if (!sum) return unimplemented("no sum that is tiled in four and two parts");
  sum->seconds = *seconds;
  return *std::move(sum);
}

}  // namespace byoc::tune
