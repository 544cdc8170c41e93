// Products of matrices: one work item sums ROWS rows of ITEM_COLUMNS columns, or a work group a tile. The structure is
// that of kernels/xpu/product_job.h.

#define MAX_BATCH_LOOPS 4

typedef struct {
  int rows, columns, depth, padded;  // padded: columns of b that may be read
  int a_row, a_depth, b_depth, b_column;
  int batch_loops, b_item, unused[2];  // b_item: from the columns of a work item to those of the next
  Bytes a_bytes, b_bytes;
  int batch_size[MAX_BATCH_LOOPS], a_batch[MAX_BATCH_LOOPS], b_batch[MAX_BATCH_LOOPS];
} Product;

#ifdef GPU

// Four of the depth of a row of a; those outside are zeros.
float4 fourOfRow(__global const Element* a, int k, const Product* job) {
  if (job->a_depth == 1 && k + 4 <= job->depth) return FOUR_AT(a, k, job->a_bytes);
  float four[4];
  for (int i = 0; i < 4; ++i) four[i] = k + i < job->depth ? NUMBER_AT(a, (k + i) * job->a_depth, job->a_bytes) : 0.0f;
  return vload4(0, four);
}

float4 fourColumns(__global const Element* b, int column, const Product* job) {
  if (job->b_column == 1 && column + 4 <= job->padded) return FOUR_AT(b, column, job->b_bytes);
  float four[4];
  for (int i = 0; i < 4; ++i)
    four[i] = column + i < job->columns ? NUMBER_AT(b, (column + i) * job->b_column, job->b_bytes) : 0.0f;
  return vload4(0, four);
}

#define PRODUCT_TILES(NAME, ITEMS, ROWS, SLICES)                                                                \
  __attribute__((reqd_work_group_size(ITEMS, ITEMS, SLICES)))                                                   \
  __kernel void NAME(__global const Element* a_all, __global const Element* b_all, const Product job,          \
                     CHAIN_ARGUMENTS) {                                                                         \
    __local float4 memory[TILE_MEMORY(ITEMS, ROWS, SLICES)] __attribute__((aligned(64)));                       \
    TILE_PLACES(ITEMS, ROWS)                                                                                    \
    const int depth = job.depth;                                                                                \
    int batch = (int)get_group_id(2);                                                                          \
    const int batch_position = batch * job.rows;                                                                \
    for (int loop = job.batch_loops - 1; loop >= 0; --loop) {                                                   \
      const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];                \
      a_all += at * job.a_batch[loop];                                                                          \
      b_all += at * job.b_batch[loop];                                                                          \
      batch = outer;                                                                                            \
    }                                                                                                           \
    __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;                                                 \
    TILE_BODY(ITEMS, ROWS, SLICES)                                                                              \
  }
#define READ_STEP(k)
#define READ_A(i, row, k)                                                                                   \
  first_row + (row) < job.rows ? fourOfRow(a_all + (first_row + (row)) * job.a_row, k, &job) : (float4)(0.0f)
#define READ_B(k, column) \
  (k) < depth ? fourColumns(b_all + (k) * job.b_depth, first_column + (column), &job) : (float4)(0.0f)
#define FINISH(row, column, value)                                                                       \
  const int r = first_row + (row), c = first_column + (column);                                          \
  if (r < job.rows && c < job.columns)                                                                   \
    finishLanes(&chain, dst, tensors, (batch_position + r) * job.columns + c, min(16, job.columns - c), value);

PRODUCT_TILES(product_128, 16, 8, 1)
PRODUCT_TILES(product_64, 16, 4, 1)
PRODUCT_TILES(product_32, 8, 4, 4)

#else

// Vector `v` of the columns from `column` on of a row of b; those behind the last are the last.
float16 columnsOf(__global const Element* b, const Product* job, int column, int v) {
  float lane[16];
  for (int i = 0; i < 16; ++i)
    lane[i] = NUMBER_AT(b, min(16 * v + i, job->columns - 1 - column) * job->b_column, job->b_bytes);
  return vload16(0, lane);
}

__attribute__((reqd_work_group_size(1, 8, 1)))
__kernel void product(__global const Element* a, __global const Element* b, const Product job, CHAIN_ARGUMENTS) {
  const int column = ITEM_COLUMNS * (int)get_global_id(0), first = ROWS * (int)get_global_id(1);
  if (column >= job.columns || first >= job.rows) return;
  int batch = (int)get_global_id(2);
  const int batch_position = batch * job.rows;
  for (int loop = job.batch_loops - 1; loop >= 0; --loop) {
    const int outer = batch / job.batch_size[loop], at = batch - outer * job.batch_size[loop];
    a += at * job.a_batch[loop];
    b += at * job.b_batch[loop];
    batch = outer;
  }
  __global const Element* row[ROWS];
  float16 sum[ROWS][ITEM_VECTORS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    row[r] = a + min(first + r, job.rows - 1) * job.a_row;
#pragma unroll
    for (int v = 0; v < ITEM_VECTORS; ++v) sum[r][v] = 0.0f;
  }
  b += (int)get_global_id(0) * job.b_item;
  const bool whole = job.b_column == 1 && column + ITEM_COLUMNS <= job.padded;
#if ELEMENT == TYPE_F32
  if (whole) {
    for (int k = 0; k < job.depth; ++k) {
#pragma unroll
      for (int v = 0; v < ITEM_VECTORS; ++v) {
        const float16 w = vload16(v, b);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r][v] += row[r][k * job.a_depth] * w;
      }
      b += job.b_depth;
    }
  } else {
    for (int k = 0; k < job.depth; ++k) {
#pragma unroll
      for (int v = 0; v < ITEM_VECTORS; ++v) {
        const float16 w = columnsOf(b, &job, column, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r][v] += row[r][k * job.a_depth] * w;
      }
      b += job.b_depth;
    }
  }
#else
  // Rows are widened 16 numbers at a time.
#ifdef EXACT_TERMS
  MAKE_TOTALS(exact)
#endif
  float wide[ROWS][16];
  for (int first_k = 0; first_k < job.depth; first_k += 16) {
    const int count = min(16, job.depth - first_k);
    for (int r = 0; r < ROWS; ++r) {
      if (count == 16 && job.a_depth == 1) {
        vstore16(NUMBERS_AT(row[r], first_k, job.a_bytes), 0, wide[r]);
      } else {
        for (int i = 0; i < count; ++i) wide[r][i] = NUMBER_AT(row[r], (first_k + i) * job.a_depth, job.a_bytes);
      }
    }
    for (int i = 0; i < count; ++i) {
#pragma unroll
      for (int v = 0; v < ITEM_VECTORS; ++v) {
        const float16 w = whole ? NUMBERS_AT(b, 16 * v, job.b_bytes) : columnsOf(b, &job, column, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r][v] += wide[r][i] * w;
      }
      b += job.b_depth;
    }
#ifdef EXACT_TERMS
    if ((first_k + 16) % EXACT_TERMS == 0 || first_k + 16 >= job.depth) {
      MOVE_TO_TOTALS(exact, sum)
    }
#endif
  }
#ifdef EXACT_TERMS
  SUMS_OF_TOTALS(sum, exact)
#endif
#endif
  float16 done[ROWS * ITEM_VECTORS];
  KEEP_SUMS(done, sum)
  __global const void* tensors[MAX_TENSORS] = CHAIN_TENSORS;
  finishRows(&chain, dst, tensors, (batch_position + first) * job.columns + column, job.columns,
             min(ROWS, job.rows - first), job.columns - column, ITEM_VECTORS, done);
}

#endif
