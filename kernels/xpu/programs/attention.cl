// Attention: a work item, or a team (tiles.cl), takes one query, and sums the values by weights that are kept relative
// to the largest score so far (online softmax, Milakov and Gimelshein 2018). The structure is that of
// kernels/xpu/attention_xpu.cpp.

#define MAX_PARTS 8  // vectors of 16 in a query or a value
#define MAX_BATCH_LOOPS 4

typedef struct {
  int queries, keys, depth, width, causal, has_mask, batch_loops;
  int q_type, k_type, v_type, y_type, mask_type;
  float scale;
  int q_row, k_row, v_row, y_row, mask_row, mask_column;
  int batch_size[MAX_BATCH_LOOPS], q_batch[MAX_BATCH_LOOPS], k_batch[MAX_BATCH_LOOPS], v_batch[MAX_BATCH_LOOPS],
      y_batch[MAX_BATCH_LOOPS], mask_batch[MAX_BATCH_LOOPS];
} Attention;

#ifdef GPU

#define MAX_NUMBERS (16 * MAX_PARTS)

// Each item takes every TEAM-th key, then every TEAM-th number of the values.
__attribute__((reqd_work_group_size(TEAM, 1, 1)))
__kernel void attention(__global const void* q, __global const void* k, __global const void* v,
                        __global const void* mask, __global void* y, const Attention job) {
  __local float asked[MAX_NUMBERS], weight[TEAM], shared[TEAM];
  const int query = TEAM_INDEX, item = TEAM_ITEM;
  if (query >= job.queries) return;
  int batch = (int)get_global_id(1), q_at = query * job.q_row, k_at = 0, v_at = 0, y_at = query * job.y_row;
  int mask_at = query * job.mask_row;
  for (int loop = job.batch_loops - 1; loop >= 0; --loop) {
    const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];
    q_at += at * job.q_batch[loop];
    k_at += at * job.k_batch[loop];
    v_at += at * job.v_batch[loop];
    y_at += at * job.y_batch[loop];
    mask_at += at * job.mask_batch[loop];
    batch = outer;
  }
  for (int i = item; i < job.depth; i += TEAM) asked[i] = elementOf(job.q_type, q, q_at + i);
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum[MAX_NUMBERS / TEAM] = {0.0f, 0.0f};
  float highest = -INFINITY, weights = 0.0f;
  const int keys = job.causal ? min(job.keys, query + 1) : job.keys;
  for (int first = 0; first < keys; first += TEAM) {
    const int t = first + item;
    float score = -INFINITY;
    if (t < keys) {
      float product = 0.0f;
      for (int i = 0; i < job.depth; ++i) product += asked[i] * elementOf(job.k_type, k, k_at + t * job.k_row + i);
      score = product * job.scale +
              (job.has_mask ? elementOf(job.mask_type, mask, mask_at + t * job.mask_column) : 0.0f);
    }
    const float top = fmax(highest, teamLargest(score, shared));
    const float own = score == -INFINITY ? 0.0f : exp(score - top);
    const float shrink = highest == -INFINITY ? 0.0f : exp(highest - top);
    weight[item] = own;
    weights = weights * shrink + teamSum(own, shared);  // its barriers show all weights to all items
    const int count = min(TEAM, keys - first);
    for (int part = 0; part < MAX_NUMBERS / TEAM; ++part) {
      const int column = item + part * TEAM;
      if (column >= job.width) continue;
      const int value = v_at + first * job.v_row + column;
      sum[part] *= shrink;
      for (int i = 0; i < count; ++i) sum[part] += weight[i] * elementOf(job.v_type, v, value + i * job.v_row);
    }
    highest = top;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int part = 0; part < MAX_NUMBERS / TEAM; ++part) {
    const int column = item + part * TEAM;
    if (column < job.width) storeElement(job.y_type, y, y_at + column, sum[part] / weights);
  }
}

#else

float16 partAt(int type, __global const void* data, int row, int part, int size) {
  return lanesOf(type, data, row + 16 * part, min(16, size - 16 * part));
}

float sumOf(float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  return b.x + b.y + b.z + b.w;
}

__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void attention(__global const void* q, __global const void* k, __global const void* v,
                        __global const void* mask, __global void* y, const Attention job) {
  const int query = (int)get_global_id(0);
  if (query >= job.queries) return;
  int batch = (int)get_global_id(1), q_at = query * job.q_row, k_at = 0, v_at = 0, y_at = query * job.y_row;
  int mask_at = query * job.mask_row;
  for (int loop = job.batch_loops - 1; loop >= 0; --loop) {
    const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];
    q_at += at * job.q_batch[loop];
    k_at += at * job.k_batch[loop];
    v_at += at * job.v_batch[loop];
    y_at += at * job.y_batch[loop];
    mask_at += at * job.mask_batch[loop];
    batch = outer;
  }
  const int depth_parts = (job.depth + 15) / 16, width_parts = (job.width + 15) / 16;
  float16 asked[MAX_PARTS], sum[MAX_PARTS];
  for (int part = 0; part < depth_parts; ++part) asked[part] = partAt(job.q_type, q, q_at, part, job.depth);
  for (int part = 0; part < width_parts; ++part) sum[part] = 0.0f;
  float highest = -INFINITY, weights = 0.0f;
  const int keys = job.causal ? min(job.keys, query + 1) : job.keys;
  for (int t = 0; t < keys; ++t) {
    float16 product = 0.0f;
    for (int part = 0; part < depth_parts; ++part)
      product += asked[part] * partAt(job.k_type, k, k_at + t * job.k_row, part, job.depth);
    float score = sumOf(product) * job.scale;
    if (job.has_mask) score += elementOf(job.mask_type, mask, mask_at + t * job.mask_column);
    if (score == -INFINITY) continue;  // weighs nothing
    if (score > highest) {
      const float shrink = exp(highest - score);
      highest = score;
      weights *= shrink;
      for (int part = 0; part < width_parts; ++part) sum[part] *= shrink;
    }
    const float weight = exp(score - highest);
    weights += weight;
    for (int part = 0; part < width_parts; ++part)
      sum[part] += weight * partAt(job.v_type, v, v_at + t * job.v_row, part, job.width);
  }
  for (int part = 0; part < width_parts; ++part) {
    const float16 result = sum[part] / weights;
    if (16 * part + 16 <= job.width) {
      storeElements(job.y_type, y, y_at + 16 * part, result);
      continue;
    }
    float lane[16];
    vstore16(result, 0, lane);
    for (int i = 0; 16 * part + i < job.width; ++i) storeElement(job.y_type, y, y_at + 16 * part + i, lane[i]);
  }
}

#endif
