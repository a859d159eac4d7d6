// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/task_text.h"

#include <functional>
#include <map>
#include <numeric>
#include <sstream>

namespace byoc::tune {
namespace {

double product(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<double>());
}

// Reads line by line. A line defines a node ("7 = i64 int 56"), begins a stage, or has the numbers
// of nodes: "shape 7 8", "axis v0 < 7".
class Reader {
 public:
  std::optional<Anchor> read(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) take(line);
    end_stage();
    if (!best_.terms.empty()) best_.tensors = placeholders_;
    return best_.terms.empty() ? std::nullopt : std::optional(best_);
  }

 private:
  void take(const std::string& line) {
    std::istringstream words(line);
    std::string head, word;
    words >> head;
    if (head == "stage") {
      end_stage();
      words >> word;
      if (word.size() > 2) stage_.op = word.substr(1, word.size() - 2);  // without quotes
      is_stage_ = true;
    } else if (head == "shape" && is_stage_ && stage_.shape.empty()) {
      while (words >> word) stage_.shape.push_back(number(word));
    } else if (head == "reduce") {
      is_reduce_ = true;
    } else if (head == "axis" && is_reduce_) {
      words >> word >> word >> word;
      stage_.terms.push_back(number(word));
    } else if (int64_t value = 0; words >> word && word == "=" && words >> word >> word &&
                                  word == "int" && words >> value) {
      numbers_[head] = value;
    }
  }

  // Returns -1 for a node that is no number from 0 to 2^31.
  int64_t number(const std::string& node) const {
    const auto at = numbers_.find(node);
    return at == numbers_.end() || at->second > (int64_t{1} << 31) ? -1 : at->second;
  }

  void end_stage() {
    const auto is_known = [](const std::vector<int64_t>& extents) {
      for (int64_t extent : extents)
        if (extent < 0) return false;
      return true;
    };
    if (is_known(stage_.shape) && is_known(stage_.terms)) {
      const double work = product(stage_.shape) * product(stage_.terms);
      if (stage_.op.empty() && !stage_.shape.empty()) placeholders_.push_back(stage_.shape);
      if (!stage_.terms.empty() && work > work_) work_ = work, best_ = stage_;
    }
    stage_ = {};
    is_stage_ = is_reduce_ = false;
  }

  std::map<std::string, int64_t> numbers_;  // by node
  Anchor stage_, best_;
  std::vector<std::vector<int64_t>> placeholders_;
  bool is_stage_ = false, is_reduce_ = false;
  double work_ = 0;
};

}  // namespace

std::optional<Anchor> anchor_of(std::string_view task) { return Reader().read(task); }

}  // namespace byoc::tune
