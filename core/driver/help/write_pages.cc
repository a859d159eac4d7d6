// SPDX-License-Identifier: Apache-2.0
// byoc_pages DIR: writes the completions and the manual of `byoc` into DIR, as they are installed
// in share/. The build runs it.
#include <cstdio>
#include <filesystem>

#include "byoc/base/file.h"
#include "core/driver/commands/commands.h"
#include "core/driver/help/pages.h"
#include "runtime/program/program.h"

namespace {

byoc::Status write(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  return byoc::write_file(file.string(), text);
}

byoc::Status write_all(const std::filesystem::path& folder) {
  byoc::cli::CommonOptions common;
  byoc::cli::Command root = byoc::driver::byoc_command(common);
  BYOC_TRY_STATUS(write(folder / "bash-completion/completions" / root.name,
                        byoc::driver::bash_completion(root)));
  BYOC_TRY_STATUS(
      write(folder / "zsh/site-functions" / ("_" + root.name), byoc::driver::zsh_completion(root)));
  byoc::cli::ProgramFlags flags;
  const byoc::cli::Command programs[] = {byoc::cli::program_command(flags)};
  for (const byoc::driver::ManualPage& page : byoc::driver::manual_pages(root, programs))
    BYOC_TRY_STATUS(write(folder / "man/man1" / page.file, page.text));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: byoc_pages DIR\n", stderr);
    return 2;
  }
  byoc::Status status = write_all(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
