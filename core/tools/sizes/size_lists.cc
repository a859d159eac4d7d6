// SPDX-License-Identifier: Apache-2.0
#include "core/tools/sizes/size_lists.h"

#include <algorithm>
#include <map>

#include "byoc/pass/bind.h"
#include "runtime/cli/command.h"

namespace byoc::driver {
namespace {

/// The values of one name, each as a flag: "N=1", "N=4".
struct Values {
  std::string name;
  std::vector<std::string> flags;
};
/// The names of one --shape, in its order.
using Flag = std::vector<Values>;

/// Splits "N=1,4,S=16" into {N=1, N=4} and {S=16}. A text whose parts are no shapes stays whole: a
/// name may contain commas.
Flag split_flag(const std::string& text) {
  Flag out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    size_t equals = part.rfind('=');
    if (equals != part.npos) {
      out.push_back({part.substr(0, equals), {part}});
    } else if (!out.empty()) {
      part = cat(out.back().name, "=", part);
      out.back().flags.push_back(part);
    }
    if (out.empty() || !parse_shape(part).ok()) return {{text.substr(0, text.rfind('=')), {text}}};
  }
  return out;
}

bool is_range(const std::string& flag) {
  auto shape = parse_shape(flag);
  return shape.ok() && !std::ranges::all_of(shape->second, &GivenSize::is_number);
}

bool has_range(const Values& values) { return std::ranges::any_of(values.flags, is_range); }

Status check_values(const Values& values) {
  for (const std::string& flag : values.flags) {
    if (std::ranges::count(values.flags, flag) > 1)
      return cli::usage_error(cat("--shape lists ", flag, " twice"));
  }
  return {};
}

/// Appends each of `values` to each choice; labels have the values of lists, and all `named` ones.
std::vector<SizeChoice> combine(const std::vector<SizeChoice>& choices, const Values& values,
                                bool named) {
  std::vector<SizeChoice> out;
  for (const SizeChoice& choice : choices) {
    for (const std::string& flag : values.flags) {
      SizeChoice& next = out.emplace_back(choice);
      next.shapes.push_back(flag);
      if (named || values.flags.size() > 1) next.label += cat(next.label.empty() ? "" : ",", flag);
    }
  }
  return out;
}

/// The flags of a command line: those that set names, and those that add sizes to ranges.
class Flags {
 public:
  Status take(Flag flag) {
    size_t known = 0;
    for (const Values& values : flag) {
      BYOC_TRY_STATUS(check_values(values));
      known += find(values.name) != nullptr;
    }
    if (known > 0) return take_added(std::move(flag), known);
    for (Values& values : flag) {
      if (find(values.name) != nullptr)
        return cli::usage_error(cat("--shape names \"", values.name, "\" twice"));
      set_.push_back(std::move(values));
    }
    return {};
  }

  Result<std::vector<SizeChoice>> choices() const {
    std::vector<SizeChoice> out(1);
    BYOC_TRY_STATUS(add_choices(set_, {}, out));
    for (const Flag& flag : added_) {
      std::vector<SizeChoice> more(1);
      BYOC_TRY_STATUS(add_choices(set_, flag, more));
      if (out.size() + more.size() > kMaxSizes) return too_many();
      out.insert(out.end(), more.begin(), more.end());
    }
    for (const SizeChoice& choice : out) {
      if (std::ranges::count(out, choice.label, &SizeChoice::label) > 1)
        return cli::usage_error(cat("--shape lists ", choice.label, " twice"));
    }
    return out;
  }

 private:
  const Values* find(const std::string& name) const {
    auto found = std::ranges::find(set_, name, &Values::name);
    return found == set_.end() ? nullptr : &*found;
  }

  /// Takes a flag whose names earlier flags have, which gives numbers to names with ranges.
  Status take_added(Flag flag, size_t known) {
    bool adds = known == flag.size();
    for (const Values& values : flag) {
      const Values* set = find(values.name);
      adds = adds && set != nullptr && has_range(*set) && !has_range(values);
    }
    if (adds) return added_.push_back(std::move(flag)), Status();
    const auto again =
        std::ranges::find_if(flag, [&](const Values& v) { return find(v.name) != nullptr; });
    return cli::usage_error(cat("--shape names \"", again->name, "\" twice"))
        .with_help(
            "after a range, numbers add sizes that a run prefers: --shape T=1..128 "
            "--shape T=128");
  }

  /// Appends to each choice the values of `instead`, and those of `set` for its other names.
  Status add_choices(const std::vector<Values>& set, const Flag& instead,
                     std::vector<SizeChoice>& choices) const {
    auto add = [&](const Values& values, bool named) -> Status {
      if (values.flags.size() * choices.size() > kMaxSizes) return too_many();
      choices = combine(choices, values, named);
      return {};
    };
    for (const Values& values : set) {
      if (std::ranges::count(instead, values.name, &Values::name) > 0) continue;
      const bool is_open = !added_.empty() && has_range(values);
      BYOC_TRY_STATUS(add(values, is_open && instead.empty()));
    }
    for (const Values& values : instead) BYOC_TRY_STATUS(add(values, true));
    return {};
  }

  static Status too_many() {
    return cli::usage_error(cat("--shape lists more than ", kMaxSizes, " sizes"));
  }

  std::vector<Values> set_;  // each name once
  std::vector<Flag> added_;
};

}  // namespace

Result<std::vector<SizeChoice>> expand_sizes(const std::vector<std::string>& shapes) {
  Flags flags;
  for (const std::string& text : shapes) BYOC_TRY_STATUS(flags.take(split_flag(text)));
  return flags.choices();
}

}  // namespace byoc::driver
