// SPDX-License-Identifier: Apache-2.0
// The tools of byoc/c/tools.h that work on a model.
#include "byoc/explain.h"
#include "byoc/partition.h"
#include "byoc/place.h"
#include "byoc/tune.h"
#include "byoc/verify.h"
#include "core/c/read_options.h"

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_explain(const char* model, const byoc_options* options, const byoc_watch* watch,
                         char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    std::string op;
    BYOC_TRY(ModelRequest request, read_request(model, options, watch, {{"op", &op}}));
    BYOC_TRY(ModelExplanation explained, explain_model(request, op));
    return give_text(explained.json, json);
  });
}

byoc_error* byoc_verify(const char* model, const byoc_options* options, const byoc_watch* watch,
                        char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    VerifyOptions with;
    BYOC_TRY(ModelRequest request, read_request(model, options, watch,
                                                {{"against", &with.against},
                                                 {"seed", &with.seed},
                                                 {"steps", &with.steps},
                                                 {"tolerance", &with.tolerance},
                                                 {"output", &with.piece}}));
    BYOC_TRY(ModelVerification verified, verify_model(request, with));
    return give_text(verified.json, json);
  });
}

byoc_error* byoc_place(const char* model, const byoc_options* options, const byoc_watch* watch,
                       char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    PlaceOptions with;
    bool estimates = false, no_check = false;
    BYOC_TRY(ModelRequest request, read_request(model, options, watch,
                                                {{"rounds", &with.rounds},
                                                 {"improve", &with.improve_s},
                                                 {"min-time", &with.min_time_s},
                                                 {"timeout", &with.timeout_s},
                                                 {"estimates", &estimates},
                                                 {"no-check", &no_check},
                                                 {"plan-file", &with.plan_file},
                                                 {"output", &with.module_file}}));
    with.measures = !estimates;
    with.checks = !no_check;
    BYOC_TRY(ModelPlacement placed, place_model(request, with));
    return give_text(placed.json, json);
  });
}

byoc_error* byoc_tune(const char* model, const byoc_options* options, const byoc_watch* watch,
                      char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    TuneOptions with;
    uint64_t trials = with.trials;
    BYOC_TRY(ModelRequest request, read_request(model, options, watch,
                                                {{"log", &with.log},
                                                 {"program", &with.program},
                                                 {"trials", &trials},
                                                 {"budget", &with.budget_s},
                                                 {"task", &with.tasks},
                                                 {"seed", &with.seed},
                                                 {"jobs", &with.jobs},
                                                 {"build-limit", &with.build_limit_s},
                                                 {"run-limit", &with.run_limit_s},
                                                 {"starts", &with.starts},
                                                 {"observations", &with.observations}}));
    with.trials = trials;
    BYOC_TRY(ModelTuning tuned, tune_model(request, with));
    return give_text(tuned.json, json);
  });
}

byoc_error* byoc_partition(const char* model, const byoc_options* options, const byoc_watch* watch,
                           char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    PartitionOptions with;
    BYOC_TRY(ModelRequest request,
             read_request(model, options, watch,
                          {{"output", &with.module_file}, {"svg", &with.svg_file}}));
    BYOC_TRY(ModelPartition partitioned, partition_model(request, with));
    return give_text(partitioned.json, json);
  });
}

byoc_error* byoc_partition_svg(const char* model, const byoc_options* options,
                               const byoc_watch* watch, char** svg) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(svg);
    BYOC_TRY(ModelRequest request, read_request(model, options, watch, {}));
    BYOC_TRY(ModelPartition partitioned, partition_model(request, {.draws = true}));
    return give_text(partitioned.svg, svg);
  });
}
