// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include "byoc/base/file.h"
#include "byoc/import.h"
#include "mutants/targets.h"

namespace byoc::test {

bool read_onnx(std::string_view bytes) {
  const int fd = ::memfd_create("mutant.onnx", MFD_CLOEXEC);
  const bool is_written = fd >= 0 && write_all(fd, bytes);
  auto module = import_onnx(cat("/proc/self/fd/", fd), all_ops());
  ::close(fd);
  if (!is_written || !module.ok()) return false;
  check_module(*module);
  return true;
}

}  // namespace byoc::test
