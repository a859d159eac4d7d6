// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/meta_line.h"

#include "core/tuner/starts/seconds.h"

namespace byoc::tune {
namespace {

bool is_instruction(const Json& json) {
  return json.is_array() && json.size() == 4 && json[0].is_string() && json[1].is_array() &&
         json[2].is_array() && json[3].is_array();
}

std::string text_at(const Json& list, size_t k) {
  return k < list.size() && list[k].is_string() ? list[k].get<std::string>() : "";
}

std::optional<TiledLoop> sampled_loop_of(const Json& decision) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (!decision.is_array()) return std::nullopt;
  TiledLoop out;
  for (const Json& part : decision) {
    if (!part.is_number_integer()) return std::nullopt;
    out.parts.push_back(part.get<int64_t>());
    if (out.parts.back() < 1 || out.parts.back() > kMost) return std::nullopt;
  }
  return out;
}

/// Reads the instructions of a trace with their decisions.
class Trace {
 public:
  explicit Trace(const Json& decisions) {
    for (const Json& pair : decisions) {
      const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned();
      if (is_pair) decisions_[pair[0].get<size_t>()] = &pair[1];
    }
  }

  void take(size_t index, const Json& instruction) {
    const auto name = instruction[0].get<std::string>();
    const Json &inputs = instruction[1], &attributes = instruction[2], &outputs = instruction[3];
    const auto decided = decisions_.find(index);
    const Json* decision = decided == decisions_.end() ? nullptr : decided->second;
    if (name == "GetLoops") {
      for (size_t k = 0; k < outputs.size(); ++k)
        block_of_[text_at(outputs, k)] = text_at(inputs, 0);
    } else if (name == "SamplePerfectTile") {
      add_loop(block_of_[text_at(inputs, 0)], decision);
    } else if (name == "SampleCategorical") {
      categories_[text_at(outputs, 0)] = category_of(attributes, decision);
    } else if (name == "Annotate") {
      annotate(inputs, text_at(attributes, 0));
    } else if (name != "GetBlock" && name != "Split" && name != "EnterPostproc" && !is_post_) {
      sums_.others.insert(name);
    }
    is_post_ = is_post_ || name == "EnterPostproc";
  }

  /// Returns the block with the most iterations that has loops over terms.
  std::optional<TiledSum> largest() const { return sums_.largest(); }

 private:
  void add_loop(const std::string& block, const Json* decision) {
    const auto loop = decision == nullptr ? std::nullopt : sampled_loop_of(*decision);
    if (!loop || !sums_.add(block, *loop)) sums_.others.insert("tile of another form");
  }

  /// Returns the number that was decided; 0 without one.
  static double category_of(const Json& attributes, const Json* decision) {
    const bool has_index = decision != nullptr && decision->is_number_unsigned() &&
                           !attributes.empty() && attributes[0].is_array();
    if (!has_index) return 0;
    const auto index = decision->get<size_t>();
    const Json& values = attributes[0];
    return index < values.size() && values[index].is_number() ? values[index].get<double>() : 0;
  }

  void annotate(const Json& inputs, std::string key) {
    if (key.size() > 2 && key.front() == '"') key = key.substr(1, key.size() - 2);
    const bool is_explicit = key == "meta_schedule.unroll_explicit";
    if (!is_explicit && key != "meta_schedule.unroll_implicit") {
      if (!is_post_) sums_.others.insert(key.starts_with("meta_schedule.") ? key.substr(14) : key);
      return;
    }
    sums_.has_unroll = true;
    const bool is_number = inputs.size() > 1 && inputs[1].is_number();
    const double most = is_number ? inputs[1].get<double>() : categories_[text_at(inputs, 1)];
    sums_.is_unrolled = sums_.is_unrolled || most > 0;
  }

  std::map<size_t, const Json*> decisions_;
  std::map<std::string, std::string> block_of_;  // by loop
  std::map<std::string, double> categories_;     // by variable
  TiledSums<std::string> sums_;                  // by block
  bool is_post_ = false;
};

/// Returns whether the target is a CPU: an object with "kind", or a text.
bool is_for_cpu(const Json& target) {
  const Json& kind = target.is_object() && target.contains("kind") ? target["kind"] : target;
  return kind.is_string() && kind.get<std::string>().starts_with("llvm");
}

}  // namespace

bool is_meta_line(const Json& line) {
  if (!line.is_array() || line.size() != 2 || !line[0].is_number_unsigned()) return false;
  const Json& record = line[1];
  return record.is_array() && record.size() == 4 && record[0].is_array() && record[0].size() == 2 &&
         record[0][0].is_array() && record[0][1].is_array();
}

Result<TiledSum> parse_meta_line(const Json& line) {
  if (!is_meta_line(line)) return invalid("no record of MetaSchedule");
  const Json& record = line[1];
  if (!is_for_cpu(record[2])) return unimplemented("other target than a CPU");
  const auto seconds = mean_seconds(record[1]);
  if (!seconds) return failed("trial that failed");
  Trace trace(record[0][1]);
  const Json& instructions = record[0][0];
  for (size_t k = 0; k < instructions.size(); ++k) {
    if (!is_instruction(instructions[k])) return invalid("instructions of another form");
    trace.take(k, instructions[k]);
  }
  auto sum = trace.largest();
  if (!sum) return unimplemented("no sum that is tiled in four and two parts");
  sum->seconds = *seconds;
  return *std::move(sum);
}

}  // namespace byoc::tune
