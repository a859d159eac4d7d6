// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/measure/protocol.h"

#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/json.h"

namespace byoc::tune {
namespace {

constexpr std::string_view kKinds[] = {"prepare", "build", "run", "duel", "reference"};

/// Reads members of a line; after the first error it reads no more.
class Reader {
 public:
  explicit Reader(std::string_view line) {
    auto json = parse_json(line);
    if (!json.ok()) status_ = std::move(json.status());
    else if (!json->is_object()) status_ = invalid("a line of a worker is no JSON object");
    else json_ = *std::move(json);
  }
  void read(const char* name, std::string& to) {
    if (const Json* found = find(name, &Json::is_string)) to = found->get<std::string>();
  }
  void read(const char* name, bool& to) {
    if (const Json* found = find(name, &Json::is_boolean)) to = found->get<bool>();
  }
  void read(const char* name, double& to) {
    if (const Json* found = find(name, &Json::is_number)) to = found->get<double>();
  }
  void read(const char* name, uint32_t& to) {
    const Json* found = find(name, &Json::is_number_unsigned);
    if (found == nullptr) return;
    const auto value = found->get<uint64_t>();
    if (std::in_range<uint32_t>(value)) to = static_cast<uint32_t>(value);
    else status_ = wrong(name);
  }
  void read(const char* name, std::vector<double>& to) {
    const Json* found = find(name, &Json::is_array);
    for (size_t k = 0; found != nullptr && k < found->size(); ++k) {
      if (!(*found)[k].is_number()) return void(status_ = wrong(name));
      to.push_back((*found)[k].get<double>());
    }
  }
  void read(const char* name, Point& to) {
    const Json* found = find(name, &Json::is_object);
    if (found == nullptr) return;
    auto point = parse_point(found->dump());
    if (point.ok()) to = *std::move(point);
    else status_ = std::move(point.status());
  }
  void fail(std::string message) {
    if (status_.ok()) status_ = invalid(std::move(message));
  }
  Status take_status() { return std::move(status_); }

 private:
  static Status wrong(const char* name) {
    return invalid(cat("\"", name, "\" in a line of a worker is missing or of another kind"));
  }
  const Json* find(const char* name, bool (Json::*is)() const noexcept) {
    if (!status_.ok()) return nullptr;
    auto found = json_.find(name);
    if (found != json_.end() && ((*found).*is)()) return &*found;
    status_ = wrong(name);
    return nullptr;
  }

  Json json_;
  Status status_;
};

/// Prints bytes that are no UTF-8, which a plugin may put into a message, as a replacement.
std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string print(const Request& request) {
  BYOC_CHECK(static_cast<size_t>(request.kind) < std::size(kKinds), "operation ",
             static_cast<size_t>(request.kind), " has no name");
  Json json = {{"op", kKinds[request.kind]},
               {"folder", request.folder},
               {"reference", request.reference},
               {"point", request.point},
               {"flags", request.flags},
               {"artifact", request.artifact},
               {"champion", request.champion},
               {"best_ns", std::isfinite(request.best_ns) ? request.best_ns : -1},
               {"cold", request.is_cold}};
  return one_line(json);
}

std::string print(const Answer& answer) {
  return one_line({{"error", answer.error},
                   {"ns", answer.ns},
                   {"samples_ns", answer.samples_ns},
                   {"champion_ns", answer.champion_ns},
                   {"gain", answer.gain},
                   {"last", answer.is_last}});
}

Result<Request> parse_request(std::string_view line) {
  Reader reader(line);
  Request out;
  std::string op;
  reader.read("op", op);
  reader.read("folder", out.folder);
  reader.read("reference", out.reference);
  reader.read("point", out.point);
  reader.read("flags", out.flags);
  reader.read("artifact", out.artifact);
  reader.read("champion", out.champion);
  reader.read("best_ns", out.best_ns);
  reader.read("cold", out.is_cold);
  if (out.best_ns < 0) out.best_ns = std::numeric_limits<double>::infinity();
  const auto* kind = std::find(std::begin(kKinds), std::end(kKinds), op);
  if (kind == std::end(kKinds)) reader.fail(cat("a worker has no operation \"", op, "\""));
  BYOC_TRY_STATUS(reader.take_status());
  out.kind = static_cast<Request::Kind>(kind - std::begin(kKinds));
  return out;
}

Result<Answer> parse_answer(std::string_view line) {
  Reader reader(line);
  Answer out;
  reader.read("error", out.error);
  reader.read("ns", out.ns);
  reader.read("samples_ns", out.samples_ns);
  reader.read("champion_ns", out.champion_ns);
  reader.read("gain", out.gain);
  reader.read("last", out.is_last);
  BYOC_TRY_STATUS(reader.take_status());
  return out;
}

}  // namespace byoc::tune
