// The products of all pairs of two lines, of dtype SOURCE (of the parts, of which an element has
// PARTS). Integers wrap; KIND is one of truth, integer and real.

#define KIND_truth 1
#define KIND_integer 2
#define KIND_real 3
#define IS JOIN(KIND_, KIND)

static STORED(SOURCE) product(STORED(SOURCE) left, STORED(SOURCE) right) {
    NUMBER(SOURCE) a = READ(SOURCE, left), b = READ(SOURCE, right);
#if IS == KIND_truth
    return (uchar)(a & b);
#elif IS == KIND_integer
    return CAST(SOURCE, ulong, (ulong)a * (ulong)b);
#else
    return CAST(SOURCE, NUMBER(SOURCE), a * b);
#endif
}

kernel void outer(global const STORED(SOURCE)* left, ulong left_first, long left_stride,
                  global const STORED(SOURCE)* right, ulong right_first, long right_stride,
                  global STORED(SOURCE)* target, ulong count, ulong columns) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    long l = ((long)left_first + (long)(number / columns) * left_stride) * PARTS;
    long r = ((long)right_first + (long)(number % columns) * right_stride) * PARTS;
#if PARTS == 1
    target[number] = product(left[l], right[r]);
#else
    NUMBER(SOURCE) a = READ(SOURCE, left[l]), b = READ(SOURCE, left[l + 1]);
    NUMBER(SOURCE) c = READ(SOURCE, right[r]), d = READ(SOURCE, right[r + 1]);
    target[number * 2] = CAST(SOURCE, NUMBER(SOURCE), a * c - b * d);
    target[number * 2 + 1] = CAST(SOURCE, NUMBER(SOURCE), a * d + b * c);
#endif
}
