// x · gate(expand · activation(reduce · mean(x) + bias) + bias) of images whose channels lie side by side, in four
// launches: means, hidden values, factors, products. A team (tiles.cl) computes each but a product. The structure is
// that of kernels/xpu/squeeze_excite_xpu.cpp.

// Pixels of a work item that multiplies: they share what is read of the factors.
#ifdef GPU
#define STRIP 1
#else
#define STRIP 8
#endif

typedef struct {
  int phase, images, channels, hidden, pixels, width;
  int x_image, x_row, x_pixel;
  int has_reduce_bias, has_expand_bias, x_type;
  Op activation, gate;
} SqueezeExcite;

__attribute__((reqd_work_group_size(TEAM_GROUP, 1, 1)))
__kernel void squeezeExcite(__global const void* x, __global const float* reduce, __global const float* reduce_bias,
                            __global const float* expand, __global const float* expand_bias, __global float* means,
                            __global float* hidden, __global float* factors, const SqueezeExcite job,
                            CHAIN_ARGUMENTS) {
  __local float shared[TEAM];
  __local float16 shared_lanes[TEAM];
  const int item = job.phase == 3 ? (int)get_global_id(0) : TEAM_INDEX, tiles = (job.channels + 15) / 16;
  if (job.phase == 1 || job.phase == 2) {
    const int outputs = job.phase == 1 ? job.hidden : job.channels, inputs = job.phase == 1 ? job.channels : job.hidden;
    const int image = item / outputs, row = item - image * outputs;
    if (image >= job.images) return;
    __global const float* from = (job.phase == 1 ? means : hidden) + image * inputs;
    __global const float* weights = (job.phase == 1 ? reduce : expand) + row * inputs;
    float sum = teamSum(dotOf(weights, from, inputs, 16 * TEAM_ITEM, 16 * TEAM), shared);
    if (TEAM_ITEM > 0) return;
    if (job.phase == 1 && job.has_reduce_bias) sum += reduce_bias[row];
    if (job.phase == 2 && job.has_expand_bias) sum += expand_bias[row];
    const float16 value = applyLanes(job.phase == 1 ? job.activation : job.gate, (float16)(sum), (float16)(0.0f));
    (job.phase == 1 ? hidden : factors)[item] = value.s0;
    return;
  }
  const int place = item / tiles, channel = 16 * (item - place * tiles), lanes = min(16, job.channels - channel);
  if (job.phase == 0) {
    if (place >= job.images) return;
    float16 sum = 0.0f;
    const bool has_gaps = job.x_row != job.width * job.x_pixel;
    const int image = place * job.x_image + channel;
    if (job.x_type == TYPE_F32 && lanes == 16 && !has_gaps) {
      __global const float* from = (__global const float*)x + image;
      for (int p = TEAM_ITEM; p < job.pixels; p += TEAM) sum += vload16(0, from + p * job.x_pixel);
    } else {
      for (int p = TEAM_ITEM; p < job.pixels; p += TEAM) {
        const int row = has_gaps ? p / job.width : 0;
        sum += lanesOf(job.x_type, x, image + row * job.x_row + (p - row * job.width) * job.x_pixel, lanes);
      }
    }
    sum = teamSums(sum, shared_lanes);
    if (TEAM_ITEM > 0) return;
    float lane[16];
    vstore16(sum / (float)job.pixels, 0, lane);
    for (int i = 0; i < lanes; ++i) means[place * job.channels + channel + i] = lane[i];
    return;
  }
  const int strips = (job.pixels + STRIP - 1) / STRIP, image = place / strips;
  if (image >= job.images) return;
  const int first = STRIP * (place - image * strips), count = min(STRIP, job.pixels - first);
  const float16 factor = partOf(factors + image * job.channels + channel, lanes);
  float16 values[STRIP];
  int row = first / job.width, column = first - row * job.width;
  for (int p = 0; p < count; ++p) {
    const int at = image * job.x_image + row * job.x_row + column * job.x_pixel + channel;
    values[p] = lanesOf(job.x_type, x, at, lanes) * factor;
    if (++column < job.width) continue;
    column = 0;
    ++row;
  }
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int position = (image * job.pixels + first) * job.channels + channel;
  finishRows(&chain, dst, tensors, position, job.channels, count, lanes, 1, values);
}
