// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/check_pieces.h"

#include <map>

#include "byoc/base/check.h"
#include "byoc/pass/partition.h"
#include "byoc/te/module.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/region_limits.h"
#include "core/tools/verify/sub_region.h"

namespace byoc::driver {
namespace {

/// Makes a module whose entry calls several functions, each on parameters of its own.
class Calls {
 public:
  void add(Symbol name, Function function) { functions_.emplace_back(name, std::move(function)); }

  /// The module has the constants and composites of `from`.
  IRModule module(const IRModule& from) {
    IRModule out;
    out.constants = from.constants;
    for (const auto& [name, body] : from.functions) {
      if (body.attrs.has("composite")) out.functions[name] = body;
    }
    Function entry;
    std::vector<std::vector<ValueId>> args(functions_.size());
    size_t params = 0;
    for (size_t f = 0; f < functions_.size(); ++f) {
      const Function& function = functions_[f].second;
      for (size_t k = 0; k < function.num_params(); ++k)
        args[f].push_back({entry.add_param(cat("p", params++), function.nodes[k].types[0]), 0});
    }
    for (size_t f = 0; f < functions_.size(); ++f) {
      auto& [name, function] = functions_[f];
      const uint32_t call = entry.add_invoke(name, args[f], function.result_types());
      for (uint32_t k = 0; k < function.results.size(); ++k) entry.results.push_back({call, k});
      out.functions[name] = std::move(function);
    }
    out.functions[out.entry] = std::move(entry);
    return out;
  }

 private:
  std::vector<std::pair<Symbol, Function>> functions_;
};

/// A value of a region: the region's number, and the value in its function.
using PlacedValue = std::pair<size_t, ValueId>;

class PieceChecker {
 public:
  PieceChecker(const RegionValues& values, const std::vector<size_t>& regions, double tolerance)
      : values_(values), regions_(regions), tolerance_(tolerance) {}

  Result<CheckedPieces> run() {
    for (size_t region : regions_) add_pieces(region);
    out_.pieces = pieces_.size();
    if (pieces_.empty()) return std::move(out_);
    BYOC_TRY_STATUS(compute_right_values());
    return compare();
  }

 private:
  struct Placed {
    size_t region;
    uint32_t last;  // node
    Symbol name;
    std::vector<ValueId> reads;
    Function function;
  };

  const RegionCall& call(size_t region) const { return values_.probed().regions[region]; }
  const Function& body(size_t region) const {
    return values_.fused().function(call(region).function);
  }

  void add_pieces(size_t region) {
    if (te::has_loops(body(region))) return;  // it has no nodes
    const std::vector<Piece> pieces = pieces_of(body(region));
    if (pieces.size() < 2) return;
    for (const Piece& piece : pieces) {
      SubRegion part = sub_region(body(region), piece.nodes);
      const std::string name = cat(call(region).function, "_piece", pieces_.size());
      if (part.function.attrs.has("global_symbol")) part.function.attrs.set("global_symbol", name);
      pieces_.push_back({region, piece.nodes.back(), Symbol(name), std::move(part.reads),
                         std::move(part.function)});
    }
  }

  /// Computes the results of all pieces by the reference.
  Status compute_right_values() {
    std::map<size_t, std::vector<ValueId>> wanted;  // by region
    for (const Placed& piece : pieces_) {
      for (uint32_t k = 0; k < body(piece.region).nodes[piece.last].types.size(); ++k)
        wanted[piece.region].push_back({piece.last, k});
    }
    Calls calls;
    std::vector<Tensor> inputs;
    for (const auto& [region, results] : wanted) {
      BYOC_TRY(auto given, values_.inputs_of(call(region)));
      for (uint32_t k = 0; k < given.size(); ++k) {
        BYOC_TRY(Tensor copy, given[k].copy());
        inputs.push_back(std::move(copy));
        right_.emplace(PlacedValue{region, {k, 0}}, std::move(given[k]));
      }
      Function probe = body(region);
      probe.results = results;
      calls.add(cat(call(region).function, "_", region), std::move(probe));
    }
    IRModule module =
        with_all_regions_for(calls.module(values_.fused()), values_.reference_plugin());
    BYOC_TRY(module, inline_composites(std::move(module), {}, values_.reference()));
    BYOC_TRY(auto outputs, execute_by(std::move(module), values_.reference(), std::move(inputs)));
    size_t next = 0;
    for (const auto& [region, results] : wanted) {
      for (ValueId value : results)
        right_.emplace(PlacedValue{region, value}, std::move(outputs[next++]));
    }
    return {};
  }

  Result<std::vector<Tensor>> execute_by(IRModule module, const PassContext& context,
                                         std::vector<Tensor> inputs) const {
    BYOC_TRY_STATUS(give_sizes(module, values_.sizes(), inputs));
    BYOC_TRY(Executable executable, compile_regions(std::move(module), context));
    return execute(std::move(executable), context.plugins, context.threads, inputs);
  }

  const Tensor& right(size_t region, ValueId value) const {
    auto found = right_.find({region, value});
    BYOC_CHECK(found != right_.end(), "value ", value.node, "#", value.output, " of region ",
               region, " is not computed");
    return found->second;
  }

  Result<std::vector<Tensor>> inputs_of(const Placed& piece) const {
    std::vector<Tensor> out;
    for (ValueId read : piece.reads) {
      BYOC_TRY(Tensor copy, right(piece.region, read).copy());
      out.push_back(std::move(copy));
    }
    return out;
  }

  Result<CheckedPieces> compare() {
    Calls calls;
    std::vector<Tensor> inputs;
    for (const Placed& piece : pieces_) {
      BYOC_TRY(auto given, inputs_of(piece));
      for (Tensor& input : given) inputs.push_back(std::move(input));
      calls.add(piece.name, piece.function);
    }
    const IRModule module = calls.module(values_.fused());
    BYOC_TRY(IRModule plain, inline_composites(module, {}, values_.reference()));
    BYOC_TRY(auto got, execute_by(module, values_.ours(), std::move(inputs)));
    size_t next = 0;
    for (const Placed& piece : pieces_) {
      const std::vector<Limit> limits = part_limits(plain, piece.name, tolerance_);
      for (uint32_t k = 0; k < limits.size(); ++k) {
        ComparedValue value = compare_value(cat("output ", k), got[next++],
                                            right(piece.region, {piece.last, k}), limits[k]);
        if (value.difference.is_equal || out_.first_wrong) continue;
        BYOC_TRY_STATUS(set_wrong(piece, std::move(value)));
      }
    }
    return std::move(out_);
  }

  Status set_wrong(const Placed& piece, ComparedValue output) {
    WrongPiece wrong{piece.region, values_.fused(), {}, std::move(output)};
    BYOC_TRY(wrong.inputs, inputs_of(piece));
    Function alone = piece.function;
    const Symbol region = call(piece.region).function;
    if (alone.attrs.has("global_symbol")) alone.attrs.set("global_symbol", region.str());
    wrong.module.functions[region] = std::move(alone);
    out_.first_wrong = std::move(wrong);
    return {};
  }

  const RegionValues& values_;
  const std::vector<size_t>& regions_;
  const double tolerance_;
  std::vector<Placed> pieces_;
  std::map<PlacedValue, Tensor> right_;
  CheckedPieces out_;
};

}  // namespace

Result<CheckedPieces> check_pieces(const RegionValues& values, const std::vector<size_t>& regions,
                                   double tolerance) {
  return PieceChecker(values, regions, tolerance).run();
}

}  // namespace byoc::driver
