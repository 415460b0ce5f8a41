// Elements of every dtype: how they lie in memory, the number that one is computed with, and plain
// casts from any number to any dtype. Goes before every other file of this folder.
//
// Dtypes have the short names b8 i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64. Complex numbers are
// two elements of their parts' dtype, one behind the other. HAS_F64 says that the device has f64.

#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define JOIN3_(a, b, c) a##b##c
#define JOIN3(a, b, c) JOIN3_(a, b, c)

// What lies in memory, and the number that it is read as.
#define STORED(dtype) JOIN(stored_, dtype)
#define NUMBER(dtype) JOIN(NUMBER_, dtype)
#define READ(dtype, stored) JOIN(read_, dtype)(stored)
// What lies in memory after a cast of a number of this type.
#define CAST(dtype, type, number) JOIN3(dtype, _of_, type)(number)

#define NUMBER_b8 uint
#define NUMBER_i8 int
#define NUMBER_i16 int
#define NUMBER_i32 int
#define NUMBER_i64 long
#define NUMBER_u8 uint
#define NUMBER_u16 uint
#define NUMBER_u32 uint
#define NUMBER_u64 ulong
#define NUMBER_f16 float
#define NUMBER_bf16 float
#define NUMBER_f32 float
#define NUMBER_f64 double

#ifdef HAS_F64
#define WITH_F64(text) text
#else
#define WITH_F64(text)
#endif

// Integers keep their low bits; reals are truncated and end at the range's ends, NaN is 0.
#define INTEGER(dtype, type)                                                                       \
    typedef type stored_##dtype;                                                                   \
    static NUMBER(dtype) read_##dtype(type stored) { return stored; }                              \
    static type dtype##_of_int(int x) { return (type)x; }                                          \
    static type dtype##_of_uint(uint x) { return (type)x; }                                        \
    static type dtype##_of_long(long x) { return (type)x; }                                        \
    static type dtype##_of_ulong(ulong x) { return (type)x; }                                      \
    static type dtype##_of_float(float x) {                                                        \
        return isnan(x) ? (type)0 : convert_##type##_sat_rtz(x);                                   \
    }                                                                                              \
    WITH_F64(static type dtype##_of_double(double x) {                                             \
        return isnan(x) ? (type)0 : convert_##type##_sat_rtz(x);                                   \
    })

INTEGER(i8, char)
INTEGER(i16, short)
INTEGER(i32, int)
INTEGER(i64, long)
INTEGER(u8, uchar)
INTEGER(u16, ushort)
INTEGER(u32, uint)
INTEGER(u64, ulong)

// Anything but 0 is true, NaN too.
#define TRUTH(type)                                                                                \
    static uchar b8_of_##type(type x) { return x != 0; }

typedef uchar stored_b8;
static uint read_b8(uchar stored) { return stored; }
TRUTH(int)
TRUTH(uint)
TRUTH(long)
TRUTH(ulong)
TRUTH(float)
WITH_F64(TRUTH(double))

// Rounds to nearest, ties to even.
#define REAL_DTYPE(dtype, type)                                                                    \
    typedef type stored_##dtype;                                                                   \
    static type read_##dtype(type stored) { return stored; }                                       \
    static type dtype##_of_int(int x) { return convert_##type(x); }                                \
    static type dtype##_of_uint(uint x) { return convert_##type(x); }                              \
    static type dtype##_of_long(long x) { return convert_##type(x); }                              \
    static type dtype##_of_ulong(ulong x) { return convert_##type(x); }                            \
    static type dtype##_of_float(float x) { return x; }                                            \
    WITH_F64(static type dtype##_of_double(double x) { return convert_##type(x); })

REAL_DTYPE(f32, float)
WITH_F64(REAL_DTYPE(f64, double))

// A float for a wider number, cut off toward zero and its last bit set if anything was lost: rounded
// once more, to a format of two bits less at least, that is the number rounded once.
#define CUT(type)                                                                                  \
    static float cut_##type(type x) {                                                              \
        float cut = convert_float_rtz(x);                                                          \
        return convert_##type##_rtz(cut) == x ? cut : as_float(as_uint(cut) | 1u);                 \
    }

CUT(int)
CUT(uint)
CUT(long)
CUT(ulong)
#ifdef HAS_F64
static float cut_double(double x) {
    float cut = convert_float_rtz(x);
    return (double)cut == x || isnan(x) ? cut : as_float(as_uint(cut) | 1u);
}
#endif

// Halves are read and written as floats, of which they are a part.
typedef ushort stored_f16;
static float read_f16(ushort stored) {
    ushort here = stored;
    return vload_half(0, (const __private half*)&here);
}

static ushort f16_of_float(float x) {
    uint bits = as_uint(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return (ushort)(sign | 0x7e00u | ((size >> 13) & 0x3ffu)); // NaN
    }
    if (size >= 0x477ff000u) {
        return (ushort)(sign | 0x7c00u); // from 65520 on: infinity
    }
    if (size < 0x38800000u) {
        // Below 2^-14 halves are 2^-24 apart, as floats from a half to one are.
        return (ushort)(sign | (as_uint(as_float(size) + 0.5f) - as_uint(0.5f)));
    }
    // The exponent's other bias, and half a unit, less a bit for ties with an even neighbour below.
    return (ushort)(sign | ((size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13));
}

typedef ushort stored_bf16;
static float read_bf16(ushort stored) { return as_float((uint)stored << 16); }

static ushort bf16_of_float(float x) {
    uint bits = as_uint(x);
    if (isnan(x)) {
        return (ushort)((bits >> 16) | 0x40u);
    }
    return (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#define BY_FLOAT(dtype)                                                                            \
    static ushort dtype##_of_int(int x) { return dtype##_of_float(cut_int(x)); }                   \
    static ushort dtype##_of_uint(uint x) { return dtype##_of_float(cut_uint(x)); }                \
    static ushort dtype##_of_long(long x) { return dtype##_of_float(cut_long(x)); }                \
    static ushort dtype##_of_ulong(ulong x) { return dtype##_of_float(cut_ulong(x)); }             \
    WITH_F64(static ushort dtype##_of_double(double x) { return dtype##_of_float(cut_double(x)); })

BY_FLOAT(f16)
BY_FLOAT(bf16)

// The way through an array: its axes, the last one fastest. Neighbours that lie one behind another
// are one axis, and those of length 1 are none.
#define MOST_AXES 16

typedef struct {
    ulong axes;
    ulong lengths[MOST_AXES];
    long strides[MOST_AXES];
} Walk;

// Where the element of this number in row-major order lies, from the first one.
static long place(const Walk* walk, ulong number) {
    if (walk->axes == 1) {
        return (long)number * walk->strides[0];
    }
    long offset = 0;
    for (ulong axis = walk->axes; axis-- > 0;) {
        ulong length = walk->lengths[axis], index;
        if ((number | length) >> 32) {
            index = number % length;
            number /= length;
        } else {
            // Division of 32 bits is several times faster.
            index = (uint)number % (uint)length;
            number = (uint)number / (uint)length;
        }
        offset += (long)index * walk->strides[axis];
    }
    return offset;
}

// CONTIGUOUS says that elements lie one behind another.
#ifdef CONTIGUOUS
#define PLACE(walk, number) ((long)(number))
#else
#define PLACE(walk, number) place(&(walk), number)
#endif
