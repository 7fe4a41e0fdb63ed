# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the commit of the source tree SOURCE, if that has changed. Run with every build.
# Results of other sources must not pass for those of this build. So if git knows of changes in what heddle is compiled
# from, or of new files there, a digest of all sources follows the commit. Outside of git, the digest stands alone.
set(folders bench cli core experiment fabric lb measure network settings study topo transport workload)
execute_process(COMMAND git describe --always WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git status --porcelain -- ${folders} cmake CMakeLists.txt CMakePresets.json
                WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
if(changes OR NOT commit)
  set(patterns ${SOURCE}/CMakeLists.txt ${SOURCE}/CMakePresets.json ${SOURCE}/cmake/*)
  foreach(folder ${folders})
    list(APPEND patterns ${SOURCE}/${folder}/*.h ${SOURCE}/${folder}/*.cc)
  endforeach()
  file(GLOB_RECURSE sources ${patterns})
  list(SORT sources)
  set(digests)
  foreach(source ${sources})
    file(SHA256 ${source} digest)
    file(RELATIVE_PATH name ${SOURCE} ${source})
    string(APPEND digests "${name} ${digest}\n")
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 12 digest)
  if(commit)
    string(APPEND commit "-dirty-${digest}")
  else()
    set(commit "sources-${digest}")
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define HEDDLE_COMMIT \"${commit}\"\n")
