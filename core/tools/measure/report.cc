// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/tools/measure/rows.h"
#include "runtime/cli/span_report.h"

namespace byoc::driver {
namespace {

constexpr size_t kShownRegions = 20;
constexpr const char* kUnknown = "unknown";

std::string threads_text(uint32_t threads) {
  return cat(threads, threads == 1 ? " thread" : " threads");
}

std::string gflops_text(const Work& work) {
  if (!work.flops) return kUnknown;
  return *work.flops > 0 && work.ns > 0 ? cli::format_fixed(work.gflop_per_s(), 2) : "-";
}

std::string intensity_text(const Work& work) {
  if (!work.flops) return kUnknown;
  return *work.flops > 0 && work.bytes > 0 ? cli::format_fixed(work.intensity(), 2) : "-";
}

std::vector<SpanRow> spans_of(const measure::TimedSession& timed) {
  return span_rows(timed.session(), timed.context());
}

std::string share_text(double part, double whole) {
  return whole > 0 ? cli::format_fixed(100 * part / whole, 1) + " %" : "-";
}

std::string nodes_text(const std::vector<std::string>& locs) {
  if (locs.empty()) return "";
  return locs.size() == 1 ? locs[0] : cat(locs[0], " and ", locs.size() - 1, " more");
}

constexpr std::string_view kAbove = " % *";  // more than the whole: marks_text() has the reasons

/// Returns a share of a peak, with a mark where it is more than the peak.
std::string marked_share(double part, double peak) {
  std::string text = share_text(part, peak);
  if (peak > 0 && part > peak) text.replace(text.size() - 2, 2, kAbove);
  return text;
}
std::string of_peak(const Work& work, const std::optional<Peaks>& peaks) {
  return peaks && work.flops ? marked_share(work.gflop_per_s(), peaks->gflop_per_s) : "-";
}
std::string of_bandwidth(const Work& work, const std::optional<Peaks>& peaks) {
  return peaks ? marked_share(work.gb_per_s(), peaks->gb_per_s) : "-";
}

/// Returns a table of the regions, the slowest first: all of them, or the first twenty and the
/// number of the others.
std::string region_table(const std::vector<Row>& rows, const std::optional<Peaks>& peaks,
                         bool all) {
  double sum = sum_of_medians(rows);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return rows[a].spread.median > rows[b].spread.median;
  });
  size_t shown = all ? order.size() : std::min(order.size(), kShownRegions);
  std::vector<double> times;
  for (size_t k = 0; k < shown; ++k) {
    const measure::Spread& spread = rows[order[k]].spread;
    times.insert(times.end(), {spread.median, spread.p5, spread.p95, spread.min});
  }
  std::vector<std::string> texts = cli::format_times(times);
  cli::Table table({">step", "region", "run by", ">median", ">p5", ">p95", ">min", ">share",
                    ">GFLOP/s", ">of peak", ">flop/byte", ">of bandwidth", "kernel", "nodes"});
  for (size_t k = 0; k < shown; ++k) {
    const Row& row = rows[order[k]];
    table.add({cat(order[k]), row.step.symbol, row.step.runner, texts[4 * k], texts[4 * k + 1],
               texts[4 * k + 2], texts[4 * k + 3], share_text(row.spread.median, sum),
               gflops_text(row.work()), of_peak(row.work(), peaks), intensity_text(row.work()),
               of_bandwidth(row.work(), peaks), short_words(row.step.implementation),
               nodes_text(row.step.locs)});
  }
  if (shown == rows.size()) return table.text();
  double left = sum;
  for (size_t k = 0; k < shown; ++k) left -= rows[order[k]].spread.median;
  return table.text() + cat("... and ", rows.size() - shown, " more, ", cli::format_time(left),
                            " together (-v or --json has them)\n");
}

std::string mega_text(double value) { return cli::format_fixed(value / 1e6, 3); }

/// Returns a table of rows that are added up.
std::string sums_table(const std::vector<RowSum>& sums, const std::string& title) {
  std::vector<double> times;
  double all = 0;
  for (const RowSum& sum : sums) times.push_back(sum.work.ns), all += sum.work.ns;
  std::vector<std::string> texts = cli::format_times(times);
  cli::Table table(
      {title, ">regions", ">time", ">share", ">GFLOP/s", ">Mflop", ">MB", ">flop/byte"});
  for (size_t k = 0; k < std::min(sums.size(), kShownRegions); ++k) {
    const Work& work = sums[k].work;
    table.add({sums[k].name, cat(sums[k].regions), texts[k], share_text(work.ns, all),
               gflops_text(work), work.flops ? mega_text(*work.flops) : kUnknown,
               mega_text(work.bytes), intensity_text(work)});
  }
  return table.text();
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
  double worst = 0, steps = 0, allowed = 0;
  for (const Benched& benched : report.all) {
    for (const ComparedValue& value : benched.outputs) {
      const Difference& d = value.difference;
      if (d.largest > 0) worst = std::max(worst, d.max_error / d.largest);
      if (d.step > 0) steps = std::max(steps, d.max_error / d.step);
      allowed = std::max(allowed, value.limit.steps);
    }
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", worst);
  return cat(
      "outputs agree with ", report.reference, "'s, max error ", text, " of max",
      allowed > 0 ? cat(", ", std::round(steps * 10) / 10, " of ", allowed, " allowed steps") : "",
      "\n");
}

std::string inputs_text(const BenchReport& report) {
  std::string out = cat(assumed_text(report.assumed_sizes), cli::size_text(report.size));
  for (size_t k = 0; k < report.inputs.size(); ++k) {
    out += cat("input ", report.input_types[k].name, " ", report.input_types[k].type, ": ",
               report.inputs[k].source, "\n");
  }
  return out;
}

std::string totals_table(const BenchReport& report) {
  std::vector<double> times;
  for (const Benched& benched : report.all) {
    measure::Spread spread = measure::spread_of(benched.timed->samples.ns);
    times.insert(times.end(), {spread.median, spread.p5, spread.p95, spread.min});
  }
  std::vector<std::string> texts = cli::format_times(times);
  std::vector<std::string> titles = {">threads", ">median",  ">p5",           ">p95",    ">min",
                                     ">GFLOP/s", ">of peak", ">of bandwidth", ">samples"};
  const bool has_names = report.versus || !report.sizes.empty();
  if (has_names) titles.insert(titles.begin(), report.versus ? "configuration" : "size");
  if (!report.sizes.empty()) titles.push_back(cat(">", report.sizes, " per second"));
  cli::Table table(titles);
  for (size_t k = 0; k < report.all.size(); ++k) {
    const Benched& benched = report.all[k];
    const measure::Samples& samples = benched.timed->samples;
    std::string runs =
        samples.runs_per_sample > 1 ? cat(" of ", samples.runs_per_sample, " runs") : "";
    Work work = work_of(benched.timed->session(), times[4 * k]);
    std::vector<std::string> cells = {cat(benched.threads),
                                      texts[4 * k],
                                      texts[4 * k + 1],
                                      texts[4 * k + 2],
                                      texts[4 * k + 3],
                                      gflops_text(work),
                                      of_peak(work, benched.peaks),
                                      of_bandwidth(work, benched.peaks),
                                      cat(samples.ns.size(), runs)};
    if (has_names) cells.insert(cells.begin(), benched.name);
    if (!report.sizes.empty()) cells.push_back(cli::format_fixed(rate_of(benched), 1));
    table.add(std::move(cells));
  }
  return table.text();
}

/// Returns " for 2 threads" or " of A" when there are several configurations.
std::string which(const BenchReport& report, const Benched& benched) {
  if (!benched.name.empty()) return cat(" of ", benched.name);
  return report.all.size() > 1 ? cat(" for ", threads_text(benched.threads)) : "";
}

std::string timed_text(const BenchReport& report) {
  std::string out = cat("timed: ", timed_what(report.plan), ". Not timed: reading");
  for (const Benched& benched : report.all) {
    std::string of = which(report, benched);
    if (benched.compile_ns)
      out += cat(", compiling", of, " (", cli::format_time(*benched.compile_ns), ")");
    out += cat(", loading", of, " (", cli::format_time(benched.load_ns), "), first run (",
               cli::format_time(benched.timed->first_run_ns()), ")");
  }
  return out + ".\n";
}

std::string regions_text(const Benched& benched, bool all_regions) {
  std::vector<Row> rows = rows_of(*benched.timed);
  if (rows.empty() || samples_of(*benched.timed, 0).ns.empty()) return "";
  std::string inside = cli::span_text(spans_of(*benched.timed), all_regions);
  std::string name = benched.name.empty() ? "" : cat("configuration ", benched.name, ", ");
  return cat("\nper region, ", name, threads_text(benched.threads),
             " (runs of their own with a clock around each; sum of medians ",
             cli::format_time(sum_of_medians(rows)), "):\n",
             region_table(rows, benched.peaks, all_regions), "\n",
             sums_table(sums_by_kernel(rows), "kernel"), "\n",
             sums_table(sums_by_runner(rows), "run by"), inside.empty() ? "" : "\n", inside);
}

/// Returns the memory, and the peaks that shares refer to.
std::string machine_text(const BenchReport& report) {
  std::string out = cat("memory: at most ", cli::format_mib(report.peak_rss_bytes),
                        " of this process, with the compiler and the check\n");
  std::set<uint32_t> seen;
  for (const Benched& benched : report.all) {
    if (!benched.peaks || !seen.insert(benched.threads).second) continue;
    out += cat("peak of ", threads_text(benched.threads), ": ",
               cli::format_fixed(benched.peaks->gflop_per_s, 1), " GFLOP/s in f32, ",
               cli::format_fixed(benched.peaks->gb_per_s, 1),
               " GB/s read from memory, measured after the runs\n");
  }
  return out;
}

/// Explains the shares that are marked in the text.
std::string marks_text(const std::string& text, const process::OtherLoad& load) {
  if (text.find(kAbove) == text.npos) return "";
  return cat("* more than the peak: ",
             load.is_busy() ? "the machine was busy, also while the peak was measured"
                            : "fewer operations than counted (Winograd), types smaller than f32, "
                              "or data in caches",
             "\n");
}

std::string interval_text(const measure::Ratio& ratio) {
  if (ratio.low == 0) return ", interval unknown: too few turns";
  return cat(", 95 % interval ", cli::format_fixed(ratio.low, 4), " to ",
             cli::format_fixed(ratio.high, 4));
}

/// Returns the multiply-adds of all threads over one's, and the time of a round trip between two
/// processors, before and after the measurement.
std::string cores_text(const std::vector<CoreRates>& all) {
  if (all.empty() || all[0].speedup() == 0) return "";
  std::string out = cat("multiply-adds of ", all[0].threads, " threads over one's: ");
  std::string trips = "round trip between two processors: ";
  for (size_t k = 0; k < all.size(); ++k) {
    const char* when = k == 0 ? "before " : ", after ";
    out += cat(when, cli::format_fixed(all[k].speedup(), 2));
    trips += cat(when, cli::format_fixed(all[k].round_trip_ns, 0), " ns");
  }
  out += "\n";
  if (all[0].round_trip_ns > 0) out += trips + "\n";
  if (!std::all_of(all.begin(), all.end(), [](const CoreRates& r) { return r.has_cores(); }))
    out += cat("less than ", cli::format_fixed(all[0].limit(), 1),
               ": the threads had no core each, and times of several threads mean little; measure "
               "again later\n");
  return out;
}

std::string versus_text(const Versus& versus) {
  if (versus.blocks == 0)
    return cat("B (", versus.configuration,
               ") against A: no ratio, as no block of turns is whole\n");
  std::string out =
      cat("B (", versus.configuration, ") takes ", cli::format_fixed(versus.ratio.ratio, 4),
          " times as long as A", interval_text(versus.ratio), " (", versus.blocks,
          " blocks ABBA)\n", "control, A again: ", cli::format_fixed(versus.control.ratio, 4),
          interval_text(versus.control), "\n");
  if (!versus.control.holds(1))
    out +=
        "the control's interval is without 1: the machine is not quiet enough for such an "
        "interval\n";
  return out + cores_text(versus.cores);
}

}  // namespace

double rate_of(const Benched& benched) {
  const double ns = measure::spread_of(benched.timed->samples.ns).median;
  return ns > 0 ? static_cast<double>(benched.size) * 1e9 / ns : 0;
}

std::string timed_what(const measure::TimingPlan& plan) {
  return cat("Session::run, inputs resident, outputs preallocated, ",
             plan.counts_thread_time ? "processor time of the thread" : "wall clock");
}

std::string load_text(const process::OtherLoad& load) {
  if (!load.is_busy()) return "";
  return cat("the machine is busy: ", load.text(),
             ". Times, rates and shares are not reliable; measure again on a quiet machine\n");
}

std::optional<double> flops_of(const Session& session) { return work_of(session, 0).flops; }

std::string bench_text(const BenchReport& report, bool all_regions) {
  std::string out = report.region.empty() ? "" : cat("region ", report.region, "\n");
  out += inputs_text(report) + check_text(report) + load_text(report.load) + totals_table(report);
  if (report.versus) out += versus_text(*report.versus);
  out += timed_text(report) + machine_text(report);
  for (const Benched& benched : report.all) {
    if (!report.sizes.empty() && !all_regions) continue;  // many tables of the same regions
    if (benched.name != kControl) out += regions_text(benched, all_regions);
  }
  return out + marks_text(out, report.load);
}

}  // namespace byoc::driver
