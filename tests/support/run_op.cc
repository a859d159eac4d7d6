// SPDX-License-Identifier: Apache-2.0
#include "run_op.h"

#include <cmath>

#include "core/op/kernel/kernel.h"

namespace byoc::testing {
namespace {

template <class F>
void with_type(DType dtype, F&& f) {
  auto done = op::for_dtype("a test", dtype, op::AllTypes{}, [&]<class T>() -> Result<RefKernel> {
    f.template operator()<T>();
    return RefKernel();
  });
  EXPECT_TRUE(done.ok());
}

std::vector<TypeId> types_of(const std::vector<Values>& tensors) {
  std::vector<TypeId> types;
  for (const Values& tensor : tensors) types.push_back(tensor.type);
  return types;
}

}  // namespace

Values tensor(DType dtype, const std::vector<int64_t>& dims, std::vector<double> values) {
  Values made{{dtype, make_shape(dims)}, std::move(values)};
  EXPECT_EQ(*num_elements(made.type.shape), static_cast<int64_t>(made.values.size()));
  return made;
}

std::vector<std::byte> to_bytes(const Values& values) {
  std::vector<std::byte> bytes(static_cast<size_t>(*size_bytes(values.type)));
  with_type(values.type.dtype, [&]<class T>() {
    T* at = reinterpret_cast<T*>(bytes.data());
    for (double value : values.values) *at++ = static_cast<T>(static_cast<op::Compute<T>>(value));
  });
  return bytes;
}

Values from_bytes(const TensorType& type, const std::byte* bytes) {
  Values values{type, {}};
  with_type(type.dtype, [&]<class T>() {
    const T* at = reinterpret_cast<const T*>(bytes);
    for (int64_t k = *num_elements(type.shape); k > 0; --k)
      values.values.push_back(static_cast<double>(static_cast<op::Compute<T>>(*at++)));
  });
  return values;
}

Result<std::vector<Values>> run_op(std::string_view name, const std::vector<Values>& inputs,
                                   Attrs given) {
  BYOC_TRY(const OpDef* op, all_ops().get(name));
  BYOC_TRY(Attrs attrs, complete_attrs(*op, std::move(given)));
  std::vector<TypeId> in_types = types_of(inputs);
  BYOC_TRY(std::vector<TypeId> out_types, infer_types(*op, in_types, attrs));
  std::vector<std::vector<std::byte>> memory;
  for (const Values& input : inputs) memory.push_back(to_bytes(input));
  if (op->sizes) {
    std::vector<const void*> elements;
    for (const auto& bytes : memory) elements.push_back(bytes.data());
    BYOC_TRY(std::vector<TensorType> counted, op->sizes(in_types, elements.data(), attrs));
    out_types.assign(counted.begin(), counted.end());
  }
  BYOC_TRY(RefKernel kernel, op->reference(in_types, out_types, attrs));
  for (TypeId type : out_types)
    memory.emplace_back(static_cast<size_t>(*size_bytes(*type)), std::byte{0xa5});
  std::vector<void*> pointers;
  for (auto& bytes : memory) pointers.push_back(bytes.data());
  if (op->check) {
    BYOC_TRY(ValueCheck check, op->check(in_types, attrs));
    BYOC_TRY_STATUS(check(pointers.data()));
  }
  kernel(pointers.data(), pointers.data() + inputs.size());
  std::vector<Values> outputs;
  for (size_t k = 0; k < out_types.size(); ++k)
    outputs.push_back(from_bytes(*out_types[k], memory[inputs.size() + k].data()));
  return outputs;
}

Values run_op1(std::string_view op, const std::vector<Values>& inputs, Attrs attrs) {
  auto outputs = run_op(op, inputs, std::move(attrs));
  if (outputs.ok()) return outputs->front();
  ADD_FAILURE() << outputs.status().to_string();
  return {};
}

std::string infer(std::string_view name, const std::vector<TensorType>& inputs, Attrs given) {
  auto run = [&]() -> Result<std::string> {
    BYOC_TRY(const OpDef* op, all_ops().get(name));
    BYOC_TRY(Attrs attrs, complete_attrs(*op, std::move(given)));
    std::vector<TypeId> types(inputs.begin(), inputs.end());
    BYOC_TRY(std::vector<TypeId> results, infer_types(*op, types, attrs));
    std::string text;
    for (TypeId type : results) text += cat(text.empty() ? "" : " ", type);
    return text;
  };
  auto text = run();
  return text.ok() ? *text : text.status().message();
}

void expect_near(const Values& got, const Values& expected, double relative) {
  ASSERT_EQ(cat(got.type), cat(expected.type));
  double largest = 0;
  for (double value : expected.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (size_t k = 0; k < expected.values.size(); ++k) {
    double a = got.values[k], b = expected.values[k];
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= relative * largest;
    EXPECT_TRUE(same) << "element " << k << " of " << cat(got.type) << " is " << a << ", expected "
                      << b;
  }
}

double rounding(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4 * std::ldexp(1.0, -23);
    case DType::kF64:
      return 1e-13;  // literals in tests carry 15 digits or so
    case DType::kF16:
      return 2 * std::ldexp(1.0, -10);
    case DType::kBF16:
      return 2 * std::ldexp(1.0, -7);
    default:
      return 0;  // integers and bool are exact
  }
}

}  // namespace byoc::testing
