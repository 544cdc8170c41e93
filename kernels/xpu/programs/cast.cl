// Casts between dtypes: a work item takes one element. The types are those of kernels/xpu/cast_xpu.cpp.

#define TYPE_F32 0
#define TYPE_S64 1
#define TYPE_S32 2
#define TYPE_U8 3
#define TYPE_S8 4
#define TYPE_BOOL 5

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void cast(__global const uchar* x, __global uchar* y, int elements, int from, int to) {
  const int i = (int)get_global_id(0);
  if (i >= elements) return;
  float real = 0.0f;
  long whole = 0;
  switch (from) {
    case TYPE_F32: real = ((__global const float*)x)[i]; break;
    case TYPE_S64: whole = ((__global const long*)x)[i]; break;
    case TYPE_S32: whole = ((__global const int*)x)[i]; break;
    case TYPE_S8: whole = ((__global const char*)x)[i]; break;
    default: whole = x[i]; break;
  }
  if (to == TYPE_BOOL) {
    y[i] = from == TYPE_F32 ? real != 0.0f : whole != 0;
    return;
  }
  if (to == TYPE_F32) {
    ((__global float*)y)[i] = from == TYPE_F32 ? real : (float)whole;
    return;
  }
  if (from == TYPE_F32) whole = (long)real;
  switch (to) {
    case TYPE_S64: ((__global long*)y)[i] = whole; break;
    case TYPE_S32: ((__global int*)y)[i] = (int)whole; break;
    default: y[i] = (uchar)whole; break;
  }
}
