# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the version and a digest of all that a plug-in may include of the source tree SOURCE, if
# that has changed. Run with every build: whoever was compiled with other headers may see other layouts.
# With CHECK, it writes nothing, and fails if the headers have changed since then.
set(headers)
foreach(folder core settings fabric topo transport lb workload network measure)
  file(GLOB_RECURSE found ${SOURCE}/${folder}/*.h)
  list(APPEND headers ${found})
endforeach()
list(SORT headers)
set(digests)
foreach(header ${headers})
  file(SHA256 ${header} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
set(content "#define HEDDLE_ABI_VERSION \"${VERSION}\"\n#define HEDDLE_ABI_HEADERS \"${digest}\"\n")
if(CHECK)
  file(READ ${HEADER} built)
  if(NOT built STREQUAL content)
    message(FATAL_ERROR "The headers in ${SOURCE} have changed since the build. Plug-ins compiled with them would "
                        "compute wrong numbers in the program that was built. Build first, then install.")
  endif()
  return()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "${content}")
