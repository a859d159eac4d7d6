// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/check_view.h"

#include <algorithm>

namespace byoc {
namespace {

Status refuse(const char* kind, const char* slug, std::string message) {
  return invalid(std::move(message)).with_slug(cat(kind, "-", slug));
}

/// True for views of bool as newer programs make them; byoc itself has unsigned bytes.
bool is_bool(const DLDataType& type) {
  return type.code == kDlpackBool.code && type.bits == kDlpackBool.bits && type.lanes == 1;
}

/// Returns a view's type as a user would write it.
std::string describe(const DLTensor& view) {
  auto dtype = from_dlpack(view.dtype);
  std::string name =
      cat("DLPack type ", view.dtype.code, "/", view.dtype.bits, "/", view.dtype.lanes);
  if (dtype.ok()) name = cat(*dtype);
  else if (is_bool(view.dtype)) name = cat(DType::kBool);
  constexpr int32_t kMostShown = 64;  // dims; a rank may be any number
  TensorSpec spec{DType::kU8, {view.shape, view.shape + std::clamp(view.ndim, 0, kMostShown)}};
  return name + cat(spec).substr(dtype_name(DType::kU8).size());
}

bool same_shape(const DLTensor& view, const std::vector<int64_t>& dims) {
  return view.ndim >= 0 && static_cast<size_t>(view.ndim) == dims.size() &&
         std::equal(dims.begin(), dims.end(), view.shape);
}

Status wrong_shape(const char* kind, const DLTensor& view, const NamedTensor& wanted) {
  Status status =
      refuse(kind, "shape",
             cat("\"", wanted.name, "\" is ", describe(view), ", the model expects ", wanted.type));
  if (view.ndim != 4) return status;
  int64_t moved[] = {view.shape[0], view.shape[3], view.shape[1], view.shape[2]};
  if (!std::equal(moved, moved + 4, wanted.type.dims.begin(), wanted.type.dims.end()))
    return status;
  return std::move(status).with_help("this looks like NHWC; transpose to (0,3,1,2)");
}

}  // namespace

Status check_type(const char* kind, const DLTensor& view, const NamedTensor& wanted) {
  if (const int type = device_type_of(view.device); type != kDLCPU) {
    return refuse(kind, "data",
                  cat("\"", wanted.name, "\" is on device ", type, ", expected the CPU's memory"));
  }
  if (view.shape == nullptr && view.ndim > 0) {
    return refuse(kind, "shape",
                  cat("\"", wanted.name, "\" has ", view.ndim,
                      " dims whose extents are NULL, the model expects ", wanted.type));
  }
  DLDataType dtype = to_dlpack(wanted.type.dtype);
  const bool same =
      view.dtype.code == dtype.code && view.dtype.bits == dtype.bits && view.dtype.lanes == 1;
  if (!same && !(wanted.type.dtype == DType::kBool && is_bool(view.dtype))) {
    return refuse(
        kind, "dtype",
        cat("\"", wanted.name, "\" is ", describe(view), ", the model expects ", wanted.type));
  }
  if (!same_shape(view, wanted.type.dims)) return wrong_shape(kind, view, wanted);
  return {};
}

Status check_view(const char* kind, const DLTensor& view, const NamedTensor& wanted) {
  BYOC_TRY_STATUS(check_type(kind, view, wanted));
  bool empty =
      std::find(wanted.type.dims.begin(), wanted.type.dims.end(), 0) != wanted.type.dims.end();
  if (view.data != nullptr || empty) return {};
  return refuse(kind, "data", cat("\"", wanted.name, "\" has no data"));
}

}  // namespace byoc
