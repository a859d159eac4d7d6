# SPDX-License-Identifier: Apache-2.0
# Included by the copy's project(): its compiler is started by reuse.sh.
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "sh ${CMAKE_CURRENT_LIST_DIR}/reuse.sh")
