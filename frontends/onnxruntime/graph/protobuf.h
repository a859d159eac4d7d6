// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of protobuf, written field by field. Source: the encoding that protobuf documents.
#include <cstdint>
#include <string>
#include <string_view>

namespace byoc::ort {

/// A message as bytes. Fields are appended in the order of the calls.
class Message {
 public:
  void number(uint32_t field, int64_t value);         ///< an integer or an enum
  void real(uint32_t field, float value);             ///< a float of 32 bits
  void bytes(uint32_t field, std::string_view text);  ///< a text, bytes or a message
  void begin_bytes(uint32_t field, uint64_t size);    ///< the head of `size` bytes to come
  void message(uint32_t field, const Message& inner) { bytes(field, inner.text()); }
  const std::string& text() const { return text_; }   ///< what was written
  std::string take() && { return std::move(text_); }  ///< gives it away

 private:
  void key(uint32_t field, uint32_t wire_type);
  void varint(uint64_t value);
  std::string text_;
};

}  // namespace byoc::ort
