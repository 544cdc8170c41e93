# find_package(ipex_studio) gives three targets:
#   ipex_studio::ipex_studio   the C++ interface and the libraries it links
#   ipex_studio::auto          linking it gives a program of libtorch plans, without a call
#   ipex_studio::ops           the libraries, beside torch, of a program that runs `compiled` exports
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ipex_studio)
set_target_properties(ipex_engine PROPERTIES EXPORT_NAME ipex_studio)
set_target_properties(ipex_studio_ops PROPERTIES EXPORT_NAME ops)
set_target_properties(ipex_studio_auto PROPERTIES EXPORT_NAME auto)
foreach(library ipex_studio_ops ipex_studio_operators ipex_studio_auto)
  set_target_properties(${library} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endforeach()
target_include_directories(ipex_flags INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ipex_studio>)

# The rooms' archives are for the linker of a static consumer; libraries that programs load lie in the library folder
# itself.
set(room_targets "")
foreach(room ${IPEX_ROOMS})
  ipex_room_target(target ${room})
  if(TARGET ${target} AND room MATCHES "^(core|passes|kernels)" AND NOT room MATCHES "^kernels/torch/")
    list(APPEND room_targets ${target})
  endif()
endforeach()
install(TARGETS ipex_flags ${room_targets} ipex_studio_operators ipex_studio_ops ipex_studio_auto ipex_engine EXPORT ipex_studioTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/ipex_studio LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ipex_studioTargets NAMESPACE ipex_studio:: DESTINATION ${package_folder})
file(STRINGS core/public_headers.txt public_headers REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/public_headers.txt)
foreach(header ${public_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ipex_studio/${folder})
endforeach()
configure_package_config_file(core/ipex_studioConfig.cmake.in ${CMAKE_BINARY_DIR}/ipex_studioConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ipex_studioConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/ipex_studioConfig.cmake ${CMAKE_BINARY_DIR}/ipex_studioConfigVersion.cmake
        DESTINATION ${package_folder})
