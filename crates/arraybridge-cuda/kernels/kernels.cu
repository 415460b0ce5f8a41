// The kernels of arraybridge-cuda. `cargo xtask ptx` compiles them to kernels.ptx; host.cpp compiles
// them for the tests that have no GPU. None has barriers or shared memory, so that both run the same
// code: what reduces does so level by level.
//
// Every kernel takes one structure by value; ops/arguments.rs has the same structures in Rust.
// Addresses are those of the device, strides count elements.

#ifdef __CUDA__
#include "device.h"
#endif

#include "numbers.h"

#define AXES 8

struct Shape {
    u64 count;
    u64 rank;
    u64 lengths[AXES];
};

struct View {
    u64 address;
    i64 strides[AXES];
};

// The offset of the index-th element, in row-major order.
DEVICE i64 offset_of(const Shape &shape, const i64 *strides, u64 index) {
    i64 offset = 0;
    if (index >> 32 == 0) {
        u32 rest = (u32)index;
        for (int axis = (int)shape.rank - 1; axis > 0; --axis) {
            u64 length = shape.lengths[axis];
            if (length >> 32) return offset + rest * strides[axis];
            u32 above = rest / (u32)length;
            offset += (i64)(rest - above * (u32)length) * strides[axis];
            rest = above;
        }
        return shape.rank ? offset + rest * strides[0] : 0;
    }
    for (int axis = (int)shape.rank - 1; axis > 0; --axis) {
        u64 above = index / shape.lengths[axis];
        offset += (i64)(index - above * shape.lengths[axis]) * strides[axis];
        index = above;
    }
    return shape.rank ? offset + (i64)index * strides[0] : 0;
}

#define FOR_EACH(INDEX, COUNT) \
    for (u64 INDEX = first_index(), step_ = index_step(); INDEX < (COUNT); INDEX += step_)

// Copies between layouts, by the size of an element.

struct Transfer {
    Shape shape;
    View from, to;
};

template <class T> DEVICE void copy(const Transfer &a) {
    FOR_EACH(index, a.shape.count) {
        store<T>(a.to.address, offset_of(a.shape, a.to.strides, index),
                 load<T>(a.from.address, offset_of(a.shape, a.from.strides, index)));
    }
}

KERNEL(copy_1, Transfer) { copy<u8>(a); }
KERNEL(copy_2, Transfer) { copy<u16>(a); }
KERNEL(copy_4, Transfer) { copy<u32>(a); }
KERNEL(copy_8, Transfer) { copy<u64>(a); }

// Sixteen bytes are two loads of eight: complex128 may be aligned to 8 alone.
KERNEL(copy_16, Transfer) {
    FOR_EACH(index, a.shape.count) {
        i64 from = offset_of(a.shape, a.from.strides, index) * 2;
        i64 to = offset_of(a.shape, a.to.strides, index) * 2;
        store<u64>(a.to.address, to, load<u64>(a.from.address, from));
        store<u64>(a.to.address, to + 1, load<u64>(a.from.address, from + 1));
    }
}

// Casts a layout into a run of elements of another dtype, by the carrier of the source's.

struct Cast {
    Shape shape;
    View from;
    u64 to;
    u32 from_code, to_code;
};

template <class T> DEVICE void cast(const Cast &a) {
    FOR_EACH(index, a.shape.count) {
        i64 at = offset_of(a.shape, a.from.strides, index);
        store_as(a.to, index, a.to_code, load_as<T>(a.from.address, at, a.from_code));
    }
}

KERNEL(cast_i64, Cast) { cast<i64>(a); }
KERNEL(cast_u64, Cast) { cast<u64>(a); }
KERNEL(cast_f32, Cast) { cast<f32>(a); }
KERNEL(cast_f64, Cast) { cast<f64>(a); }
KERNEL(cast_c64, Cast) { cast<c64>(a); }
KERNEL(cast_c128, Cast) { cast<c128>(a); }

// Reduces part of the elements of each result: level by level, until one part is left. The result is
// a run of [kept.count, parts] carriers.

struct Reduce {
    Shape kept;
    i64 kept_strides[AXES];
    Shape reduced;
    i64 reduced_strides[AXES];
    u64 from, to;
    u64 parts;
    u32 code;
    // Whether neighbouring threads take neighbouring parts of one result, or one part of
    // neighbouring results: whichever lies closer together in memory.
    u32 parts_first;
};

DEVICE f32 magnitude(f32 value) { return value < 0 ? -value : value; }
DEVICE f64 magnitude(f64 value) { return value < 0 ? -value : value; }

// A sum that carries along what rounding cut off (Neumaier's variant of Kahan's).
template <class F> struct Compensated {
    F sum, lost;
    DEVICE void add(F value) {
        F next = sum + value;
        bool first = magnitude(sum) >= magnitude(value);
        lost += first ? (sum - next) + value : (value - next) + sum;
        sum = next;
    }
    DEVICE F result() const {
        // Infinities leave no number behind in what was lost.
        return lost != lost ? sum : sum + lost;
    }
};

template <class T> struct Sum {
    T sum;
    DEVICE Sum() : sum(0) {}
    DEVICE void take(T value) { sum = (T)((u64)sum + (u64)value); }
    DEVICE T result() const { return sum; }
};

template <class F> struct FloatSum {
    Compensated<F> sum;
    DEVICE FloatSum() : sum{0, 0} {}
    DEVICE void take(F value) { sum.add(value); }
    DEVICE F result() const { return sum.result(); }
};

template <class F> struct ComplexSum {
    Compensated<F> re, im;
    DEVICE ComplexSum() : re{0, 0}, im{0, 0} {}
    DEVICE void take(Complex<F> value) {
        re.add(value.re);
        im.add(value.im);
    }
    DEVICE Complex<F> result() const { return {re.result(), im.result()}; }
};

// The first element is the best so far; NaN wins and stays.
template <class T, bool LARGEST> struct Extreme {
    T best;
    bool some;
    DEVICE Extreme() : best(0), some(false) {}
    DEVICE void take(T value) {
        if (!some || (LARGEST ? value > best : value < best) || value != value) best = value;
        some = true;
    }
    DEVICE T result() const { return best; }
};

// Of finite elements alone; infinity the wrong way round if there are none.
template <class F, bool LARGEST> struct FiniteExtreme {
    F best;
    DEVICE FiniteExtreme() : best(LARGEST ? -(F)infinity() : (F)infinity()) {}
    DEVICE void take(F value) {
        bool is_finite = value - value == 0;
        if (is_finite && (LARGEST ? value > best : value < best)) best = value;
    }
    DEVICE F result() const { return best; }
};

template <class T, class STATE> DEVICE void reduce(const Reduce &a) {
    FOR_EACH(index, a.kept.count * a.parts) {
        u64 result = a.parts_first ? index / a.parts : index % a.kept.count;
        u64 part = a.parts_first ? index % a.parts : index / a.kept.count;
        i64 start = offset_of(a.kept, a.kept_strides, result);
        STATE state;
        for (u64 place = part; place < a.reduced.count; place += a.parts) {
            i64 at = start + offset_of(a.reduced, a.reduced_strides, place);
            state.take(load_as<T>(a.from, at, a.code));
        }
        store<T>(a.to, result * a.parts + part, state.result());
    }
}

KERNEL(sum_i64, Reduce) { reduce<i64, Sum<i64>>(a); }
KERNEL(sum_u64, Reduce) { reduce<u64, Sum<u64>>(a); }
KERNEL(sum_f32, Reduce) { reduce<f32, FloatSum<f32>>(a); }
KERNEL(sum_f64, Reduce) { reduce<f64, FloatSum<f64>>(a); }
KERNEL(sum_c64, Reduce) { reduce<c64, ComplexSum<f32>>(a); }
KERNEL(sum_c128, Reduce) { reduce<c128, ComplexSum<f64>>(a); }
KERNEL(max_i64, Reduce) { reduce<i64, Extreme<i64, true>>(a); }
KERNEL(max_u64, Reduce) { reduce<u64, Extreme<u64, true>>(a); }
KERNEL(max_f32, Reduce) { reduce<f32, Extreme<f32, true>>(a); }
KERNEL(max_f64, Reduce) { reduce<f64, Extreme<f64, true>>(a); }
KERNEL(min_i64, Reduce) { reduce<i64, Extreme<i64, false>>(a); }
KERNEL(min_u64, Reduce) { reduce<u64, Extreme<u64, false>>(a); }
KERNEL(min_f32, Reduce) { reduce<f32, Extreme<f32, false>>(a); }
KERNEL(min_f64, Reduce) { reduce<f64, Extreme<f64, false>>(a); }
KERNEL(finite_max_f32, Reduce) { reduce<f32, FiniteExtreme<f32, true>>(a); }
KERNEL(finite_max_f64, Reduce) { reduce<f64, FiniteExtreme<f64, true>>(a); }
KERNEL(finite_min_f32, Reduce) { reduce<f32, FiniteExtreme<f32, false>>(a); }
KERNEL(finite_min_f64, Reduce) { reduce<f64, FiniteExtreme<f64, false>>(a); }

// Divides a run of carriers by one number (a mean of sums), rounding once into the result's dtype.

struct Mean {
    u64 from, to, count;
    f64 divisor;
    u64 to_code;
};

template <class T> DEVICE void mean(const Mean &a) {
    FOR_EACH(index, a.count) {
        store_as(a.to, index, (u32)a.to_code, (f64)load<T>(a.from, index) / a.divisor);
    }
}

template <class F> DEVICE void complex_mean(const Mean &a) {
    FOR_EACH(index, a.count) {
        Complex<F> sum = load<Complex<F>>(a.from, index);
        c128 mean = {(f64)sum.re / a.divisor, (f64)sum.im / a.divisor};
        store_as(a.to, index, (u32)a.to_code, mean);
    }
}

KERNEL(mean_i64, Mean) { mean<i64>(a); }
KERNEL(mean_u64, Mean) { mean<u64>(a); }
KERNEL(mean_f32, Mean) { mean<f32>(a); }
KERNEL(mean_f64, Mean) { mean<f64>(a); }
KERNEL(mean_c64, Mean) { complex_mean<f32>(a); }
KERNEL(mean_c128, Mean) { complex_mean<f64>(a); }

// Two layouts of one shape into a run of elements.

struct Pair {
    Shape shape;
    View left, right;
    u64 to;
    u32 code, to_code;
};

KERNEL(logical_and, Pair) {
    FOR_EACH(index, a.shape.count) {
        u8 left = load<u8>(a.left.address, offset_of(a.shape, a.left.strides, index));
        u8 right = load<u8>(a.right.address, offset_of(a.shape, a.right.strides, index));
        store<u8>(a.to, index, left != 0 && right != 0);
    }
}

DEVICE i64 times(i64 left, i64 right) { return (i64)((u64)left * (u64)right); }
DEVICE u64 times(u64 left, u64 right) { return left * right; }
DEVICE f32 times(f32 left, f32 right) { return left * right; }
DEVICE f64 times(f64 left, f64 right) { return left * right; }
template <class F> DEVICE Complex<F> times(Complex<F> left, Complex<F> right) {
    return {left.re * right.re - left.im * right.im, left.re * right.im + left.im * right.re};
}

template <class T> DEVICE void multiply(const Pair &a) {
    FOR_EACH(index, a.shape.count) {
        T left = load_as<T>(a.left.address, offset_of(a.shape, a.left.strides, index), a.code);
        T right = load_as<T>(a.right.address, offset_of(a.shape, a.right.strides, index), a.code);
        store_as(a.to, index, a.to_code, times(left, right));
    }
}

KERNEL(multiply_i64, Pair) { multiply<i64>(a); }
KERNEL(multiply_u64, Pair) { multiply<u64>(a); }
KERNEL(multiply_f32, Pair) { multiply<f32>(a); }
KERNEL(multiply_f64, Pair) { multiply<f64>(a); }
KERNEL(multiply_c64, Pair) { multiply<c64>(a); }
KERNEL(multiply_c128, Pair) { multiply<c128>(a); }

// Divides each plane of a run by its scale.

struct Divide {
    u64 from, to, scales;
    u64 count, plane;
    u32 code, to_code;
};

template <class F> DEVICE void divide(const Divide &a) {
    FOR_EACH(index, a.count) {
        F scale = (F)load<f64>(a.scales, index / a.plane);
        store_as(a.to, index, a.to_code, load_as<F>(a.from, index, a.code) / scale);
    }
}

template <class F> DEVICE void complex_divide(const Divide &a) {
    FOR_EACH(index, a.count) {
        F scale = (F)load<f64>(a.scales, index / a.plane);
        Complex<F> value = load_as<Complex<F>>(a.from, index, a.code);
        store_as(a.to, index, a.to_code, Complex<F>{value.re / scale, value.im / scale});
    }
}

KERNEL(divide_f32, Divide) { divide<f32>(a); }
KERNEL(divide_f64, Divide) { divide<f64>(a); }
KERNEL(divide_c64, Divide) { complex_divide<f32>(a); }
KERNEL(divide_c128, Divide) { complex_divide<f64>(a); }

// Floats into the whole range of an integer dtype, by the rules of arraybridge_core::ops::scale. The
// range of the elements is read where a reduction left it.

struct Rescale {
    u64 from, to, low, high;
    u64 count;
    f64 factor, offset;
    u32 code, to_code;
    // Whether to compute in doubles whatever the range is.
    u64 wide;
};

template <class F> DEVICE void rescale(const Rescale &a) {
    F low = load<F>(a.low, 0), high = load<F>(a.high, 0);
    bool wide = a.wide || sizeof(F) == 8 || (f64)high - (f64)low > 3.4028234663852886e38;
    // Halving is exact and keeps the span of the widest doubles finite.
    f64 span = (f64)high - (f64)low;
    f64 shrink = span - span == 0 ? 1.0 : 0.5;
    f64 least = (f64)low * shrink;
    f64 distance = (f64)high * shrink - least;
    FOR_EACH(index, a.count) {
        F value = load_as<F>(a.from, index, a.code);
        if (!(low < high)) {
            store_as(a.to, index, a.to_code, value);
        } else if (wide) {
            f64 part = ((f64)value * shrink - least) / distance;
            store_as(a.to, index, a.to_code, part * a.factor + a.offset);
        } else {
            f32 part = ((f32)value - (f32)low) / ((f32)high - (f32)low);
            store_as(a.to, index, a.to_code, part * (f32)a.factor + (f32)a.offset);
        }
    }
}

KERNEL(rescale_f32, Rescale) { rescale<f32>(a); }
KERNEL(rescale_f64, Rescale) { rescale<f64>(a); }

// Evenly spaced numbers; ones, where the step is 0.

struct Linspace {
    u64 to, count;
    // Half a step, so that the distance between the largest doubles stays finite.
    f64 start, half_step, stop;
    u32 to_code, endpoint;
};

KERNEL(linspace, Linspace) {
    FOR_EACH(index, a.count) {
        // The end is met exactly, whatever the rounding of the step.
        bool last = a.endpoint && a.count > 1 && index == a.count - 1;
        f64 way = (f64)index * a.half_step;
        store_as(a.to, index, a.to_code, last ? a.stop : a.start + way + way);
    }
}
