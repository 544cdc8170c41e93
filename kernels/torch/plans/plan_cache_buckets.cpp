// Batches that run on the plan of a larger one, and sequences that run on that of a longer one.
#include <algorithm>

#include "core/plan/batch_independence.h"
#include "kernels/torch/plans/plan_cache_entry.h"
#include "kernels/torch/plans/prepared_files.h"

namespace ipex_studio {

void PlanCache::setBatchBuckets(std::vector<std::int64_t> buckets) {
  const bool fits = std::is_sorted(buckets.begin(), buckets.end()) &&
                    (buckets.empty() || (buckets.front() >= 1 && buckets.back() <= kMaxBatch));
  if (!fits) throw Error(ExitCode::kBadModel, "Buckets are numbers from 1 to 65536, ascending.");
  buckets_ = std::move(buckets);
  bucket_axis_ = 0;
}

void PlanCache::setLengthBuckets(std::vector<std::int64_t> buckets) {
  setBatchBuckets(std::move(buckets));
  bucket_axis_ = 1;
}

std::vector<bool> PlanCache::batchInputs(const Signature& signature) const {
  std::vector<bool> is_batch;
  std::size_t next_tensor = 0;
  for (const PlanSpec::Input& input : spec_.inputs)
    is_batch.push_back(!input.is_int && signature.isPadded(next_tensor++));
  return is_batch;
}

// A held entry that serves the call, and the signature it was found by; null: the signature is as it was, and unknown.
PlanCache::Entry* PlanCache::holdBucket(Signature& signature) {
  const std::int64_t samples = signature.samples();
  const auto bucket = std::lower_bound(buckets_.begin(), buckets_.end(), samples);
  if (samples < 1 || bucket == buckets_.end() || !signature.pad(*bucket)) return nullptr;
  if (Entry* entry = hold(signature)) {
    if (entry->serves(samples)) return entry;
    release(entry);
  }
  signature.unpad();
  if (Entry* exact = hold(signature)) return exact;  // what could not be proven
  return proveBucket(signature, *bucket);
}

PlanCache::Entry* PlanCache::proveBucket(Signature& signature, std::int64_t bucket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t samples = signature.samples();
  const PlanRequest exact = makeRequest(signature);
  signature.pad(bucket);
  if (samples == bucket) return compileLocked(signature);
  const bool lengths = bucket_axis_ == 1;
  const auto proof = lengths ? provePositionIndependence : proveBatchIndependence;
  BatchIndependence rows = proof(spec_, exact, batchInputs(signature), samples, bucket);
  Entry* entry = nullptr;
  try {
    if (rows.why_not.empty()) entry = compileLocked(signature);
  } catch (const Error&) {
    rows.why_not = "the sizes of the bucket are refused";
  }
  if (entry != nullptr && !entry->output_rows.empty() && entry->output_rows != rows.outputs) {
    rows.why_not = "other sizes have other rows in the results";
    release(entry);
  }
  if (!rows.why_not.empty()) {
    signature.unpad();
    warnOnce(std::string("A part of this model runs each ") + (lengths ? "length" : "batch size") +
             " on a plan of its own, not on that of a bucket: " + rows.why_not + ".");
    return nullptr;
  }
  if (entry->output_rows.empty()) entry->output_rows = rows.outputs;  // nobody reads them yet
  entry->proven[static_cast<std::size_t>(samples)].store(true, std::memory_order_release);
  return entry;
}

}  // namespace ipex_studio
