// Shared by all programs: a walk over the result and the operands of a chain of post-operations, 16 elements at once.
// The structures are those of kernels/xpu/device_chain.h; OP_name is the number of each post-operation.

// Sums of products are written as such: the compiler makes one instruction of both where the device has it, while a
// driver may know mad() as two.
#pragma OPENCL FP_CONTRACT ON

#define MAX_LOOPS 6
#define MAX_TENSORS 8
#define MAX_OPS 12

typedef struct {
  int kind, tensor;  // tensor: of the operand, 1 or above
  float alpha, beta;
} Op;

// Tensor 0 is the result. Positions count the result's elements in the order of its memory.
typedef struct {
  int loops, ops, elements, unused;
  int size[MAX_LOOPS];
  int stride[MAX_TENSORS][MAX_LOOPS];
  int type[MAX_TENSORS];
  Op op[MAX_OPS];
} Chain;

// The pointers that a chain reads, and the last arguments of each function.
#define CHAIN_ARGUMENTS                                                                                          \
  const Chain chain, __global void *dst, __global const void *t1, __global const void *t2, __global const void *t3, \
      __global const void *t4, __global const void *t5, __global const void *t6, __global const void *t7
#define CHAIN_TENSORS {0, t1, t2, t3, t4, t5, t6, t7}

// Elements are computed in FP32, whatever they are kept as: one of them, or 16 that lie side by side.
float elementOf(int type, __global const void* data, int at) {
  switch (type) {
    case TYPE_BF16: return as_float((uint)((__global const ushort*)data)[at] << 16);
    case TYPE_F16: return vload_half(at, (__global const half*)data);
    case TYPE_U8: return (float)((__global const uchar*)data)[at];
    case TYPE_S8: return (float)((__global const char*)data)[at];
  }
  return ((__global const float*)data)[at];
}

float16 elementsOf(int type, __global const void* data, int at) {
  switch (type) {
    case TYPE_BF16: return as_float16(convert_uint16(vload16(0, (__global const ushort*)data + at)) << 16);
    case TYPE_F16: return vload_half16(0, (__global const half*)data + at);
    case TYPE_U8: return convert_float16(vload16(0, (__global const uchar*)data + at));
    case TYPE_S8: return convert_float16(vload16(0, (__global const char*)data + at));
  }
  return vload16(0, (__global const float*)data + at);
}

// Rounds to the nearest, of two the even one; a value that is none stays one.
ushort16 roundedToBf16(float16 v) {
  const uint16 bits = as_uint16(v);
  const uint16 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return convert_ushort16(select(rounded, (bits >> 16) | 0x40, as_uint16(isnan(v))));
}

void storeElement(int type, __global void* data, int at, float v) {
  switch (type) {
    case TYPE_BF16: ((__global ushort*)data)[at] = roundedToBf16((float16)(v)).s0; return;
    case TYPE_F16: vstore_half_rte(v, at, (__global half*)data); return;
    case TYPE_U8: ((__global uchar*)data)[at] = convert_uchar_sat_rte(v); return;
    case TYPE_S8: ((__global char*)data)[at] = convert_char_sat_rte(v); return;
  }
  ((__global float*)data)[at] = v;
}

void storeElements(int type, __global void* data, int at, float16 v) {
  switch (type) {
    case TYPE_BF16: vstore16(roundedToBf16(v), 0, (__global ushort*)data + at); return;
    case TYPE_F16: vstore_half16_rte(v, 0, (__global half*)data + at); return;
    case TYPE_U8: vstore16(convert_uchar16_sat_rte(v), 0, (__global uchar*)data + at); return;
    case TYPE_S8: vstore16(convert_char16_sat_rte(v), 0, (__global char*)data + at); return;
  }
  vstore16(v, 0, (__global float*)data + at);
}

// The first `lanes` of 16 elements that lie side by side, and zeros.
float16 partOf(__global const float* data, int lanes) {
  float16 part = 0.0f;
  const int whole = lanes < 8 ? 0 : 8;
  if (whole) part.lo = vload8(0, data);
  if (lanes == whole) return part;
  float lane[8];
  for (int i = 0; i < 8; ++i) lane[i] = whole + i < lanes ? data[whole + i] : 0.0f;
  if (whole) {
    part.hi = vload8(0, lane);
  } else {
    part.lo = vload8(0, lane);
  }
  return part;
}

// The part of a product of rows that begins at element `first` and takes 16 elements of every `step`.
float dotOf(__global const float* a, __global const float* b, int count, int first, int step) {
  float16 sum = 0.0f;
  int i = first;
  for (; i + 16 <= count; i += step) sum += vload16(0, a + i) * vload16(0, b + i);
  if (i < count) sum += partOf(a + i, count - i) * partOf(b + i, count - i);
  const float8 eight = sum.lo + sum.hi;
  const float4 four = eight.lo + eight.hi;
  return four.x + four.y + four.z + four.w;
}

float16 lanesOf(int type, __global const void* data, int at, int lanes) {
  if (lanes == 16) return elementsOf(type, data, at);
  if (type == TYPE_F32) return partOf((__global const float*)data + at, lanes);
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = i < lanes ? elementOf(type, data, at + i) : 0.0f;
  return vload16(0, lane);
}

// Stores the first `lanes` of 16 elements side by side.
void storePart(int type, __global void* data, int at, int lanes, float16 value) {
  float lane[16];
  vstore16(value, 0, lane);
  int i = 0;
  if (type == TYPE_F32 && lanes >= 8) {
    vstore8(value.lo, 0, (__global float*)data + at);
    i = 8;
  }
  for (; i < lanes; ++i) storeElement(type, data, at + i, lane[i]);
}

// Where a position stands in each loop.
typedef struct {
  int index[MAX_LOOPS];
} Point;

Point pointOf(const Chain* chain, int position) {
  Point point;
  for (int loop = chain->loops - 1; loop > 0; --loop) {
    const int outer = position / chain->size[loop];
    point.index[loop] = position - outer * chain->size[loop];
    position = outer;
  }
  point.index[0] = position;
  return point;
}

int offsetAt(const Chain* chain, int tensor, const Point* point) {
  int offset = 0;
  for (int loop = 0; loop < chain->loops; ++loop) offset += point->index[loop] * chain->stride[tensor][loop];
  return offset;
}

// True if the innermost loop holds the lanes that begin at a point.
bool holdsLanes(const Chain* chain, const Point* point, int lanes) {
  return point->index[chain->loops - 1] + lanes <= chain->size[chain->loops - 1];
}

// Goes from a point to the next one, with the place of one tensor.
void nextPoint(const Chain* chain, int tensor, Point* point, int* offset) {
  for (int loop = chain->loops - 1; loop >= 0; --loop) {
    *offset += chain->stride[tensor][loop];
    if (++point->index[loop] < chain->size[loop]) return;
    *offset -= chain->size[loop] * chain->stride[tensor][loop];
    point->index[loop] = 0;
  }
}

float16 loadLanes(const Chain* chain, int tensor, __global const void* data, const Point* point, int lanes) {
  const int step = chain->stride[tensor][chain->loops - 1], type = chain->type[tensor];
  int offset = offsetAt(chain, tensor, point);
  if (holdsLanes(chain, point, lanes)) {
    if (step == 0) return (float16)(elementOf(type, data, offset));
    if (step == 1) return lanesOf(type, data, offset, lanes);
  }
  float lane[16];
  Point at = *point;
#ifdef GPU
#pragma unroll 1
#endif
  for (int i = 0; i < 16; ++i) {
    lane[i] = i < lanes ? elementOf(type, data, offset) : 0.0f;
    nextPoint(chain, tensor, &at, &offset);
  }
  return vload16(0, lane);
}

void storeLanes(const Chain* chain, __global void* data, const Point* point, int lanes, float16 value) {
  const int type = chain->type[0];
  int offset = offsetAt(chain, 0, point);
  if (chain->stride[0][chain->loops - 1] == 1 && holdsLanes(chain, point, lanes)) {
    if (lanes == 16) {
      storeElements(type, data, offset, value);
    } else {
      storePart(type, data, offset, lanes, value);
    }
    return;
  }
  float lane[16];
  vstore16(value, 0, lane);
  Point at = *point;
#ifdef GPU
#pragma unroll 1
#endif
  for (int i = 0; i < lanes; ++i) {
    storeElement(type, data, offset, lane[i]);
    nextPoint(chain, 0, &at, &offset);
  }
}

// Post-operations are written once: for all lanes together, or for one where a function inlined 16 times over takes
// compilers minutes.
#ifdef GPU
typedef float Value;
typedef int Flag;
#define ONCE __attribute__((noinline))
#else
typedef float16 Value;
typedef int16 Flag;
#define ONCE
#endif

Value sigmoidOf(Value v) { return 1.0f / (1.0f + exp(-v)); }
Value clipOf(Value v, float low, float high) {
  return select(fmin(fmax(v, (Value)(low)), (Value)(high)), v, isnan(v));
}
Value flagOf(Flag condition) { return select((Value)(0.0f), (Value)(1.0f), condition); }

ONCE Value applyOp(const Op op, Value v, Value o) {
  const Value zero = 0.0f, alpha = op.alpha;
  switch (op.kind) {
    case OP_relu: return select(v, zero, isless(v, zero));
    case OP_clip: return clipOf(v, op.alpha, op.beta);
    case OP_sigmoid: return sigmoidOf(v);
    case OP_tanh: return tanh(v);
    case OP_gelu_erf: return 0.5f * v * (1.0f + erf(v * 0.70710678118654752f));
    case OP_gelu_tanh: return 0.5f * v * (1.0f + tanh(0.79788456080286536f * (v + 0.044715f * v * v * v)));
    case OP_silu: return v * sigmoidOf(v);
    case OP_hardswish: return v * clipOf(v + 3.0f, 0.0f, 6.0f) / 6.0f;
    case OP_hardsigmoid: return clipOf(v + 3.0f, 0.0f, 6.0f) / 6.0f;
    case OP_leaky_relu: return select(alpha * v, v, isgreater(v, zero));
    case OP_elu: return select(alpha * expm1(v), v, isgreater(v, zero));
    case OP_mish: return v * tanh(select(log1p(exp(v)), v, isgreater(v, (Value)(30.0f))));
    case OP_abs: return fabs(v);
    case OP_exp: return exp(v);
    case OP_log: return log(v);
    case OP_sqrt: return sqrt(v);
    case OP_rsqrt: return 1.0f / sqrt(v);
    case OP_square: return v * v;
    case OP_neg: return -v;
    case OP_reciprocal: return 1.0f / v;
    case OP_erf: return erf(v);
    case OP_softplus: return select(log1p(exp(v * alpha)) / alpha, v, isgreater(v * alpha, (Value)(op.beta)));
    case OP_floor: return floor(v);
    case OP_round: return rint(v);
    case OP_pow: return pow(v, alpha);
    case OP_sin: return sin(v);
    case OP_cos: return cos(v);
    case OP_linear: return alpha * v + op.beta;
    case OP_add: return v + alpha * o;
    case OP_sub: return v - alpha * o;
    case OP_rsub: return alpha * o - v;
    case OP_mul: return v * o;
    case OP_div: return v / o;
    case OP_rdiv: return o / v;
    case OP_max: return select(fmax(v, o), v + o, isunordered(v, o));
    case OP_min: return select(fmin(v, o), v + o, isunordered(v, o));
    case OP_fill: return select(v, alpha, isnotequal(o, zero));
    case OP_keep: return select(v, alpha, isequal(o, zero));
    case OP_eq: return flagOf(isequal(v, o));
    case OP_ne: return flagOf(isnotequal(v, o));
    case OP_lt: return flagOf(isless(v, o));
    case OP_le: return flagOf(islessequal(v, o));
    case OP_gt: return flagOf(isgreater(v, o));
    case OP_ge: return flagOf(isgreaterequal(v, o));
  }
  return v;
}

// The commonest come first, without a call.
float16 applyLanes(const Op op, float16 v, float16 o) {
  if (op.kind == OP_relu) return select(v, (float16)(0.0f), isless(v, (float16)(0.0f)));
  if (op.kind == OP_add) return v + op.alpha * o;
  if (op.kind == OP_mul) return v * o;
#ifdef GPU
  float lane[16], operand[16];
  vstore16(v, 0, lane);
  vstore16(o, 0, operand);
#pragma unroll 1
  for (int i = 0; i < 16; ++i) lane[i] = applyOp(op, lane[i], operand[i]);
  return vload16(0, lane);
#else
  return applyOp(op, v, o);
#endif
}

// Applies the chain to 16 values and stores `lanes` of them from a point, or a position, on.
void finishAt(const Chain* chain, __global void* dst, __global const void* const* tensors, const Point* point, int lanes,
              float16 value) {
  for (int i = 0; i < chain->ops; ++i) {
    const Op op = chain->op[i];
    float16 operand = 0.0f;
    if (op.tensor > 0) operand = loadLanes(chain, op.tensor, tensors[op.tensor], point, lanes);
    value = applyLanes(op, value, operand);
  }
  storeLanes(chain, dst, point, lanes, value);
}

#ifdef GPU

void finishLanes(const Chain* chain, __global void* dst, __global const void* const* tensors, int position, int lanes,
                 float16 value) {
  const Point point = pointOf(chain, position);
  finishAt(chain, dst, tensors, &point, lanes, value);
}

// As below; work items of a GPU have few.
void finishRows(const Chain* chain, __global void* dst, __global const void* const* tensors, int position, int step,
                int rows, int columns, int vectors, float16* values) {
  const int taken = min(columns, 16 * vectors);
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; 16 * v < taken; ++v)
      finishLanes(chain, dst, tensors, position + r * step + 16 * v, min(16, taken - 16 * v), values[r * vectors + v]);
  }
}

#else

// True if the chain takes whole vectors of FP32 along the innermost loop, or one number for all of it.
bool takesVectors(const Chain* chain) {
  const int inner = chain->loops - 1;
  bool takes = chain->type[0] == TYPE_F32 && chain->stride[0][inner] == 1;
  for (int i = 0; i < chain->ops; ++i) {
    const int tensor = chain->op[i].tensor;
    takes &= tensor == 0 || (chain->type[tensor] == TYPE_F32 && chain->stride[tensor][inner] <= 1);
  }
  return takes;
}

#define FOR_VECTORS           \
  _Pragma("unroll 1") for (int r = 0; r < rows; ++r) _Pragma("unroll 1") for (int v = 0; v < whole; ++v)
#define VECTOR values[r * vectors + v]

// Finishes whole vectors of FP32 in rows: an operation at a time goes over all of them.
void finishVectors(const Chain* chain, __global float* dst, __global const void* const* tensors, const Point* point,
                   int step, int rows, int whole, int vectors, float16* values) {
  const int inner = chain->loops - 1, row_scale = inner == 0 ? step : 1;
#pragma unroll 1
  for (int i = 0; i < chain->ops; ++i) {
    const Op op = chain->op[i];
    const int row_step = row_scale * chain->stride[op.tensor][0], vector_step = 16 * chain->stride[op.tensor][inner];
    __global const float* from =
        op.tensor == 0 ? dst : (__global const float*)tensors[op.tensor] + offsetAt(chain, op.tensor, point);
#define OPERAND (vector_step > 0 ? vload16(0, from + r * row_step + v * vector_step) : (float16)(from[r * row_step]))
    switch (op.kind) {
      case OP_relu: FOR_VECTORS VECTOR = select(VECTOR, (float16)(0.0f), isless(VECTOR, (float16)(0.0f))); break;
      case OP_hardswish: FOR_VECTORS VECTOR = VECTOR * clipOf(VECTOR + 3.0f, 0.0f, 6.0f) / 6.0f; break;
      case OP_add: FOR_VECTORS VECTOR += op.alpha * OPERAND; break;
      case OP_mul: FOR_VECTORS VECTOR *= OPERAND; break;
      default: FOR_VECTORS VECTOR = applyOp(op, VECTOR, op.tensor == 0 ? (float16)(0.0f) : OPERAND); break;
    }
#undef OPERAND
  }
  const int row_step = row_scale * chain->stride[0][0];
  dst += offsetAt(chain, 0, point);
  FOR_VECTORS vstore16(VECTOR, 0, dst + r * row_step + 16 * v);
}

// Finishes `rows` rows, of which each begins `step` positions behind the one before and has `columns` columns in one of
// the innermost loops: up to `vectors` times 16 of them. The values are changed.
void finishRows(const Chain* chain, __global void* dst, __global const void* const* tensors, int position, int step,
                int rows, int columns, int vectors, float16* values) {
  const int loops = chain->loops, taken = min(columns, 16 * vectors);
  const Point first = pointOf(chain, position);
  const bool has_steps = rows == 1 || loops == 1 || (loops == 2 && step == chain->size[1]);
  const bool by_vectors = has_steps && holdsLanes(chain, &first, taken) && takesVectors(chain);
  const int whole = by_vectors ? taken / 16 : 0;
  if (whole > 0) finishVectors(chain, (__global float*)dst, tensors, &first, step, rows, whole, vectors, values);
  if (16 * whole >= taken) return;
#pragma unroll 1
  for (int r = 0; r < rows; ++r) {
    Point point = pointOf(chain, position + r * step);
    point.index[loops - 1] += 16 * whole;
#pragma unroll 1
    for (int v = whole; 16 * v < taken; ++v) {
      finishAt(chain, dst, tensors, &point, min(16, taken - 16 * v), values[r * vectors + v]);
      point.index[loops - 1] += 16;
    }
  }
}

void finishLanes(const Chain* chain, __global void* dst, __global const void* const* tensors, int position, int lanes,
                 float16 value) {
  finishRows(chain, dst, tensors, position, 0, 1, lanes, 1, &value);
}

#endif
