// SPDX-License-Identifier: Apache-2.0
#include "core/placement/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/file.h"

namespace byoc::placement {
namespace {

constexpr double kUnknown = 2;  // times the slowest plugin, for one without samples

// The bytes of an image that a change of its layout moves, per byte that the second cache is read
// with: 9 to 15 of 150 GB/s for 0.8 MB on a Sapphire Rapids, by transforms of llvm, one thread.
constexpr double kReorder = 0.08;

constexpr const char* kMachineFormat = "byoc-calibration-2";

struct Point {
  double roofline, factor;
};

// Returns the factor at that roofline, linear in the logarithms; outside of the points the factor
// of the nearest one. Points are sorted.
double factor_at(const std::vector<Point>& points, double roofline) {
  if (points.empty()) return 1;
  if (roofline <= points.front().roofline) return points.front().factor;
  if (roofline >= points.back().roofline) return points.back().factor;
  size_t k = 1;
  while (points[k].roofline < roofline) ++k;
  const Point &a = points[k - 1], &b = points[k];
  if (b.roofline <= a.roofline) return b.factor;
  const double t = std::log(roofline / a.roofline) / std::log(b.roofline / a.roofline);
  return std::exp(std::log(a.factor) * (1 - t) + std::log(b.factor) * t);
}

// Returns the factor of a plugin, 0 without samples of it.
double factor_of(const Machine& machine, std::string_view plugin, const Work& work,
                 double roofline) {
  std::vector<Point> points, all;
  for (const Sample& sample : machine.samples) {
    if (sample.plugin != plugin || sample.ns <= 0) continue;
    const double least = std::max(machine.roofline_ns(sample.work), 1.0);
    const Point point{least, std::max(sample.ns - machine.call_ns, 0.1 * least) / least};
    all.push_back(point);
    if (sample.work.op_class == work.op_class) points.push_back(point);
  }
  if (all.empty()) return 0;
  if (points.empty()) {
    double sum = 0;
    for (const Point& point : all) sum += std::log(point.factor);
    return std::exp(sum / static_cast<double>(all.size()));
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.roofline < b.roofline; });
  return factor_at(points, roofline);
}

Status calibration_error(std::string message) {
  return invalid(std::move(message))
      .with_slug("calibration")
      .with_help("byoc calibrate measures it again");
}

}  // namespace

double Machine::bytes_ns(double bytes) const {
  return bytes / (bytes > cache_bytes ? memory_gb_per_s : cache_gb_per_s);
}

double Machine::roofline_ns(const Work& work) const {
  if (work.op_class == OpClass::kFree) return 0;
  return std::max(work.flops / gflop_per_s, bytes_ns(work.bytes));
}

bool Machine::has_samples(std::string_view plugin, std::string_view version) const {
  return std::ranges::any_of(samples, [&](const Sample& sample) {
    return sample.plugin == plugin && sample.version == version;
  });
}

bool Machine::has_times(std::string_view plugin, std::string_view version) const {
  return std::ranges::any_of(samples, [&](const Sample& sample) {
    return sample.plugin == plugin && sample.version == version && sample.ns > 0;
  });
}

Link Machine::link_of(const std::string& plugin, const std::string& version,
                      uint32_t device) const {
  for (const Link& link : links) {
    if (link.plugin == plugin && link.version == version && link.device == device) return link;
  }
  return {plugin, version, device, {}, {}, false};
}

double Machine::predicted_ns(std::string_view plugin, const Work& work) const {
  if (work.op_class == OpClass::kFree) return 0;
  const double roofline = roofline_ns(work);
  if (const double factor = factor_of(*this, plugin, work, roofline); factor > 0)
    return roofline * factor;
  double slowest = 0;
  std::set<std::string_view> others;
  for (const Sample& sample : samples) {
    if (others.insert(sample.plugin).second)
      slowest = std::max(slowest, factor_of(*this, sample.plugin, work, roofline));
  }
  return roofline * (slowest > 0 ? kUnknown * slowest : 1);
}

void use_machine(const byoc_machine& description, Machine& machine) {
  BYOC_CHECK(description.n_levels >= 1 && description.f32.all > 0, "the host describes machines");
  const byoc_machine_level* levels = description.levels;
  machine.threads = description.threads;
  machine.gflop_per_s = description.f32.all;
  machine.memory_gb_per_s = levels[description.n_levels - 1].read.all;
  machine.cache_gb_per_s = machine.memory_gb_per_s;
  machine.cache_bytes = 0;
  for (uint32_t k = 0; k + 1 < description.n_levels && k < 2; ++k) {
    machine.cache_bytes = std::max(machine.cache_bytes, static_cast<double>(levels[k].bytes));
    machine.cache_gb_per_s = levels[k].read.all;
  }
  machine.reorder_gb_per_s = kReorder * machine.cache_gb_per_s;
}

namespace {

Json to_json(const Link::Direction& direction) {
  return {{"latency_ns", direction.latency_ns}, {"gb_per_s", direction.gb_per_s}};
}

Status read_link(const Json& row, std::vector<Link>& out) {
  Link link{row.at("plugin"), row.at("version"), row.at("device"), {}, {}, true};
  for (const auto& [name, direction] : {std::pair("in", &link.in), std::pair("out", &link.out)}) {
    direction->latency_ns = row.at(name).at("latency_ns");
    direction->gb_per_s = row.at(name).at("gb_per_s");
    if (!(direction->latency_ns >= 0 && direction->gb_per_s > 0))
      return calibration_error(cat("the link of ", link.plugin, " takes no positive time"));
  }
  out.push_back(std::move(link));
  return {};
}

}  // namespace

Json to_json(const Machine& machine) {
  Json links = Json::array();
  for (const Link& link : machine.links) {
    links.push_back({{"plugin", link.plugin},
                     {"version", link.version},
                     {"device", link.device},
                     {"in", to_json(link.in)},
                     {"out", to_json(link.out)}});
  }
  Json samples = Json::array();
  for (const Sample& sample : machine.samples) {
    samples.push_back({{"plugin", sample.plugin},
                       {"version", sample.version},
                       {"class", class_name(sample.work.op_class)},
                       {"flops", sample.work.flops},
                       {"bytes", sample.work.bytes},
                       {"ns", sample.ns}});
  }
  return {{"format", kMachineFormat},
          {"machine", machine.name},
          {"threads", machine.threads},
          {"gflop_per_s", machine.gflop_per_s},
          {"cache_bytes", machine.cache_bytes},
          {"cache_gb_per_s", machine.cache_gb_per_s},
          {"memory_gb_per_s", machine.memory_gb_per_s},
          {"reorder_gb_per_s", machine.reorder_gb_per_s},
          {"call_ns", machine.call_ns},
          {"samples", samples},
          {"links", links}};
}

Result<Machine> machine_from_json(const Json& json) {
  if (!json.is_object() || json.value("format", "") != kMachineFormat)
    return calibration_error(cat("not a calibration: its \"format\" is not ", kMachineFormat));
  Machine out;
  auto number = [&](const char* name, double& value) {
    auto at = json.find(name);
    const bool ok = at != json.end() && at->is_number() && at->get<double>() > 0;
    if (ok) value = at->get<double>();
    return ok ? Status() : calibration_error(cat("\"", name, "\" is no positive number"));
  };
  double threads = 0;
  BYOC_TRY_STATUS(number("threads", threads));
  BYOC_TRY_STATUS(number("gflop_per_s", out.gflop_per_s));
  BYOC_TRY_STATUS(number("cache_bytes", out.cache_bytes));
  BYOC_TRY_STATUS(number("cache_gb_per_s", out.cache_gb_per_s));
  BYOC_TRY_STATUS(number("memory_gb_per_s", out.memory_gb_per_s));
  BYOC_TRY_STATUS(number("reorder_gb_per_s", out.reorder_gb_per_s));
  BYOC_TRY_STATUS(number("call_ns", out.call_ns));
  out.threads = static_cast<uint32_t>(threads);
  try {
    out.name = json.at("machine").get<std::string>();
    for (const Json& row : json.at("samples")) {
      Sample sample{row.at("plugin"), row.at("version"), {}, row.at("ns")};
      sample.work.flops = row.at("flops");
      sample.work.bytes = row.at("bytes");
      sample.work.op_class = class_of_name(row.at("class").get<std::string>());
      out.samples.push_back(std::move(sample));
    }
    if (!json.contains("links")) return out;  // earlier versions measured none
    for (const Json& row : json.at("links")) BYOC_TRY_STATUS(read_link(row, out.links));
  } catch (const Json::exception& e) {
    return calibration_error(cat("a member is missing or of another kind: ", e.what()));
  }
  return out;
}

std::string calibration_path(const std::string& folder, uint32_t threads) {
  return cat(folder, "/calibration-2-", threads, ".json");
}

Result<Machine> read_calibration(const std::string& folder, uint32_t threads) {
  Machine assumed;
  assumed.threads = threads;
  const std::string path = calibration_path(folder, threads);
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(path, error)) return assumed;
  BYOC_TRY(std::string text, read_file(path));
  BYOC_TRY(Json json, parse_json(text));
  Result<Machine> machine = machine_from_json(json);
  if (!machine.ok()) return std::move(machine.status()).at(path);
  const std::string here = machine_name();
  if (machine->name == here) return machine;
  return calibration_error(cat("made on \"", machine->name, "\", this is \"", here, "\"")).at(path);
}

Status write_calibration(const Machine& machine, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return write_file(calibration_path(folder, machine.threads), to_json(machine).dump(1) + "\n");
}

}  // namespace byoc::placement
