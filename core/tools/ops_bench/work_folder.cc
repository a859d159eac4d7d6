// SPDX-License-Identifier: Apache-2.0
#include "core/tools/ops_bench/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "byoc/base/file.h"

namespace byoc::driver {

Result<std::unique_ptr<WorkFolder>> WorkFolder::make() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "byoc-ops-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    return system_error("cannot make folder", path, error ? error.value() : errno);
  return std::make_unique<WorkFolder>(std::move(path));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace byoc::driver
