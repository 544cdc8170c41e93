// Attention to keys and values in caches that were allocated before, for decoding; without gradients
// (kernels/attention/cached_attention.h).
//
//   indirect_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache,
//                      Tensor beam_idx, int offset, float scale, Tensor? mask) -> Tensor
//
// query: [B, S, H, D]; key and value, of the same tokens: [B, S, Hk, …], where Hk divides H. They are written into rows
// [offset, offset + S) of the caches [rows, B, Hk, …]; token s of text i then sees the keys of its text up to itself,
// those before `offset` of the beams that it came from: beam_idx [rows or more, B], int64, tells for token j of a beam
// which beam had token j of its text before. Whoever reorders beams writes one row of it, and moves nothing. mask:
// floats that are added, spread to [B, H, S, offset + S]. Result: [B, S, H, …].
//
//   write_pages(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slots) -> ()
//
// key, value: [tokens, Hk, …]; caches: [pages, Hk, size, …]; slots: [tokens]; page · size + row, negative: not written.
//
//   paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, Tensor pages, Tensor lengths, float scale,
//                   Tensor? slopes, int window, float softcap) -> Tensor
//
// query: [B, H, D], one token of each text, of which pages [B, most] tells the pages and lengths [B] the keys. slopes:
// [H] of ALiBi. window: number of last keys that count; 0: all. softcap: 0: none. Result: [B, H, …].
//
// Caches are float32, float64 or bfloat16, with which queries agree; float64 is computed in itself, all else in
// float32. Throws c10::IndexError that names text and value of a beam, page or slot that is in no cache.
#include "kernels/attention/cached_attention.h"

#include <algorithm>
#include <cstring>

#include "kernels/torch/language/language_operands.h"

namespace ipex_studio {
namespace {

constexpr char kIndirect[] = "indirect_attention", kPaged[] = "paged_attention", kWritePages[] = "write_pages";

// What tells a cache's keys and values apart from others: [_, _, _, values], with the last axis side by side.
void checkCaches(const char* op, const at::Tensor& query, const at::Tensor& key_cache, const at::Tensor& value_cache,
                 int head_axis) {
  TORCH_CHECK(key_cache.dim() == 4 && value_cache.dim() == 4 && key_cache.stride(3) == 1 && value_cache.stride(3) == 1,
              op, ": caches have four axes, of which the last one lies side by side");
  TORCH_CHECK(key_cache.sizes().slice(0, 3) == value_cache.sizes().slice(0, 3), op, ": the caches of keys and values ",
              key_cache.sizes(), " and ", value_cache.sizes(), " do not agree");
  const at::ScalarType type = key_cache.scalar_type();
  TORCH_CHECK((type == at::kFloat || type == at::kDouble || type == at::kBFloat16) &&
                  value_cache.scalar_type() == type && query.scalar_type() == type,
              op, ": query and caches are float32, float64 or bfloat16, and agree, not ", query.scalar_type(), ", ",
              type, " and ", value_cache.scalar_type());
  TORCH_CHECK(key_cache.size(head_axis) > 0 && query.size(-2) % key_cache.size(head_axis) == 0 &&
                  query.size(-1) == key_cache.size(3),
              op, ": query ", query.sizes(), " does not fit the cache of keys ", key_cache.sizes());
}

// Places of the keys and values of all texts in their caches.
class CachePlaces {
 public:
  CachePlaces(const at::Tensor& key_cache, const at::Tensor& value_cache, std::int64_t texts, std::int64_t most)
      : k_cache_(key_cache), v_cache_(value_cache), most_(most), k_(static_cast<std::size_t>(texts * most)), v_(k_) {}

  // A key lies at [at, …, then, …] of its cache, where `then` counts along `axis`.
  void put(std::int64_t text, std::int64_t key, std::int64_t at, int axis, std::int64_t then) {
    const auto place = static_cast<std::size_t>(text * most_ + key);
    k_[place] = at * k_cache_.stride(0) + then * k_cache_.stride(axis);
    v_[place] = at * v_cache_.stride(0) + then * v_cache_.stride(axis);
  }

  // A job with places and heads set; it reads the places here.
  CachedJob job(std::int64_t texts, std::int64_t query_heads, int head_axis) const {
    CachedJob job;
    job.texts = texts;
    job.key_heads = k_cache_.size(head_axis);
    job.group = query_heads / job.key_heads;
    job.k_places = k_.data();
    job.v_places = v_.data();
    job.places_stride = most_;
    job.k_head = k_cache_.stride(head_axis);
    job.v_head = v_cache_.stride(head_axis);
    return job;
  }

 private:
  const at::Tensor &k_cache_, &v_cache_;
  std::int64_t most_;
  std::vector<std::int64_t> k_, v_;
};

// Runs the job on queries and caches of one type. mask: spread, or undefined.
at::Tensor attendedToCache(CachedJob job, const at::Tensor& query, const at::Tensor& key_cache,
                           const at::Tensor& value_cache, const at::Tensor& mask, const at::Tensor& slopes) {
  const at::ScalarType type = query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor q = query.to(type).contiguous();  // [B, S, H, D]
  job.queries = q.size(1);
  job.depth = q.size(3);
  job.width = value_cache.size(3);
  job.q_text = q.stride(0);
  job.q_query = q.stride(1);
  job.q_head = q.stride(2);
  const at::Tensor y = at::empty({q.size(0), q.size(1), q.size(2), job.width}, q.options());
  if (y.numel() == 0) return y.to(query.scalar_type());
  const at::Tensor added = mask.defined() ? (mask.stride(3) == 1 ? mask : mask.contiguous()) : mask;
  const auto run = [&](auto scalar, auto cached) {
    using T = decltype(scalar);
    using C = decltype(cached);
    CachedOperands<T, C> from;
    from.q = q.data_ptr<T>();
    from.k = static_cast<const C*>(key_cache.data_ptr());
    from.v = static_cast<const C*>(value_cache.data_ptr());
    from.slopes = dataOrNull<T>(slopes);
    if (added.defined()) {
      from.mask = added.data_ptr<T>();
      from.mask_text = added.stride(0);
      from.mask_head = added.stride(1);
      from.mask_query = added.stride(2);
    }
    attendToCache<T, C>(job, from, y.data_ptr<T>(), at::get_num_threads());
  };
  if (type == at::kDouble) {
    run(double(), double());
  } else if (key_cache.scalar_type() == at::kBFloat16) {
    run(float(), std::uint16_t());
  } else {
    run(float(), float());
  }
  return y.to(query.scalar_type());
}

at::Tensor indirectOnCpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, at::Tensor& key_cache,
                         at::Tensor& value_cache, const at::Tensor& beam_idx, std::int64_t offset, double scale,
                         const Optional& mask) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
                  key.sizes().slice(0, 2) == query.sizes().slice(0, 2) &&
                  value.sizes().slice(0, 3) == key.sizes().slice(0, 3),
              kIndirect, ": query [B, S, H, D], key [B, S, Hk, D] and value [B, S, Hk, W] are not ", query.sizes(),
              ", ", key.sizes(), ", ", value.sizes());
  checkCaches(kIndirect, query, key_cache, value_cache, 2);
  const std::int64_t texts = query.size(0), tokens = query.size(1), total = offset + tokens;
  TORCH_CHECK(key_cache.size(1) == texts && key_cache.size(2) == key.size(2) && key_cache.size(3) == key.size(3) &&
                  value_cache.size(3) == value.size(3) && offset >= 0 && total <= key_cache.size(0),
              kIndirect, ": ", tokens, " tokens at row ", offset, " of keys ", key.sizes(), " do not fit the caches ",
              key_cache.sizes(), " and ", value_cache.sizes());
  TORCH_CHECK(beam_idx.dim() == 2 && beam_idx.scalar_type() == at::kLong && beam_idx.size(0) >= offset &&
                  beam_idx.size(1) == texts,
              kIndirect, ": beam_idx is int64 of at least ", offset, " rows of ", texts, " beams, not ",
              beam_idx.scalar_type(), " ", beam_idx.sizes());
  key_cache.slice(0, offset, total).copy_(key.transpose(0, 1));
  value_cache.slice(0, offset, total).copy_(value.transpose(0, 1));

  const at::Tensor beams = beam_idx.contiguous();
  const std::int64_t* const before = beams.data_ptr<std::int64_t>();
  CachePlaces places(key_cache, value_cache, texts, total);
  std::vector<std::int64_t> lengths;
  for (std::int64_t text = 0; text < texts; ++text) {
    std::int64_t beam = text;
    for (std::int64_t token = total - 1; token >= 0; --token) {
      if (token < offset) {
        const std::int64_t next = before[token * texts + beam];
        TORCH_CHECK_INDEX(next >= 0 && next < texts, kIndirect, ": token ", token, " of beam ", beam,
                          " came from beam ", next, ", and there are ", texts);
        beam = next;
      }
      places.put(text, token, token, 1, beam);
    }
    for (std::int64_t token = 0; token < tokens; ++token) lengths.push_back(offset + token + 1);
  }
  CachedJob job = places.job(texts, query.size(2), 2);
  job.lengths = lengths.data();
  job.scale = scale;
  at::Tensor added;
  if (mask.has_value() && mask->defined()) {
    added = mask->to(query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat)
                .expand({texts, query.size(2), tokens, total});
  }
  return attendedToCache(job, query, key_cache, value_cache, added, {});
}

void writePagesOnCpu(const at::Tensor& key, const at::Tensor& value, at::Tensor& key_cache, at::Tensor& value_cache,
                     const at::Tensor& slots) {
  TORCH_CHECK(key.dim() == 3 && value.dim() == 3, kWritePages, ": keys and values are [tokens, heads, values]");
  checkCaches(kWritePages, key_cache, key_cache, value_cache, 1);
  TORCH_CHECK(slots.dim() == 1 && slots.size(0) == key.size(0) && value.size(0) == key.size(0), kWritePages,
              ": there are ", slots.numel(), " slots for ", key.size(0), " keys and ", value.size(0), " values");
  const at::Tensor places = slots.to(at::kLong).contiguous();
  const std::int64_t* const slot = places.data_ptr<std::int64_t>();
  const std::int64_t size = key_cache.size(2), all = key_cache.size(0) * size;
  for (std::int64_t t = 0; t < places.numel(); ++t) {
    TORCH_CHECK_INDEX(slot[t] < all, kWritePages, ": the slot of token ", t, " is ", slot[t], ", and there are ", all);
  }
  for (const auto& [from, to] : {std::make_pair(&key, &key_cache), std::make_pair(&value, &value_cache)}) {
    TORCH_CHECK(from->size(1) == to->size(1) && from->size(2) == to->size(3), kWritePages, ": ", from->sizes(),
                " does not fit the cache ", to->sizes());
    const at::Tensor rows = from->to(to->scalar_type()).contiguous();
    const auto bytes = static_cast<std::int64_t>(rows.element_size());
    for (std::int64_t t = 0; t < rows.size(0); ++t) {
      if (slot[t] < 0) continue;
      for (std::int64_t head = 0; head < rows.size(1); ++head) {
        const std::int64_t at = slot[t] / size * to->stride(0) + head * to->stride(1) + slot[t] % size * to->stride(2);
        std::memcpy(static_cast<char*>(to->data_ptr()) + at * bytes,
                    static_cast<const char*>(rows.data_ptr()) + (t * rows.size(1) + head) * rows.size(2) * bytes,
                    static_cast<std::size_t>(rows.size(2) * bytes));
      }
    }
  }
}

at::Tensor pagedOnCpu(const at::Tensor& query, const at::Tensor& key_cache, const at::Tensor& value_cache,
                      const at::Tensor& pages, const at::Tensor& lengths, double scale, const Optional& slopes,
                      std::int64_t window, double softcap) {
  TORCH_CHECK(query.dim() == 3, kPaged, ": query is [texts, heads, values], not ", query.sizes());
  checkCaches(kPaged, query, key_cache, value_cache, 1);
  const std::int64_t texts = query.size(0), size = key_cache.size(2);
  TORCH_CHECK(pages.dim() == 2 && pages.size(0) == texts && lengths.numel() == texts, kPaged, ": pages ", pages.sizes(),
              " and lengths ", lengths.sizes(), " are not of ", texts, " texts");
  const at::Tensor table = pages.to(at::kLong).contiguous(), counts = lengths.to(at::kLong).reshape({-1}).contiguous();
  const std::int64_t *const page = table.data_ptr<std::int64_t>(), *const count = counts.data_ptr<std::int64_t>();
  const std::int64_t most = texts == 0 ? 0 : std::max<std::int64_t>(0, *std::max_element(count, count + texts));
  for (std::int64_t text = 0; text < texts; ++text) {
    TORCH_CHECK_INDEX(count[text] >= 0 && count[text] <= table.size(1) * size, kPaged, ": text ", text, " has ",
                      count[text], " keys in ", table.size(1), " pages of ", size);
  }
  CachePlaces places(key_cache, value_cache, texts, most);
  for (std::int64_t text = 0; text < texts; ++text) {
    for (std::int64_t key = 0; key < count[text]; ++key) {
      const std::int64_t at = page[text * table.size(1) + key / size];
      TORCH_CHECK_INDEX(at >= 0 && at < key_cache.size(0), kPaged, ": page ", key / size, " of text ", text, " is ", at,
                        ", and there are ", key_cache.size(0));
      places.put(text, key, at, 2, key % size);
    }
  }
  CachedJob job = places.job(texts, query.size(1), 1);
  job.lengths = count;
  job.window = std::max<std::int64_t>(0, window);
  job.scale = scale;
  job.softcap = std::max(0.0, softcap);
  at::Tensor of_heads;
  if (slopes.has_value() && slopes->defined()) {
    TORCH_CHECK(slopes->numel() == query.size(1), kPaged, ": there are ", slopes->numel(), " slopes for ",
                query.size(1), " heads");
    of_heads = slopes->to(query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat).reshape({-1}).contiguous();
  }
  return attendedToCache(job, query.unsqueeze(1), key_cache, value_cache, {}, of_heads).squeeze(1);
}

at::Tensor indirectOnMeta(const at::Tensor& query, const at::Tensor&, const at::Tensor& value, at::Tensor&, at::Tensor&,
                          const at::Tensor&, std::int64_t, double, const Optional&) {
  return at::empty({query.size(0), query.size(1), query.size(2), value.size(3)}, query.options());
}

void writePagesOnMeta(const at::Tensor&, const at::Tensor&, at::Tensor&, at::Tensor&, const at::Tensor&) {}

at::Tensor pagedOnMeta(const at::Tensor& query, const at::Tensor&, const at::Tensor& value_cache, const at::Tensor&,
                       const at::Tensor&, double, const Optional&, std::int64_t, double) {
  return at::empty({query.size(0), query.size(1), value_cache.size(3)}, query.options());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.def(
      "indirect_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor "
      "beam_idx, int offset, float scale, Tensor? mask) -> Tensor");
  m.def("write_pages(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slots) -> ()");
  m.def(
      "paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, Tensor pages, Tensor lengths, float scale, "
      "Tensor? slopes, int window, float softcap) -> Tensor");
}
TORCH_LIBRARY_IMPL(ipex_studio, CPU, m) {
  m.impl("indirect_attention", indirectOnCpu);
  m.impl("write_pages", writePagesOnCpu);
  m.impl("paged_attention", pagedOnCpu);
}
TORCH_LIBRARY_IMPL(ipex_studio, Meta, m) {
  m.impl("indirect_attention", indirectOnMeta);
  m.impl("write_pages", writePagesOnMeta);
  m.impl("paged_attention", pagedOnMeta);
}

}  // namespace ipex_studio
