// The operands of products, of one type a program (ELEMENT), which are multiplied and summed in FP32. Bytes are read as
// (byte ^ flip) - zero, so that one program takes signed and unsigned ones (kernels/xpu/element_bytes.h). Work items keep
// their sums exact: no more than EXACT_TERMS products are summed in FP32 before they go to integers.

typedef struct {
  int flip, zero;
} Bytes;

// What a work item sums that shares nothing with others: ROWS rows of ITEM_COLUMNS columns.
#define ROWS 6
#ifndef ITEM_VECTORS
#define ITEM_VECTORS 1
#endif
#define ITEM_COLUMNS (16 * ITEM_VECTORS)

#if ELEMENT == TYPE_BF16
typedef ushort Element;
#define NUMBER_AT(p, i, bytes) as_float((uint)(p)[i] << 16)
#define FOUR_AT(p, i, bytes) as_float4(convert_uint4(vload4(0, (p) + (i))) << 16)
#define NUMBERS_AT(p, i, bytes) as_float16(convert_uint16(vload16(0, (p) + (i))) << 16)
#elif ELEMENT == TYPE_F16
typedef half Element;
#define NUMBER_AT(p, i, bytes) vload_half(i, p)
#define FOUR_AT(p, i, bytes) vload_half4(0, (p) + (i))
#define NUMBERS_AT(p, i, bytes) vload_half16(0, (p) + (i))
#elif ELEMENT == TYPE_U8
typedef uchar Element;
#define EXACT_TERMS 512
#define NUMBER_AT(p, i, bytes) (float)((int)((p)[i] ^ (uchar)(bytes).flip) - (bytes).zero)
#define FOUR_AT(p, i, bytes) convert_float4(convert_int4(vload4(0, (p) + (i)) ^ (uchar)(bytes).flip) - (bytes).zero)
#define NUMBERS_AT(p, i, bytes) \
  convert_float16(convert_int16(vload16(0, (p) + (i)) ^ (uchar)(bytes).flip) - (bytes).zero)
#else
typedef float Element;
#define NUMBER_AT(p, i, bytes) (p)[i]
#define FOUR_AT(p, i, bytes) vload4(0, (p) + (i))
#define NUMBERS_AT(p, i, bytes) vload16(0, (p) + (i))
#endif

#define FOR_SUMS \
  _Pragma("unroll") for (int r = 0; r < ROWS; ++r) _Pragma("unroll") for (int v = 0; v < ITEM_VECTORS; ++v)

#ifdef EXACT_TERMS
// Integer totals beside FP32 sums: made, taken from the sums, and given back to them.
#define MAKE_TOTALS(exact)         \
  int16 exact[ROWS][ITEM_VECTORS]; \
  FOR_SUMS exact[r][v] = 0;
#define MOVE_TO_TOTALS(exact, sum)           \
  FOR_SUMS {                                 \
    exact[r][v] += convert_int16(sum[r][v]); \
    sum[r][v] = 0.0f;                        \
  }
#define SUMS_OF_TOTALS(sum, exact) FOR_SUMS sum[r][v] = convert_float16(exact[r][v]);
#endif

// Copies sums to where they are counted at run time: what chains do to them is written once, and sums stay in registers.
#define KEEP_SUMS(to, sum) FOR_SUMS to[r * ITEM_VECTORS + v] = sum[r][v];
