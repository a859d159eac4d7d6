// SPDX-License-Identifier: Apache-2.0
// The report of `byoc bench` as JSON.
#include <cmath>

#include "byoc/base/json.h"
#include "byoc/base/version.h"
#include "core/tools/measure/report.h"
#include "core/tools/measure/rows.h"
#include "runtime/cli/span_report.h"

namespace byoc::driver {
namespace {

Json number(std::optional<double> value) { return value ? Json(*value) : Json(); }
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json spread_json(const measure::Spread& spread) {
  return {{"median_ns", spread.median},
          {"p5_ns", spread.p5},
          {"p95_ns", spread.p95},
          {"min_ns", spread.min}};
}

/// Returns the work and its shares of the machine's peaks.
Json work_json(const Work& work, const std::optional<Peaks>& peaks) {
  Json json = {{"flops", number(work.flops)},
               {"bytes", work.bytes},
               {"flop_per_byte", work.flops ? Json(work.intensity()) : Json()},
               {"gflop_per_s", work.flops ? Json(work.gflop_per_s()) : Json()},
               {"gb_per_s", work.gb_per_s()},
               {"share_of_peak", nullptr},
               {"share_of_bandwidth", nullptr}};
  if (peaks && work.flops && peaks->gflop_per_s > 0)
    json["share_of_peak"] = work.gflop_per_s() / peaks->gflop_per_s;
  if (peaks && peaks->gb_per_s > 0) json["share_of_bandwidth"] = work.gb_per_s() / peaks->gb_per_s;
  return json;
}

Json row_json(const Row& row, const measure::Samples& samples, const std::optional<Peaks>& peaks) {
  Json json = {{"region", row.step.symbol},
               {"run_by", row.step.runner},
               {"kernel", row.step.implementation},
               {"nodes", row.step.locs}};
  json.update(work_json(row.work(), peaks));
  json.update(spread_json(row.spread));
  json["samples_ns"] = samples.ns;
  return json;
}

Json kernels_json(const std::vector<Row>& rows, const std::optional<Peaks>& peaks) {
  Json out = Json::array();
  for (const RowSum& sum : sums_by_kernel(rows)) {
    Json json = {{"kernel", sum.name}, {"regions", sum.regions}, {"time_ns", sum.work.ns}};
    json.update(work_json(sum.work, peaks));
    out.push_back(std::move(json));
  }
  return out;
}

Json peaks_json(const std::optional<Peaks>& peaks) {
  if (!peaks) return nullptr;
  return {{"gflop_per_s", peaks->gflop_per_s}, {"gb_per_s", peaks->gb_per_s}};
}

Json benched_json(const Benched& benched) {
  const measure::TimedSession& timed = *benched.timed;
  measure::Spread spread = measure::spread_of(timed.samples.ns);
  Json json = {{"name", benched.name.empty() ? Json() : Json(benched.name)},
               {"threads", benched.threads},
               {"compile_ns", number(benched.compile_ns)},
               {"load_ns", benched.load_ns},
               {"first_run_ns", timed.first_run_ns()},
               {"peaks", peaks_json(benched.peaks)},
               {"memory", cli::to_json(benched.memory)}};
  json.update(work_json(work_of(timed.session(), spread.median), benched.peaks));
  json.update(spread_json(spread));
  if (benched.size > 0) json["per_second"] = rate_of(benched);
  json["runs_per_sample"] = timed.samples.runs_per_sample;
  json["samples_ns"] = timed.samples.ns;
  json["turns"] = timed.samples.turns;
  json["outputs"] = Json::array();
  for (const ComparedValue& value : benched.outputs) json["outputs"].push_back(to_json(value));
  json["regions"] = Json::array();
  std::vector<Row> rows = rows_of(timed);
  for (size_t k = 0; k < rows.size(); ++k)
    json["regions"].push_back(row_json(rows[k], samples_of(timed, k), benched.peaks));
  json["kernels"] = kernels_json(rows, benched.peaks);
  json["spans"] = cli::span_json(span_rows(timed.session(), timed.context()));
  return json;
}

Json ratio_json(const measure::Ratio& ratio) {
  return {{"ratio", ratio.ratio}, {"low", ratio.low}, {"high", finite(ratio.high)}};
}

Json cores_json(const std::vector<CoreRates>& all) {
  Json json = Json::array();
  for (const CoreRates& rates : all) {
    json.push_back({{"threads", rates.threads},
                    {"one_gflop_per_s", rates.one_gflop_per_s},
                    {"all_gflop_per_s", rates.all_gflop_per_s},
                    {"speedup", rates.speedup()},
                    {"limit", rates.limit()},
                    {"round_trip_ns", rates.round_trip_ns}});
  }
  return json;
}

Json versus_json(const std::optional<Versus>& versus) {
  if (!versus) return nullptr;
  return {{"configuration", versus->configuration},
          {"blocks", versus->blocks},
          {"b_against_a", ratio_json(versus->ratio)},
          {"control", ratio_json(versus->control)},
          {"cores", cores_json(versus->cores)}};
}

// ---- Google Benchmark's form; source: its user guide, "Output Formats".

struct Instance {
  std::string name;
  size_t family = 0, repetition = 0, repetitions = 1, iterations = 1;
  uint32_t threads = 1;
  double ns = 0;
};

Json instance_json(const Instance& one) {
  return {{"name", one.name},
          {"family_index", one.family},
          {"per_family_instance_index", 0},
          {"run_name", one.name},
          {"run_type", "iteration"},
          {"repetitions", one.repetitions},
          {"repetition_index", one.repetition},
          {"threads", one.threads},
          {"iterations", one.iterations},
          {"real_time", one.ns},
          {"cpu_time", one.ns},  // a run occupies its thread from begin to end
          {"time_unit", "ns"}};
}

/// Appends an entry per turn: the turn's median.
void add_turns(const Benched& benched, Instance one, Json& out) {
  const measure::Samples& samples = benched.timed->samples;
  one.repetitions = samples.turns.size();
  for (size_t k = 0; k < samples.turns.size(); ++k) {
    size_t begin = samples.turns[k];
    size_t end = k + 1 < samples.turns.size() ? samples.turns[k + 1] : samples.ns.size();
    if (begin == end) continue;
    one.repetition = k;
    one.iterations = (end - begin) * samples.runs_per_sample;
    one.ns = measure::spread_of({samples.ns.begin() + static_cast<std::ptrdiff_t>(begin),
                                 samples.ns.begin() + static_cast<std::ptrdiff_t>(end)})
                 .median;
    out.push_back(instance_json(one));
  }
}

Json google_benchmarks(const BenchReport& report) {
  Json out = Json::array();
  size_t family = 0;
  for (const Benched& benched : report.all) {
    std::string name =
        cat(report.region.empty() ? "model" : report.region,
            benched.name.empty() ? "" : cat("/", benched.name), "/threads:", benched.threads);
    add_turns(benched, {.name = name, .family = family++, .threads = benched.threads}, out);
    std::vector<Row> rows = rows_of(*benched.timed);
    for (size_t k = 0; k < rows.size(); ++k) {
      size_t runs = samples_of(*benched.timed, k).ns.size();
      if (runs == 0) continue;
      out.push_back(instance_json({.name = cat(name, "/step:", k, "/", rows[k].step.symbol),
                                   .family = family++,
                                   .iterations = runs,
                                   .threads = benched.threads,
                                   .ns = rows[k].spread.median}));
    }
  }
  return out;
}

}  // namespace

Json bench_json(const BenchReport& report) {
  Json json = {
      {"model", report.model},
      {"options", Json::parse(report.options_json)},
      {"region", report.region.empty() ? Json() : Json(report.region)},
      {"reference", report.reference.empty() ? Json() : Json(report.reference)},
      {"why_not_checked", report.why_no_check.empty() ? Json() : Json(report.why_no_check)},
      {"warmup_s", report.plan.warmup_s},
      {"min_time_s", report.plan.min_time_s},
      {"rounds", report.plan.rounds},
      {"peak_rss_bytes", report.peak_rss_bytes},
      {"other_load",
       {{"processors", report.load.processors},
        {"used_by_others", report.load.others},
        {"waited", report.load.waited},
        {"busy", report.load.is_busy()}}},
      {"observations", nullptr},
      {"versus", versus_json(report.versus)}};
  json["inputs"] = Json::array();
  for (size_t k = 0; k < report.inputs.size(); ++k) {
    json["inputs"].push_back({{"name", report.input_types[k].name},
                              {"type", cat(report.input_types[k].type)},
                              {"source", report.inputs[k].source}});
  }
  add_assumed_json(report.assumed_sizes, json);
  cli::add_size_json(report.size, json);
  json["timed"] = timed_what(report.plan);
  json["configurations"] = Json::array();
  for (const Benched& benched : report.all) json["configurations"].push_back(benched_json(benched));
  json["context"] = {{"executable", "byoc bench"},
                     {"library_build_type", "release"},
                     {"library_version", version()}};
  json["benchmarks"] = google_benchmarks(report);
  return json;
}

}  // namespace byoc::driver
