// SPDX-License-Identifier: Apache-2.0
// Prints, parses and replays traces.
#include <algorithm>
#include <charconv>

#include "byoc/base/nearest.h"
#include "byoc/te/schedule.h"

namespace byoc::te {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '#';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the name as it is, or in quotes when it has other letters or could be a number.
std::string quoted(const std::string& name) {
  bool is_plain =
      !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), is_word);
  if (is_plain) return name;
  std::string out = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Trace> trace() {
    Trace out;
    skip();
    while (at_ < text_.size()) {
      BYOC_TRY(Step step, this->step());
      out.steps.push_back(std::move(step));
      skip();
      if (at_ < text_.size() && !take(';')) return wrong("expected ; between steps");
      skip();
    }
    return out;
  }

 private:
  Result<Step> step() {
    Step out;
    BYOC_TRY(out.primitive, name());
    if (!take('(')) return wrong(cat("expected ( after ", out.primitive));
    BYOC_TRY(out.stage, name());
    while (take(',')) {
      skip();
      bool is_number = at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '-');
      if (is_number) {
        BYOC_TRY(int64_t value, number());
        out.numbers.push_back(value);
        continue;
      }
      if (!out.numbers.empty()) return wrong("a name after a number");
      BYOC_TRY(std::string value, name());
      out.names.push_back(std::move(value));
    }
    if (!take(')')) return wrong("expected , or )");
    return out;
  }

  Result<std::string> name() {
    skip();
    std::string out;
    if (take('"')) {
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        out += text_[at_++];
      }
      if (!take('"')) return wrong("a name without closing quote");
      return out;
    }
    while (at_ < text_.size() && is_word(text_[at_])) out += text_[at_++];
    if (out.empty()) return wrong("expected a name");
    return out;
  }

  Result<int64_t> number() {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return wrong("expected a number of 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status wrong(std::string why) const {
    return invalid(
        cat("trace: ", why, " at letter ", at_, ", before \"", text_.substr(at_, 20), "\""));
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct Replayed {
  std::string name;
  size_t names, numbers;  // kAny: one or more
  Status (*apply)(Schedule&, const Step&);
};

Status tensorize(Schedule& schedule, const Step& step, std::span<const TensorIntrin> intrins) {
  std::vector<std::string> known;
  for (const TensorIntrin& intrin : intrins) {
    if (intrin.name == step.names[1]) return schedule.tensorize(step.stage, step.names[0], intrin);
    known.push_back(intrin.name);
  }
  return invalid(cat("tensorize(", step.stage, ", ", step.names[0], ", ", step.names[1],
                     "): no micro-kernel of that name is given",
                     did_you_mean(step.names[1], known)));
}
constexpr size_t kAny = SIZE_MAX;

const std::vector<Replayed>& primitives() {
  static const std::vector<Replayed> all = {
      {"for_compute", 1, 0,
       [](Schedule& s, const Step& t) { return s.for_compute(t.stage, t.names[0]); }},
      {"split", 1, 1,
       [](Schedule& s, const Step& t) { return s.split(t.stage, t.names[0], t.numbers[0]); }},
      {"fuse", 2, 0,
       [](Schedule& s, const Step& t) { return s.fuse(t.stage, t.names[0], t.names[1]); }},
      {"reorder", kAny, 0, [](Schedule& s, const Step& t) { return s.reorder(t.stage, t.names); }},
      {"tile", 2, 2,
       [](Schedule& s, const Step& t) {
         return s.tile(t.stage, t.names[0], t.names[1], t.numbers[0], t.numbers[1]);
       }},
      {"vectorize", 1, 0,
       [](Schedule& s, const Step& t) { return s.vectorize(t.stage, t.names[0]); }},
      {"unroll", 1, 0, [](Schedule& s, const Step& t) { return s.unroll(t.stage, t.names[0]); }},
      {"parallel", 1, 0,
       [](Schedule& s, const Step& t) { return s.parallel(t.stage, t.names[0]); }},
      {"compute_at", 2, 0,
       [](Schedule& s, const Step& t) { return s.compute_at(t.stage, t.names[0], t.names[1]); }},
      {"rolling_buffer", 2, 0,
       [](Schedule& s, const Step& t) {
         return s.rolling_buffer(t.stage, t.names[0], t.names[1]);
       }},
      {"compute_inline", 0, 0,
       [](Schedule& s, const Step& t) { return s.compute_inline(t.stage); }},
      {"cache_read", 1, 0,
       [](Schedule& s, const Step& t) { return s.cache_read(t.stage, t.names[0]); }},
      {"cache_write", 0, 0, [](Schedule& s, const Step& t) { return s.cache_write(t.stage); }},
      {"rfactor", 1, 0, [](Schedule& s, const Step& t) { return s.rfactor(t.stage, t.names[0]); }},
  };
  return all;
}

}  // namespace

Status apply(Schedule& schedule, const Step& step, std::span<const TensorIntrin> intrins) {
  if (step.primitive == "tensorize" && step.names.size() == 2 && step.numbers.empty())
    return tensorize(schedule, step, intrins);
  std::vector<std::string> known = {"tensorize"};
  for (const Replayed& primitive : primitives()) {
    known.push_back(primitive.name);
    if (primitive.name != step.primitive) continue;
    bool fits = step.numbers.size() == primitive.numbers &&
                (primitive.names == kAny || step.names.size() == primitive.names);
    if (!fits)
      return invalid(cat(step.primitive, " of ", step.names.size(), " names and ",
                         step.numbers.size(), " numbers after the stage"));
    return primitive.apply(schedule, step);
  }
  return invalid(
      cat("there is no primitive ", step.primitive, did_you_mean(step.primitive, known)));
}

std::string print(const Trace& trace) {
  std::string out;
  for (const Step& step : trace.steps) {
    out += cat(out.empty() ? "" : "; ", step.primitive, "(", quoted(step.stage));
    for (const std::string& name : step.names) out += ", " + quoted(name);
    for (int64_t number : step.numbers) out += cat(", ", number);
    out += ")";
  }
  return out;
}

Result<Trace> parse_trace(std::string_view text) { return Parser(text).trace(); }

Result<Schedule> replay(Dag dag, const Trace& trace, std::span<const TensorIntrin> intrins) {
  Schedule schedule(std::move(dag));
  for (size_t k = 0; k < trace.steps.size(); ++k) {
    Status status = apply(schedule, trace.steps[k], intrins);
    if (!status.ok()) return std::move(status).at(cat("step ", k + 1, " of the trace"));
  }
  return schedule;
}

Result<Schedule> schedule_by(std::span<const ScheduleProvider> chain, const Dag& dag) {
  for (const ScheduleProvider& provider : chain) {
    if (std::optional<Result<Schedule>> schedule = provider(dag)) return std::move(*schedule);
  }
  return not_found(
      cat("none of ", chain.size(), " schedule providers has a schedule for ", dag.name));
}

}  // namespace byoc::te
