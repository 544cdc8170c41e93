// The operands of products, of one type a program (ELEMENT), which are multiplied and summed in FP32. Bytes are read as
// (byte ^ flip) - zero, so that one program takes signed and unsigned ones (kernels/xpu/element_bytes.h); their sums stay
// exact, since no more than EXACT_TERMS products are summed in FP32 before they go to integers.

typedef struct {
  int flip, zero;
} Bytes;

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
#define NUMBERS_AT(p, i, bytes) convert_float16(convert_int16(vload16(0, (p) + (i)) ^ (uchar)(bytes).flip) - (bytes).zero)
#else
typedef float Element;
#define NUMBER_AT(p, i, bytes) (p)[i]
#define FOUR_AT(p, i, bytes) vload4(0, (p) + (i))
#define NUMBERS_AT(p, i, bytes) vload16(0, (p) + (i))
#endif
