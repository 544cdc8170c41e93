// Softmax and layer normalization: one work item a row, whose elements lie `step` apart. The structure is that of
// kernels/xpu/rows_xpu.cpp.

#define MAX_ROW_LOOPS 6

typedef struct {
  int rows, size, loops, x_step, y_step;
  int row_size[MAX_ROW_LOOPS], x_stride[MAX_ROW_LOOPS], y_stride[MAX_ROW_LOOPS];
} Rows;

int rowOffset(const Rows* job, int row, bool of_x) {
  int offset = 0;
  for (int loop = job->loops - 1; loop >= 0; --loop) {
    const int outer = row / job->row_size[loop];
    offset += (row - outer * job->row_size[loop]) * (of_x ? job->x_stride[loop] : job->y_stride[loop]);
    row = outer;
  }
  return offset;
}

__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void softmax(__global const float* x, __global float* y, const Rows job, float scale, int is_log) {
  const int row = (int)get_global_id(0);
  if (row >= job.rows) return;
  x += rowOffset(&job, row, true);
  y += rowOffset(&job, row, false);
  float highest = -INFINITY, sum = 0.0f;
  for (int i = 0; i < job.size; ++i) highest = fmax(highest, x[i * job.x_step] * scale);
  for (int i = 0; i < job.size; ++i) sum += exp(x[i * job.x_step] * scale - highest);
  const float offset = log(sum);
  for (int i = 0; i < job.size; ++i) {
    const float value = x[i * job.x_step] * scale - highest;
    y[i * job.y_step] = is_log ? value - offset : exp(value) / sum;
  }
}

// mode 0: by deviation, 1: by root mean square, 2: by length.
__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void layerNorm(__global const float* x, __global float* y, const Rows job, __global const float* gamma,
                        __global const float* beta, int has_gamma, int has_beta, int mode, float eps) {
  const int row = (int)get_global_id(0);
  if (row >= job.rows) return;
  x += rowOffset(&job, row, true);
  y += rowOffset(&job, row, false);
  float mean = 0.0f, squares = 0.0f;
  for (int i = 0; i < job.size; ++i) mean += x[i];
  mean = mode == 0 ? mean / job.size : 0.0f;
  for (int i = 0; i < job.size; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float factor = 1.0f / (mode == 2 ? fmax(sqrt(squares), eps) : sqrt(squares / job.size + eps));
  for (int i = 0; i < job.size; ++i) {
    y[i] = (x[i] - mean) * factor * (has_gamma ? gamma[i] : 1.0f) + (has_beta ? beta[i] : 0.0f);
  }
}
