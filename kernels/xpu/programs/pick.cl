// Rows picked by index: a work item copies 16 elements of one. The structure is that of kernels/xpu/pick_xpu.cpp. An
// index out of range sets the mark, and its row becomes NaN.

typedef struct {
  int picked, rows, run, outer_stride;  // run: elements of a row
  int items, wraps, has_long, unused;   // has_long: indices have 64 bits; wraps: negative ones count from the end
} Pick;

long indexAt(__global const int* indices, int has_long, int at) {
  return has_long ? ((__global const long*)indices)[at] : indices[at];
}

__attribute__((reqd_work_group_size(8, 8, 1)))
__kernel void pick(__global const float* table, __global const int* indices, __global float* dst, __global int* mark,
                   const Pick job) {
  const int first = 16 * (int)get_global_id(0), item = (int)get_global_id(1);
  if (first >= job.run || item >= job.items) return;
  const int outer = item / job.picked, lanes = min(16, job.run - first);
  long row = indexAt(indices, job.has_long, item - outer * job.picked);
  if (row < 0 && job.wraps) row += job.rows;
  const bool inside = row >= 0 && row < job.rows;
  if (!inside) *mark = 1;
  table += outer * job.outer_stride + (inside ? (int)row : 0) * job.run + first;
  dst += item * job.run + first;
  for (int i = 0; i < lanes; ++i) dst[i] = inside ? table[i] : NAN;
}

// Sums, or means, of the rows of each bag: a work item takes 16 columns of one.
__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void bags(__global const float* table, __global const int* indices, __global const int* offsets,
                   __global float* dst, __global int* mark, const Pick job, int offset_count, int offset_has_long,
                   int is_mean) {
  const int first = 16 * (int)get_global_id(0), bag = (int)get_global_id(1);
  if (first >= job.run || bag >= job.items) return;
  const int lanes = min(16, job.run - first);
  const long count = job.picked, from = clamp(indexAt(offsets, offset_has_long, bag), 0L, count);
  const long to = bag + 1 < offset_count ? clamp(indexAt(offsets, offset_has_long, bag + 1), from, count) : count;
  float16 sum = 0.0f;
  for (long i = from; i < to; ++i) {
    const long row = indexAt(indices, job.has_long, (int)i);
    if (row < 0 || row >= job.rows) {
      *mark = 1;
      sum = NAN;
      continue;
    }
    __global const float* values = table + (int)row * job.run + first;
    sum += lanes == 16 ? vload16(0, values) : partOf(values, lanes);
  }
  if (is_mean && to > from) sum /= (float)(to - from);
  float lane[16];
  vstore16(sum, 0, lane);
  dst += bag * job.run + first;
  for (int i = 0; i < lanes; ++i) dst[i] = lane[i];
}
