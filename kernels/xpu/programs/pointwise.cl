// Chains of elementwise operations, and copies between layouts, which are chains of none: tensor 1 is the source.

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void pointwise(CHAIN_ARGUMENTS) {
  const int position = 16 * (int)get_global_id(0);
  if (position >= chain.elements) return;
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  const int lanes = min(16, chain.elements - position);
  const Point point = pointOf(&chain, position);
  finishAt(&chain, dst, tensors, &point, lanes, loadLanes(&chain, 1, t1, &point, lanes));
}
