// SPDX-License-Identifier: Apache-2.0
// Plugins and the state of the installation, of byoc/c/tools.h.
#include "byoc/plugins.h"
#include "core/c/read_options.h"

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_plugins(const byoc_options* options, const byoc_watch*, char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(json);
    PluginRequest request;
    const Extra extras[] = {{"plugin", &request.files}, {"plugin-option", &request.options}};
    BYOC_TRY_STATUS(read_options(options, extras));
    BYOC_TRY(const PluginList listed, list_plugins(request));
    return give_text(listed.json, json);
  });
}

byoc_error* byoc_doctor(const byoc_options* options, const byoc_watch*, char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(json);
    PluginRequest request;
    uint64_t min_free_mib = 1024;
    const Extra extras[] = {{"plugin", &request.files},
                            {"plugin-option", &request.options},
                            {"min-free", &min_free_mib}};
    BYOC_TRY_STATUS(read_options(options, extras));
    BYOC_TRY(const Installation found, examine_installation(request, min_free_mib));
    return give_text(found.json, json);
  });
}
