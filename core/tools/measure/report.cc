// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "byoc/base/json.h"
#include "runtime/cli/span_report.h"
#include "runtime/session/profile.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownRegions = 20;

double gflops(double flops, double ns) { return ns > 0 ? flops / ns : 0; }

std::string threads_text(uint32_t threads) {
  return cat(threads, threads == 1 ? " thread" : " threads");
}

constexpr const char* kUnknown = "unknown";

std::string gflops_text(double flops, double ns) {
  return flops > 0 && ns > 0 ? cli::format_fixed(gflops(flops, ns), 2) : "-";
}
std::string gflops_text(const std::optional<double>& flops, double ns) {
  return flops ? gflops_text(*flops, ns) : kUnknown;
}

Json number(std::optional<double> value) { return value ? Json(*value) : Json(); }

/// The times of one step of the program.
struct Row {
  ProfileRow step;
  Spread spread;
  std::optional<double> flops;
};

/// Returns the samples of a step; none when the work was interrupted before the steps were timed.
const Samples& samples_of(const TimedSession& timed, size_t step) {
  static const Samples kNone;
  return step < timed.steps.size() ? timed.steps[step] : kNone;
}

std::vector<Row> rows_of(const TimedSession& timed) {
  std::vector<Row> rows;
  for (ProfileRow& step : step_rows(timed.session())) {
    const Samples& samples = samples_of(timed, rows.size());
    bool known = step.runner != "host";
    std::optional<double> flops = known ? std::optional(step.flops) : std::nullopt;
    rows.push_back({std::move(step), spread_of(samples.ns), flops});
  }
  return rows;
}

std::vector<SpanRow> spans_of(const TimedSession& timed) {
  return span_rows(timed.session(), timed.context());
}

double sum_of_medians(const std::vector<Row>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const Row& row) { return sum + row.spread.median; });
}

std::string share_text(double part, double whole) {
  return whole > 0 ? cli::format_fixed(100 * part / whole, 1) + " %" : "-";
}

std::string nodes_text(const std::vector<std::string>& locs) {
  if (locs.empty()) return "";
  return locs.size() == 1 ? locs[0] : cat(locs[0], " and ", locs.size() - 1, " more");
}

std::string short_words(const std::string& text) {
  constexpr size_t kMost = 40;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

/// Returns a table of the regions, the slowest first: all of them, or the first twenty and the
/// number of the others.
std::string region_table(const std::vector<Row>& rows, bool all) {
  double sum = sum_of_medians(rows);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return rows[a].spread.median > rows[b].spread.median;
  });
  size_t shown = all ? order.size() : std::min(order.size(), kShownRegions);
  std::vector<double> times;
  for (size_t k = 0; k < shown; ++k) {
    const Spread& spread = rows[order[k]].spread;
    times.insert(times.end(), {spread.median, spread.p5, spread.p95, spread.min});
  }
  std::vector<std::string> texts = cli::format_times(times);
  cli::Table table({">step", "region", "run by", ">median", ">p5", ">p95", ">min", ">share",
                    ">GFLOP/s", "kernel", "nodes"});
  for (size_t k = 0; k < shown; ++k) {
    const Row& row = rows[order[k]];
    table.add({cat(order[k]), row.step.symbol, row.step.runner, texts[4 * k], texts[4 * k + 1],
               texts[4 * k + 2], texts[4 * k + 3], share_text(row.spread.median, sum),
               gflops_text(row.flops, row.spread.median), short_words(row.step.implementation),
               nodes_text(row.step.locs)});
  }
  if (shown == rows.size()) return table.text();
  double left = sum;
  for (size_t k = 0; k < shown; ++k) left -= rows[order[k]].spread.median;
  return table.text() + cat("... and ", rows.size() - shown, " more, ", cli::format_time(left),
                            " together (-v or --json has them)\n");
}

/// Returns a table of the regions' times, added up per result of `name`, the slowest first.
template <class Name>
std::string sums_table(const std::vector<Row>& rows, const std::string& title, Name&& name) {
  struct Sum {
    std::string name;
    size_t regions = 0;
    double ns = 0, flops = 0;
    bool known = true;
  };
  std::map<std::string, Sum> by_name;
  for (const Row& row : rows) {
    Sum& sum = by_name[name(row.step)];
    ++sum.regions;
    sum.ns += row.spread.median;
    sum.flops += row.flops.value_or(0);
    sum.known = sum.known && row.flops.has_value();
  }
  std::vector<Sum> sums;
  sums.reserve(by_name.size());
  for (auto& [key, sum] : by_name) sums.push_back(sum), sums.back().name = key;
  std::stable_sort(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.ns > b.ns; });
  std::vector<double> times;
  for (const Sum& sum : sums) times.push_back(sum.ns);
  std::vector<std::string> texts = cli::format_times(times);
  cli::Table table({title, ">regions", ">time", ">share", ">GFLOP/s"});
  for (size_t k = 0; k < std::min(sums.size(), kShownRegions); ++k) {
    const Sum& sum = sums[k];
    table.add({sum.name, cat(sum.regions), texts[k], share_text(sum.ns, sum_of_medians(rows)),
               sum.known ? gflops_text(sum.flops, sum.ns) : kUnknown});
  }
  return table.text();
}

std::string runner_table(const std::vector<Row>& rows) {
  return sums_table(rows, "run by", [](const ProfileRow& step) { return step.runner; });
}

/// Returns a table of the times by the implementations that the plugins report.
std::string kernel_table(const std::vector<Row>& rows) {
  return sums_table(rows, "kernel", [](const ProfileRow& step) {
    return cat(step.runner, ": ", short_words(step.implementation));
  });
}

bool is_reference_alone(const BenchReport& report) {
  for (const Benched& benched : report.all) {
    for (const ProfileRow& row : step_rows(benched.timed->session())) {
      if (row.runner != report.reference) return false;
    }
  }
  return true;
}

std::string check_text(const BenchReport& report) {
  if (report.reference.empty()) return cat("outputs not compared: ", report.why_no_check, "\n");
  if (is_reference_alone(report))
    return cat("outputs not compared: ", report.reference,
               " runs all of it and is the reference\n");
  double worst = 0;
  for (const Benched& benched : report.all) {
    for (const ComparedValue& value : benched.outputs) {
      const Difference& d = value.difference;
      if (d.largest > 0) worst = std::max(worst, d.max_error / d.largest);
    }
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", worst);
  return cat("outputs agree with ", report.reference, "'s, max error ", text, " of max\n");
}

std::string inputs_text(const BenchReport& report) {
  std::string out;
  for (size_t k = 0; k < report.inputs.size(); ++k) {
    out += cat("input ", report.input_types[k].name, " ", report.input_types[k].type, ": ",
               report.inputs[k].source, "\n");
  }
  return out;
}

std::string totals_table(const BenchReport& report) {
  std::vector<double> times;
  for (const Benched& benched : report.all) {
    Spread spread = spread_of(benched.timed->samples.ns);
    times.insert(times.end(), {spread.median, spread.p5, spread.p95, spread.min});
  }
  std::vector<std::string> texts = cli::format_times(times);
  cli::Table table({">threads", ">median", ">p5", ">p95", ">min", ">GFLOP/s", ">samples"});
  for (size_t k = 0; k < report.all.size(); ++k) {
    const Benched& benched = report.all[k];
    const Samples& samples = benched.timed->samples;
    std::string runs =
        samples.runs_per_sample > 1 ? cat(" of ", samples.runs_per_sample, " runs") : "";
    table.add({cat(benched.threads), texts[4 * k], texts[4 * k + 1], texts[4 * k + 2],
               texts[4 * k + 3], gflops_text(flops_of(benched.timed->session()), times[4 * k]),
               cat(samples.ns.size(), runs)});
  }
  return table.text();
}

std::string timed_text(const BenchReport& report) {
  std::string out =
      "timed: Session::run, inputs resident, outputs preallocated, wall clock. Not timed: reading";
  for (const Benched& benched : report.all) {
    std::string threads = report.all.size() > 1 ? cat(" for ", threads_text(benched.threads)) : "";
    if (benched.compile_ns)
      out += cat(", compiling", threads, " (", cli::format_time(*benched.compile_ns), ")");
    out += cat(", loading", threads, " (", cli::format_time(benched.load_ns), "), first run (",
               cli::format_time(benched.timed->first_run_ns()), ")");
  }
  return out + ".\n";
}

std::string regions_text(const Benched& benched, bool all_regions) {
  std::vector<Row> rows = rows_of(*benched.timed);
  if (rows.empty() || samples_of(*benched.timed, 0).ns.empty()) return "";
  std::string inside = cli::span_text(spans_of(*benched.timed), all_regions);
  return cat("\nper region, ", threads_text(benched.threads),
             " (runs of their own with a clock around each; sum of medians ",
             cli::format_time(sum_of_medians(rows)), "):\n", region_table(rows, all_regions), "\n",
             kernel_table(rows), "\n", runner_table(rows), inside.empty() ? "" : "\n", inside);
}

Json spread_json(const Spread& spread) {
  return {{"median_ns", spread.median},
          {"p5_ns", spread.p5},
          {"p95_ns", spread.p95},
          {"min_ns", spread.min}};
}

Json row_json(const Row& row, const Samples& samples) {
  Json json = {{"region", row.step.symbol},
               {"run_by", row.step.runner},
               {"kernel", row.step.implementation},
               {"nodes", row.step.locs},
               {"flops", number(row.flops)},
               {"gflop_per_s", row.flops ? Json(gflops(*row.flops, row.spread.median)) : Json()}};
  json.update(spread_json(row.spread));
  json["samples_ns"] = samples.ns;
  return json;
}

Json benched_json(const Benched& benched) {
  const TimedSession& timed = *benched.timed;
  Spread spread = spread_of(timed.samples.ns);
  std::optional<double> flops = flops_of(timed.session());
  Json json = {{"threads", benched.threads},
               {"compile_ns", number(benched.compile_ns)},
               {"load_ns", benched.load_ns},
               {"first_run_ns", timed.first_run_ns()},
               {"flops", number(flops)},
               {"gflop_per_s", flops ? Json(gflops(*flops, spread.median)) : Json()}};
  json.update(spread_json(spread));
  json["runs_per_sample"] = timed.samples.runs_per_sample;
  json["samples_ns"] = timed.samples.ns;
  json["outputs"] = Json::array();
  for (const ComparedValue& value : benched.outputs) json["outputs"].push_back(to_json(value));
  json["regions"] = Json::array();
  std::vector<Row> rows = rows_of(timed);
  for (size_t k = 0; k < rows.size(); ++k)
    json["regions"].push_back(row_json(rows[k], samples_of(timed, k)));
  json["spans"] = cli::span_json(spans_of(timed));
  return json;
}

}  // namespace

std::optional<double> flops_of(const Session& session) {
  double sum = 0;
  for (const ProfileRow& row : step_rows(session)) {
    if (row.runner == "host") return std::nullopt;
    sum += row.flops;
  }
  return sum;
}

std::string bench_text(const BenchReport& report, bool all_regions) {
  std::string out = report.region.empty() ? "" : cat("region ", report.region, "\n");
  out += inputs_text(report) + check_text(report) + totals_table(report) + timed_text(report);
  for (const Benched& benched : report.all) out += regions_text(benched, all_regions);
  return out;
}

Json bench_json(const BenchReport& report) {
  Json json = {
      {"model", report.model},
      {"region", report.region.empty() ? Json() : Json(report.region)},
      {"reference", report.reference.empty() ? Json() : Json(report.reference)},
      {"why_not_checked", report.why_no_check.empty() ? Json() : Json(report.why_no_check)},
      {"warmup_s", report.plan.warmup_s},
      {"min_time_s", report.plan.min_time_s},
      {"rounds", report.plan.rounds}};
  json["inputs"] = Json::array();
  for (size_t k = 0; k < report.inputs.size(); ++k) {
    json["inputs"].push_back({{"name", report.input_types[k].name},
                              {"type", cat(report.input_types[k].type)},
                              {"source", report.inputs[k].source}});
  }
  json["timed"] = "Session::run, inputs resident, outputs preallocated, wall clock";
  json["configurations"] = Json::array();
  for (const Benched& benched : report.all) json["configurations"].push_back(benched_json(benched));
  return json;
}

}  // namespace byoc::driver
