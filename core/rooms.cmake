# One library per room (core/rooms.txt): its sources, and the libraries of the rooms that its line names.
#
#   ipex_add_room(core/base)                 a static library ipex_core_base of core/base/*.cpp
#   ipex_add_room(kernels/torch/ops OBJECT)  its objects, for a library that nothing calls by name
#
# A room without sources becomes an INTERFACE library. Sources are compiled several at a time, within the room only.

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt room_lines REGEX "^[a-z]")
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt)
set(IPEX_ROOMS "")
foreach(line ${room_lines})
  if(NOT line MATCHES "^([a-z0-9_/]+):([a-z0-9_/ ]*)[|]?(.*)$")
    message(FATAL_ERROR "core/rooms.txt: ${line}")
  endif()
  set(room ${CMAKE_MATCH_1})
  set(below ${CMAKE_MATCH_2})
  set(libraries ${CMAKE_MATCH_3})
  string(REGEX MATCHALL "[a-z0-9_/]+" IPEX_ROOM_${room} "${below}")
  string(REGEX MATCHALL "[a-z0-9]+" IPEX_ROOM_LIBRARIES_${room} "${libraries}")
  list(APPEND IPEX_ROOMS ${room})
endforeach()

function(ipex_room_target variable room)
  string(REPLACE / _ name ${room})
  set(${variable} ipex_${name} PARENT_SCOPE)
endfunction()

# Compiles files together, so that their headers are parsed and their templates made once. Names in unnamed namespaces
# must therefore differ within a room.
function(ipex_compile_together target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${IPEX_STUDIO_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

function(ipex_add_room room)
  if(NOT room IN_LIST IPEX_ROOMS)
    message(FATAL_ERROR "core/rooms.txt has no line for ${room}")
  endif()
  ipex_room_target(target ${room})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${room}/*.cpp)
  list(FILTER sources EXCLUDE REGEX /main\\.cpp$)
  # A file that Highway compiles once per instruction set includes itself: it stays alone.
  foreach(source ${sources})
    file(STRINGS ${source} highway REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(highway)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set(scope PUBLIC)
  if(NOT sources)
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  elseif("OBJECT" IN_LIST ARGN)
    add_library(${target} OBJECT ${sources})
  else()
    add_library(${target} STATIC ${sources})
  endif()
  target_link_libraries(${target} ${scope} ipex_flags)
  foreach(below ${IPEX_ROOM_${room}})
    ipex_room_target(library ${below})
    string(FIND ${room} ${below}/ inside)
    if(NOT inside EQUAL 0)  # a folder's root is linked to its rooms; they see its headers
      target_link_libraries(${target} ${scope} ${library})
    endif()
  endforeach()
  if(sources)
    if(torch IN_LIST IPEX_ROOM_LIBRARIES_${room})
      ipex_use_torch_headers(${target})
    elseif(room MATCHES "^kernels")  # OpenMP's flags fit no precompiled header, and kernels include little
      ipex_compile_together(${target} 10)
    else()
      ipex_use_plain_headers(${target})
    endif()
  endif()
endfunction()

# Uses the precompiled header of core/base, which holds the headers that most files without libtorch include. GCC
# accepts it only if the code model is the same.
function(ipex_use_plain_headers)
  foreach(target ${ARGV})
    target_compile_options(${target} PRIVATE -fPIC)
    if(target STREQUAL ipex_core_base)
      target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
    else()
      target_precompile_headers(${target} REUSE_FROM ipex_core_base)
    endif()
    ipex_compile_together(${target} 8)
  endforeach()
endfunction()

# Uses the precompiled header of core/torch: libtorch's headers alone take 10-15 s a file. Even so each file takes
# seconds before its own first line, for the templates that the headers' inline functions use.
function(ipex_use_torch_headers)
  foreach(target ${ARGV})
    target_compile_options(${target} PRIVATE -fPIC -pthread)
    if(target STREQUAL ipex_core_torch)
      target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/core/torch/torch_compat.h <torch/csrc/jit/runtime/interpreter.h>)
    else()
      target_precompile_headers(${target} REUSE_FROM ipex_core_torch)
    endif()
    ipex_compile_together(${target} 16)
  endforeach()
endfunction()
