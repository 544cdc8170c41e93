// Attention: a work item takes 16 queries, or a team (tiles.cl) takes one, and sums the values by weights that are kept
// relative to the largest score so far (online softmax, Milakov and Gimelshein 2018). The structure is that of
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

#define KEYS 4  // that are taken at once

// The numbers of a query of each lane: those of `queries` rows from `at` on, the last again where there are fewer.
float16 numbersOfRows(int type, __global const void* data, int at, int step, int queries) {
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = elementOf(type, data, at + min(i, queries - 1) * step);
  return vload16(0, lane);
}

// Each lane is a query.
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void attention(__global const void* q, __global const void* k, __global const void* v,
                        __global const void* mask, __global void* y, const Attention job) {
  const int query = 16 * (int)get_global_id(0);
  if (query >= job.queries) return;
  const int queries = min(16, job.queries - query);
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
  float16 asked[16 * MAX_PARTS], sum[16 * MAX_PARTS];
  for (int i = 0; i < job.depth; ++i) asked[i] = numbersOfRows(job.q_type, q, q_at + i, job.q_row, queries);
  for (int i = 0; i < job.width; ++i) sum[i] = 0.0f;
  const float16 none = -INFINITY;
  const int16 numbers = query + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  float16 highest = none, weights = 0.0f;
  const int keys = job.causal ? min(job.keys, query + queries) : job.keys;
  for (int first = 0; first < keys; first += KEYS) {
    float key[KEYS][16 * MAX_PARTS];
    for (int j = 0; j < KEYS; ++j) {
      const int row = k_at + min(first + j, keys - 1) * job.k_row;
      for (int part = 0; 16 * part < job.depth; ++part)
        vstore16(lanesOf(job.k_type, k, row + 16 * part, min(16, job.depth - 16 * part)), part, key[j]);
    }
    float16 score[KEYS];
#pragma unroll
    for (int j = 0; j < KEYS; ++j) score[j] = 0.0f;
    for (int i = 0; i < job.depth; ++i) {
#pragma unroll
      for (int j = 0; j < KEYS; ++j) score[j] += asked[i] * key[j][i];
    }
    float16 top = highest;
#pragma unroll
    for (int j = 0; j < KEYS; ++j) {
      const int t = first + j;
      score[j] *= job.scale;
      if (job.has_mask && t < keys) {
        const int at = mask_at + t * job.mask_column;
        score[j] += job.mask_row == 0 ? (float16)(elementOf(job.mask_type, mask, at))
                                      : numbersOfRows(job.mask_type, mask, at, job.mask_row, queries);
      }
      const int16 left_out = t >= keys ? (int16)(-1) : job.causal ? (int16)(t) > numbers : (int16)(0);
      score[j] = select(score[j], none, left_out);
      top = select(fmax(top, score[j]), score[j], isnan(score[j]));
    }
    // Where nothing was seen yet, there is nothing to shrink, and all differences would be none.
    const float16 level = select(top, (float16)(0.0f), top == none);
    if (any(top != highest)) {
      const float16 shrink = exp(highest - level);
      weights *= shrink;
      for (int i = 0; i < job.width; ++i) sum[i] *= shrink;
      highest = top;
    }
#pragma unroll
    for (int j = 0; j < KEYS; ++j) {
      score[j] = exp(score[j] - level);
      weights += score[j];
    }
    for (int j = 0; j < KEYS; ++j) {
      const int row = v_at + min(first + j, keys - 1) * job.v_row;
      for (int part = 0; 16 * part < job.width; ++part)
        vstore16(lanesOf(job.v_type, v, row + 16 * part, min(16, job.width - 16 * part)), part, key[j]);
    }
    for (int i = 0; i < job.width; ++i) {
      float16 total = sum[i];
#pragma unroll
      for (int j = 0; j < KEYS; ++j) total += score[j] * key[j][i];
      sum[i] = total;
    }
  }
  for (int i = 0; i < job.width; ++i) {
    float lane[16];
    vstore16(sum[i] / weights, 0, lane);
    for (int row = 0; row < queries; ++row) storeElement(job.y_type, y, y_at + row * job.y_row + i, lane[row]);
  }
}

#endif
