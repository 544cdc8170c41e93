// Pools of images whose channels lie side by side: a work item takes one pixel of 16 channels. The structure is that of
// kernels/xpu/pool_xpu.cpp.

typedef struct {
  int pixels, height, width, channels;  // of the result; pixels: of all images
  int x_height, x_width, x_image, x_row, x_pixel, x_type;
  int kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  int end_y, end_x;  // where padding ends
  int is_max, counts_padding, adaptive;
} Pool;

// The steps [first, last) of a window that lie in the source, and how many count in an average.
typedef struct {
  int begin, first, last, counted;
} Window;

Window windowOf(const Pool* job, bool is_y, int at) {
  const int in = is_y ? job->x_height : job->x_width, out = is_y ? job->height : job->width;
  Window window = {0, 0, 0, 0};
  if (job->adaptive) {
    window.begin = (int)((long)at * in / out);
    window.last = (int)(((long)(at + 1) * in + out - 1) / out) - window.begin;
    window.counted = window.last;
    return window;
  }
  const int kernel_size = is_y ? job->kernel_y : job->kernel_x, step = is_y ? job->dilation_y : job->dilation_x;
  const int end = is_y ? job->end_y : job->end_x;
  window.begin = is_y ? at * job->stride_y - job->padding_y : at * job->stride_x - job->padding_x;
  window.first = window.begin < 0 ? (step - 1 - window.begin) / step : 0;
  window.last = clamp((in - window.begin + step - 1) / step, 0, kernel_size);
  window.counted = job->counts_padding ? clamp((end - window.begin + step - 1) / step, 0, kernel_size)
                                       : window.last - window.first;
  return window;
}

__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void pool(__global const void* x, const Pool job, CHAIN_ARGUMENTS) {
  const int channel = 16 * (int)get_global_id(0), pixel = (int)get_global_id(1);
  if (channel >= job.channels || pixel >= job.pixels) return;
  const int lanes = min(16, job.channels - channel);
  const int row = pixel / job.width, n = row / job.height;
  const Window wx = windowOf(&job, false, pixel - row * job.width), wy = windowOf(&job, true, row - n * job.height);
  const int step_y = job.adaptive ? 1 : job.dilation_y, step_x = job.adaptive ? 1 : job.dilation_x;
  const int image = n * job.x_image + channel;
  const bool is_plain = job.x_type == TYPE_F32 && lanes == 16;
  float16 sum = 0.0f, highest = -INFINITY;
  for (int ky = wy.first; ky < wy.last; ++ky) {
    for (int kx = wx.first; kx < wx.last; ++kx) {
      const int at = image + (wy.begin + ky * step_y) * job.x_row + (wx.begin + kx * step_x) * job.x_pixel;
      const float16 value =
          is_plain ? vload16(0, (__global const float*)x + at) : lanesOf(job.x_type, x, at, lanes);
      if (job.is_max) {
        highest = select(highest, value, isgreater(value, highest) | isnan(value));
      } else {
        sum += value;
      }
    }
  }
  const float16 result = job.is_max ? highest : sum / (float)(wy.counted * wx.counted);
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  finishLanes(&chain, dst, tensors, pixel * job.channels + channel, lanes, result);
}
