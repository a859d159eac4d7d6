// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by Loop and Scan: both become loops with carried values and stacked results.
#include <algorithm>

#include "core/import/onnx/control/converter.h"

namespace byoc::onnx_import {

inline constexpr const char* kIteration = "iteration";
inline const TensorType kCounter{DType::kI64, {}};

class RepetitionConverter : public Converter {
 public:
  using Converter::Converter;

 protected:
  /// The parts of either.
  struct Repeated {
    onnx::GraphProto* graph;
    ValueId trips, condition;
    std::vector<ValueId> carried;
    std::vector<TypeId> types;  // of the carried values in every iteration
    NamedValues captured;
    std::vector<ValueId> scanned;  // of Scan, passed whole
    size_t stacked = 0;            // results
    Dim rows;                      // of the stacked results
  };

  Result<std::vector<BodyParam>> params_of(const Repeated& loop, size_t first_input) {
    std::vector<BodyParam> params = {{std::string(kIteration), kCounter, true}};
    auto& graph = *loop.graph;
    for (size_t k = 0; k < loop.carried.size(); ++k)
      params.push_back({graph.input(static_cast<int>(first_input + k)).name(), *loop.types[k]});
    for (size_t k = 0; k < loop.scanned.size(); ++k)
      params.push_back({cat("scanned", k), outer().type(loop.scanned[k]), true});
    for (const auto& [name, value] : loop.captured) params.push_back({name, outer().type(value)});
    return make_unique(std::move(params));
  }

  /// Changes the names that are no names of the graph until they differ from all others.
  static std::vector<BodyParam> make_unique(std::vector<BodyParam> params) {
    for (BodyParam& param : params) {
      auto same = [&](const BodyParam& other) {
        return &other != &param && other.name == param.name;
      };
      while (param.is_own && std::any_of(params.begin(), params.end(), same)) param.name += '_';
    }
    return params;
  }

  Status check_carried(const Repeated& loop, const Body& body) {
    for (size_t k = 0; k < loop.carried.size(); ++k) {
      TypeId before = loop.types[k], after = body.results[k + 1];
      if (before == after) continue;
      return unimplemented(cat("value ", k, " that it carries is ", before,
                               " before an iteration and ", after,
                               " after it; a type that changes is not supported"));
    }
    return {};
  }

  Result<std::vector<ValueId>> add_loop(const Repeated& loop, Body body) {
    BYOC_TRY_STATUS(check_carried(loop, body));
    Control control{Control::kLoop, static_cast<uint32_t>(loop.carried.size()), {}, {}, {}};
    std::vector<TypeId> types(body.results.begin() + 1, body.results.end());
    for (size_t k = loop.carried.size(); k < types.size(); ++k) {
      TensorType stacked = *types[k];
      if (has_counted(stacked.shape))
        return unimplemented(cat("stacked output ", k - loop.carried.size(), " has rows of type ",
                                 stacked, ", whose sizes are counted by each iteration"));
      stacked.shape.insert(stacked.shape.begin(), loop.rows);
      types[k] = stacked;
    }
    control.body = add_function("body", std::move(body.function));
    std::vector<ValueId> args = {loop.trips, loop.condition};
    args.insert(args.end(), loop.carried.begin(), loop.carried.end());
    args.insert(args.end(), loop.scanned.begin(), loop.scanned.end());
    for (const auto& [name, value] : loop.captured) args.push_back(value);
    return add_control(control, std::move(args), types);
  }

  Status read_carried(Repeated& loop, size_t first, size_t count) {
    for (size_t k = 0; k < count; ++k) {
      BYOC_TRY(ValueId value, operand(first + k));
      if (outer().narrow(value))
        return unimplemented(cat("it carries elements of type ", outer().narrow(value)->name));
      loop.carried.push_back(value);
      loop.types.push_back(outer().type(value));
    }
    return {};
  }

  Status count_stacked(Repeated& loop, size_t others) {
    const auto results = static_cast<size_t>(loop.graph->output_size());
    if (results < loop.carried.size() + others)
      return bad_graph(cat("its graph has ", results, " outputs, expected at least ",
                           loop.carried.size() + others));
    loop.stacked = results - loop.carried.size() - others;
    return {};
  }

  /// Adds an i64[] constant to `builder`.
  static ValueId integer(GraphBuilder& builder, int64_t value) {
    return builder.constant(kCounter, Buffer::copy(std::as_bytes(std::span(&value, 1))));
  }
};

}  // namespace byoc::onnx_import
