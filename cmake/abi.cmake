# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the version and a digest of all that a plug-in may include of the source tree SOURCE, if
# that has changed. Run with every build: whoever was compiled with other headers may see other layouts.
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
file(CONFIGURE OUTPUT ${HEADER} CONTENT
     "#define HEDDLE_ABI_VERSION \"${VERSION}\"\n#define HEDDLE_ABI_HEADERS \"${digest}\"\n")
