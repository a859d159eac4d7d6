// SPDX-License-Identifier: Apache-2.0
// The table of all options: one row each.
#include "byoc/op/registry.h"
#include "byoc/options.h"
#include "byoc/te/target.h"
#include "byoc/translate/policies.h"

namespace byoc {
namespace {

using Texts = std::vector<std::string>;

Status usage(std::string message) { return invalid(std::move(message)).with_slug("usage"); }

/// Splits the arguments of a repeated flag at commas: "A,B" is the same as two flags.
Texts split_list(const Texts& texts) {
  Texts out;
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

/// Reads a list of ids into `to`. Errors: slug "usage" for an id that is missing.
Status read_ids(std::string_view flag, const OptionValue& value, std::vector<std::string>& to) {
  for (const std::string& text : std::get<Texts>(value)) {
    const bool is_missing =
        text.starts_with(',') || text.ends_with(',') || text.find(",,") != text.npos;
    if (is_missing)
      return usage(cat(flag, " ", text, ": an id is missing beside a comma"))
          .with_help(cat("list ids as in ", flag, " onednn,llvm"));
  }
  to = split_list(std::get<Texts>(value));
  return {};
}

/// Sets a member of BuildOptions.
template <auto member>
Status set_member(const OptionValue& value, BuildOptions& to) {
  to.*member = std::get<std::decay_t<decltype(to.*member)>>(value);
  return {};
}
template <auto member>
OptionValue get_member(const BuildOptions& from) {
  return from.*member;
}

Status set_compilers(const OptionValue& value, BuildOptions& to) {
  return read_ids("--compiler", value, to.compilers);
}

Status set_fallback(const OptionValue& value, BuildOptions& to) {
  return read_ids("--fallback", value, to.fallback);
}

Status set_level(const OptionValue& value, BuildOptions& to) {
  to.level = std::get<int>(value);
  if (to.level >= kMinLevel && to.level <= kMaxLevel) return {};
  return usage(cat("-O is ", kMinLevel, " to ", kMaxLevel, ", not ", to.level));
}

Status set_target(const OptionValue& value, BuildOptions& to) {
  const auto& text = std::get<std::string>(value);
  Result<te::Target> target = te::parse_target(text);
  if (!target.ok()) return usage(cat("--target: ", target.status().message()));
  to.target_json = text == "native" ? "{}" : te::print(*target);
  return {};
}

Status set_place(const OptionValue& value, BuildOptions& to) {
  std::string rules;
  for (const std::string& rule : std::get<Texts>(value)) rules += rule + "\n";
  if (!rules.empty()) to.options["place"] = std::move(rules);
  return {};
}

Status set_plan(const OptionValue& value, BuildOptions& to) {
  const auto& file = std::get<std::string>(value);
  if (!file.empty()) to.options["plan"] = file;
  return {};
}

Status set_prefer(const OptionValue& value, BuildOptions& to) {
  const auto& text = std::get<std::string>(value);
  if (text != "gain" && text != "size" && text != "balanced" && text != "speed")
    return usage(cat("--prefer is gain, size, balanced or speed, not ", text));
  if (text != "speed") to.options["prefer"] = text;
  return {};
}

Status set_precision(const OptionValue& value, BuildOptions& to) {
  const auto& text = std::get<std::string>(value);
  if (text != "f32" && text != "f16" && text != "bf16")
    return usage(cat("--precision is f32, f16 or bf16, not ", text));
  if (text != "f32") to.options["precision"] = text;
  return {};
}

Status set_compute(const OptionValue& value, BuildOptions& to) {
  const auto& rules = std::get<Texts>(value);
  if (rules.empty()) return {};
  Result<te::Policies> parsed = te::parse_rules(rules, all_ops());
  if (!parsed.ok()) return usage(cat("--compute: ", parsed.status().message()));
  to.policies = std::make_shared<const te::Policies>(*std::move(parsed));
  return {};
}

const OptionInfo kTable[] = {
    {.name = "shape",
     .value = "NAME=DIMS",
     .doc = "extents of an input or a named size: x=1x3x224x224, N=1",
     .fallback = Texts{},
     .part = OptionPart::kModel,
     .needs_model = true},
    {.name = "bind",
     .value = "NAME=VALUE",
     .doc = "an input becomes a constant: axes=[0,1], axes=a.npy",
     .fallback = Texts{},
     .part = OptionPart::kModel,
     .needs_model = true},
    {.name = "state",
     .value = "PAST=PRESENT",
     .doc =
         "an input and the output with its next value become a state, which each run hands on to "
         "the next; auto: by the names of exporters, past_key_values.0.key and present.0.key",
     .fallback = Texts{},
     .part = OptionPart::kModel,
     .needs_model = true},
    {.name = "entry",
     .value = "NAME",
     .doc = "the model in a compiled file of several (byoc join), or the function of an .ir file",
     .fallback = std::string(),
     .part = OptionPart::kModel},
    {.name = "compiler",
     .value = "A,B",
     .doc = "plugins in order of priority; auto (default): chosen by estimates of their times, "
            "among all or "
            "those named",
     .fallback = Texts{},
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_compilers},
    {.name = "default",
     .value = "ID",
     .doc = "the plugin that takes what no other plugin took",
     .fallback = std::string(),
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_member<&BuildOptions::default_codegen>},
    {.name = "fallback",
     .value = "A,B",
     .doc = "also compile the model by these plugins, which run it when a device of the others is "
            "gone",
     .fallback = Texts{},
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_fallback},
    {.name = "place",
     .value = "RULE",
     .doc = "plugins chosen by cost: relu=llvm pins, relu!=llvm bans; #NODE, @FUNCTION, * too",
     .fallback = Texts{},
     .part = OptionPart::kBuild,
     .set = set_place},
    {.name = "plan",
     .value = "FILE",
     .doc = "plugins chosen by cost: a plan of byoc place; none: estimates (default: the last plan "
            "for the model)",
     .fallback = std::string(),
     .part = OptionPart::kBuild,
     .set = set_plan},
    {.name = "plugin",
     .value = "FILE",
     .doc = "the library (.so) of a plugin that is in no plugin folder; its place in the order is "
            "still that of its priority, or of --compiler",
     .fallback = Texts{},
     .part = OptionPart::kPlugins,
     .adds = true},
    {.name = "plugin-option",
     .value = "ID.NAME=VALUE",
     .doc = "an option for a plugin, onednn.keep_nan=1",
     .fallback = Texts{},
     .part = OptionPart::kPlugins,
     .adds = true},
    {.name = "pass-library",
     .value = "FILE",
     .doc = "a library (.so) with passes, ops, rows of the ONNX importer or policies of placement "
            "and tuning, built for this byoc",
     .fallback = Texts{},
     .part = OptionPart::kPlugins,
     .adds = true},
    {.name = "isolate",
     .doc = "plugins run in processes of their own: one that crashes or does not return is an "
            "error of its function, which goes to the next plugin",
     .fallback = false,
     .part = OptionPart::kPlugins},
    {.name = "isolate-plugin",
     .value = "A,B",
     .doc = "only these plugins do",
     .fallback = Texts{},
     .part = OptionPart::kPlugins,
     .adds = true},
    {.name = "isolate-time",
     .value = "SECONDS",
     .doc = "the longest that one of their slots may take without progress (default 60; 0: no "
            "limit)",
     .fallback = uint32_t{60},
     .part = OptionPart::kPlugins},
    {.name = "isolate-memory",
     .value = "SIZE",
     .doc = "the most memory of such a process: 512M, 8G (default: three quarters of the "
            "machine's)",
     .fallback = std::string(),
     .part = OptionPart::kPlugins},
    {.name = "max-memory",
     .value = "SIZE",
     .doc = "the most memory of the process while it compiles or loads: 512M, 8G (default: "
            "none)",
     .fallback = std::string(),
     .part = OptionPart::kBuild},
    {.name = "time-limit",
     .value = "SECONDS",
     .doc = "the longest that compiling and loading may take (default 0: no limit)",
     .fallback = uint32_t{0},
     .part = OptionPart::kBuild},
    {.name = "threads",
     .value = "N",
     .doc = "threads of a run, which code is compiled for (default 1; 0: all cores)",
     .fallback = uint32_t{1},
     .part = OptionPart::kBuild,
     .set = set_member<&BuildOptions::threads>},
    {.name = "target",
     .value = "CPU",
     .doc = "the machine to compile for: native, x86-64-v2, -v3, -v4, aarch64; -v3+avxvnni, "
            "-v4+avx512vnni",
     .fallback = std::string("native"),
     .part = OptionPart::kBuild,
     .set = set_target},
    {.name = "strict",
     .doc = "fail when a plugin declines in compile what it accepted before; without it, the next "
            "plugin gets these ops",
     .fallback = false,
     .part = OptionPart::kBuild,
     .set = set_member<&BuildOptions::strict>},
    {.name = "exact-sums",
     .doc = "no kernel rounds otherwise than the direct sum, as Winograd does",
     .fallback = false,
     .part = OptionPart::kBuild,
     .is_of_functions = true,
     .needs_model = true,
     .set = set_member<&BuildOptions::exact_sums>,
     .get = get_member<&BuildOptions::exact_sums>},
    {.name = "shared-weights",
     .doc = "packs weights so that other programs of the model can have them too, for byoc join",
     .fallback = false,
     .part = OptionPart::kBuild,
     .is_of_functions = true,
     .needs_model = true,
     .set = set_member<&BuildOptions::shared_weights>,
     .get = get_member<&BuildOptions::shared_weights>},
    {.name = "prefer",
     .value = "WHAT",
     .doc =
         "weights in larger forms that take less time, where they gain most per byte: size (at "
         "most 1.1 times the model's bytes), balanced (1.6), gain (1.65, unless that is estimated "
         "to take 1 % longer) or speed (no limit, the default)",
     .fallback = std::string("speed"),
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_prefer},
    {.name = "precision",
     .value = "TYPE",
     .doc = "constant matrices of products are rounded to f16 or bf16 and stored so, in half the "
            "bytes, where a plugin reads them so (default f32); verify --vs-float prints the error",
     .fallback = std::string("f32"),
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_precision},
    {.name = "compute",
     .value = "RULE",
     .doc = "the algorithm of ops that have several: direct or winograd for all, conv2d=direct for "
            "an op, Conv_3=direct for a node; by-level (default), by-cost, only-generic, "
            "not-direct; repeatable; explain --op NODE prints which it was",
     .fallback = Texts{},
     .part = OptionPart::kBuild,
     .needs_model = true,
     .set = set_compute},
    {.name = "level",
     .flag = "-O",
     .value = "LEVEL",
     .doc = "0 no fusion, 1 folding and fusion, 2 (default) layouts and in-place as well",
     .fallback = 2,
     .part = OptionPart::kBuild,
     .set = set_level},
    {.name = "tuning-log",
     .value = "FILE",
     .doc =
         "use the best points that `byoc tune` logged there; may be repeated; none: not even the "
         "log that comes with byoc for this processor",
     .fallback = Texts{},
     .part = OptionPart::kTuning,
     .needs_model = true},
    {.name = "require-tuned",
     .doc = "a function without a record in the logs is an error",
     .fallback = false,
     .part = OptionPart::kTuning,
     .needs_model = true},
};

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

}  // namespace byoc
