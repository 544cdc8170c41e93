// Products of pairs of features of each sample, behind the values of the first feature where those are wanted, too. One
// launch for each source gathers features side by side, the last computes. The structure is that of
// kernels/xpu/interaction_xpu.cpp.

typedef struct {
  int samples, features, width, result_width;
  int dense, diagonal, is_lower;
  int first, count;  // features of the source that a launch gathers; count 0: the launch computes
} Interaction;

// Where a sample's result has the product of features i and j, j <= i. The products of the triangle stand row by row.
int placeOfPair(const Interaction* job, int i, int j) {
  const int beside = job->diagonal ? 0 : 1;
  if (job->is_lower) return i * (i + 1) / 2 - i * beside + j;
  return j * (job->features - beside) - j * (j - 1) / 2 + i - j - beside;
}

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void interact(__global const float* x, __global float* gathered, __global float* y, const Interaction job) {
  const int item = (int)get_global_id(0), sample = (int)get_global_id(1);
  if (sample >= job.samples) return;
  if (job.count > 0) {
    const int values = job.count * job.width;
    if (item < values) gathered[(sample * job.features + job.first) * job.width + item] = x[sample * values + item];
    return;
  }
  __global const float* of_sample = gathered + sample * job.features * job.width;
  __global float* result = y + sample * job.result_width;
  const int dense = job.dense ? job.width : 0;
  if (item < dense) result[item] = of_sample[item];
  const int i = item / job.features, j = item - i * job.features;
  if (i >= job.features || j > i || (j == i && !job.diagonal)) return;
  result[dense + placeOfPair(&job, i, j)] =
      dotOf(of_sample + i * job.width, of_sample + j * job.width, job.width, 0, 16);
}
