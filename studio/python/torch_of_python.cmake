# Finds out which torch a Python has; to be included before find_package(Torch), so that a wheel links the one of its
# environment. Sets IPEX_PYTHON_TORCH ("2.8", empty: none) and IPEX_PYTHON_DEFINITIONS, both cached.
#
# pip builds in an environment without the packages of the one that it installs to, which PYTHONPATH brings about.
if(NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python of the package")  # Debian's, as its libtorch
endif()
if(DEFINED IPEX_PYTHON_TORCH)
  return()
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH --unset=PYTHONNOUSERSITE ${Python_EXECUTABLE} -c "
import torch
print('.'.join(torch.__version__.split('.')[:2]))
print(torch.utils.cmake_prefix_path)
# Types of torch are known to extensions whose pybind11 was compiled like torch's, which newer compilers call by other
# numbers.
for name in ('COMPILER_TYPE', 'STDLIB', 'BUILD_ABI'):
    value = getattr(torch._C, '_PYBIND11_' + name, None)
    if value: print('PYBIND11_%s=\"%s\"' % (name, value))
" OUTPUT_VARIABLE answer ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" answer "${answer}")
list(POP_FRONT answer version folder)
set(IPEX_PYTHON_TORCH "${version}" CACHE INTERNAL "torch of this Python")
set(IPEX_PYTHON_DEFINITIONS "${answer}" CACHE INTERNAL "how its pybind11 was compiled")
if(SKBUILD AND EXISTS "${folder}" AND NOT Torch_DIR)
  set(Torch_DIR ${folder}/Torch CACHE PATH "CMake's files of torch")
endif()
