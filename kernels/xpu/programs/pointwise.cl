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

// Copies whose source lies side by side along the loop around the innermost one: a work item copies a tile, TILE_ROWS
// of that loop by 16 of the innermost, without a walk from element to element.
#define TILE_ROWS 32
#define TRANSPOSE(NAME, TYPE)                                                                                     \
  __attribute__((reqd_work_group_size(1, 8, 1)))                                                                  \
  __kernel void NAME(CHAIN_ARGUMENTS) {                                                                           \
    const int inner = chain.loops - 1, column = 16 * (int)get_global_id(0), row = TILE_ROWS * (int)get_global_id(1); \
    const int columns = min(16, chain.size[inner] - column), rows = min(TILE_ROWS, chain.size[inner - 1] - row);  \
    const int x_column = chain.stride[1][inner], y_row = chain.stride[0][inner - 1];                              \
    __global const TYPE* x = (__global const TYPE*)t1 + column * x_column + row;                                  \
    __global TYPE* y = (__global TYPE*)dst + row * y_row + column;                                                \
    int outer = (int)get_global_id(2);                                                                            \
    for (int loop = inner - 2; loop >= 0; --loop) {                                                               \
      const int next = outer / chain.size[loop], at = outer - next * chain.size[loop];                            \
      x += at * chain.stride[1][loop];                                                                            \
      y += at * chain.stride[0][loop];                                                                            \
      outer = next;                                                                                               \
    }                                                                                                             \
    for (int c = 0; c < columns; ++c) {                                                                           \
      for (int r = 0; r < rows; ++r) y[r * y_row + c] = x[r];                                                     \
      x += x_column;                                                                                              \
    }                                                                                                             \
  }
TRANSPOSE(transpose_4, uint)
TRANSPOSE(transpose_2, ushort)
TRANSPOSE(transpose_1, uchar)
