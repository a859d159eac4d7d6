# SPDX-License-Identifier: Apache-2.0
"""The plugin keeps the rules of the ABI, on the pretended driver. Without large tensors, which it takes minutes for."""
import os
import subprocess
import sys

GROUPS = "static,load,table,capability,correctness,knobs,groups,open,device"
build, driver = sys.argv[1:3]
sys.exit(subprocess.call([os.path.join(build, "bin/byoc"), "check-plugin",
                          os.path.join(build, "lib/byoc/plugins/libbyoc_cuda.so"), "--plugin-option",
                          f"cuda.driver={driver}", "--plugin-option", "cuda.cublaslt=none", "--timeout", "60", "--group", GROUPS]))
