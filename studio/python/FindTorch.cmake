# Stands in for the TorchConfig.cmake of a torch that pip installed, in folder IPEX_TORCH_FOLDER.
#
# That one wants CUDA's tools wherever the torch was built with CUDA, and links what runs on GPUs, which asks for libraries
# that plans never need. Here torch is libtorch_cpu and libc10 alone.
if(NOT TARGET torch)
  # torch brings an fmt of its own. Its headers find the one that our libraries link first.
  find_package(fmt REQUIRED)
  get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  list(GET fmt_headers 0 fmt_headers)
  set(headers_first ${CMAKE_BINARY_DIR}/headers_before_torch)
  file(MAKE_DIRECTORY ${headers_first})
  file(CREATE_LINK ${fmt_headers}/fmt ${headers_first}/fmt SYMBOLIC)

  set(headers ${IPEX_TORCH_FOLDER}/include)
  add_library(torch INTERFACE IMPORTED)
  target_include_directories(torch INTERFACE ${headers_first} ${headers} ${headers}/torch/csrc/api/include)
  target_link_libraries(torch INTERFACE ${IPEX_TORCH_FOLDER}/lib/libtorch_cpu.so ${IPEX_TORCH_FOLDER}/lib/libc10.so)
  file(STRINGS ${headers}/ATen/ATen.h wants_cpp20 REGEX "__cplusplus < 202002L")
  if(wants_cpp20)
    target_compile_features(torch INTERFACE cxx_std_20)
  endif()
endif()
set(TORCH_LIBRARIES torch)
set(TORCH_INCLUDE_DIRS ${IPEX_TORCH_FOLDER}/include ${IPEX_TORCH_FOLDER}/include/torch/csrc/api/include)
set(TORCH_INSTALL_PREFIX ${IPEX_TORCH_FOLDER})
set(Torch_FOUND TRUE)
