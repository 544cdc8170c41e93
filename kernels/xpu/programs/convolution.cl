// Convolutions of images whose channels lie side by side. The structure is that of kernels/xpu/convolution_xpu.cpp;
// weights lie as [group][y][x][input channel][output channels up to whole vectors].

typedef struct {
  int pixels, height, width;  // of the result; pixels: of all images
  int x_height, x_width, x_image, x_row, x_pixel, x_type;
  int kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  int groups, inputs, outputs, padded;  // channels of a group; padded: outputs up to whole vectors
  Bytes x_bytes, w_bytes;
} Convolution;

#ifdef GPU

// Four of the depth, from k on, of the implicit row of the pixel at (top, left), one by one; zeros outside.
float4 gatherFour(__global const Element* image, int top, int left, int k, const Convolution* job) {
  float four[4];
  for (int i = 0; i < 4; ++i, ++k) {
    const int place = k / job->inputs, ky = place / job->kernel_x, kx = place - ky * job->kernel_x;
    const int y = top + ky * job->dilation_y, x = left + kx * job->dilation_x;
    const bool inside = ky < job->kernel_y && y >= 0 && y < job->x_height && x >= 0 && x < job->x_width;
    four[i] = inside ? NUMBER_AT(image, y * job->x_row + x * job->x_pixel + k - place * job->inputs, job->x_bytes)
                     : 0.0f;
  }
  return vload4(0, four);
}

float4 fourOfPixel(__global const Element* image, int y, int x, int channel, const Convolution* job) {
  const bool inside = y >= 0 && y < job->x_height && x >= 0 && x < job->x_width;
  return inside ? FOUR_AT(image, y * job->x_row + x * job->x_pixel + channel, job->x_bytes) : (float4)(0.0f);
}

// Rows are pixels, columns output channels of a group, the depth is places of the kernel times input channels.
#define CONVOLUTION_TILES(NAME, ITEMS, ROWS, SLICES)                                                                  \
  __attribute__((reqd_work_group_size(ITEMS, ITEMS, SLICES)))                                                         \
  __kernel void NAME(__global const Element* x, __global const Element* weights, __global const Element* zeros,       \
                     const Convolution job, CHAIN_ARGUMENTS) {                                                        \
    __local float4 memory[TILE_MEMORY(ITEMS, ROWS, SLICES)] __attribute__((aligned(64)));                             \
    TILE_PLACES(ITEMS, ROWS)                                                                                          \
    const int group = (int)get_group_id(2), depth = job.kernel_y * job.kernel_x * job.inputs;                         \
    const int channels = job.groups * job.outputs;                                                                    \
    const bool whole = job.inputs % 4 == 0;                                                                           \
    __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;                                                       \
    __global const Element* image[kParts];                                                                            \
    int top[kParts], left[kParts];                                                                                    \
    for (int i = 0; i < kParts; ++i) {                                                                                \
      const int pixel = first_row + item / 4 + i * kA, row = pixel / job.width, n = row / job.height;                 \
      const bool there = pixel < job.pixels;                                                                          \
      left[i] = (pixel - row * job.width) * job.stride_x - job.padding_x;                                             \
      top[i] = there ? (row - n * job.height) * job.stride_y - job.padding_y : -(1 << 30);                            \
      image[i] = x + (there ? n * job.x_image : 0) + group * job.inputs;                                              \
    }                                                                                                                 \
    weights += group * depth * job.padded + first_column;                                                             \
    TILE_BODY(ITEMS, ROWS, SLICES)                                                                                    \
  }
#define READ_STEP(k)                                                                       \
  const int place = (k) / job.inputs, channel_in = (k)-place * job.inputs;                 \
  const int down = place / job.kernel_x * job.dilation_y, right = place % job.kernel_x * job.dilation_x;
#define READ_A(i, row, k)                                                                                          \
  (k) >= depth ? (float4)(0.0f)                                                                                    \
  : whole      ? fourOfPixel(image[i], top[i] + down, left[i] + right, channel_in, &job)                           \
               : gatherFour(image[i], top[i], left[i], k, &job)
#define READ_B(k, column)                                                                                   \
  (k) < depth && first_column + (column) < job.padded                                                       \
      ? FOUR_AT(weights, (k) * job.padded + (column), job.w_bytes)                                          \
      : (float4)(0.0f)
#define FINISH(row, column, value)                                                                             \
  const int pixel = first_row + (row), channel = first_column + (column);                                      \
  if (pixel < job.pixels && channel < job.outputs)                                                             \
    finishLanes(&chain, dst, tensors, pixel * channels + group * job.outputs + channel,                        \
                min(16, job.outputs - channel), value);

CONVOLUTION_TILES(convolution_128, 16, 8, 1)
CONVOLUTION_TILES(convolution_64, 16, 4, 1)
CONVOLUTION_TILES(convolution_32, 8, 4, 4)

#else

#define ROWS 6

// A product of implicit rows: a work item sums ROWS pixels of 16 channels. `zeros` is a row of the source outside of the
// image.
__attribute__((reqd_work_group_size(4, 4, 1)))
__kernel void convolution(__global const Element* x, __global const Element* weights, __global const Element* zeros,
                          const Convolution job, CHAIN_ARGUMENTS) {
  const int tiles = job.padded / 16, group = (int)get_global_id(0) / tiles;
  const int channel = 16 * ((int)get_global_id(0) - group * tiles), first = ROWS * (int)get_global_id(1);
  if (group >= job.groups || first >= job.pixels) return;
  __global const Element* image[ROWS];
  int top[ROWS], left[ROWS];
  float16 sum[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int pixel = min(first + r, job.pixels - 1), row = pixel / job.width, n = row / job.height;
    left[r] = (pixel - row * job.width) * job.stride_x - job.padding_x;
    top[r] = (row - n * job.height) * job.stride_y - job.padding_y;
    image[r] = x + n * job.x_image + group * job.inputs;
    sum[r] = 0.0f;
  }
#if ELEMENT != TYPE_F32
  float wide[ROWS][16];
#endif
#ifdef EXACT_TERMS
  int terms = 0;
  int16 exact[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) exact[r] = 0;
#endif
  weights += group * job.kernel_y * job.kernel_x * job.inputs * job.padded + channel;
  for (int ky = 0; ky < job.kernel_y; ++ky) {
    for (int kx = 0; kx < job.kernel_x; ++kx) {
      __global const Element* from[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const int at_y = top[r] + ky * job.dilation_y, at_x = left[r] + kx * job.dilation_x;
        const bool inside = at_y >= 0 && at_y < job.x_height && at_x >= 0 && at_x < job.x_width;
        from[r] = inside ? image[r] + at_y * job.x_row + at_x * job.x_pixel : zeros;
      }
#if ELEMENT == TYPE_F32
      for (int c = 0; c < job.inputs; ++c) {
        const float16 w = vload16(0, weights);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r] += from[r][c] * w;
        weights += job.padded;
      }
#else
      // Pixels are widened 16 channels at a time.
      for (int first_c = 0; first_c < job.inputs; first_c += 16) {
        const int count = min(16, job.inputs - first_c);
        for (int r = 0; r < ROWS; ++r) {
          if (count == 16) {
            vstore16(NUMBERS_AT(from[r], first_c, job.x_bytes), 0, wide[r]);
          } else {
            for (int i = 0; i < count; ++i) wide[r][i] = NUMBER_AT(from[r], first_c + i, job.x_bytes);
          }
        }
        for (int i = 0; i < count; ++i) {
          const float16 w = NUMBERS_AT(weights, 0, job.w_bytes);
#pragma unroll
          for (int r = 0; r < ROWS; ++r) sum[r] += wide[r][i] * w;
          weights += job.padded;
        }
#ifdef EXACT_TERMS
        terms += count;
        if (terms + 16 > EXACT_TERMS) {
          terms = 0;
#pragma unroll
          for (int r = 0; r < ROWS; ++r) {
            exact[r] += convert_int16(sum[r]);
            sum[r] = 0.0f;
          }
        }
#endif
      }
#endif
    }
  }
#ifdef EXACT_TERMS
#pragma unroll
  for (int r = 0; r < ROWS; ++r) sum[r] = convert_float16(exact[r] + convert_int16(sum[r]));
#endif
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int lanes = min(16, job.outputs - channel), channels = job.groups * job.outputs;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (first + r >= job.pixels) break;
    const int position = (first + r) * channels + group * job.outputs + channel;
    finishLanes(&chain, dst, tensors, position, lanes, sum[r]);
  }
}

#endif

// One channel a group: a work item sums one pixel of 16 channels.
__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void depthwise(__global const Element* x, __global const Element* weights, __global const Element* zeros,
                        const Convolution job, CHAIN_ARGUMENTS) {
  const int channel = 16 * (int)get_global_id(0), pixel = (int)get_global_id(1);
  if (channel >= job.groups || pixel >= job.pixels) return;
  const int lanes = min(16, job.groups - channel);
  const int row = pixel / job.width, n = row / job.height;
  const int left = (pixel - row * job.width) * job.stride_x - job.padding_x;
  const int top = (row - n * job.height) * job.stride_y - job.padding_y;
  x += n * job.x_image + channel;
  weights += channel;
  float16 sum = 0.0f;
  for (int ky = 0; ky < job.kernel_y; ++ky) {
    const int at_y = top + ky * job.dilation_y;
    for (int kx = 0; kx < job.kernel_x; ++kx, weights += job.padded) {
      const int at_x = left + kx * job.dilation_x;
      if (at_y < 0 || at_y >= job.x_height || at_x < 0 || at_x >= job.x_width) continue;
      __global const Element* from = x + at_y * job.x_row + at_x * job.x_pixel;
      float16 value;
      if (lanes == 16) {
        value = NUMBERS_AT(from, 0, job.x_bytes);
      } else {
        float lane[16];
        for (int i = 0; i < 16; ++i) lane[i] = i < lanes ? NUMBER_AT(from, i, job.x_bytes) : 0.0f;
        value = vload16(0, lane);
      }
      sum += value * NUMBERS_AT(weights, 0, job.w_bytes);
    }
  }
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  finishLanes(&chain, dst, tensors, pixel * job.groups + channel, lanes, sum);
}
