// Elements of every dtype, read into and written from a few wide types, their carriers, by the rules
// of arraybridge_core::ops::cast.

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

template <class P> struct Complex {
    P re, im;
};
typedef Complex<f32> c64;
typedef Complex<f64> c128;

// The order of arraybridge_core::DType.
enum Code : u32 {
    BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C32, C64, C128,
    F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU
};

// What the top codes of a narrow float mean.
enum Top { IEEE, FINITE, FINITE_UNSIGNED_ZERO };

struct Format {
    int width, mantissa, bias;
    Top top;
};

DEVICE Format format_of(u32 code) {
    switch (code) {
    case F16: return {16, 10, 15, IEEE};
    case BF16: return {16, 7, 127, IEEE};
    case F8E3M4: return {8, 4, 3, IEEE};
    case F8E4M3: return {8, 3, 7, IEEE};
    case F8E4M3B11FNUZ: return {8, 3, 11, FINITE_UNSIGNED_ZERO};
    case F8E4M3FN: return {8, 3, 7, FINITE};
    case F8E4M3FNUZ: return {8, 3, 8, FINITE_UNSIGNED_ZERO};
    case F8E5M2: return {8, 2, 15, IEEE};
    default: return {8, 2, 16, FINITE_UNSIGNED_ZERO};
    }
}

// The largest code of a finite value, without its sign.
DEVICE u32 largest(Format f) {
    u32 all = (1u << (f.width - 1)) - 1;
    if (f.top == IEEE) return (all & ~((1u << f.mantissa) - 1)) - 1;
    return f.top == FINITE ? all - 1 : all;
}

DEVICE u32 nan_of(Format f, u32 sign) {
    if (f.top == IEEE) return (largest(f) + 1 + (1u << (f.mantissa - 1))) | sign;
    return f.top == FINITE ? (largest(f) + 1) | sign : 1u << (f.width - 1);
}

DEVICE f32 power_of_two(int exponent) { return bits_of<f32>((u32)(exponent + 127) << 23); }
DEVICE f32 quiet_nan() { return bits_of<f32>(0x7fc00000u); }
DEVICE f32 infinity() { return bits_of<f32>(0x7f800000u); }

DEVICE f32 decode(u32 bits, u32 which) {
    if (which == BF16) return bits_of<f32>(bits << 16);
    if (which == F8E8M0FNU) {
        if (bits == 255) return quiet_nan();
        return bits_of<f32>(bits == 0 ? 0x00400000u : bits << 23);
    }
    Format f = format_of(which);
    u32 sign = bits >> (f.width - 1) << 31;
    u32 code = bits & ((1u << (f.width - 1)) - 1);
    f32 magnitude;
    if (f.top == FINITE_UNSIGNED_ZERO && bits == 1u << (f.width - 1)) {
        return quiet_nan();
    } else if (code > largest(f)) {
        magnitude = f.top == IEEE && code == largest(f) + 1 ? infinity() : quiet_nan();
    } else {
        u32 mantissa = code & ((1u << f.mantissa) - 1);
        int exponent = code >> f.mantissa;
        if (exponent == 0) {
            magnitude = (f32)mantissa * power_of_two(1 - f.bias - f.mantissa);
        } else {
            magnitude = bits_of<f32>((u32)(exponent - f.bias + 127) << 23 | mantissa << (23 - f.mantissa));
        }
    }
    return bits_of<f32>(bits_of<u32>(magnitude) | sign);
}

// A number as sign, exponent and 53 bits (the first is 1), the last of which stands for all that
// were cut off.
struct Parts {
    bool negative, is_nan, is_infinite, is_zero;
    int exponent;
    u64 significand;
};

DEVICE Parts parts_of(f32 value) {
    u32 bits = bits_of<u32>(value);
    u32 exponent = bits >> 23 & 255, mantissa = bits & 0x7fffff;
    Parts p = {bits >> 31 != 0, exponent == 255 && mantissa != 0, exponent == 255 && mantissa == 0,
               exponent == 0 && mantissa == 0, (int)exponent - 127,
               (u64)(mantissa | 0x800000) << 29};
    if (exponent == 0 && mantissa != 0) {
        int shift = __builtin_clz(mantissa) - 8;
        p.exponent = -126 - shift;
        p.significand = (u64)(mantissa << shift) << 29;
    }
    return p;
}

DEVICE Parts parts_of(f64 value) {
    u64 bits = bits_of<u64>(value);
    u32 exponent = bits >> 52 & 2047;
    u64 mantissa = bits & 0xfffffffffffffull;
    // Numbers below the normal ones are below half of every narrow format's smallest, whatever their
    // bits.
    return {bits >> 63 != 0, exponent == 2047 && mantissa != 0, exponent == 2047 && mantissa == 0,
            exponent == 0 && mantissa == 0, (int)exponent - 1023, mantissa | 1ull << 52};
}

DEVICE Parts parts_of(u64 value) {
    if (value == 0) return {false, false, false, true, 0, 0};
    int zeros = __builtin_clzll(value);
    u64 left = value << zeros;
    return {false, false, false, false, 63 - zeros, left >> 11 | ((left & 2047) != 0)};
}

DEVICE Parts parts_of(i64 value) {
    Parts p = parts_of(value < 0 ? 0 - (u64)value : (u64)value);
    p.negative = value < 0;
    return p;
}

// Rounds to the nearest power of two, ties to the larger one.
DEVICE u32 encode_power(Parts p) {
    if (p.is_nan || (p.negative && !p.is_zero)) return 255;
    if (p.is_infinite) return 255;
    if (p.is_zero) return 0;
    int code = p.exponent + (p.significand >= 3ull << 51) + 127;
    return p.exponent < -127 || code < 0 ? 0 : code > 255 ? 255 : (u32)code;
}

// Rounds to nearest, ties to even.
DEVICE u32 encode(Parts p, u32 which) {
    if (which == F8E8M0FNU) return encode_power(p);
    Format f = format_of(which);
    u32 sign = (u32)p.negative << (f.width - 1);
    if (p.is_nan) return nan_of(f, sign);
    u64 code = 0;
    if (p.is_infinite) {
        code = largest(f) + 1;
    } else if (!p.is_zero) {
        int smallest = 1 - f.bias;
        int shift = 52 - f.mantissa + (p.exponent < smallest ? smallest - p.exponent : 0);
        if (shift < 54) {
            u64 kept = p.significand >> shift;
            u64 rest = p.significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
            kept += rest > half || (rest == half && (kept & 1));
            u64 above = p.exponent > smallest ? p.exponent - smallest : 0;
            code = (above << f.mantissa) + kept;
        }
    }
    if (code > largest(f)) {
        return f.top == IEEE ? (largest(f) + 1) | sign : nan_of(f, sign);
    }
    if (code == 0 && f.top == FINITE_UNSIGNED_ZERO) return 0;
    return (u32)code | sign;
}

// Truncates toward zero and saturates; NaN becomes 0.
template <class T, class F> DEVICE T whole(F value, F below, F above, T lowest, T highest) {
    if (value != value) return 0;
    if (value <= below) return lowest;
    if (value >= above) return highest;
    return (T)value;
}

template <class F> DEVICE void store_float(u64 to, i64 at, u32 code, F value) {
    switch (code) {
    case BOOL: return store<u8>(to, at, value != 0);
    case I8: return store<i8>(to, at, (i8)whole<i32, F>(value, -128, 127, -128, 127));
    case I16: return store<i16>(to, at, (i16)whole<i32, F>(value, -32768, 32767, -32768, 32767));
    case I32:
        return store<i32>(to, at, whole<i32, F>(value, (F)-2147483648.0, (F)2147483648.0,
                                                -2147483647 - 1, 2147483647));
    case I64:
        return store<i64>(to, at, whole<i64, F>(value, (F)-9223372036854775808.0,
                                                (F)9223372036854775808.0,
                                                -9223372036854775807ll - 1, 9223372036854775807ll));
    case U8: return store<u8>(to, at, (u8)whole<u32, F>(value, 0, 255, 0, 255));
    case U16: return store<u16>(to, at, (u16)whole<u32, F>(value, 0, 65535, 0, 65535));
    case U32:
        return store<u32>(to, at, whole<u32, F>(value, 0, (F)4294967296.0, 0, 4294967295u));
    case U64:
        return store<u64>(to, at, whole<u64, F>(value, 0, (F)18446744073709551616.0, 0,
                                                18446744073709551615ull));
    case F32: return store<f32>(to, at, (f32)value);
    case F64: return store<f64>(to, at, (f64)value);
    case F16:
    case BF16: return store<u16>(to, at, (u16)encode(parts_of(value), code));
    case C32: return store<u32>(to, at, encode(parts_of(value), F16));
    case C64: return store<c64>(to, at, c64{(f32)value, 0});
    case C128: return store<c128>(to, at, c128{(f64)value, 0});
    default: return store<u8>(to, at, (u8)encode(parts_of(value), code));
    }
}

template <class I> DEVICE void store_integer(u64 to, i64 at, u32 code, I value) {
    switch (code) {
    case BOOL: return store<u8>(to, at, value != 0);
    case I8:
    case U8: return store<u8>(to, at, (u8)value);
    case I16:
    case U16: return store<u16>(to, at, (u16)value);
    case I32:
    case U32: return store<u32>(to, at, (u32)value);
    case I64:
    case U64: return store<u64>(to, at, (u64)value);
    case F32: return store<f32>(to, at, (f32)value);
    case F64: return store<f64>(to, at, (f64)value);
    case F16:
    case BF16: return store<u16>(to, at, (u16)encode(parts_of(value), code));
    case C32: return store<u32>(to, at, encode(parts_of(value), F16));
    case C64: return store<c64>(to, at, c64{(f32)value, 0});
    case C128: return store<c128>(to, at, c128{(f64)value, 0});
    default: return store<u8>(to, at, (u8)encode(parts_of(value), code));
    }
}

// Complex numbers become complex ones, or whether they are not zero.
template <class P> DEVICE void store_complex(u64 to, i64 at, u32 code, Complex<P> value) {
    switch (code) {
    case BOOL: return store<u8>(to, at, value.re != 0 || value.im != 0);
    case C32:
        return store<u32>(to, at,
                          encode(parts_of(value.re), F16) | encode(parts_of(value.im), F16) << 16);
    case C64: return store<c64>(to, at, c64{(f32)value.re, (f32)value.im});
    case C128: return store<c128>(to, at, c128{(f64)value.re, (f64)value.im});
    }
}

DEVICE void store_as(u64 to, i64 at, u32 code, f32 value) { store_float(to, at, code, value); }
DEVICE void store_as(u64 to, i64 at, u32 code, f64 value) { store_float(to, at, code, value); }
DEVICE void store_as(u64 to, i64 at, u32 code, i64 value) { store_integer(to, at, code, value); }
DEVICE void store_as(u64 to, i64 at, u32 code, u64 value) { store_integer(to, at, code, value); }
DEVICE void store_as(u64 to, i64 at, u32 code, c64 value) { store_complex(to, at, code, value); }
DEVICE void store_as(u64 to, i64 at, u32 code, c128 value) { store_complex(to, at, code, value); }

// Reads an element into its carrier: each carrier is asked for the dtypes that it holds.
template <class T> DEVICE T load_as(u64 from, i64 at, u32 code);

template <> DEVICE i64 load_as<i64>(u64 from, i64 at, u32 code) {
    switch (code) {
    case BOOL: return load<u8>(from, at) != 0;
    case I8: return load<i8>(from, at);
    case I16: return load<i16>(from, at);
    case I32: return load<i32>(from, at);
    case U8: return load<u8>(from, at);
    case U16: return load<u16>(from, at);
    case U32: return load<u32>(from, at);
    default: return load<i64>(from, at);
    }
}

template <> DEVICE u64 load_as<u64>(u64 from, i64 at, u32 code) {
    return code == U64 ? load<u64>(from, at) : (u64)load_as<i64>(from, at, code);
}

template <> DEVICE f32 load_as<f32>(u64 from, i64 at, u32 code) {
    switch (code) {
    case F32: return load<f32>(from, at);
    case F16:
    case BF16: return decode(load<u16>(from, at), code);
    default: return decode(load<u8>(from, at), code);
    }
}

template <> DEVICE f64 load_as<f64>(u64 from, i64 at, u32 code) {
    switch (code) {
    case F64: return load<f64>(from, at);
    // The means of wide integers are taken in doubles.
    case U64: return (f64)load<u64>(from, at);
    default: return (f64)load_as<i64>(from, at, code);
    }
}

template <> DEVICE c64 load_as<c64>(u64 from, i64 at, u32 code) {
    if (code == C64) return load<c64>(from, at);
    u32 bits = load<u32>(from, at);
    return {decode(bits & 0xffff, F16), decode(bits >> 16, F16)};
}

template <> DEVICE c128 load_as<c128>(u64 from, i64 at, u32) { return load<c128>(from, at); }
