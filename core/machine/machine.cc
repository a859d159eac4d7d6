// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/file.h"

namespace byoc::machine {
namespace {

constexpr const char* kFormat = "byoc-machine-1";

Status fault(std::string message) {
  return invalid(std::move(message))
      .with_slug("machine")
      .with_help(
          "byoc doctor --json prints the form; BYOC_MACHINE and share/byoc/machines have it");
}

Json rate_json(Rate rate) { return {{"one", rate.one}, {"all", rate.all}}; }

/// Reads members of an object; the first fault is kept.
class Reader {
 public:
  explicit Reader(const Json& json, std::string name = "") : json_(json), name_(std::move(name)) {
    if (!json.is_object()) fail(cat(name_.empty() ? "the machine" : name_, " is no object"));
  }
  const Json* find(const char* member) const {
    auto at = json_.is_object() ? json_.find(member) : json_.end();
    return json_.is_object() && at != json_.end() ? &*at : nullptr;
  }
  double number(const char* member, double least) {
    const Json* at = find(member);
    const double value = at != nullptr && at->is_number() ? at->get<double>() : -1;
    if (std::isfinite(value) && value >= least) return value;
    fail(cat("\"", name_, member, "\" is no number of at least ", least));
    return least;
  }
  Rate rate(const char* member, double least) {
    const Json* at = find(member);
    if (at == nullptr || !at->is_object()) {
      fail(cat("\"", name_, member, "\" is no object with \"one\" and \"all\""));
      return {};
    }
    Reader inner(*at, cat(name_, member, "."));
    const Rate out{inner.number("one", least), inner.number("all", least)};
    take(std::move(inner.status_));
    return out;
  }
  void fail(std::string message) { take(fault(std::move(message))); }
  void take(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  Status& status() { return status_; }

 private:
  const Json& json_;
  std::string name_;
  Status status_;
};

constexpr double kSmallest = 1e-6;  // of numbers that others are divided by

Level level_of(const Json& json, size_t k, bool is_last, Status& status) {
  Reader reader(json, cat("levels[", k, "]."));
  Level out;
  if (!is_last) out.bytes = static_cast<uint64_t>(std::min(reader.number("bytes", 1), 1e15));
  else if (reader.find("bytes") != nullptr) reader.fail("the last of \"levels\" is the memory");
  out.cores = static_cast<uint64_t>(std::min(reader.number("cores", 1), 1e6));
  out.read = reader.rate("read_gb_per_s", kSmallest);
  out.fill = reader.rate("fill_gb_per_s", kSmallest);
  if (status.ok()) status = std::move(reader.status());
  return out;
}

}  // namespace

Machine assumed_machine() {
  Machine out;
  out.f32 = {60, 60};
  out.levels = {{32 << 10, 1, {120, 120}, {120, 120}},
                {1 << 20, 1, {60, 60}, {60, 60}},
                {Level::kMemory, 1, {12, 12}, {12, 12}}};
  return out;
}

Json to_json(const Machine& machine) {
  Json levels = Json::array();
  for (const Level& level : machine.levels) {
    Json row = Json::object();
    if (level.bytes != Level::kMemory) row["bytes"] = level.bytes;
    row["cores"] = level.cores;
    row["read_gb_per_s"] = rate_json(level.read);
    row["fill_gb_per_s"] = rate_json(level.fill);
    levels.push_back(std::move(row));
  }
  Json out = {{"format", kFormat},
              {"processor", machine.processor},
              {"cores", machine.cores},
              {"f32_gop_per_s", rate_json(machine.f32)},
              {"f16_gop_per_s", rate_json(machine.f16)},
              {"i8_gop_per_s", rate_json(machine.i8)},
              {"levels", std::move(levels)},
              {"loop_ns", machine.loop_ns},
              {"barrier_ns", machine.barrier_ns},
              {"round_trip_ns", machine.round_trip_ns}};
  if (machine.is_busy) out["busy"] = true;
  return out;
}

Result<Machine> machine_from_json(const Json& json) {
  if (!json.is_object() || json.value("format", Json()) != kFormat)
    return fault(cat("not a machine: its \"format\" is not ", kFormat));
  Reader reader(json);
  Machine out;
  const Json *processor = reader.find("processor"), *levels = reader.find("levels");
  if (processor == nullptr || !processor->is_string()) return fault("\"processor\" is no text");
  if (levels == nullptr || !levels->is_array() || levels->empty())
    return fault("\"levels\" is no list of caches and the memory");
  out.processor = processor->get<std::string>();
  out.cores = static_cast<uint32_t>(std::min(reader.number("cores", 1), 1e6));
  out.f32 = reader.rate("f32_gop_per_s", kSmallest);
  out.f16 = reader.rate("f16_gop_per_s", 0);
  out.i8 = reader.rate("i8_gop_per_s", 0);
  for (size_t k = 0; k < levels->size(); ++k)
    out.levels.push_back(level_of((*levels)[k], k, k + 1 == levels->size(), reader.status()));
  out.loop_ns = reader.number("loop_ns", 0);
  out.barrier_ns = reader.number("barrier_ns", 0);
  out.round_trip_ns = reader.number("round_trip_ns", 0);
  out.is_busy = json.value("busy", Json(false)) == Json(true);
  if (!reader.status().ok()) return std::move(reader.status());
  return out;
}

Result<Machine> read_machine(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  Result<std::string> text = read_file(path, kMostBytes);
  if (!text.ok()) return std::move(text.status()).with_slug("machine");
  Result<Json> json = parse_json(*text);
  if (!json.ok()) return fault(cat("no JSON: ", json.status().message())).at(path);
  Result<Machine> out = machine_from_json(*json);
  if (!out.ok()) return std::move(out.status()).at(path);
  return out;
}

double rate_at(const Machine& machine, Rate rate, uint32_t threads) {
  BYOC_CHECK(machine.cores >= 1, "a machine has a core");
  if (threads == 1 || machine.cores == 1) return rate.one;
  if (threads == 0 || threads >= machine.cores) return rate.all;
  return rate.one + (rate.all - rate.one) * (threads - 1) / (machine.cores - 1);
}

std::shared_ptr<const byoc_machine> view_of(const Machine& machine, uint32_t threads) {
  struct Kept {
    byoc_machine view{};
    std::vector<byoc_machine_level> levels;
  };
  BYOC_CHECK(!machine.levels.empty(), "a machine has memory");
  auto kept = std::make_shared<Kept>();
  auto rate = [&](Rate of) { return byoc_rate{of.one, rate_at(machine, of, threads)}; };
  for (const Level& level : machine.levels)
    kept->levels.push_back({level.bytes, level.cores, rate(level.read), rate(level.fill)});
  byoc_machine& view = kept->view;
  view.h = {sizeof(byoc_machine), BYOC_TAG_MACHINE, nullptr};
  view.threads = threads == 0 ? machine.cores : threads;
  view.n_levels = static_cast<uint32_t>(kept->levels.size());
  view.levels = kept->levels.data();
  view.f32 = rate(machine.f32), view.f16 = rate(machine.f16), view.i8 = rate(machine.i8);
  if (view.threads > 1) {
    // Each worker enters and leaves a loop, one after the other.
    const double share = static_cast<double>(view.threads) / std::max(machine.cores, 2U);
    view.loop_ns =
        std::max(machine.loop_ns * share, std::min(machine.loop_ns, machine.round_trip_ns));
    view.barrier_ns = machine.barrier_ns * share;
  }
  view.round_trip_ns = machine.round_trip_ns;
  return {kept, &kept->view};
}

Peaks peaks_of(const Machine& machine, uint32_t threads) {
  BYOC_CHECK(!machine.levels.empty(), "a machine has memory");
  return {threads == 0 ? machine.cores : threads, rate_at(machine, machine.f32, threads),
          rate_at(machine, machine.levels.back().read, threads)};
}

}  // namespace byoc::machine
