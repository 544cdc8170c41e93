// Convolutions of sequences, images and volumes whose channels lie side by side. The structure is that of
// kernels/xpu/convolution_xpu.cpp; weights lie as [group][panel of output channels][place][input channel][channels of
// the panel], where a panel holds as many channels as a work item sums; where work groups share tiles, all of the group.

typedef struct {
  int pixels, height, width;  // of the result; pixels: of all images
  int x_height, x_width, x_image, x_row, x_pixel, x_type;
  int kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
  int depth, x_depth, x_plane, kernel_z, stride_z, padding_z, dilation_z;  // of volumes
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

// A product of implicit rows: a work item sums ROWS pixels of ITEM_COLUMNS channels. `zeros` is a row of a window outside
// of the image.
__attribute__((reqd_work_group_size(1, 8, 1)))
__kernel void convolution(__global const Element* x, __global const Element* weights, __global const Element* zeros,
                          const Convolution job, CHAIN_ARGUMENTS) {
  const int panels = job.padded / ITEM_COLUMNS, group = (int)get_global_id(0) / panels;
  const int channel = ITEM_COLUMNS * ((int)get_global_id(0) - group * panels), first = ROWS * (int)get_global_id(1);
  if (group >= job.groups || first >= job.pixels) return;
  __global const Element* image[ROWS];
  int front[ROWS], top[ROWS], left[ROWS];
  float16 sum[ROWS][ITEM_VECTORS];
  const int first_line = first / job.width, first_plane = first_line / job.height;
  int column = first - first_line * job.width, line = first_line - first_plane * job.height;
  int n = first_plane / job.depth, plane = first_plane - n * job.depth;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    left[r] = column * job.stride_x - job.padding_x;
    top[r] = line * job.stride_y - job.padding_y;
    front[r] = plane * job.stride_z - job.padding_z;
    image[r] = x + n * job.x_image + group * job.inputs;
    for (int v = 0; v < ITEM_VECTORS; ++v) sum[r][v] = 0.0f;
    // To the next pixel; behind the last one it stays there.
    if (first + r + 1 >= job.pixels || ++column < job.width) continue;
    column = 0;
    if (++line < job.height) continue;
    line = 0;
    if (++plane < job.depth) continue;
    plane = 0;
    ++n;
  }
#if ELEMENT != TYPE_F32
  float wide[ROWS][16];
#endif
#ifdef EXACT_TERMS
  int terms = 0;
  MAKE_TOTALS(exact)
#endif
  weights += (int)get_global_id(0) * job.kernel_z * job.kernel_y * job.kernel_x * job.inputs * ITEM_COLUMNS;
  // Where pixels lie side by side and no window leaves the image at its sides, a row of a window is one place.
  bool is_row = job.x_pixel == job.inputs && job.dilation_x == 1;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) is_row &= left[r] >= 0 && left[r] + job.kernel_x <= job.x_width;
  const int places_x = is_row ? 1 : job.kernel_x, inputs = is_row ? job.kernel_x * job.inputs : job.inputs;
  for (int kzy = 0; kzy < job.kernel_z * job.kernel_y; ++kzy) {
    const int kz = kzy / job.kernel_y, ky = kzy - kz * job.kernel_y;
    for (int kx = 0; kx < places_x; ++kx) {
      __global const Element* from[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const int at_y = top[r] + ky * job.dilation_y, at_x = left[r] + kx * job.dilation_x;
        const int at_z = front[r] + kz * job.dilation_z;
        const bool inside = at_z >= 0 && at_z < job.x_depth && at_y >= 0 && at_y < job.x_height && at_x >= 0 &&
                            at_x < job.x_width;
        from[r] = inside ? image[r] + at_z * job.x_plane + at_y * job.x_row + at_x * job.x_pixel : zeros;
      }
#if ELEMENT == TYPE_F32
      for (int c = 0; c < inputs; ++c) {
#pragma unroll
        for (int v = 0; v < ITEM_VECTORS; ++v) {
          const float16 w = vload16(v, weights);
#pragma unroll
          for (int r = 0; r < ROWS; ++r) sum[r][v] += from[r][c] * w;
        }
        weights += ITEM_COLUMNS;
      }
#else
      // Pixels are widened 16 channels at a time.
      for (int first_c = 0; first_c < inputs; first_c += 16) {
        const int count = min(16, inputs - first_c);
        for (int r = 0; r < ROWS; ++r) {
          if (count == 16) {
            vstore16(NUMBERS_AT(from[r], first_c, job.x_bytes), 0, wide[r]);
          } else {
            for (int i = 0; i < count; ++i) wide[r][i] = NUMBER_AT(from[r], first_c + i, job.x_bytes);
          }
        }
        for (int i = 0; i < count; ++i) {
#pragma unroll
          for (int v = 0; v < ITEM_VECTORS; ++v) {
            const float16 w = NUMBERS_AT(weights, 16 * v, job.w_bytes);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sum[r][v] += wide[r][i] * w;
          }
          weights += ITEM_COLUMNS;
        }
#ifdef EXACT_TERMS
        terms += count;
        if (terms + 16 > EXACT_TERMS) {
          terms = 0;
          MOVE_TO_TOTALS(exact, sum)
        }
#endif
      }
#endif
    }
  }
#ifdef EXACT_TERMS
  MOVE_TO_TOTALS(exact, sum)
  SUMS_OF_TOTALS(sum, exact)
#endif
  float16 done[ROWS * ITEM_VECTORS];
  KEEP_SUMS(done, sum)
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int channels = job.groups * job.outputs;
  finishRows(&chain, dst, tensors, first * channels + group * job.outputs + channel, channels,
             min(ROWS, job.pixels - first), job.outputs - channel, ITEM_VECTORS, done);
}

#endif

// The places [begin, end) of a window from `first` on that lie inside.
typedef struct {
  int begin, end;
} Places;

Places placesInside(int first, int count, int step, int inside) {
  Places places;
  places.begin = first < 0 ? (step - 1 - first) / step : 0;
  places.end = first < inside ? min(count, (inside - first + step - 1) / step) : 0;
  return places;
}

float16 channelsAt(__global const Element* from, int lanes, Bytes bytes) {
  if (lanes == 16) return NUMBERS_AT(from, 0, bytes);
#if ELEMENT == TYPE_F32
  return partOf(from, lanes);
#else
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = i < lanes ? NUMBER_AT(from, i, bytes) : 0.0f;
  return vload16(0, lane);
#endif
}

// One channel a group: a work item sums STRIP pixels of a row, of 16 channels, which share what is read of the weights.
#ifdef GPU
#define STRIP 1
#else
#define STRIP 7
#endif
#define FOR_STRIP _Pragma("unroll") for (int p = 0; p < STRIP; ++p)

__attribute__((reqd_work_group_size(4, 16, 1)))
__kernel void depthwise(__global const Element* x, __global const Element* weights, __global const Element* zeros,
                        const Convolution job, CHAIN_ARGUMENTS) {
  const int channel = 16 * (int)get_global_id(0), strips = (job.width + STRIP - 1) / STRIP;
  const int row = (int)get_global_id(1) / strips, first = STRIP * ((int)get_global_id(1) - row * strips);
  if (channel >= job.groups || row * job.width >= job.pixels) return;
  const int lanes = min(16, job.groups - channel), count = min(STRIP, job.width - first);
  const int plane = row / job.height, n = plane / job.depth;
  const int left = first * job.stride_x - job.padding_x;
  const int top = (row - plane * job.height) * job.stride_y - job.padding_y;
  const int front = (plane - n * job.depth) * job.stride_z - job.padding_z;
  const int step = job.dilation_x * job.x_pixel, pixel_step = job.stride_x * job.x_pixel, kernel_x = job.kernel_x;
  const bool whole = count == STRIP && left >= 0 &&
                     left + (STRIP - 1) * job.stride_x + (kernel_x - 1) * job.dilation_x < job.x_width;
  const Places places_z = placesInside(front, job.kernel_z, job.dilation_z, job.x_depth);
  const Places places_y = placesInside(top, job.kernel_y, job.dilation_y, job.x_height);
  float16 sum[STRIP];
  FOR_STRIP sum[p] = 0.0f;
  x += n * job.x_image + left * job.x_pixel + channel;
  weights += channel;
  for (int kz = places_z.begin; kz < places_z.end; ++kz) {
    for (int ky = places_y.begin; ky < places_y.end; ++ky) {
      __global const Element* from =
          x + (front + kz * job.dilation_z) * job.x_plane + (top + ky * job.dilation_y) * job.x_row;
      __global const Element* of_row = weights + (kz * job.kernel_y + ky) * kernel_x * job.padded;
      if (lanes == 16 && whole) {
        for (int kx = 0; kx < kernel_x; ++kx) {
          const float16 w = NUMBERS_AT(of_row, 0, job.w_bytes);
          FOR_STRIP sum[p] += NUMBERS_AT(from, p * pixel_step, job.x_bytes) * w;
          of_row += job.padded;
          from += step;
        }
        continue;
      }
      // Where a window leaves the image, it reads zeros; so do pixels behind the last one of a row.
      for (int kx = 0; kx < kernel_x; ++kx) {
        const float16 w = NUMBERS_AT(of_row, kx * job.padded, job.w_bytes);
        const int at = left + kx * job.dilation_x;
        if (lanes == 16) {
          FOR_STRIP {
            const bool inside = (uint)(at + p * job.stride_x) < (uint)job.x_width;
            __global const Element* pixel = inside ? from + p * pixel_step + kx * step : zeros;
            sum[p] += NUMBERS_AT(pixel, 0, job.x_bytes) * w;
          }
        } else {
          FOR_STRIP {
            const bool inside = (uint)(at + p * job.stride_x) < (uint)job.x_width;
            if (inside) sum[p] += channelsAt(from + p * pixel_step + kx * step, lanes, job.x_bytes) * w;
          }
        }
      }
    }
  }
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int position = (row * job.width + first) * job.groups + channel;
  finishRows(&chain, dst, tensors, position, job.groups, count, lanes, 1, sum);
}
