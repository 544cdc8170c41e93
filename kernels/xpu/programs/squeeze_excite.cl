// x · gate(expand · activation(reduce · mean(x) + bias) + bias) of images whose channels lie side by side, in four
// launches: means, hidden values, factors, products. A team (tiles.cl) computes each but a product. The structure is
// that of kernels/xpu/squeeze_excite_xpu.cpp.

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
    for (int p = TEAM_ITEM; p < job.pixels; p += TEAM) {
      const int row = has_gaps ? p / job.width : 0;
      const int at = place * job.x_image + row * job.x_row + (p - row * job.width) * job.x_pixel + channel;
      sum += lanesOf(job.x_type, x, at, lanes);
    }
    sum = teamSums(sum, shared_lanes);
    if (TEAM_ITEM > 0) return;
    float lane[16];
    vstore16(sum / (float)job.pixels, 0, lane);
    for (int i = 0; i < lanes; ++i) means[place * job.channels + channel + i] = lane[i];
    return;
  }
  const int image = place / job.pixels, pixel = place - image * job.pixels, row = pixel / job.width;
  if (image >= job.images) return;
  const int at = image * job.x_image + row * job.x_row + (pixel - row * job.width) * job.x_pixel + channel;
  const float16 value = lanesOf(job.x_type, x, at, lanes);
  const float16 factor = partOf(factors + image * job.channels + channel, lanes);
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  finishLanes(&chain, dst, tensors, place * job.channels + channel, lanes, value * factor);
}
