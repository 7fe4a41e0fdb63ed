# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the commit of the source tree SOURCE, if that has changed. Run with every build.
execute_process(COMMAND git describe --always --dirty WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define HEDDLE_COMMIT \"${commit}\"\n")
