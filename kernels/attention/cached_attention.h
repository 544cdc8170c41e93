// Attention of a few tokens to keys and values that lie scattered in a cache, as a step of a decoder needs it: in pages
// of a pool, or in rows of several beams.
//
// T is the type of queries and results, float, or double: the plain version. C is that of caches: T, or std::uint16_t,
// the bits of BF16. Heads are shared among `threads` OpenMP threads; the bits are the same for any number of them.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

struct CachedJob {
  std::int64_t texts = 0, queries = 0;  // queries: of each text, the last ones of those that its cache holds
  std::int64_t key_heads = 0;
  std::int64_t group = 1;  // query heads that share a key head
  std::int64_t depth = 0;  // of queries and keys
  std::int64_t width = 0;  // of values and results

  // Key j of a text lies k_places[text · places_stride + j] elements behind the cache's begin for the first head, and
  // heads lie k_head apart. Values lie likewise.
  const std::int64_t *k_places = nullptr, *v_places = nullptr;
  std::int64_t places_stride = 0, k_head = 0, v_head = 0;
  // Keys that query i of a text sees: all before lengths[text · queries + i]. With a window, its last ones alone.
  const std::int64_t* lengths = nullptr;
  std::int64_t window = 0;  // 0: none

  std::int64_t q_text = 0, q_query = 0, q_head = 0;  // distances in q, in elements

  double scale = 1;
  double softcap = 0;  // scores become softcap · tanh(score / softcap); 0: they stay

  std::int64_t queryHeads() const { return key_heads * group; }
};

template <typename T, typename C>
struct CachedOperands {
  const T* q = nullptr;
  const C *k = nullptr, *v = nullptr;
  const T* mask = nullptr;  // added to scores; may be null. Of text, head and query, these distances apart; keys lie
                            // side by side
  std::int64_t mask_text = 0, mask_head = 0, mask_query = 0;
  const T* slopes = nullptr;  // of query heads; slope · (key - last key) is added to scores; may be null
};

// y: [texts, queries, query heads, width], dense. Queries without keys give 0.
template <typename T, typename C>
void attendToCache(const CachedJob& job, const CachedOperands<T, C>& from, T* y, std::int32_t threads);

// One query of one text with all heads that share a key head. scratch: cachedScratchFloats() values.
template <typename T, typename C>
using CachedRun = void (*)(const CachedJob& job, const CachedOperands<T, C>& from, std::int64_t text,
                           std::int64_t query, std::int64_t key_head, T* y, T* scratch);
template <typename C>
CachedRun<float, C> cachedAttentionSimd(const std::string& isa);
void cachedAttentionRef(const CachedJob& job, const CachedOperands<double, double>& from, std::int64_t text,
                        std::int64_t query, std::int64_t key_head, double* y, double* scratch);
// For contexts of up to `keys` keys.
std::int64_t cachedScratchFloats(const CachedJob& job, std::int64_t keys);

}  // namespace ipex_studio
