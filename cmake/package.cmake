# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by `cpack --config build/release/CPackConfig.cmake` (docs/containers.md): "heddle" has
# the program and what it reads; "heddle-dev" has what plug-ins and other programs are built with.
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_CONTACT "The Heddle developers <heddle@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)  # heddle_VERSION_ARCHITECTURE.deb
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)  # By dpkg-shlibdeps, of the package dpkg-dev.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-yaml, python3-plotly, python3-matplotlib")  # heddle report
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Simulates load balancing in datacenter networks, packet by packet: an
experiment in YAML goes in, flow completion times, reordering and link use
come out as CSV.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME heddle-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "heddle (= ${PROJECT_VERSION}), g++, cmake, libabsl-dev, libfmt-dev, libyaml-cpp-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"For plug-ins and programs of your own: headers, the library and its CMake
package.")
include(CPack)
