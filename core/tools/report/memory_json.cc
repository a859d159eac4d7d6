// SPDX-License-Identifier: Apache-2.0
#include "core/tools/report/memory_json.h"

#include <map>

#include "byoc/base/json.h"

namespace byoc::driver {
namespace {

uint64_t bytes_of(const TensorSpec& type) {
  Result<int64_t> size = size_bytes(type);
  return size.ok() ? static_cast<uint64_t>(*size) : 0;
}

// Maps the arena to the results in it, by their first bytes.
class ArenaContents {
 public:
  void write(uint64_t begin, uint64_t bytes, size_t result) {
    results_.erase(results_.lower_bound(begin), results_.lower_bound(begin + bytes));
    if (bytes != 0) results_[begin] = result;
  }
  /// Calls f for each result that begins in these bytes. A value that parts make up has several.
  template <class F>
  void for_each(uint64_t begin, uint64_t bytes, F&& f) const {
    const auto end = results_.lower_bound(begin + bytes);
    for (auto at = results_.lower_bound(begin); at != end; ++at) f(at->second);
  }

 private:
  std::map<uint64_t, size_t> results_;
};

/// Returns per result of the steps the last step that reads it, or the step that writes it.
std::vector<size_t> last_steps(const Program& program) {
  std::vector<size_t> last;
  ArenaContents contents;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (size_t k = 0; k < step.args.size(); ++k) {
      const Place& place = step.args[k];
      const bool is_result = k >= step.n_in;
      if (is_result) last.push_back(s);
      if (place.kind != Place::kArena) continue;
      if (is_result) contents.write(place.offset, bytes_of(step.types[k]), last.size() - 1);
      else contents.for_each(place.offset, bytes_of(step.types[k]), [&](size_t r) { last[r] = s; });
    }
  }
  return last;
}

}  // namespace

Json memory_json(const Program& program) {
  // A loop reads and writes values many times: they have no first and last step.
  const bool has_lifetimes = program.code.empty();
  const std::vector<size_t> last = has_lifetimes ? last_steps(program) : std::vector<size_t>();
  Json values = Json::array();
  size_t result = 0;
  for (size_t s = 0; has_lifetimes && s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (size_t k = step.n_in; k < step.args.size(); ++k, ++result) {
      if (step.args[k].kind != Place::kArena) continue;
      values.push_back({{"region", step.symbol},
                        {"type", cat(step.types[k])},
                        {"offset", step.args[k].offset},
                        {"bytes", bytes_of(step.types[k])},
                        {"first", s},
                        {"last", last[result]}});
    }
  }
  return Json{{"arena_bytes", program.arena_bytes},
              {"peak_live_bytes", program.peak_live_bytes},
              {"steps", program.steps.size()},
              {"values", values}};
}

Json steps_json(const Executable& executable) {
  Json out = Json::array();
  for (const Step& step : executable.program.steps) {
    Json inputs = Json::array(), outputs = Json::array();
    for (size_t k = 0; k < step.types.size(); ++k)
      (k < step.n_in ? inputs : outputs).push_back(cat(step.types[k]));
    Json json = {{"region", step.symbol}, {"inputs", inputs}, {"outputs", outputs}};
    if (step.is_compiled()) {
      const ExternalModule& module = executable.modules[step.module];
      json["workspace_bytes"] = module.functions[step.function].workspace_bytes;
    }
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace byoc::driver
