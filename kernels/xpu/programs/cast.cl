// Casts between dtypes: a work item takes one element.

bool isFloatType(int type) { return type == TYPE_F32 || type == TYPE_BF16 || type == TYPE_F16; }

__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void cast(__global const uchar* x, __global uchar* y, int elements, int from, int to) {
  const int i = (int)get_global_id(0);
  if (i >= elements) return;
  float real = 0.0f;
  long whole = 0;
  switch (from) {
    case TYPE_F32:
    case TYPE_BF16:
    case TYPE_F16: real = elementOf(from, x, i); break;
    case TYPE_S64: whole = ((__global const long*)x)[i]; break;
    case TYPE_S32: whole = ((__global const int*)x)[i]; break;
    case TYPE_S8: whole = ((__global const char*)x)[i]; break;
    default: whole = x[i]; break;
  }
  if (to == TYPE_BOOL) {
    y[i] = isFloatType(from) ? real != 0.0f : whole != 0;
    return;
  }
  if (isFloatType(to)) {
    storeElement(to, y, i, isFloatType(from) ? real : (float)whole);
    return;
  }
  if (isFloatType(from)) whole = (long)real;
  switch (to) {
    case TYPE_S64: ((__global long*)y)[i] = whole; break;
    case TYPE_S32: ((__global int*)y)[i] = (int)whole; break;
    default: y[i] = (uchar)whole; break;
  }
}
