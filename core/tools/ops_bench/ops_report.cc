// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/ops_report.h"

#include <algorithm>

#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

constexpr size_t kLongestShapes = 56;

std::string cut(const std::string& text, size_t length) {
  return text.size() <= length ? text : text.substr(0, length - 3) + "...";
}

/// Returns the results that have a time of byoc, the worst first.
std::vector<const OpTime*> ranked(const OpsBench& bench) {
  std::vector<const OpTime*> out;
  for (const OpTime& time : bench.times)
    if (!time.ours.ns.empty()) out.push_back(&time);
  std::ranges::stable_sort(out, [](const OpTime* a, const OpTime* b) {
    if (a->has_ratio() != b->has_ratio()) return a->has_ratio();
    if (a->has_ratio()) return a->ratio() > b->ratio();
    return measure::time_of(a->ours.ns) > measure::time_of(b->ours.ns);
  });
  return out;
}

std::string plugins_of(const OpTime& time) {
  std::string out;
  for (const std::string& plugin : time.plugins) out += (out.empty() ? "" : ",") + plugin;
  return out.empty() ? "host" : out;
}

std::string time_text(const measure::Samples& samples) {
  return samples.ns.empty() ? "" : cli::format_time(measure::time_of(samples.ns));
}

std::string table_of(const OpsBench& bench) {
  cli::Table table(
      {"operator", "operands", "size of", ">threads", "run by", ">byoc", ">onnxruntime", ">ratio"});
  for (const OpTime* time : ranked(bench)) {
    const std::string peers =
        time->peer_refused.empty() ? time_text(time->peers) : std::string("refused");
    table.add({time->one->op, cut(time->one->shapes, kLongestShapes), time->one->from,
               cat(time->threads), plugins_of(*time), time_text(time->ours), peers,
               time->has_ratio() ? cli::format_fixed(time->ratio(), 2) : ""});
  }
  return table.empty() ? "" : table.text();
}

/// Returns a line for each result for which `reason` is not empty, after a heading.
template <class F>
std::string reasons(const OpsBench& bench, std::string_view heading, F&& reason) {
  std::string out;
  for (const OpTime& time : bench.times) {
    const std::string& why = reason(time);
    if (why.empty()) continue;
    out += cat("  ", time.one->op, " ", cut(time.one->shapes, kLongestShapes), ", ", time.threads,
               time.threads == 1 ? " thread: " : " threads: ", why, "\n");
  }
  return out.empty() ? "" : cat(heading, "\n", out);
}

std::string means(const OpsBench& bench, const OpsBenchOptions& options) {
  std::string out;
  for (uint32_t threads : options.threads) {
    const double mean = geometric_mean(bench, threads);
    const auto count = std::ranges::count_if(bench.times, [threads](const OpTime& time) {
      return time.threads == threads && time.has_ratio();
    });
    if (mean > 0)
      out += cat("geometric mean of ", count, " ratios on ", threads,
                 threads == 1 ? " thread: " : " threads: ", cli::format_fixed(mean, 2), "\n");
  }
  return out;
}

Json json_of(const measure::Samples& samples) {
  if (samples.ns.empty()) return nullptr;
  const measure::Spread spread = measure::spread_of(samples.ns);
  return {{"time_ns", measure::time_of(samples.ns)},
          {"median_ns", spread.median},
          {"p5_ns", spread.p5},
          {"p95_ns", spread.p95},
          {"min_ns", spread.min},
          {"samples", samples.ns.size()}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const OpTime& time) {
  return {{"op", time.one->op},
          {"shapes", time.one->shapes},
          {"from", time.one->from},
          {"attrs", time.one->nodes.size() == 1 ? time.one->nodes[0].value("attrs", Json::object())
                                                : Json::object()},
          {"threads", time.threads},
          {"plugins", time.plugins},
          {"byoc", json_of(time.ours)},
          {"peer", json_of(time.peers)},
          {"ratio", time.has_ratio() ? Json(time.ratio()) : Json()},
          {"refused", text_or_null(time.refused)},
          {"peer_refused", text_or_null(time.peer_refused)},
          {"compared_with", text_or_null(time.compared_with)},
          {"wrong", text_or_null(time.wrong)}};
}

}  // namespace

std::string ops_text(const OpsBench& bench, const OpsBenchOptions& options) {
  std::string out = reasons(
      bench, "WRONG results:", [](const OpTime& time) -> const std::string& { return time.wrong; });
  out += table_of(bench);
  out += reasons(bench, "refused by byoc:", [](const OpTime& time) -> const std::string& {
    return time.refused;
  });
  out += reasons(bench, "refused by onnxruntime:", [](const OpTime& time) -> const std::string& {
    return time.peer_refused;
  });
  if (bench.why_no_peer.empty()) return out + means(bench, options);
  return cat(out, "no times of onnxruntime: ", bench.why_no_peer, "\nhelp: ", options.python,
             " -m pip install numpy onnxruntime, or --python of another environment\n");
}

Json ops_json(const OpsBench& bench, const OpsBenchOptions& options, const ModelOptions& model) {
  Json cases = Json::array(), all_means = Json::array();
  for (const OpTime* time : ranked(bench)) cases.push_back(json_of(*time));
  for (const OpTime& time : bench.times)
    if (time.ours.ns.empty()) cases.push_back(json_of(time));
  for (uint32_t threads : options.threads)
    if (const double mean = geometric_mean(bench, threads); mean > 0)
      all_means.push_back({{"threads", threads}, {"ratio", mean}});
  Json without = Json::object();
  for (const auto& [op, why] : bench.table.without) without[op] = why;
  return {
      {"options", given_json(model.values)},
      {"min_time_s", options.min_time_s},
      {"rounds", options.rounds},
      {"peer", bench.why_no_peer.empty() ? Json(cat("onnxruntime ", bench.peer_version)) : Json()},
      {"why_no_peer", text_or_null(bench.why_no_peer)},
      {"is_complete", bench.end.ok()},
      {"geometric_means", std::move(all_means)},
      {"cases", std::move(cases)},
      {"without", std::move(without)}};
}

}  // namespace byoc::driver
