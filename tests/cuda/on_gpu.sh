#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks and times the plugin cuda on a machine with a device, in at most five minutes. Builds nothing.
#
# usage: on_gpu.sh FOLDER [NETWORKS]
#   FOLDER    a build folder, or an installation: bin/byoc and lib/byoc/plugins
#   NETWORKS  a folder with NAME/model.onnx; timed beside torch and ONNX Runtime where python3 has them
# DRIVER=FILE in the environment is another library than libcuda.so.1.
set -u
folder=${1:?usage: on_gpu.sh FOLDER [NETWORKS]}
networks=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
byoc=$folder/bin/byoc
driver=${DRIVER:-libcuda.so.1}
option=cuda.driver=$driver
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
end=$(($(date +%s) + 290))
failed=0

# step SECONDS NAME COMMAND...: runs a command unless the five minutes are over.
step() {
  limit=$1 what=$2
  shift 2
  left=$((end - $(date +%s)))
  [ "$left" -lt "$limit" ] && limit=$left
  if [ "$limit" -le 0 ]; then echo "-- $what: no time is left"; return; fi
  echo "== $what"
  timeout "$limit" "$@"
  code=$?
  [ "$code" = 0 ] || { echo "-- $what: exit code $code"; failed=1; }
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv 2>/dev/null || echo "no nvidia-smi"
export BYOC_TUNING_PATH=
step 60 "values of each class of kernels" python3 "$here/values_test.py" "$folder" "$driver"
step 90 "rules of the ABI: devices" "$byoc" check-plugin "$folder/lib/byoc/plugins/libbyoc_cuda.so" --group 1,2,3,9 \
  --plugin-option "$option"
[ -n "$networks" ] && for path in "$networks"/*/model.onnx; do
  name=$(basename "$(dirname "$path")")
  step 30 "$name: compile" "$byoc" compile "$path" --compiler cuda --default llvm -o "$work/$name.byoc"
  [ -f "$work/$name.byoc" ] || continue
  step 20 "$name: byoc" "$byoc" bench "$work/$name.byoc" --plugin-option "$option"
  step 30 "$name: against llvm" "$byoc" verify "$path" --compiler cuda --default llvm --against llvm -o "$work/wrong" \
    --plugin-option "$option"
  step 30 "$name: ONNX Runtime" python3 "$here/peers.py" "$path"
  rm -f "$work/$name.byoc"
done
step 40 "torch" python3 "$here/peers.py"
[ "$failed" = 0 ] && echo "all passed"
exit $failed
