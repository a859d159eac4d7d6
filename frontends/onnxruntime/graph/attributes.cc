// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/graph/attributes.h"

#include <algorithm>
#include <cstring>

namespace byoc::ort {
namespace {

// Fields of AttributeProto, and the numbers of its types. Source: onnx.proto of ONNX.
enum AttributeField : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kType = 20,
};
enum AttributeType : int {
  kTypeFloat = 1,
  kTypeInt = 2,
  kTypeString = 3,
  kTypeTensor = 4,
  kTypeFloats = 6,
  kTypeInts = 7,
  kTypeStrings = 8,
};
constexpr int kTexts = 8;  // the element type of texts

/// Returns the bytes of an attribute. The first call reports their number, as an error where there
/// are some.
Result<std::string> raw_value(const Calls& calls, const OrtOpAttr* attribute, OrtAttribute type) {
  size_t size = 0;
  if (OrtStatus* status = calls.ReadOpAttr(attribute, static_cast<int>(type), nullptr, 0, &size))
    calls.ReleaseStatus(status);
  std::string out(size, '\0');
  if (size == 0) return out;
  BYOC_ORT_TRY(calls, ReadOpAttr(attribute, static_cast<int>(type), out.data(), size, &size));
  if (type == OrtAttribute::kString && calls.ends_texts && !out.empty()) out.pop_back();
  return out;
}

template <class T>
std::vector<T> split(const std::string& raw) {
  std::vector<T> out(raw.size() / sizeof(T));
  std::memcpy(out.data(), raw.data(), out.size() * sizeof(T));
  return out;
}

/// Splits texts that each end with a zero byte.
std::vector<std::string> split_texts(const std::string& raw) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < raw.size();) {
    const size_t end = std::min(raw.find('\0', begin), raw.size());
    out.push_back(raw.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<Message> tensor_message(const Calls& calls, const OrtOpAttr* attribute) {
  OrtValue* tensor = nullptr;
  BYOC_ORT_TRY(calls, OpAttr_GetTensorAttributeAsOrtValue(attribute, &tensor));
  Result<TensorView> view = view_of(calls, tensor);
  Message out;
  if (view.ok()) {
    out = tensor_head("", view->element, view->dims);
    out.bytes(kRawData, {reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size()});
  }
  calls.ReleaseValue(tensor);
  if (!view.ok()) return std::move(view).status();
  return out;
}

Status add_value(const Calls& calls, const OrtOpAttr* attribute, OrtAttribute type, Message& to) {
  if (type == OrtAttribute::kTensor) {
    BYOC_TRY(Message tensor, tensor_message(calls, attribute));
    to.message(kTensor, tensor);
    return to.number(kType, kTypeTensor), Status();
  }
  BYOC_TRY(std::string raw, raw_value(calls, attribute, type));
  switch (type) {
    case OrtAttribute::kInt:
      for (int64_t value : split<int64_t>(raw)) to.number(kInt, value);
      return to.number(kType, kTypeInt), Status();
    case OrtAttribute::kInts:
      for (int64_t value : split<int64_t>(raw)) to.number(kInts, value);
      return to.number(kType, kTypeInts), Status();
    case OrtAttribute::kFloat:
      for (float value : split<float>(raw)) to.real(kFloat, value);
      return to.number(kType, kTypeFloat), Status();
    case OrtAttribute::kFloats:
      for (float value : split<float>(raw)) to.real(kFloats, value);
      return to.number(kType, kTypeFloats), Status();
    case OrtAttribute::kString:
      to.bytes(kString, raw);
      return to.number(kType, kTypeString), Status();
    case OrtAttribute::kStrings:
      for (const std::string& text : split_texts(raw)) to.bytes(kStrings, text);
      return to.number(kType, kTypeStrings), Status();
    default:
      return unimplemented(cat("an attribute of type ", static_cast<int>(type)));
  }
}

}  // namespace

Message tensor_head(const std::string& name, int element, std::span<const int64_t> dims) {
  constexpr uint32_t kDims = 1, kElement = 2, kTensorName = 8;
  Message out;
  for (int64_t dim : dims) out.number(kDims, dim);
  out.number(kElement, element);
  if (!name.empty()) out.bytes(kTensorName, name);
  return out;
}

Result<TensorView> view_of(const Calls& calls, const OrtValue* tensor) {
  TensorView out;
  OrtTensorInfo* info = nullptr;
  BYOC_ORT_TRY(calls, GetTensorTypeAndShape(tensor, &info));
  size_t rank = 0;
  Status status = take(calls, calls.GetTensorElementType(info, &out.element));
  if (status.ok()) status = take(calls, calls.GetDimensionsCount(info, &rank));
  out.dims.resize(rank);
  if (status.ok() && rank > 0)
    status = take(calls, calls.GetDimensions(info, out.dims.data(), rank));
  calls.ReleaseTensorInfo(info);
  BYOC_TRY_STATUS(std::move(status));
  if (out.element == kTexts) return unimplemented("a tensor of texts");
  size_t size = 0;
  void* data = nullptr;
  BYOC_ORT_TRY(calls, GetTensorSizeInBytes(tensor, &size));
  // The function takes a tensor that may be written, and this one is read.
  BYOC_ORT_TRY(calls, GetTensorMutableData(const_cast<OrtValue*>(tensor), &data));
  out.bytes = {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
  return out;
}

Result<std::optional<std::string>> find_attribute(const Calls& calls, const OrtNode* node,
                                                  const std::string& name, OrtAttribute type) {
  size_t count = 0;
  BYOC_ORT_TRY(calls, Node_GetNumAttributes(node, &count));
  std::vector<const OrtOpAttr*> attributes(count);
  if (count > 0) BYOC_ORT_TRY(calls, Node_GetAttributes(node, attributes.data(), count));
  for (const OrtOpAttr* attribute : attributes) {
    const char* its = nullptr;
    int its_type = 0;
    if (attribute == nullptr) continue;
    BYOC_ORT_TRY(calls, OpAttr_GetName(attribute, &its));
    BYOC_ORT_TRY(calls, OpAttr_GetType(attribute, &its_type));
    if (its != name || its_type != static_cast<int>(type)) continue;
    BYOC_TRY(std::string raw, raw_value(calls, attribute, type));
    return std::optional(std::move(raw));
  }
  return std::optional<std::string>();
}

Result<std::string> read_attribute(const Calls& calls, const OrtOpAttr* attribute) {
  const char* name = nullptr;
  int type = 0;
  BYOC_ORT_TRY(calls, OpAttr_GetName(attribute, &name));
  BYOC_ORT_TRY(calls, OpAttr_GetType(attribute, &type));
  Message out;
  out.bytes(kName, name);
  Status status = add_value(calls, attribute, static_cast<OrtAttribute>(type), out);
  if (!status.ok()) return std::move(status).at(cat("attribute \"", name, "\""));
  return std::move(out).take();
}

}  // namespace byoc::ort
