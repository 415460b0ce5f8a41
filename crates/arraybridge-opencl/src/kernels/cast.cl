// Casts an array into a contiguous one: a kernel for each dtype to cast to, named by it. SOURCE is
// the dtype that is cast (of the parts, of which an element has SOURCE_PARTS).

#define CAST_TO(name, dtype, parts)                                                                \
    kernel void to_##name(global const STORED(SOURCE)* source, ulong first, const Walk walk,       \
                          global STORED(dtype)* target, ulong count) {                             \
        ulong number = get_global_id(0);                                                           \
        if (number >= count) {                                                                     \
            return;                                                                                \
        }                                                                                          \
        long from = ((long)first + PLACE(walk, number)) * SOURCE_PARTS;                            \
        NUMBER(SOURCE) x = READ(SOURCE, source[from]);                                             \
        NUMBER(SOURCE) imaginary = 0;                                                              \
        if (SOURCE_PARTS == 2) {                                                                   \
            imaginary = READ(SOURCE, source[from + SOURCE_PARTS - 1]);                             \
        }                                                                                          \
        target[number * parts] = CAST(dtype, NUMBER(SOURCE), x);                                   \
        if (parts == 2) {                                                                          \
            target[number * parts + 1] = CAST(dtype, NUMBER(SOURCE), imaginary);                   \
        }                                                                                          \
    }

#if SOURCE_PARTS == 1
CAST_TO(i8, i8, 1)
CAST_TO(i16, i16, 1)
CAST_TO(i32, i32, 1)
CAST_TO(i64, i64, 1)
CAST_TO(u8, u8, 1)
CAST_TO(u16, u16, 1)
CAST_TO(u32, u32, 1)
CAST_TO(u64, u64, 1)
CAST_TO(b8, b8, 1)
CAST_TO(f16, f16, 1)
CAST_TO(bf16, bf16, 1)
CAST_TO(f32, f32, 1)
WITH_F64(CAST_TO(f64, f64, 1))
#else
// Of complex numbers there is a truth, and nothing else that is real.
kernel void to_b8(global const STORED(SOURCE)* source, ulong first, const Walk walk,
                  global uchar* target, ulong count) {
    ulong number = get_global_id(0);
    if (number < count) {
        long from = ((long)first + PLACE(walk, number)) * 2;
        target[number] = READ(SOURCE, source[from]) != 0 || READ(SOURCE, source[from + 1]) != 0;
    }
}
#endif
CAST_TO(c32, f16, 2)
CAST_TO(c64, f32, 2)
WITH_F64(CAST_TO(c128, f64, 2))
