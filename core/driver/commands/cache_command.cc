// SPDX-License-Identifier: Apache-2.0
// byoc cache: lists, trims and exports what plugins compiled and the cache folder keeps.
#include <charconv>
#include <ctime>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/library/cached.h"
#include "runtime/cli/output.h"

namespace byoc::driver {
namespace {

struct CacheFlags {
  std::string plugin, export_to;
  std::string max_mib, max_days;  // "": no limit
};

Result<std::optional<uint64_t>> number_of(const std::string& text, std::string_view option,
                                          uint64_t factor) {
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > UINT64_MAX / factor)
    return cli::usage_error(cat(option, ": \"", text, "\" is no whole number in range"));
  return std::optional(value * factor);
}

Result<CacheRequest> request_of(const CacheFlags& flags) {
  CacheRequest out{.plugin = flags.plugin, .export_to = flags.export_to};
  BYOC_TRY(out.max_bytes, number_of(flags.max_mib, "--max", uint64_t{1} << 20));
  BYOC_TRY(out.max_days, number_of(flags.max_days, "--unused", 1));
  constexpr uint64_t kMostDays = 36500;
  if (out.max_days.value_or(0) > kMostDays)
    return cli::usage_error(cat("--unused: expected at most ", kMostDays, " days"));
  return out;
}

std::string date_of(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  if (::localtime_r(&time, &parts) == nullptr) return "";
  char text[sizeof "2000-01-01 00:00"];
  return {text, std::strftime(text, sizeof text, "%F %R", &parts)};
}

std::string text_of(const Cached& cached) {
  if (cached.folder.empty())
    return "there is no cache folder: set HOME or XDG_CACHE_HOME to a folder, with its whole "
           "path\n";
  std::string out;
  if (cached.deleted_files > 0)
    out += cat("deleted ", cached.deleted_files, " files, ", cached.deleted_bytes, " bytes\n");
  if (!cached.exported_to.empty())
    out += cat("copied ", cached.exported_files,
               " files; use them with XDG_CACHE_HOME=", cached.exported_to, "\n");
  cli::Table table({"plugin", "kind", ">files", ">bytes", "used last", "folder"});
  for (const CachedPlugin& one : cached.plugins)
    table.add(
        {one.plugin, one.kind, cat(one.files), cat(one.bytes), date_of(one.used_s), one.folder});
  return out + (table.empty() ? cat("nothing is kept in ", cached.folder, "\n") : table.text());
}

Result<int> run_cache(const CacheFlags& flags, const cli::CommonOptions& common) {
  BYOC_TRY(const CacheRequest request, request_of(flags));
  BYOC_TRY(const Cached cached, use_cache(request));
  cli::print_text(text_of(cached), common);
  BYOC_TRY_STATUS(cli::print_json(common, "cache", json_of(cached)));
  return cli::kDone;
}

}  // namespace

cli::Command cache_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<CacheFlags>();
  cli::Command command;
  command.name = "cache";
  command.about = "list, trim or export the compiled functions that are kept";
  command.examples = {
      {"byoc cache", "how many files of which plugin, and their bytes"},
      {"byoc cache --max 200", "delete the least recently used, until 200 MiB are left"},
      {"byoc cache --plugin-id my_chip --max 0", "delete those of one plugin"},
      {"byoc cache --export build/cache", "copy them, for use with XDG_CACHE_HOME=build/cache"}};
  auto& all = command.options;
  all.push_back({"--plugin-id", "ID", "only the files of this plugin", &options->plugin});
  all.push_back(
      {"--max", "MIB", "delete the least recently used until so much is left", &options->max_mib});
  all.push_back(
      {"--unused", "DAYS", "delete those that were not used for so long", &options->max_days});
  all.push_back({"--export", "DIR", "copy the files that are left", &options->export_to});
  command.notes =
      "Functions are kept for plugins whose manifest has kept_compiles, in up to 2 GiB; kernels "
      "by\n"
      "the llvm plugin, in up to 512 MiB. Both may be deleted at any time. The variable\n"
      "BYOC_KEEP_COMPILES=0 turns the former off.";
  command.run = [options, &common] { return run_cache(*options, common); };
  return command;
}

}  // namespace byoc::driver
