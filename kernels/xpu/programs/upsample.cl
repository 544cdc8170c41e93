// Resized images whose channels lie side by side: a work item takes one pixel of 16 channels. The structure is that of
// kernels/xpu/upsample_xpu.cpp.

typedef struct {
  int pixels, height, width, channels;  // of the result; pixels: of all images
  int x_height, x_width, x_image, x_row, x_pixel, x_type;
  int is_nearest, aligns_corners;
  float scale_y, scale_x;  // source pixels per result pixel, for the nearest
  // Parts of source pixels are counted in divisors, whose reciprocals the host rounds.
  int divisor_y, divisor_x;
  float reciprocal_y, reciprocal_x;
} Upsample;

// The two source pixels along one axis, and the part of the second.
typedef struct {
  int first, second;
  float part;
} Taps;

// The quotient of integers below 2^24, rounded once as IEEE division does, which OpenCL's own need not: the rounded
// reciprocal gives it up to one unit in the last place, and what is left of the dividend decides (Markstein, IA-64 and
// Elementary Functions, 2000).
float quotient(int dividend, int divisor, float reciprocal) {
  const float near = (float)dividend * reciprocal;
  return fma(fma(-(float)divisor, near, (float)dividend), reciprocal, near);
}

// Where the pixel lies in the source is a quotient of integers, which single precision would round.
Taps tapsOf(const Upsample* job, bool is_y, int at) {
  const int in = is_y ? job->x_height : job->x_width, out = is_y ? job->height : job->width;
  Taps taps = {0, 0, 0.0f};
  if (job->is_nearest) {
    taps.first = taps.second = min((int)floor((float)at * (is_y ? job->scale_y : job->scale_x)), in - 1);
    return taps;
  }
  const int divisor = is_y ? job->divisor_y : job->divisor_x;
  const long place = job->aligns_corners ? (long)at * (in - 1) : (2 * (long)at + 1) * in - out;
  if (place > 0) {
    taps.first = min((int)(place / divisor), in - 1);
    taps.part = quotient((int)(place % divisor), divisor, is_y ? job->reciprocal_y : job->reciprocal_x);
  }
  taps.second = min(taps.first + 1, in - 1);
  return taps;
}

__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void resize(__global const void* x, const Upsample job, CHAIN_ARGUMENTS) {
  const int channel = 16 * (int)get_global_id(0), pixel = (int)get_global_id(1);
  if (channel >= job.channels || pixel >= job.pixels) return;
  const int lanes = min(16, job.channels - channel);
  const int row = pixel / job.width, n = row / job.height;
  const Taps tx = tapsOf(&job, false, pixel - row * job.width), ty = tapsOf(&job, true, row - n * job.height);
  const int image = n * job.x_image + channel;
  float16 sum = 0.0f;
  for (int tap = 0; tap < 4; ++tap) {
    const bool below = tap >= 2, right = tap % 2 == 1;
    const float weight = (below ? ty.part : 1.0f - ty.part) * (right ? tx.part : 1.0f - tx.part);
    if (weight == 0.0f) continue;
    const int at =
        image + (below ? ty.second : ty.first) * job.x_row + (right ? tx.second : tx.first) * job.x_pixel;
    sum += weight * lanesOf(job.x_type, x, at, lanes);
  }
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  finishLanes(&chain, dst, tensors, pixel * job.channels + channel, lanes, sum);
}
