// The C interface of libipex_studio_ops, which registers the operators a `compiled` export needs.
//
//   #include <kernels/torch/loader/ops.h>
//   if (ipex_studio_ops_problem() != nullptr) …              // link ipex_studio::ops
//   torch::jit::Module model = torch::jit::load("fast.pt");
//
// The operators are registered when the library is loaded; calling the function keeps a linker from dropping it.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// NULL when the operators are registered. Else one sentence: which torch they were built for and which one runs. It was
// also written to stderr. Thread-safe; the text lives as long as the program.
const char* ipex_studio_ops_problem(void);

#ifdef __cplusplus
}
#endif
