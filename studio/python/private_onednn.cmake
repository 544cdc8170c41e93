# Sets IPEX_ONEDNN to a copy of the system's oneDNN that takes its own functions first (private_library.py): beside a torch
# that pip installed, which has another oneDNN inside.
get_target_property(configurations DNNL::dnnl IMPORTED_CONFIGURATIONS)
list(GET configurations 0 configuration)
get_target_property(location DNNL::dnnl IMPORTED_LOCATION_${configuration})
get_target_property(headers DNNL::dnnl INTERFACE_INCLUDE_DIRECTORIES)
get_target_property(libraries DNNL::dnnl INTERFACE_LINK_LIBRARIES)

set(copy ${CMAKE_BINARY_DIR}/libdnnl_i.so)  # a name as long as libdnnl.so.2
execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/private_library.py ${location} ${copy}
                COMMAND_ERROR_IS_FATAL ANY)
add_library(ipex_onednn SHARED IMPORTED GLOBAL)
set_target_properties(ipex_onednn PROPERTIES IMPORTED_LOCATION ${copy} IMPORTED_SONAME libdnnl_i.so
                                             INTERFACE_INCLUDE_DIRECTORIES "${headers}" INTERFACE_LINK_LIBRARIES "${libraries}")
set(IPEX_ONEDNN ipex_onednn)
