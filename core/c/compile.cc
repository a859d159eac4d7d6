// SPDX-License-Identifier: Apache-2.0
// Compiling, of byoc/c/tools.h.
#include "byoc/base/json.h"
#include "core/c/read_options.h"

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_compile_model(const char* model, const byoc_options* options,
                               const byoc_watch* watch, byoc_program** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(out);
    BYOC_TRY(ModelRequest request, read_request(model, options, watch, {}));
    auto program = std::make_unique<byoc_program>();
    BYOC_TRY(program->sizes, compile_model(request));
    *out = program.release();
    return {};
  });
}

byoc_error* byoc_option_names(char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(json);
    Json out = Json::array();
    for (const OptionInfo& row : option_table())
      out.push_back({{"name", row.name}, {"value", row.value}, {"doc", row.doc}});
    return give_text(out.dump(), json);
  });
}
