// SPDX-License-Identifier: Apache-2.0
// protobuf merges a message that is parsed in pieces: repeated fields grow, later values replace
// earlier ones. So the bytes before, between and after large tensors are parsed as they are, and
// each large tensor as its fields without the raw data.
#include "core/import/onnx/file/large_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <optional>
#include <string>

#include "byoc/base/status.h"

namespace byoc::onnx_import {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using Bytes = std::span<const std::byte>;

constexpr uint32_t kLarge = 64 << 10;  // bytes; below, a copy costs less than a second look

/// A field of a message: `all` is tag and value, `value` the contents of a length-delimited field.
struct Field {
  int number = 0;
  bool is_delimited = false;
  Bytes all, value;
};

/// Reads the fields of a message one after another.
class Fields {
 public:
  explicit Fields(Bytes message)
      : message_(message),
        coded_(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size())) {
  }
  /// Returns the next field; none at the end and where the bytes are no field.
  std::optional<Field> next() {
    const int begin = coded_.CurrentPosition();
    const uint32_t tag = coded_.ReadTag();
    if (tag == 0) return std::nullopt;
    Field out;
    out.number = WireFormatLite::GetTagFieldNumber(tag);
    out.is_delimited =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (out.is_delimited) {
      uint32_t size = 0;
      if (!coded_.ReadVarint32(&size) || size > message_.size() - position()) return std::nullopt;
      out.value = message_.subspan(position(), size);
      if (!coded_.Skip(static_cast<int>(size))) return std::nullopt;
    } else if (!WireFormatLite::SkipField(&coded_, tag)) {
      return std::nullopt;
    }
    out.all = message_.subspan(static_cast<size_t>(begin), position() - static_cast<size_t>(begin));
    return out;
  }
  bool at_end() const { return position() == message_.size(); }

 private:
  size_t position() const { return static_cast<size_t>(coded_.CurrentPosition()); }
  Bytes message_;
  google::protobuf::io::CodedInputStream coded_;
};

bool merge(Bytes piece, MessageLite& message) {
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const uint8_t*>(piece.data()),
                                               static_cast<int>(piece.size()));
  return message.MergePartialFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

/// Parses a message in pieces: `take(field)` returns whether it has dealt with the field itself.
/// All other bytes are merged.
template <class Take>
bool merge_but(Bytes bytes, MessageLite& message, Take&& take) {
  Fields fields(bytes);
  const std::byte* from = bytes.data();  // of what is still to be merged
  while (std::optional<Field> field = fields.next()) {
    if (!field->is_delimited || field->value.size() < kLarge) continue;
    const Bytes before(from, field->all.data());
    std::optional<bool> parsed = take(*field, before);
    if (!parsed) continue;
    if (!*parsed) return false;
    from = field->all.data() + field->all.size();
  }
  return fields.at_end() && merge({from, bytes.data() + bytes.size()}, message);
}

void add_entry(onnx::TensorProto& tensor, const char* key, std::string value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(std::move(value));
}

/// Parses a tensor without its raw data, unless it has several, or external data of its own.
bool merge_tensor(Bytes bytes, Bytes file, onnx::TensorProto& tensor) {
  Bytes raw;
  bool parsed = merge_but(bytes, tensor, [&](const Field& field, Bytes before) {
    if (field.number != onnx::TensorProto::kRawDataFieldNumber || !raw.empty())
      return std::optional<bool>();
    raw = field.value;
    return std::optional(merge(before, tensor));
  });
  if (!parsed || raw.empty()) return parsed;
  if (tensor.has_raw_data() || tensor.has_data_location() || tensor.external_data_size() > 0) {
    tensor.Clear();
    return merge(bytes, tensor);
  }
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  add_entry(tensor, "location", std::string(kModelFile));
  add_entry(tensor, "offset", cat(raw.data() - file.data()));
  add_entry(tensor, "length", cat(raw.size()));
  return true;
}

bool merge_graph(Bytes bytes, Bytes file, onnx::GraphProto& graph) {
  return merge_but(bytes, graph, [&](const Field& field, Bytes before) {
    if (field.number != onnx::GraphProto::kInitializerFieldNumber) return std::optional<bool>();
    return std::optional(merge(before, graph) &&
                         merge_tensor(field.value, file, *graph.add_initializer()));
  });
}

}  // namespace

bool parse_without_large_data(Bytes file, onnx::ModelProto& model) {
  return merge_but(file, model, [&](const Field& field, Bytes before) {
    if (field.number != onnx::ModelProto::kGraphFieldNumber) return std::optional<bool>();
    return std::optional(merge(before, model) &&
                         merge_graph(field.value, file, *model.mutable_graph()));
  });
}

}  // namespace byoc::onnx_import
