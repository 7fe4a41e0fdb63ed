# SPDX-License-Identifier: Apache-2.0
# heddle_add_plugin(NAME SOURCES...): NAME.so, whose load balancers `heddle run --plugin NAME.so` knows.
set(HEDDLE_PLUGIN_ABI_SOURCE ${CMAKE_CURRENT_LIST_DIR}/plugin_abi.cc)
function(heddle_add_plugin name)
  add_library(${name} MODULE ${ARGN} ${HEDDLE_PLUGIN_ABI_SOURCE})
  target_link_libraries(${name} PRIVATE heddle::plugin)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
endfunction()
