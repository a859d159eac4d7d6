# SPDX-License-Identifier: Apache-2.0
# External libraries; each is used in the one room that names it. dlpack, CLI11, xxhash and Eigen
# are headers in the system's include folder.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)                # the distribution's libgomp, nothing else
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED)                           # Boost.DLL, headers alone
find_package(Protobuf REQUIRED)                             # before ONNX, which names its targets
find_package(ONNX REQUIRED)
find_package(Eigen3 REQUIRED)
find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(XGBOOST_INCLUDE_DIR xgboost/c_api.h)              # without it, core/tuner/search has ridge regression
find_library(XGBOOST_LIBRARY xgboost)
