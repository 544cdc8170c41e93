// Rotary position embedding: pairs of values of each head, rotated by an angle of their position (Su et al.,
// arXiv:2104.09864).
//
// T is float, or double: the plain version. Tokens are shared among `threads` OpenMP threads.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

template <typename T>
struct RotaryJob {
  std::int64_t tokens = 0, heads = 0;
  std::int64_t width = 0;     // of a head
  std::int64_t rotated = 0;   // its first values that are rotated, an even number; the others are copied
  bool interleaved = false;   // values 2i and 2i + 1 are a pair; otherwise i and i + rotated / 2
  bool back = false;          // rotated by the negative angle, as gradients are
  bool whole_tables = false;  // tables have a value for each rotated value instead of one for each pair
  // Position p takes its values from row p of each table; rows are table_stride apart.
  const T *sines = nullptr, *cosines = nullptr;
  std::int64_t table_stride = 0;
  const std::int64_t* positions = nullptr;  // of tokens
  // Distances in x, in elements; the values of a head lie side by side. Tokens of y lie densely.
  std::int64_t token_stride = 0, head_stride = 0;
};

// y may be x where x is dense.
template <typename T>
void rotateHeads(const RotaryJob<T>& job, const T* x, T* y, std::int32_t threads);

// Rotates the heads of one token by the angles of the tables' rows that are given.
template <typename T>
using RotateToken = void (*)(const RotaryJob<T>& job, const T* sines, const T* cosines, const T* x, T* y);
RotateToken<float> rotateTokenSimd(const std::string& isa);
void rotateTokenRef(const RotaryJob<double>& job, const double* sines, const double* cosines, const double* x,
                    double* y);

}  // namespace ipex_studio
