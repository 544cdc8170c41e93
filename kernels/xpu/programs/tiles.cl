// Shared by programs: what work items compute together on devices with local memory of their own.

// Rows: TEAM items share one where there is local memory, and each takes one alone elsewhere.
#ifdef GPU
#define TEAM 64
#define TEAM_GROUP 64
#define TEAM_INDEX (int)get_group_id(0)
#define TEAM_ITEM (int)get_local_id(0)
#else
#define TEAM 1
#define TEAM_GROUP 16
#define TEAM_INDEX (int)get_global_id(0)
#define TEAM_ITEM 0
#endif

// Gives each item of a team the sum, or the largest, of the values of all. `shared` holds TEAM values.
#ifdef GPU
#define TEAM_FUNCTION(NAME, TYPE, OF_BOTH)                                     \
  TYPE NAME(TYPE value, __local TYPE* shared) {                                \
    const int item = TEAM_ITEM;                                                \
    barrier(CLK_LOCAL_MEM_FENCE);                                              \
    shared[item] = value;                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                              \
    for (int others = TEAM / 2; others > 0; others /= 2) {                     \
      if (item < others) shared[item] = OF_BOTH(shared[item], shared[item + others]); \
      barrier(CLK_LOCAL_MEM_FENCE);                                            \
    }                                                                          \
    return shared[0];                                                          \
  }
#else
#define TEAM_FUNCTION(NAME, TYPE, OF_BOTH) \
  TYPE NAME(TYPE value, __local TYPE* shared) { return value; }
#endif
#define SUM_OF(a, b) ((a) + (b))
TEAM_FUNCTION(teamSum, float, SUM_OF)
TEAM_FUNCTION(teamSums, float16, SUM_OF)
TEAM_FUNCTION(teamLargest, float, fmax)

// Products by tiles. A work group computes ITEMS·ROWS x ITEMS·4 sums, ROWS x 4 an item, and its third axis are slices,
// which share the steps of the depth.

#define STEP 16  // of the depth, between barriers

// Numbers of float4 that a slice holds of a step: rows, one column of the depth after the other, apart from each other
// in banks; and columns, as they lie. The sums lie in the same memory at the end.
#define TILE_A(ITEMS, ROWS) (STEP * ((ITEMS) * (ROWS) / 4 + 1))
#define TILE_B(ITEMS) (STEP * (ITEMS))
#define TILE_SUMS(ITEMS, ROWS) ((ITEMS) * (ROWS) * (ITEMS))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define TILE_MEMORY(ITEMS, ROWS, SLICES) \
  ((SLICES) * LARGER(TILE_A(ITEMS, ROWS) + TILE_B(ITEMS), TILE_SUMS(ITEMS, ROWS)))

// Puts four of the depth, from `depth` on, of a row into place.
#define KEEP_ROW(a, row, depth, pitch, v)        \
  {                                              \
    (a)[((depth) + 0) * (pitch) + (row)] = v.x;  \
    (a)[((depth) + 1) * (pitch) + (row)] = v.y;  \
    (a)[((depth) + 2) * (pitch) + (row)] = v.z;  \
    (a)[((depth) + 3) * (pitch) + (row)] = v.w;  \
  }

// Where an item stands. A step takes kParts times four of the depth of row item / 4 + i * kA from it.
#define TILE_PLACES(ITEMS, ROWS)                                                                                    \
  enum { kItems = (ITEMS) * (ITEMS), kA = kItems / 4, kPitch = (ITEMS) * (ROWS) + 4, kParts = (ITEMS) * (ROWS) / kA }; \
  const int slice = (int)get_local_id(2), item = (int)(get_local_id(1) * (ITEMS) + get_local_id(0));                \
  const int first_row = (ITEMS) * (ROWS) * (int)get_group_id(1), first_column = 4 * (ITEMS) * (int)get_group_id(0);

// The body of a function behind TILE_PLACES: the caller has `memory`, `depth`, READ_A(i, row, k) and READ_B(k, column),
// which give four numbers each, along the depth and along the columns, zeros outside; READ_STEP(k), which comes before
// the items of a step are read; and FINISH(row, column, values) for 16 sums.
#define TILE_BODY(ITEMS, ROWS, SLICES)                                                                              \
  __local float4* a4 = memory + slice * (TILE_A(ITEMS, ROWS) + TILE_B(ITEMS));                                      \
  __local float4* b4 = a4 + TILE_A(ITEMS, ROWS);                                                                    \
  __local float* a = (__local float*)a4;                                                                            \
  const int steps = (depth + STEP * (SLICES)-1) / (STEP * (SLICES));                                                \
  float4 sum[ROWS], next_a[kParts], next_b[STEP / (ITEMS)];                                                         \
  for (int r = 0; r < (ROWS); ++r) sum[r] = 0.0f;                                                                   \
  for (int step = 0; step <= steps; ++step) {                                                                       \
    if (step < steps) {                                                                                             \
      const int k = STEP * (step * (SLICES) + slice);                                                               \
      READ_STEP(k + 4 * (item % 4))                                                                                 \
      for (int i = 0; i < kParts; ++i) next_a[i] = READ_A(i, item / 4 + i * kA, k + 4 * (item % 4));                \
      for (int i = 0; i < STEP / (ITEMS); ++i)                                                                      \
        next_b[i] = READ_B(k + item / (ITEMS) + i * (ITEMS), 4 * (item % (ITEMS)));                                 \
    }                                                                                                               \
    if (step > 0) {                                                                                                 \
      for (int k = 0; k < STEP; ++k) {                                                                              \
        const float4 w = b4[k * (ITEMS) + get_local_id(0)];                                                         \
        for (int r = 0; r < (ROWS) / 4; ++r) {                                                                      \
          const float4 v = a4[k * (kPitch / 4) + get_local_id(1) * ((ROWS) / 4) + r];                               \
          sum[4 * r + 0] += v.x * w;                                                                                \
          sum[4 * r + 1] += v.y * w;                                                                                \
          sum[4 * r + 2] += v.z * w;                                                                                \
          sum[4 * r + 3] += v.w * w;                                                                                \
        }                                                                                                           \
      }                                                                                                             \
    }                                                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                   \
    if (step < steps) {                                                                                             \
      for (int i = 0; i < kParts; ++i) KEEP_ROW(a, item / 4 + i * kA, 4 * (item % 4), kPitch, next_a[i])            \
      for (int i = 0; i < STEP / (ITEMS); ++i) b4[item + i * kItems] = next_b[i];                                   \
    }                                                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                   \
  }                                                                                                                 \
  for (int r = 0; r < (ROWS); ++r)                                                                                  \
    memory[(slice * (ITEMS) * (ROWS) + get_local_id(1) * (ROWS) + r) * (ITEMS) + get_local_id(0)] = sum[r];         \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                                     \
  __local const float16* sums = (__local const float16*)memory;                                                     \
  for (int piece = slice * kItems + item; piece < TILE_SUMS(ITEMS, ROWS) / 4; piece += kItems * (SLICES)) {         \
    float16 value = sums[piece];                                                                                    \
    for (int s = 1; s < (SLICES); ++s) value += sums[piece + s * (TILE_SUMS(ITEMS, ROWS) / 4)];                     \
    FINISH(piece / ((ITEMS) / 4), 16 * (piece % ((ITEMS) / 4)), value)                                              \
  }
