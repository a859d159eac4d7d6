#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times byoc with 4, 8 and 16 threads beside ONNX Runtime, in at most four minutes, for a machine with many cores:
#   many_cores.sh FOLDER [--seconds S] [--threads N,M] [--json FILE]
# FOLDER has what was built elsewhere: bin/bench_serve, lib/byoc/plugins/*.so, and networks/NAME/model.onnx; a build
# folder with networks in it is one. Needs a Python with onnxruntime and no more; PYTHON names it (default python3).
exec "${PYTHON:-python3}" "$(dirname "$0")/many_cores.py" "$@"
