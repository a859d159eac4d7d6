// SPDX-License-Identifier: Apache-2.0
// Compiling and the tools of byoc/c/byoc.h.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "byoc/explain.h"
#include "byoc/place.h"
#include "byoc/tune.h"
#include "byoc/verify.h"
#include "core/library/compiled.h"
#include "core/library/request.h"
#include "runtime/c/handles.h"

namespace byoc::c {
namespace {

/// An option of one function beside those of compiling.
using Target =
    std::variant<bool*, std::string*, double*, uint32_t*, uint64_t*, std::vector<std::string>*>;
struct Extra {
  std::string_view name;
  Target to;
};

template <class T>
bool read_number(const std::string& text, T& to) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

bool read(const std::string& text, bool& to) { return to = true, text.empty(); }
bool read(const std::string& text, std::string& to) { return to = text, !text.empty(); }
bool read(const std::string& text, double& to) { return read_number(text, to); }
bool read(const std::string& text, uint32_t& to) { return read_number(text, to); }
bool read(const std::string& text, uint64_t& to) { return read_number(text, to); }
bool read(const std::string& text, std::vector<std::string>& to) {
  return to.push_back(text), !text.empty();
}

/// Reads the options of one call.
class Reader {
 public:
  Reader(const char* model, const byoc_options* options, const byoc_watch* watch,
         std::vector<Extra> extras)
      : given_(options), extras_(std::move(extras)) {
    request_.path = model;
    request_.cancel = cancellation_of(watch);
    if (watch != nullptr && watch->size >= sizeof(byoc_watch) && watch->progress != nullptr)
      request_.progress = [watch](std::string_view what, uint64_t done, uint64_t total) {
        watch->progress(watch->user, std::string(what).c_str(), done, total);
      };
    extras_.push_back({"input", &request_.inputs});
  }

  Result<ModelRequest> read() && {
    for (const auto& [name, value] : given_ ? given_->values : decltype(given_->values){}) {
      auto extra = std::ranges::find(extras_, name, &Extra::name);
      if (extra == extras_.end()) {
        BYOC_TRY_STATUS(set_known(name, value));
        continue;
      }
      const bool is_good =
          std::visit([&value](auto* to) { return c::read(value, *to); }, extra->to);
      if (!is_good)
        return invalid(cat("the option ", name, " has no valid value: \"", value, "\""))
            .with_slug("usage");
    }
    return std::move(request_);
  }

 private:
  Status set_known(const std::string& name, const std::string& value) {
    const auto rows = option_table();
    if (std::ranges::count(rows, name, &OptionInfo::name) > 0)
      return set_option(request_, name, value);
    std::vector<std::string> known;
    for (const OptionInfo& row : rows) known.emplace_back(row.name);
    for (const Extra& extra : extras_) known.emplace_back(extra.name);
    return not_found(cat("no option \"", name, "\"", did_you_mean(name, known))).with_slug("usage");
  }

  const byoc_options* given_;
  std::vector<Extra> extras_;
  ModelRequest request_;
};

/// Gives the caller a text, which byoc_text_free frees.
Status give_text(const std::string& text, char** out) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
  return {};
}

}  // namespace
}  // namespace byoc::c

using namespace byoc;
using namespace byoc::c;

byoc_error* byoc_compile_model(const char* model, const byoc_options* options,
                               const byoc_watch* watch, byoc_program** out) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(out);
    BYOC_TRY(ModelRequest request, Reader(model, options, watch, {}).read());
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

byoc_error* byoc_explain(const char* model, const byoc_options* options, const byoc_watch* watch,
                         char** json) {
  return guarded([&]() -> Status {
    BYOC_C_REQUIRE(model);
    BYOC_C_REQUIRE(json);
    std::string op;
    BYOC_TRY(ModelRequest request, Reader(model, options, watch, {{"op", &op}}).read());
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
    BYOC_TRY(ModelRequest request, Reader(model, options, watch,
                                          {{"against", &with.against},
                                           {"seed", &with.seed},
                                           {"tolerance", &with.tolerance},
                                           {"output", &with.piece}})
                                       .read());
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
    BYOC_TRY(ModelRequest request, Reader(model, options, watch,
                                          {{"rounds", &with.rounds},
                                           {"improve", &with.improve_s},
                                           {"min-time", &with.min_time_s},
                                           {"timeout", &with.timeout_s},
                                           {"estimates", &estimates},
                                           {"no-check", &no_check},
                                           {"plan-file", &with.plan_file},
                                           {"output", &with.module_file}})
                                       .read());
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
    BYOC_TRY(ModelRequest request, Reader(model, options, watch,
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
                                           {"observations", &with.observations}})
                                       .read());
    with.trials = trials;
    BYOC_TRY(ModelTuning tuned, tune_model(request, with));
    return give_text(tuned.json, json);
  });
}
