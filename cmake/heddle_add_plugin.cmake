# SPDX-License-Identifier: Apache-2.0
# heddle_add_plugin(NAME SOURCES...): NAME.so, whose load balancers `heddle run --plugin NAME.so` knows.
set(HEDDLE_PLUGIN_ABI_SOURCE ${CMAKE_CURRENT_LIST_DIR}/plugin_abi.cc)
function(heddle_add_plugin name)
  add_library(${name} MODULE ${ARGN} ${HEDDLE_PLUGIN_ABI_SOURCE})
  target_link_libraries(${name} PRIVATE heddle::plugin)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
endfunction()

# heddle_test_plugin(NAME): ctest checks what must hold for every load balancer of that plug-in. The test program
# comes with a Heddle that was built with its tests, as `make test` does; `make run` leaves it out, and then the
# plug-in builds without this test.
function(heddle_test_plugin name)
  if(NOT TARGET heddle::conformance)
    message(STATUS "${name}: not tested, as this Heddle was built without its tests; `make test` builds them")
    return()
  endif()
  add_test(NAME ${name}_conformance
           COMMAND $<TARGET_FILE:heddle::conformance> --plugin $<TARGET_FILE:${name}> --gtest_brief=1)
endfunction()
