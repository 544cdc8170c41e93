// Sums, means and extremes over axes: a work item takes 16 places of the result, of which tensor 1 is the source without
// the reduced axes. The structure is that of kernels/xpu/reduce_xpu.cpp.

typedef struct {
  int size, loops, is_extreme, is_max;
  float factor;
  int loop_size[MAX_LOOPS], loop_stride[MAX_LOOPS];
} Reduce;

float16 gatherLanes(int type, __global const void* data, int begin, const int* offsets) {
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = elementOf(type, data, begin + offsets[i]);
  return vload16(0, lane);
}

__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void reduce(const Reduce job, CHAIN_ARGUMENTS) {
  const int position = 16 * (int)get_global_id(0);
  if (position >= chain.elements) return;
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int lanes = min(16, chain.elements - position);
  int offsets[16];
  const Point point = pointOf(&chain, position);
  const bool side_by_side = lanes == 16 && holdsLanes(&chain, &point, 16) && chain.stride[1][chain.loops - 1] == 1;
  Point at = point;
  offsets[0] = offsetAt(&chain, 1, &point);
  for (int i = 1; i < 16; ++i) {
    offsets[i] = offsets[i - 1];
    if (i < lanes) nextPoint(&chain, 1, &at, &offsets[i]);
  }
  float16 sum = 0.0f, extreme = job.is_max ? -INFINITY : INFINITY;
  for (int i = 0; i < job.size; ++i) {
    int offset = 0, rest = i;
    for (int loop = job.loops - 1; loop >= 0; --loop) {
      const int outer = rest / job.loop_size[loop];
      offset += (rest - outer * job.loop_size[loop]) * job.loop_stride[loop];
      rest = outer;
    }
    const float16 value = side_by_side ? elementsOf(chain.type[1], t1, offsets[0] + offset)
                                       : gatherLanes(chain.type[1], t1, offset, offsets);
    sum += value;
    if (!job.is_extreme) continue;
    const int16 better = job.is_max ? isgreater(value, extreme) : isless(value, extreme);
    extreme = select(extreme, value, better | isnan(value));
  }
  finishAt(&chain, dst, tensors, &point, lanes, job.is_extreme ? extreme : sum * job.factor);
}
