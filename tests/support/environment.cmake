# SPDX-License-Identifier: Apache-2.0
# Read by ctest itself: variables of all tests. Results do not depend on the log of tuning that comes with byoc for
# the processor of the machine.
set(ENV{BYOC_TUNING_PATH} "")
