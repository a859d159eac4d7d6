// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of bodies whose extents differ from one branch or iteration to another: their dims become
// counted, by an op as_counted at the end of the body.
#include <optional>

#include "core/import/onnx/graph.h"

namespace byoc::onnx_import {

/// Returns true when the dim means the same outside of a body that reads values of these types: it
/// is no counted one, or computed of those that these types have.
bool is_known_outside(Dim dim, std::span<const TypeId> captured);

/// Returns the type that values of `a` and `b` can both have: a dim in which they differ, or that
/// has no meaning outside, becomes a counted one, `name` with its number. nullopt: dtypes, ranks or
/// sizes without a bound differ.
std::optional<TensorType> common_type(const TensorType& a, const TensorType& b,
                                      std::span<const TypeId> captured, const std::string& name);

/// Returns the attributes of as_counted with a result of that shape.
Attrs as_counted_attrs(const Shape& shape);

/// Makes result k of a body one of type `to`, by as_counted; no op when it has this type.
Status convert_result(Function& body, size_t k, TypeId to, const OpRegistry& ops);

}  // namespace byoc::onnx_import
