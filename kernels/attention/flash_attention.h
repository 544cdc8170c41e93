// Attention with its gradient, for operators that are called outside of plans: softmax(scale · q·kᵀ + mask) · v in
// memory linear in the numbers of queries and keys (Dao et al., FlashAttention, arXiv:2205.14135).
//
// T is float, or double: the plain version. Queries without a key that counts, all of whose scores are -inf, give 0 and
// no gradient. The bits are the same for any number of threads.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

// Distances in elements; the values of a row lie side by side.
struct HeadStrides {
  std::int64_t text = 0, head = 0, row = 0;
};

struct FlashJob {
  std::int64_t texts = 0, key_heads = 0;
  std::int64_t group = 1;  // query heads that share a key head; query head h reads key head h / group
  std::int64_t queries = 0, keys = 0;
  std::int64_t depth = 0;  // of q and k
  std::int64_t width = 0;  // of v and y
  HeadStrides q, k, v;
  bool has_mask = false;
  HeadStrides mask;  // of a row: of one query; 0 where all share it
  std::int64_t mask_column = 0;
  bool causal = false;  // query i sees keys up to i
  double scale = 1;

  std::int64_t queryHeads() const { return key_heads * group; }
};

template <typename T>
struct FlashOperands {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  const T* mask = nullptr;  // added to scores
};

// y: [texts, query heads, queries, width], dense. logarithms: [texts, query heads, queries], of the sums of the
// exponentials of scores.
template <typename T>
void attend(const FlashJob& job, const FlashOperands<T>& from, T* y, T* logarithms, std::int32_t threads);

template <typename T>
struct FlashGradients {
  T *q = nullptr, *k = nullptr, *v = nullptr;  // dense: [texts, heads, rows, values]
};

// y and logarithms: what attend gave; of_y: the gradient of y, dense.
template <typename T>
void attendGradient(const FlashJob& job, const FlashOperands<T>& from, const T* y, const T* logarithms, const T* of_y,
                    const FlashGradients<T>& to, std::int32_t threads);

// One key head of one text, with all query heads that read it, by one thread.
template <typename T>
struct HeadGradient {
  FlashOperands<T> from;  // of the first query head
  const T *y = nullptr, *logarithms = nullptr, *of_y = nullptr;
  FlashGradients<T> to;
};

struct HeadGradientSimd {
  std::int64_t (*scratch_floats)(const FlashJob& job);
  void (*run)(const FlashJob& job, const HeadGradient<float>& head, float* scratch);
};
HeadGradientSimd headGradientSimd(const std::string& isa);
void headGradientRef(const FlashJob& job, const HeadGradient<double>& head);
// One query head forward.
void attendHeadRef(const FlashJob& job, const FlashOperands<double>& from, double* y, double* logarithms);

}  // namespace ipex_studio
