// SPDX-License-Identifier: Apache-2.0
// NumPy's file format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <charconv>
#include <cstring>

#include "byoc/base/file.h"
#include "byoc/runtime/device_type.h"
#include "byoc/runtime/tensor.h"
#include "runtime/artifact/view.h"

namespace byoc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderAlignment = 64;

struct Descr {
  std::string_view text;
  DType dtype;
};
// NumPy has no bfloat16; ml_dtypes saves its own as two raw bytes, and so does this file.
constexpr Descr kDescrs[] = {{"<f4", DType::kF32},  {"<f8", DType::kF64}, {"<f2", DType::kF16},
                             {"<V2", DType::kBF16}, {"|i1", DType::kI8},  {"|u1", DType::kU8},
                             {"<i2", DType::kI16},  {"<u2", DType::kU16}, {"<i4", DType::kI32},
                             {"<u4", DType::kU32},  {"<i8", DType::kI64}, {"<u8", DType::kU64},
                             {"|b1", DType::kBool}, {"|V2", DType::kBF16}};

Status bad_npy(std::string message) { return invalid(std::move(message)).with_slug("npy"); }

struct NpyHeader {
  std::string_view descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the Python dict of the header: three keys in any order, nothing else.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<NpyHeader> read() {
    NpyHeader header;
    int seen = 0;
    if (!take('{')) return unexpected();
    while (!take('}')) {
      std::string_view key;
      if (!take_string(key) || !take(':')) return unexpected();
      bool good = key == "descr"           ? take_string(header.descr)
                  : key == "fortran_order" ? take_bool(header.fortran_order)
                  : key == "shape"         ? take_shape(header.shape)
                                           : false;
      if (!good) return unexpected();
      ++seen;
      if (!take(',') && peek() != '}') return unexpected();
    }
    if (seen != 3 || header.descr.empty()) return unexpected();
    return header;
  }

 private:
  Status unexpected() const {
    return bad_npy(
        cat("the header is not a dict of descr, fortran_order and shape, at byte ", at_));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_string(std::string_view& out) {
    char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool take_bool(bool& out) {
    peek();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      out = value;
      return true;
    }
    return false;
  }
  bool take_shape(std::vector<int64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      peek();
      int64_t dim = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) return false;
      at_ = static_cast<size_t>(end - text_.data());
      out.push_back(dim);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<DType> dtype_of(std::string_view descr) {
  for (const Descr& known : kDescrs) {
    if (known.text == descr) return known.dtype;
  }
  if (descr.starts_with('>')) {
    return bad_npy(cat("its type \"", descr, "\" is big-endian"))
        .with_help("a.astype(a.dtype.newbyteorder('<'))");
  }
  return bad_npy(cat("byoc has no dtype for its type \"", descr, "\""));
}

/// Returns the header's text and the offset at which the data begins.
Result<std::pair<std::string_view, size_t>> find_header(std::string_view file) {
  if (!file.starts_with(kMagic))
    return bad_npy("it is not a .npy file: the magic number is missing");
  if (file.size() < 12) return bad_npy("it is cut off in the header");
  const int major = static_cast<uint8_t>(file[6]), minor = static_cast<uint8_t>(file[7]);
  if (major < 1 || major > 3) return bad_npy(cat("format ", major, ".", minor, " is not known"));
  auto byte = [&](size_t k) { return size_t{static_cast<uint8_t>(file[k])}; };
  size_t begin = major == 1 ? 10 : 12;
  size_t size = byte(8) | byte(9) << 8;
  if (major > 1) size |= byte(10) << 16 | byte(11) << 24;
  if (size > file.size() - begin) return bad_npy("it is cut off in the header");
  return std::pair{file.substr(begin, size), begin + size};
}

Result<Tensor> parse_npy(std::string_view file) {
  BYOC_TRY(auto found, find_header(file));
  BYOC_TRY(NpyHeader header, HeaderReader(found.first).read());
  BYOC_TRY(DType dtype, dtype_of(header.descr));
  TensorSpec spec{dtype, header.shape};
  if (header.fortran_order && spec.dims.size() > 1) {
    return bad_npy(cat("its ", spec, " is in Fortran order"))
        .with_help("numpy.ascontiguousarray(a)");
  }
  BYOC_TRY(int64_t size, size_bytes(spec));
  size_t have = file.size() - found.second;
  if (have != static_cast<size_t>(size)) {
    return bad_npy(cat("it holds ", have, " bytes of data, ", spec, " needs ", size));
  }
  BYOC_TRY(Tensor tensor, Tensor::make(spec));
  if (size != 0) std::memcpy(tensor.data(), file.data() + found.second, have);
  if (dtype == DType::kBool) {  // any other byte is true to NumPy, 1 to byoc
    for (size_t k = 0; k < have; ++k)
      tensor.data()[k] = std::byte{tensor.data()[k] != std::byte{0}};
  }
  return tensor;
}

std::string make_header(DType dtype, const DLTensor& tensor) {
  std::string_view descr;
  for (const Descr& known : kDescrs) {
    if (known.dtype == dtype && descr.empty()) descr = known.text;
  }
  std::string text = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int32_t k = 0; k < tensor.ndim; ++k) text += cat(k ? ", " : "", tensor.shape[k]);
  text += tensor.ndim == 1 ? ",), }" : "), }";
  size_t fixed = kMagic.size() + 4;
  bool is_long = text.size() + fixed + kHeaderAlignment > 65535;
  if (is_long) fixed += 2;
  while ((fixed + text.size() + 1) % kHeaderAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += is_long ? '\2' : '\1';
  header += '\0';
  for (size_t k = 0; k < (is_long ? 4u : 2u); ++k)
    header += static_cast<char>(text.size() >> 8 * k);
  return header + text;
}

}  // namespace

Result<Tensor> read_npy(const std::string& path) {
  BYOC_TRY(auto file, MappedFile::open(path));
  auto bytes = file->bytes();
  auto tensor = parse_npy({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!tensor.ok()) return std::move(tensor.status()).at(path);
  return tensor;
}

Status write_npy(const DLTensor& tensor, DType dtype, const std::string& path) {
  BYOC_TRY(DType storage, from_dlpack(tensor.dtype));
  bool fits = storage == dtype || (storage == DType::kU8 && dtype == DType::kBool);
  const int device = device_type_of(tensor.device);
  if (!fits || device != kDLCPU) {
    return invalid(cat("a tensor of ", storage, " on device ", device, " cannot be written as ",
                       dtype, " from the CPU"))
        .with_slug("npy")
        .at(path);
  }
  TensorSpec spec{dtype, {tensor.shape, tensor.shape + tensor.ndim}};
  BYOC_TRY(int64_t size, size_bytes(spec));
  Tensor compact;
  const std::byte* data = data_of(tensor);
  if (!is_compact(tensor)) {
    BYOC_TRY(compact, Tensor::make(spec));
    copy_to_compact(tensor, compact.data());
    data = compact.data();
  }
  std::string header = make_header(dtype, tensor);
  std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)),
                                         {data, static_cast<size_t>(size)}};
  return write_file(path, pieces);
}

}  // namespace byoc
