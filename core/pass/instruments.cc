// SPDX-License-Identifier: Apache-2.0
#include "core/pass/instruments.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "byoc/base/defect.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

constexpr size_t kShownElements = 16;  // of a constant, in a module on stderr

std::string shown_time(uint64_t ns) {
  double us = static_cast<double>(ns) / 1e3;
  char text[32];
  if (us < 1e3) std::snprintf(text, sizeof text, "%8.1f us", us);
  else if (us < 1e6) std::snprintf(text, sizeof text, "%8.2f ms", us / 1e3);
  else std::snprintf(text, sizeof text, "%8.2f s ", us / 1e6);
  return text;
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return failed(cat("cannot write ", path)).with_slug("dump");
  return {};
}

}  // namespace

Instrument verify_each() {
  return {.before = nullptr,
          .after = [](const Pass& pass, const IRModule& before, const IRModule& after, uint64_t) {
            Status status = verify(after);
            if (status.ok()) return status;
            const std::string what = cat(pass.name, " broke the module: ", status.message());
            const std::string report = report_defect(cat(what, "\n  ", status.where()));
            if (report.empty())
              std::fprintf(stderr, "// the module before %s\n%s\n", pass.name.c_str(),
                           print(before, {.elide = kShownElements}).c_str());
            return Status(Code::kInternal, what)
                .with_slug("broken-module")
                .with_help(report)
                .at(status.where());
          }};
}

Instrument dump_changes(std::string folder) {
  return {.before = nullptr,
          .after = [folder = std::move(folder)](const Pass& pass, const IRModule& before,
                                                const IRModule& after, uint64_t) -> Status {
            if (equal(before, after)) return {};
            static std::atomic<int> count = 0;
            char number[16];
            std::snprintf(number, sizeof number, "%03d_", count++);
            std::error_code error;
            std::filesystem::create_directories(folder, error);
            return write_text(cat(folder, "/", number, pass.name, ".ir"), print(after));
          }};
}

Instrument print_times() {
  return {
      .before = nullptr,
      .after = [](const Pass& pass, const IRModule&, const IRModule& after, uint64_t ns) -> Status {
        size_t nodes = 0;
        for (const auto& [name, function] : after.functions) nodes += function.nodes.size();
        std::fprintf(stderr, "%-24s %s %9zu nodes\n", pass.name.c_str(), shown_time(ns).c_str(),
                     nodes);
        return {};
      }};
}

}  // namespace byoc
