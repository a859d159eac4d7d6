// SPDX-License-Identifier: Apache-2.0
// byoc error, also as byoc help SLUG: explains the slug of an error.
#include <algorithm>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "core/driver/commands/commands.h"
#include "core/driver/commands/slug_table.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct ErrorFlags {
  std::string slug;
  bool list = false;
};

Result<SlugRow> row_of(const std::string& slug) {
  const auto rows = slug_table();
  const auto found = std::ranges::find(rows, slug, &SlugRow::slug);
  if (found != rows.end()) return *found;
  std::vector<std::string> names;
  for (const SlugRow& row : rows) names.emplace_back(row.slug);
  return not_found(cat("no error has the slug \"", slug, "\"", did_you_mean(slug, names)))
      .with_slug("unknown-slug")
      .with_help("byoc error --list prints all");
}

Json json_of(const SlugRow& row) {
  return {{"slug", std::string(row.slug)}, {"meaning", std::string(row.meaning)}};
}

Result<int> run_error(const ErrorFlags& options, const cli::CommonOptions& common) {
  if (options.slug.empty() && !options.list)
    return cli::usage_error("name the slug of an error, the word in brackets after error");
  Json json = Json::array();
  std::string text;
  for (const SlugRow& row : slug_table()) {
    if (!options.list) continue;
    json.push_back(json_of(row));
    text += cat(row.slug, "\n  ", row.meaning, "\n");
  }
  if (!options.list) {
    BYOC_TRY(const SlugRow row, row_of(options.slug));
    json.push_back(json_of(row));
    text = cat(row.meaning, "\n");
  }
  cli::print_text(text, common);
  BYOC_TRY_STATUS(cli::print_json(common, "slugs", {{"slugs", json}}));
  return static_cast<int>(cli::kDone);
}

}  // namespace

cli::Command error_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<ErrorFlags>();
  cli::Command command;
  command.name = "error";
  command.about = "explain an error by its slug, the word in brackets after error";
  command.examples = {{"byoc error symbolic-shape", "what it means, and what to do"},
                      {"byoc error --list", "all of them"}};
  command.options = {{"SLUG", "", "the word in brackets after error", &options->slug},
                     {"--list", "", "explain all slugs", &options->list}};
  command.run = [options, &common] { return run_error(*options, common); };
  return command;
}

}  // namespace byoc::driver
