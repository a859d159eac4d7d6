// SPDX-License-Identifier: Apache-2.0
// The tools of byoc/c/tools.h that run a model: bench, profile and report.
#include "byoc/bench.h"
#include "byoc/profile.h"
#include "byoc/report.h"
#include "core/c/read_options.h"

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_bench(const char* model, const byoc_options* options, const byoc_watch* watch,
                       char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(json);
    BenchOptions with;
    const std::vector<Extra> extras = {{"threads", &with.threads},
                                       {"vs", &with.versus},
                                       {"region", &with.region},
                                       {"seed", &with.seed},
                                       {"warmup", &with.warmup_s},
                                       {"min-time", &with.min_time_s},
                                       {"rounds", &with.rounds},
                                       {"tolerance", &with.tolerance},
                                       {"observations", &with.observations},
                                       {"no-check", &with.no_check},
                                       {"no-peaks", &with.no_peaks},
                                       {"no-native", &with.no_native},
                                       {"op", &with.op},
                                       {"attr", &with.attrs},
                                       {"weight", &with.weights}};
    const char* path = model == nullptr ? "" : model;
    BYOC_TRY(const ModelRequest request, read_request(path, options, watch, extras));
    if (with.op.empty()) BYOC_C_REQUIRE(model);
    BYOC_TRY(const ModelBenchmark benched, bench_model(request, with));
    return give_text(benched.json, json);
  });
}

byoc_error* byoc_profile(const char* model, const byoc_options* options, const byoc_watch* watch,
                         char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    ProfileOptions with;
    BYOC_TRY(const ModelRequest request,
             read_request(
                 model, options, watch,
                 {{"seed", &with.seed}, {"trace", &with.trace}, {"no-native", &with.no_native}}));
    BYOC_TRY(const ModelProfile profile, profile_model(request, with));
    return give_text(profile.json, json);
  });
}

byoc_error* byoc_report(const char* model, const byoc_options* options, const byoc_watch* watch,
                        char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    ReportOptions with;
    BYOC_TRY(const ModelRequest request, read_request(model, options, watch,
                                                      {{"output", &with.page_file},
                                                       {"vs", &with.versus},
                                                       {"costs", &with.costs},
                                                       {"seed", &with.seed},
                                                       {"warmup", &with.warmup_s},
                                                       {"min-time", &with.min_time_s},
                                                       {"rounds", &with.rounds},
                                                       {"tolerance", &with.tolerance},
                                                       {"no-check", &with.no_check},
                                                       {"no-run", &with.no_run}}));
    BYOC_TRY(const ModelReport report, report_model(request, with));
    return give_text(report.json, json);
  });
}
