// Softmax, layer and group normalization: one team (tiles.cl) or work item a row, whose elements lie `step` apart; and
// rotary embedding, a work item a pair of a row's values. The structures are those of kernels/xpu/rows_job.h and
// kernels/xpu/group_norm_xpu.cpp.

#define MAX_ROW_LOOPS 6
#define MAX_ROW_TENSORS 4

typedef struct {
  int rows, size, loops, step[MAX_ROW_TENSORS];  // step and stride: of y, x and the others
  int row_size[MAX_ROW_LOOPS], stride[MAX_ROW_TENSORS][MAX_ROW_LOOPS];
} Rows;

int rowOffset(const Rows* job, int row, int tensor) {
  int offset = 0;
  for (int loop = job->loops - 1; loop >= 0; --loop) {
    const int outer = row / job->row_size[loop];
    offset += (row - outer * job->row_size[loop]) * job->stride[tensor][loop];
    row = outer;
  }
  return offset;
}

float scoreAt(__global const float* x, __global const float* mask, const Rows* job, float scale, int has_mask, int i) {
  return x[i * job->step[1]] * scale + (has_mask ? mask[i * job->step[2]] : 0.0f);
}

__attribute__((reqd_work_group_size(TEAM_GROUP, 1, 1)))
__kernel void softmax(__global const float* x, __global const float* mask, __global float* y, const Rows job,
                      float scale, int is_log, int has_mask) {
  __local float shared[TEAM];
  const int row = TEAM_INDEX;
  if (row >= job.rows) return;
  y += rowOffset(&job, row, 0);
  x += rowOffset(&job, row, 1);
  mask += has_mask ? rowOffset(&job, row, 2) : 0;
  float highest = -INFINITY, sum = 0.0f;
  for (int i = TEAM_ITEM; i < job.size; i += TEAM)
    highest = fmax(highest, scoreAt(x, mask, &job, scale, has_mask, i));
  highest = teamLargest(highest, shared);
  for (int i = TEAM_ITEM; i < job.size; i += TEAM) sum += exp(scoreAt(x, mask, &job, scale, has_mask, i) - highest);
  sum = teamSum(sum, shared);
  const float offset = log(sum);
  for (int i = TEAM_ITEM; i < job.size; i += TEAM) {
    const float value = scoreAt(x, mask, &job, scale, has_mask, i) - highest;
    y[i * job.step[0]] = is_log ? value - offset : exp(value) / sum;
  }
}

// mode 0: by deviation, 1: by root mean square, 2: by length. `total` gets x + residual where has_total says so.
__attribute__((reqd_work_group_size(TEAM_GROUP, 1, 1)))
__kernel void layerNorm(__global const float* x, __global const float* residual, __global float* y,
                        __global float* total, const Rows job, __global const float* gamma,
                        __global const float* beta, int has_residual, int has_total, int has_gamma, int has_beta,
                        int mode, float eps) {
  __local float shared[TEAM];
  const int row = TEAM_INDEX;
  if (row >= job.rows) return;
  const int begin = rowOffset(&job, row, 1);
  x += begin;
  residual += has_residual ? begin : 0;
  y += rowOffset(&job, row, 0);
  float mean = 0.0f, squares = 0.0f;
  for (int i = TEAM_ITEM; i < job.size; i += TEAM) {
    const float value = x[i] + (has_residual ? residual[i] : 0.0f);
    y[i] = value;
    mean += value;
  }
  for (int i = has_total ? TEAM_ITEM : job.size; i < job.size; i += TEAM) total[begin + i] = y[i];
  mean = mode == 0 ? teamSum(mean, shared) / job.size : 0.0f;
  for (int i = TEAM_ITEM; i < job.size; i += TEAM) squares += (y[i] - mean) * (y[i] - mean);
  squares = teamSum(squares, shared);
  const float factor = 1.0f / (mode == 2 ? fmax(sqrt(squares), eps) : sqrt(squares / job.size + eps));
  for (int i = TEAM_ITEM; i < job.size; i += TEAM)
    y[i] = (y[i] - mean) * factor * (has_gamma ? gamma[i] : 1.0f) + (has_beta ? beta[i] : 0.0f);
}

typedef struct {
  int images, groups, channels, pixels;  // channels: of a group
  int image_step, channel_step, pixel_step, unused;
} Groups;

__attribute__((reqd_work_group_size(4, 1, 1)))
__kernel void groupNorm(__global const float* x, __global float* y, const Groups job, __global const float* gamma,
                        __global const float* beta, int has_gamma, int has_beta, float eps) {
  const int item = (int)get_global_id(0), image = item / job.groups, group = item - image * job.groups;
  if (image >= job.images) return;
  const int first = group * job.channels, begin = image * job.image_step + first * job.channel_step;
  x += begin;
  y += begin;
  float mean = 0.0f, squares = 0.0f;
  for (int c = 0; c < job.channels; ++c) {
    float sum = 0.0f;
    for (int p = 0; p < job.pixels; ++p) sum += x[c * job.channel_step + p * job.pixel_step];
    mean += sum;
  }
  mean /= (float)job.channels * job.pixels;
  for (int c = 0; c < job.channels; ++c) {
    float sum = 0.0f;
    for (int p = 0; p < job.pixels; ++p) {
      const float value = x[c * job.channel_step + p * job.pixel_step] - mean;
      sum += value * value;
    }
    squares += sum;
  }
  const float factor = 1.0f / sqrt(squares / ((float)job.channels * job.pixels) + eps);
  for (int c = 0; c < job.channels; ++c) {
    const float scale = factor * (has_gamma ? gamma[first + c] : 1.0f);
    const float offset = has_beta ? beta[first + c] : 0.0f;
    for (int p = 0; p < job.pixels; ++p) {
      const int at = c * job.channel_step + p * job.pixel_step;
      y[at] = (x[at] - mean) * scale + offset;
    }
  }
}

// The values behind the rotated ones are copied. Tables have a value for each pair where `has_half` says so, else one for
// each value.
__attribute__((reqd_work_group_size(16, 4, 1)))
__kernel void rotary(__global const float* x, __global const float* cosines, __global const float* sines,
                     __global float* y, const Rows job, int rotated, int is_interleaved, int has_half) {
  const int pairs = rotated / 2, pair = (int)get_global_id(0), row = (int)get_global_id(1);
  if (pair >= job.size - pairs || row >= job.rows) return;
  y += rowOffset(&job, row, 0);
  x += rowOffset(&job, row, 1);
  if (pair >= pairs) {
    y[pairs + pair] = x[pairs + pair];
    return;
  }
  cosines += rowOffset(&job, row, 2);
  sines += rowOffset(&job, row, 3);
  const int first = is_interleaved ? 2 * pair : pair, second = is_interleaved ? first + 1 : pair + pairs;
  const int of_first = has_half ? pair : first, of_second = has_half ? pair : second;
  const float a = x[first], b = x[second];
  y[first] = a * cosines[of_first] - b * sines[of_first];
  y[second] = b * cosines[of_second] + a * sines[of_second];
}
