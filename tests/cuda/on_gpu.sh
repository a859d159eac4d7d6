#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks and times the plugin cuda on a machine with a device, in at most five minutes. Builds nothing.
#
# usage: on_gpu.sh FOLDER [NETWORKS]
#   FOLDER    a build folder, an installation, or what pack.sh made: bin/byoc and lib/byoc/plugins
#   NETWORKS  a folder with NAME/model.onnx; timed beside torch and ONNX Runtime where python3 has them
# DRIVER=FILE in the environment is another library than libcuda.so.1, CUBLASLT=FILE another one than that of the loader.
set -u
folder=$(cd "${1:?usage: on_gpu.sh FOLDER [NETWORKS]}" && pwd) || exit 2
networks=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
byoc=$folder/bin/byoc
driver=${DRIVER:-libcuda.so.1}
cublaslt=${CUBLASLT:-auto}
[ -d "$folder/needed" ] && export LD_LIBRARY_PATH="$folder/needed:$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export BYOC_TUNING_PATH= PYTHONDONTWRITEBYTECODE=1
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
  if [ "$limit" -le 0 ]; then echo "-- $what: no time is left"; failed=1; return; fi
  echo "== $what"
  if [ "$1" = cuda ]; then "$@"; else timeout "$limit" "$@"; fi
  code=$?
  [ "$code" = 0 ] || { echo "-- $what: exit code $code"; failed=1; }
}
# cuda COMMAND...: byoc with the options of the plugin.
cuda() {
  timeout "${limit:-60}" "$byoc" "$@" --plugin-option "cuda.driver=$driver" --plugin-option "cuda.cublaslt=$cublaslt"
}

if ! "$byoc" --version; then
  echo "-- $byoc does not run here: tests/cuda/pack.sh makes a folder with the libraries that it needs, of which these are absent:"
  ldd "$byoc" | grep -E "not found" || echo "   none; is it built for this processor?"
  exit 2
fi
command -v python3 >/dev/null || { echo "-- there is no python3"; exit 2; }
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv 2>/dev/null || echo "no nvidia-smi"
devices=$(cuda plugins | sed -n '/^devices:/,/^searched:/p' | grep "  cuda: ")
echo "${devices:-  cuda: the plugin was not found, see \`$byoc plugins\`}"
case $devices in *"cuda: device "*) ;; *) exit 2 ;; esac

step 60 "values of each class of kernels" python3 "$here/values_test.py" "$folder" "$driver" "$cublaslt"
step 90 "rules of the ABI: devices" "$byoc" check-plugin "$folder/lib/byoc/plugins/libbyoc_cuda.so" \
  --group static,load,table,device --plugin-option "cuda.driver=$driver" --plugin-option "cuda.cublaslt=$cublaslt"
[ -n "$networks" ] && for path in "$networks"/*/model.onnx; do
  name=$(basename "$(dirname "$path")")
  step 30 "$name: compile" cuda compile "$path" --compiler cuda --default llvm -o "$work/$name.byoc"
  [ -f "$work/$name.byoc" ] || continue
  step 20 "$name: byoc" cuda bench "$work/$name.byoc"
  step 30 "$name: against llvm" cuda verify "$path" --compiler cuda --default llvm --against llvm -o "$work/wrong"
  step 30 "$name: ONNX Runtime" python3 "$here/peers.py" "$path"
  rm -f "$work/$name.byoc"
done
step 60 "torch" python3 "$here/peers.py"
if [ "$failed" = 0 ]; then echo "all passed"; else echo "-- not all passed"; fi
exit $failed
