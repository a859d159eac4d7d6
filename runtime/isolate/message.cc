// SPDX-License-Identifier: Apache-2.0
#include "runtime/isolate/message.h"

#include <algorithm>
#include <cstring>

namespace byoc::isolate {
namespace {

constexpr uint64_t kPieceAlignment = 64, kBorrowed = 4096;

}  // namespace

std::string& Writer::tail() {
  if (pieces_.empty() || pieces_.back().borrowed.data() != nullptr) pieces_.emplace_back();
  return pieces_.back().own;
}

void Writer::number(uint64_t value) {
  tail().append(reinterpret_cast<const char*>(&value), sizeof value);
  size_ += sizeof value;
}

void Writer::text(std::string_view text) {
  number(text.size());
  tail().append(text);
  size_ += text.size();
}

void Writer::bytes(std::span<const std::byte> bytes) {
  number(bytes.size());
  const uint64_t padding = (kPieceAlignment - size_ % kPieceAlignment) % kPieceAlignment;
  tail().append(padding, '\0');
  if (bytes.size() < kBorrowed)
    tail().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  else pieces_.push_back({{}, bytes});
  size_ += padding + bytes.size();
}

std::vector<std::span<const std::byte>> Writer::pieces() const {
  std::vector<std::span<const std::byte>> out;
  for (const Piece& piece : pieces_) {
    if (piece.borrowed.data() != nullptr) out.push_back(piece.borrowed);
    else out.push_back(std::as_bytes(std::span(piece.own)));
  }
  return out;
}

std::span<const std::byte> Reader::take(uint64_t n) {
  if (!ok_ || n > message_.bytes.size() - at_) {
    ok_ = false;
    return {};
  }
  const auto out = message_.bytes.subspan(at_, n);
  at_ += n;
  return out;
}

uint64_t Reader::number() {
  uint64_t value = 0;
  if (const auto from = take(sizeof value); !from.empty())
    std::memcpy(&value, from.data(), sizeof value);
  return value;
}

std::string_view Reader::view() {
  const auto from = take(number());
  return {reinterpret_cast<const char*>(from.data()), from.size()};
}

std::string Reader::text() { return std::string(view()); }

std::span<const std::byte> Reader::bytes() {
  const uint64_t n = number();
  take((kPieceAlignment - at_ % kPieceAlignment) % kPieceAlignment);
  return take(n);
}

size_t Reader::count() {
  const uint64_t n = number();
  if (n > message_.bytes.size() - at_) fail();
  return ok_ ? n : 0;
}

}  // namespace byoc::isolate
