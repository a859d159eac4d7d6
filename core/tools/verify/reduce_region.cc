#include "core/tools/verify/reduce_region.h"

#include <algorithm>
#include <map>

#include "byoc/ir/visit.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"

namespace byoc::driver {
namespace {

bool is_work(const Node& node) {
  return !std::holds_alternative<Param>(node.kind) && !std::holds_alternative<Constant>(node.kind);
}

/// A function of nodes [first, last] of `whole` (numbers of work nodes), results those of the last;
/// values from before become parameters, in the order of `reads`.
struct Piece {
  Function function;
  std::vector<ValueId> reads;  // values of `whole` behind the parameters
};

class PieceMaker {
 public:
  PieceMaker(const Function& whole, std::span<const uint32_t> nodes)
      : whole_(whole), nodes_(nodes) {}

  Piece make() {
    piece_.function.attrs = whole_.attrs;
    for (uint32_t node : nodes_) find_reads(node);
    for (uint32_t node : nodes_) copy(node);
    uint32_t last = nodes_.back();
    for (uint32_t k = 0; k < whole_.nodes[last].types.size(); ++k) {
      piece_.function.results.push_back(now_.at({last, k}));
    }
    return std::move(piece_);
  }

 private:
  bool is_inside(uint32_t node) const {
    return std::binary_search(nodes_.begin(), nodes_.end(), node);
  }

  void find_reads(uint32_t node) {
    for (ValueId arg : whole_.args(whole_.nodes[node])) {
      bool known = now_.count(arg) > 0 || is_inside(arg.node);
      if (known || std::holds_alternative<Constant>(whole_.nodes[arg.node].kind)) continue;
      now_[arg] = {piece_.function.add_param(cat("i", piece_.reads.size()), whole_.type(arg)), 0};
      piece_.reads.push_back(arg);
    }
  }

  void copy(uint32_t node) {
    std::vector<ValueId> args;
    for (ValueId arg : whole_.args(whole_.nodes[node])) {
      if (!now_.count(arg)) now_[arg] = {piece_.function.add_copy(whole_.nodes[arg.node], {}), 0};
      args.push_back(now_.at(arg));
    }
    uint32_t added = piece_.function.add_copy(whole_.nodes[node], args);
    for (uint32_t k = 0; k < whole_.nodes[node].types.size(); ++k) now_[{node, k}] = {added, k};
  }

  const Function& whole_;
  std::span<const uint32_t> nodes_;
  std::map<ValueId, ValueId> now_;
  Piece piece_;
};

class Narrowing {
 public:
  Narrowing(const IRModule& fused, Symbol region, const Trial& trial)
      : fused_(fused), name_(region), whole_(fused.function(region)), trial_(trial) {
    for (uint32_t k = 0; k < whole_.nodes.size(); ++k) {
      if (is_work(whole_.nodes[k])) work_.push_back(k);
    }
  }

  Result<Narrowed> run(std::vector<Tensor> inputs) {
    BYOC_TRY_STATUS(compute_right_values(std::move(inputs)));
    size_t last = first_wrong();
    size_t first = last;
    while (first > 0 && !is_wrong(first, last)) first -= std::min(first, last - first + 1);
    Narrowed out;
    Piece smallest = piece(first, last);
    for (ValueId read : smallest.reads) {
      BYOC_TRY(Tensor copy, right_.at(read).copy());
      out.inputs.push_back(std::move(copy));
    }
    for (uint32_t k = 0; k < whole_.nodes[work_[last]].types.size(); ++k) {
      BYOC_TRY(Tensor copy, right_.at({work_[last], k}).copy());
      out.outputs.push_back(std::move(copy));
    }
    out.module = calling(fused_, name_, std::move(smallest.function));
    out.region = name_;
    out.from_ops = work_.size();
    out.to_ops = last - first + 1;
    out.runs = runs_;
    return out;
  }

 private:
  /// All values of the region, by the reference.
  Status compute_right_values(std::vector<Tensor> inputs) {
    Function probe = whole_;
    std::vector<ValueId> values;
    for (uint32_t node : work_) {
      for (uint32_t k = 0; k < whole_.nodes[node].types.size(); ++k) values.push_back({node, k});
    }
    probe.results = values;
    IRModule module =
        with_all_regions_for(calling(fused_, name_, std::move(probe)), trial_.reference_plugin);
    BYOC_TRY(module, inline_composites(std::move(module), {}, trial_.reference));
    BYOC_TRY(auto outputs, compile_and_run(std::move(module), trial_.reference, inputs));
    for (size_t k = 0; k < values.size(); ++k) right_.emplace(values[k], std::move(outputs[k]));
    for (uint32_t k = 0; k < inputs.size(); ++k)
      right_.emplace(ValueId{k, 0}, std::move(inputs[k]));
    return {};
  }

  Result<std::vector<Tensor>> compile_and_run(IRModule module, const PassContext& context,
                                              std::span<const Tensor> inputs) {
    ++runs_;
    BYOC_TRY(Executable executable, compile_regions(std::move(module), context));
    return execute(std::move(executable), trial_.plugins, trial_.threads, inputs);
  }

  Piece piece(size_t first, size_t last) const {
    return PieceMaker(whole_, std::span(work_).subspan(first, last - first + 1)).make();
  }

  bool is_wrong(size_t first, size_t last) {
    Piece made = piece(first, last);
    std::vector<Tensor> inputs;
    for (ValueId read : made.reads) {
      auto copy = right_.at(read).copy();
      if (!copy.ok()) return false;
      inputs.push_back(*std::move(copy));
    }
    auto got =
        compile_and_run(calling(fused_, name_, std::move(made.function)), trial_.ours, inputs);
    if (!got.ok()) return false;
    for (uint32_t k = 0; k < got->size(); ++k) {
      if (!trial_.agree((*got)[k], right_.at({work_[last], k}))) return true;
    }
    return false;
  }

  /// The smallest `last` found by halves so that the nodes up to it are wrong there. Where errors
  /// vanish and come back it is one such node and not always the first.
  size_t first_wrong() {
    size_t low = 0, high = work_.size() - 1;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (is_wrong(0, middle)) high = middle;
      else low = middle + 1;
    }
    return high;
  }

  const IRModule& fused_;
  Symbol name_;
  const Function& whole_;
  const Trial& trial_;
  std::vector<uint32_t> work_;  // nodes that compute, in order
  std::map<ValueId, Tensor> right_;
  size_t runs_ = 0;
};

}  // namespace

Result<Narrowed> narrow_region(const IRModule& fused, Symbol region, std::vector<Tensor> inputs,
                               const Trial& trial) {
  return Narrowing(fused, region, trial).run(std::move(inputs));
}

}  // namespace byoc::driver
