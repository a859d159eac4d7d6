// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/operand_types.h"

namespace byoc::conform {

std::vector<TypeId> partners(TypeId known) {
  const Shape& shape = known->shape;
  DType dtype = known->dtype;
  std::vector<TypeId> out = {known, TensorType{dtype, {}}, TensorType{dtype, {Dim(1)}}};
  if (shape.empty()) return out;
  out.push_back(TensorType{dtype, {shape.back()}});
  out.push_back(TensorType{dtype, {shape.back(), Dim(4)}});
  Shape channel(shape.size(), Dim(1));
  if (shape.size() < 2) return out;
  channel[1] = shape[1];
  out.push_back(TensorType{dtype, channel});
  out.push_back(TensorType{dtype, Shape(channel.begin() + 1, channel.end())});
  out.push_back(TensorType{dtype, {Dim(4), shape[1], Dim(1), Dim(1)}});
  return out;
}

std::vector<TypeId> of_all_dtypes(TypeId type) {
  std::vector<TypeId> out;
  for (DType dtype : {DType::kF32, DType::kI8, DType::kU8, DType::kI32, DType::kI64, DType::kBool})
    out.push_back(TensorType{dtype, type->shape});
  return out;
}

}  // namespace byoc::conform
