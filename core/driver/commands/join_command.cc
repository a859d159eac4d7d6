// SPDX-License-Identifier: Apache-2.0
// byoc join: makes one file of several compiled models, which has what they share once.
#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/runtime/sizes.h"
#include "core/driver/commands/commands.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct JoinFlags {
  std::vector<std::string> entries;  // NAME=FILE
  std::string output;
};
using Programs = std::vector<SizedExecutable>;

/// Appends the sizes of the model of NAME=FILE.
Status add_entry(const std::string& text, Programs& out) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return cli::usage_error(cat("an entry is NAME=FILE.byoc, not \"", text, "\""))
        .with_help(cat("byoc join decode=", text.empty() ? "decode.byoc" : text, " -o OUT.byoc"));
  const std::string name = text.substr(0, equals), file = text.substr(equals + 1);
  if (std::ranges::count(out, name, &SizedExecutable::entry) > 0)
    return cli::usage_error(cat("the entry \"", name, "\" is given twice"));
  BYOC_TRY(Programs sizes, load_artifact_sizes(file));
  auto model = take_entry(std::move(sizes), "");
  if (!model.ok()) return std::move(model.status()).at(file);
  for (SizedExecutable& size : *model) {
    size.entry = name;
    out.push_back(std::move(size));
  }
  return {};
}

/// The constants of all entries, each once, and as often as entries have them.
struct Bytes {
  uint64_t once = 0, each = 0;
};
Bytes constant_bytes(const Programs& programs) {
  Bytes out;
  std::set<ContentKey> counted;
  for (const SizedExecutable& program : programs) {
    for (const auto& [key, buffer] : program.executable.constants) {
      out.each += buffer->size();
      out.once += counted.insert(key).second ? buffer->size() : 0;
    }
  }
  return out;
}

Result<int> run_join(const JoinFlags& flags, const cli::CommonOptions& common) {
  if (flags.output.empty())
    return cli::usage_error("the option --output is needed: the file that is written");
  Programs programs;
  for (const std::string& text : flags.entries) BYOC_TRY_STATUS(add_entry(text, programs));
  BYOC_TRY_STATUS(save_artifact_sizes(programs, flags.output));
  const Bytes bytes = constant_bytes(programs);
  const std::vector<std::string> names = entries_of(programs);
  std::string text;
  for (const std::string& name : names) text += cat(text.empty() ? "" : ", ", name);
  cli::print_text(cat("wrote ", flags.output, ": ", text, "; ", cli::format_mib(bytes.once),
                      " constants, ", cli::format_mib(bytes.each), " in files of their own\n"),
                  common);
  BYOC_TRY_STATUS(cli::print_json(common, "join",
                                  {{"output", flags.output},
                                   {"entries", names},
                                   {"constant_bytes", bytes.once},
                                   {"separate_constant_bytes", bytes.each}}));
  return static_cast<int>(cli::kDone);
}

}  // namespace

cli::Command join_command(const cli::CommonOptions& common) {
  auto flags = std::make_shared<JoinFlags>();
  cli::Command command;
  command.name = "join";
  command.about = "make one file of several compiled models, with shared weights once";
  command.examples = {{"byoc join prefill=a.byoc decode=b.byoc -o both.byoc",
                       "then: byoc-run both.byoc --entry decode"}};
  command.options = {
      {"ENTRIES", "", "NAME=FILE.byoc of each model; NAME is for --entry", &flags->entries, true},
      {"-o,--output", "FILE", "the artifact, model.byoc", &flags->output}};
  command.notes =
      "compile the models with --shared-weights, so that they pack weights in the same way";
  command.run = [flags, &common] { return run_join(*flags, common); };
  return command;
}

}  // namespace byoc::driver
