// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "byoc/base/literal.h"
#include "runtime/cli/output.h"
#include "runtime/cli/ran.h"
#include "runtime/cli/span_report.h"

namespace byoc::cli {
namespace {

/// Fills in the parts of a profile: the first run, which `context` recorded, and later ones.
Status add_profile(const Session& session, const Context& context, std::span<const DLTensor> in,
                   std::span<DLTensor> out, Ran& ran) {
  for (const StepProfile& step : session.profile(context))
    ran.first_ns.push_back(static_cast<double>(step.last_ns));
  std::vector<Tensor> later;  // later runs of a model with states give other outputs
  std::vector<DLTensor> views(out.begin(), out.end());
  later.reserve(views.size());  // views point into it
  for (size_t k = 0; k < views.size() && !session.states().empty(); ++k) {
    BYOC_TRY(Tensor tensor, Tensor::make(ran.outputs[k].spec()));
    views[k] = later.emplace_back(std::move(tensor)).view();
  }
  BYOC_TRY(ran.steady, profile_steady(session, in, views, ran.time_ns));
  ran.profile = profile_rows(session, *ran.steady.context);
  ran.spans = span_rows(session, *ran.steady.context);
  ran.states = session.state_traffic(*ran.steady.context);
  ran.memory = memory_use(session, context);
  return {};
}

/// The values of --input: of inputs, and of states that do not begin as zeros.
struct GivenValues {
  std::vector<std::string> inputs;
  std::vector<std::pair<const StateInfo*, std::string>> states;
};

GivenValues split_states(const Session& session, const std::vector<std::string>& bindings) {
  std::vector<std::string> names;
  for (const NamedTensor& input : session.inputs()) names.push_back(input.name);
  for (const StateInfo& state : session.states()) names.push_back(state.input);
  GivenValues out;
  for (const std::string& binding : bindings) {
    const auto [name, value] = split_binding(binding, names);
    const auto state = std::ranges::find(session.states(), name, &StateInfo::input);
    if (state == session.states().end()) out.inputs.push_back(binding);
    else out.states.emplace_back(&*state, value);
  }
  return out;
}

Status set_states(const Session& session, Context& context, const RunFlags& flags,
                  const TensorReaders& readers) {
  for (const auto& [state, value] : split_states(session, flags.inputs).states) {
    BYOC_TRY(const Tensor tensor, parse_value(value, &state->type, flags.seed, readers));
    BYOC_TRY_STATUS(session.set_state(context, state->input, tensor.view()));
  }
  return {};
}

/// Runs once, or with --steps that many times with the same inputs, and takes the times.
Status run_steps(const Session& session, Context& context, std::span<const DLTensor> in,
                 std::span<DLTensor> out, uint32_t steps, Ran& ran) {
  for (uint32_t k = 0; k < steps; ++k) {
    const uint64_t begin = now_ns();
    if (Status status = session.run(context, in, out); !status.ok())
      return steps == 1 ? status : std::move(status).at(cat("run ", k + 1, " of ", steps));
    ran.steps_ns.push_back(ns_since(begin));
  }
  ran.time_ns = ran.steps_ns[0];
  if (steps == 1) ran.steps_ns.clear();
  return {};
}

Status check_steps(const Session& session, uint32_t steps) {
  if (steps == 0) return usage_error("--steps is at least 1");
  if (steps == 1 || !session.states().empty()) return {};
  return usage_error("--steps is for models with states, and this one has none")
      .with_help("byoc compile --state PAST=PRESENT declares them");
}

Result<Ran> run_on(const Session& session, std::vector<NamedInput> inputs, const RunFlags& flags,
                   const TensorReaders& readers) {
  BYOC_TRY_STATUS(check_steps(session, flags.steps));
  Ran ran{.inputs = std::move(inputs)};
  std::vector<DLTensor> in, out;
  for (const NamedInput& input : ran.inputs) in.push_back(input.tensor.view());
  BYOC_TRY(const std::vector<TensorSpec> types, session.output_types(in));
  for (const TensorSpec& type : types) {
    BYOC_TRY(Tensor tensor, Tensor::make(type));
    ran.outputs.push_back(std::move(tensor));
  }
  for (const Tensor& tensor : ran.outputs) out.push_back(tensor.view());
  BYOC_TRY(auto context, session.make_context());
  BYOC_TRY_STATUS(set_states(session, *context, flags, readers));
  session.set_profiling(*context, flags.profile || !flags.trace.empty());
  BYOC_TRY_STATUS(run_steps(session, *context, in, out, flags.steps, ran));
  std::vector<std::vector<int64_t>> dims;  // of this run; later ones count the same
  for (size_t k = 0; k < ran.outputs.size(); ++k) {
    const std::span<const int64_t> now = session.output_dims(*context, k);
    dims.emplace_back(now.begin(), now.end());
  }
  if (!flags.trace.empty()) BYOC_TRY_STATUS(write_trace(flags.trace, session, *context));
  if (flags.profile) BYOC_TRY_STATUS(add_profile(session, *context, in, out, ran));
  for (size_t k = 0; k < ran.outputs.size(); ++k) ran.outputs[k].shrink(dims[k]);
  return ran;
}

struct Summary {
  double min = NAN, max = NAN, mean = NAN;
  uint64_t non_finite = 0;  // not counted in the three values above
};

Summary summarize(const Tensor& tensor) {
  Summary summary;
  double sum = 0;
  DType dtype = tensor.spec().dtype;
  auto n = static_cast<size_t>(num_elements(tensor.spec()));
  for (size_t k = 0; k < n; ++k) {
    double value = element_value(dtype, tensor.data() + k * dtype_size(dtype));
    if (!std::isfinite(value)) {
      ++summary.non_finite;
      continue;
    }
    summary.min = std::fmin(summary.min, value);  // fmin prefers a number to NaN
    summary.max = std::fmax(summary.max, value);
    sum += value;
  }
  if (n > summary.non_finite) summary.mean = sum / static_cast<double>(n - summary.non_finite);
  return summary;
}

std::string short_number(double value) {
  char text[32];
  int n = std::snprintf(text, sizeof text, "%.5g", value);
  return std::isnan(value) ? "-" : std::string(text, static_cast<size_t>(n));
}

std::string input_lines(const Session& session, const Ran& ran) {
  std::string out;
  for (size_t k = 0; k < ran.inputs.size(); ++k) {
    out += cat("input ", session.inputs()[k].name, " ", session.inputs()[k].type, ": ",
               ran.inputs[k].source, "\n");
  }
  return out;
}

std::string output_table(const Session& session, const Ran& ran) {
  Table table({"output", "type", ">min", ">max", ">mean", ran.files.empty() ? "" : "file"});
  for (size_t k = 0; k < ran.outputs.size(); ++k) {
    Summary s = summarize(ran.outputs[k]);
    std::string note = s.non_finite ? cat(s.non_finite, " not finite ") : "";
    table.add({session.outputs()[k].name, cat(ran.outputs[k].spec()), short_number(s.min),
               short_number(s.max), short_number(s.mean),
               note + (ran.files.empty() ? "" : ran.files[k])});
  }
  return table.text();
}

std::string share_text(double part, double whole) {
  return whole > 0 ? format_fixed(100 * part / whole, 1) + " %" : "";
}

/// Returns a table of the steps, whose times add up to its last row.
std::string profile_table(const Ran& ran) {
  const SteadyProfile& steady = ran.steady;
  std::vector<double> all = steady.steps_ns;
  all.insert(all.end(), {steady.outside_ns, steady.total_ns});
  std::vector<std::string> times = format_times(all), first = format_times(ran.first_ns);
  Table table({">step", "symbol", "run by", ">time", ">share", ">GFLOP/s", ">first run", "nodes"});
  for (size_t k = 0; k < ran.profile.size(); ++k) {
    const ProfileRow& row = ran.profile[k];
    double ns = steady.steps_ns[k];
    std::string nodes = row.locs.empty() ? "" : row.locs[0];
    if (row.locs.size() > 1) nodes += cat(" and ", row.locs.size() - 1, " more");
    table.add({cat(k), row.symbol, row.runner, times[k], share_text(ns, steady.total_ns),
               row.flops > 0 && ns > 0 ? format_fixed(row.flops / ns, 2) : "", first[k], nodes});
  }
  table.add({"", "outside of the steps", "", times[all.size() - 2],
             share_text(steady.outside_ns, steady.total_ns), "", "", ""});
  table.add({"", "a run", "", times.back(), "", "", "", ""});
  return cat("per step, ", steady.runs,
             " runs after a warm-up, the middle third by time averaged:\n", table.text());
}

/// Returns the bytes of states that a run writes; "" without states.
std::string states_line(const Session& session, const Ran& ran) {
  if (session.states().empty() || ran.states.runs == 0) return {};
  return cat("states: ", session.states().size(), "; a run writes ",
             ran.states.in_place_bytes / ran.states.runs, " bytes in place and ",
             ran.states.whole_bytes / ran.states.runs, " bytes of whole states\n");
}

/// Returns the times of several runs, in ns: the first one and the median of the others.
std::string steps_line(const Ran& ran) {
  if (ran.steps_ns.empty()) return {};
  std::vector<double> later(ran.steps_ns.begin() + 1, ran.steps_ns.end());
  std::sort(later.begin(), later.end());
  return cat("ran ", ran.steps_ns.size(), " times, each with the states of the one before; median ",
             "after the first ", format_time(later[later.size() / 2]), "\n");
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json states_json(const Session& session, const Ran& ran) {
  Json out = Json::array();
  for (const StateInfo& state : session.states()) {
    out.push_back({{"input", state.input},
                   {"output", state.output},
                   {"type", cat(state.type)},
                   {"in_place", state.is_in_place}});
  }
  const uint64_t runs = std::max<uint64_t>(ran.states.runs, 1);
  return {{"pairs", out},
          {"in_place_bytes", ran.states.in_place_bytes / runs},
          {"whole_bytes", ran.states.whole_bytes / runs}};
}

void print_run(const Session& session, const Ran& ran, const CommonOptions& common) {
  if (!common.quiet) print_text(input_lines(session, ran), common);
  print_text(output_table(session, ran), common);
  if (!ran.profile.empty()) print_text("\n" + profile_table(ran), common);
  if (ran.memory) print_text(memory_line(*ran.memory) + states_line(session, ran), common);
  if (!ran.spans.empty()) print_text("\n" + span_text(ran.spans, common.verbose), common);
  print_text(steps_line(ran), common);
  std::string steady =
      ran.profile.empty() ? "" : cat("; later runs ", format_time(ran.steady.total_ns));
  print_text(cat("ran in ", format_time(ran.time_ns), ", ", session.threads(),
                 session.threads() == 1 ? " thread" : " threads",
                 "; first run, without reading the model", steady, "\n"),
             common);
}

}  // namespace

void add_run_options(Command& command, RunFlags& flags) {
  auto& options = command.options;
  options.push_back({"--input", "NAME=VALUE",
                     "a.npy, f32[1,3]=0.5, zeros, 1,2,3; those not given are random",
                     &flags.inputs});
  options.push_back(
      {"--output-dir", "DIR", "write each output and outputs.json there", &flags.output_dir});
  options.push_back({"--profile", "",
                     "more runs: time of every step and of the spans inside kernels; memory",
                     &flags.profile});
  options.push_back(
      {"--trace", "FILE", "the run as a trace, for chrome://tracing or Perfetto", &flags.trace});
  options.push_back(
      {"--steps", "N",
       "run a model with states N times with the same inputs, each with the states of "
       "the one before; outputs are those of the last (default 1)",
       &flags.steps});
  options.push_back({"--seed", "N", "of random inputs (default 0)", &flags.seed});
}

Result<Ran> run_once(const Session& session, const std::string& model, const RunFlags& flags,
                     const TensorReaders& readers) {
  auto inputs = make_inputs(session.inputs(), split_states(session, flags.inputs).inputs,
                            flags.seed, readers);
  if (!inputs.ok()) return std::move(inputs.status()).at(model);
  return run_on(session, *std::move(inputs), flags, readers);
}

Json run_json(const Session& session, const std::string& model, const Ran& ran) {
  Json json = {{"model", model}, {"threads", session.threads()}, {"time_ns", ran.time_ns}};
  for (const char* list : {"inputs", "outputs", "profile"}) json[list] = Json::array();
  json["spans"] = span_json(ran.spans);
  for (size_t k = 0; k < ran.inputs.size(); ++k) {
    const NamedTensor& input = session.inputs()[k];
    json["inputs"].push_back(
        {{"name", input.name}, {"type", cat(input.type)}, {"source", ran.inputs[k].source}});
  }
  for (size_t k = 0; k < ran.outputs.size(); ++k) {
    const NamedTensor& output = session.outputs()[k];
    Summary s = summarize(ran.outputs[k]);
    json["outputs"].push_back({{"name", output.name},
                               {"dtype", dtype_name(output.type.dtype)},
                               {"dims", ran.outputs[k].spec().dims},
                               {"min", finite(s.min)},
                               {"max", finite(s.max)},
                               {"mean", finite(s.mean)},
                               {"non_finite", s.non_finite},
                               {"file", ran.files.empty() ? Json() : Json(ran.files[k])}});
  }
  if (ran.memory) json["memory"] = to_json(*ran.memory);
  if (!session.states().empty()) json["states"] = states_json(session, ran);
  if (!ran.steps_ns.empty()) json["steps_ns"] = ran.steps_ns;
  json["steady"] = nullptr;
  if (!ran.profile.empty()) {
    json["steady"] = {{"runs", ran.steady.runs},
                      {"time_ns", ran.steady.total_ns},
                      {"outside_ns", ran.steady.outside_ns}};
  }
  for (size_t k = 0; k < ran.profile.size(); ++k) {
    const ProfileRow& row = ran.profile[k];
    json["profile"].push_back({{"symbol", row.symbol},
                               {"run_by", row.runner},
                               {"implementation", row.implementation},
                               {"time_ns", ran.steady.steps_ns[k]},
                               {"first_ns", ran.first_ns[k]},
                               {"runs", row.runs},
                               {"total_ns", row.total_ns},
                               {"min_ns", row.min_ns},
                               {"flops", row.flops},
                               {"nodes", row.locs}});
  }
  return json;
}

Status run_session(const Session& session, const std::string& model, const RunFlags& flags,
                   const CommonOptions& common, const TensorReaders& readers,
                   const OutputFormat& format, const nlohmann::ordered_json* more) {
  for (const std::string& warning : session.warnings()) print_warning(warning, common);
  BYOC_TRY_STATUS(session.check_externs());
  BYOC_TRY(Ran ran, run_once(session, model, flags, readers));
  if (!flags.output_dir.empty()) {
    BYOC_TRY(ran.files, write_outputs(flags.output_dir, session.outputs(), ran.outputs, format));
  }
  print_run(session, ran, common);
  Json json = run_json(session, model, ran);
  if (more != nullptr) json.update(*more);
  return print_json(common, "run", json);
}

}  // namespace byoc::cli
