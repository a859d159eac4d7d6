// SPDX-License-Identifier: Apache-2.0
// The `byoc` command.
#include "byoc/host/register.h"
#include "byoc/plugin/abi.h"
#include "core/driver/run_byoc.h"
#include "core/extend/added.h"
#include "runtime/host/host.h"

namespace {

/// Puts the json plugin of the program in the place of its file, which has no ops of libraries.
byoc::Status register_reference() {
  const byoc_plugin* table = nullptr;
  if (byoc_plugin_entry_v1(byoc::host_table(), &table) != nullptr || table == nullptr)
    return byoc::failed("the json plugin of the program gives no table");
  return byoc::register_plugin(table);
}

}  // namespace

int main(int argc, char** argv) {
  byoc::extend::added().register_reference = register_reference;
  return byoc::driver::run_byoc(argc, argv);
}
