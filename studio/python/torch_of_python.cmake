# Finds out which torch a Python has; to be included before find_package(Torch), so that a wheel links the one of its
# environment. Sets, all cached, IPEX_PYTHON_TORCH ("2.8", empty: none), IPEX_PYTHON_DEFINITIONS and, where pip installed
# that torch, IPEX_TORCH_FOLDER.
#
# pip builds in an environment without the packages of the one that it installs to, which PYTHONPATH brings about.
set(debian_python /usr/bin/python3)
if(NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE ${debian_python} CACHE FILEPATH "The Python of the package")  # as its libtorch
endif()
if(NOT IPEX_PYTHON_ASKED STREQUAL Python_EXECUTABLE)
  # A folder may serve one Python after the other.
  foreach(name IPEX_TORCH_FOLDER IPEX_PYBIND11_INCLUDE IPEX_TORCH_PYTHON ipex_torch_version_header)
    unset(${name} CACHE)
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE ${Python_EXECUTABLE} -c "
import os, torch
print('.'.join(torch.__version__.split('.')[:2]))
print(os.path.dirname(torch.__file__))
print(int(torch.compiled_with_cxx11_abi()))
# Types of torch are known to extensions whose pybind11 was compiled like torch's, which newer compilers call by other
# numbers.
for name in ('COMPILER_TYPE', 'STDLIB', 'BUILD_ABI'):
    value = getattr(torch._C, '_PYBIND11_' + name, None)
    if value: print('PYBIND11_%s=\"%s\"' % (name, value))
" OUTPUT_VARIABLE answer ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" answer "${answer}")
  list(POP_FRONT answer version folder new_strings)
  if(new_strings STREQUAL 0)
    # The system's libraries have the strings of today, and ten minutes of compiling would end where they are linked.
    message(FATAL_ERROR "The torch ${version} of ${Python_EXECUTABLE} was built with the C++ strings of before C++11, "
                        "which the other libraries here do not have; install one built with today's, as those for CPUs "
                        "from https://download.pytorch.org/whl/cpu, or torch 2.7 and later.")
  endif()
  set(IPEX_PYTHON_ASKED "${Python_EXECUTABLE}" CACHE INTERNAL "the Python that the next three are of")
  set(IPEX_PYTHON_TORCH "${version}" CACHE INTERNAL "torch of this Python")
  set(IPEX_PYTHON_DEFINITIONS "${answer}" CACHE INTERNAL "how its pybind11 was compiled")
  if(NOT Python_EXECUTABLE STREQUAL debian_python AND EXISTS "${folder}/share/cmake/Torch")
    set(IPEX_TORCH_FOLDER "${folder}" CACHE INTERNAL "where pip installed it")
  endif()
endif()
if(IPEX_TORCH_FOLDER)
  list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # FindTorch.cmake
endif()
