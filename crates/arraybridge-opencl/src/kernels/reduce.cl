// Reductions, in two stages: the elements behind each result are cut into pieces, a total is made of
// every piece, and the totals are joined. REDUCTION is one of maximum, minimum, sum, mean and range; SOURCE
// is the dtype (of the parts, of which an element has PARTS), TARGET the result's, REAL the type that
// sums are made in. COMPENSATED keeps what sums lose by rounding, for a REAL that is no wider than
// the elements; HAS_NAN says that SOURCE has such.

#define REDUCTION_maximum 1
#define REDUCTION_minimum 2
#define REDUCTION_sum 3
#define REDUCTION_mean 4
#define REDUCTION_range 5
#define IS JOIN(REDUCTION_, REDUCTION)

#if IS == REDUCTION_maximum || IS == REDUCTION_minimum

typedef NUMBER(SOURCE) Total;

#ifdef HAS_NAN
#define IS_NAN(x) isnan(x)
#else
#define IS_NAN(x) false
#endif

// Any element will do to start from: taking it twice changes nothing.
static Total start(NUMBER(SOURCE) x) { return x; }

static Total add(Total total, NUMBER(SOURCE) x) {
    // A NaN is taken and never let go of.
#if IS == REDUCTION_maximum
    return x > total || IS_NAN(x) ? x : total;
#else
    return x < total || IS_NAN(x) ? x : total;
#endif
}

static Total join(Total one, Total other) { return add(one, other); }

#define RESULT(total, count) CAST(TARGET, NUMBER(SOURCE), total)

#elif IS == REDUCTION_range

// The lowest and the highest finite element.
typedef struct {
    REAL low;
    REAL high;
} Total;

static Total start(NUMBER(SOURCE) x) {
    Total total = {INFINITY, -INFINITY};
    return total;
}

static Total add(Total total, NUMBER(SOURCE) x) {
    if (isfinite(x)) {
        total.low = x < total.low ? x : total.low;
        total.high = x > total.high ? x : total.high;
    }
    return total;
}

static Total join(Total one, Total other) {
    one.low = other.low < one.low ? other.low : one.low;
    one.high = other.high > one.high ? other.high : one.high;
    return one;
}

#define RESULT(total, count) (total)

#else

typedef struct {
    REAL sum;
#ifdef COMPENSATED
    REAL lost;
#endif
} Total;

static Total start(NUMBER(SOURCE) x) {
    Total total = {0};
    return total;
}

static Total add(Total total, NUMBER(SOURCE) number) {
    REAL x = (REAL)number;
#ifdef COMPENSATED
    REAL sum = total.sum + x, added = sum - total.sum;
    total.lost += (total.sum - (sum - added)) + (x - added);
    total.sum = sum;
#else
    total.sum += x;
#endif
    return total;
}

static Total join(Total one, Total other) {
#ifdef COMPENSATED
    REAL sum = one.sum + other.sum, added = sum - one.sum;
    one.lost += other.lost + ((one.sum - (sum - added)) + (other.sum - added));
    one.sum = sum;
#else
    one.sum += other.sum;
#endif
    return one;
}

static REAL whole(Total total) {
#ifdef COMPENSATED
    // Where the sum is infinite, what it lost is not a number.
    return isfinite(total.sum) ? total.sum + total.lost : total.sum;
#else
    return total.sum;
#endif
}

#if IS == REDUCTION_mean
#define RESULT(total, count) CAST(TARGET, REAL, whole(total) / (REAL)(count))
#else
#define RESULT(total, count) CAST(TARGET, REAL, whole(total))
#endif

#endif

#if IS == REDUCTION_range
#define RESULTS Total
#else
#define RESULTS STORED(TARGET)
#endif

// The first stage for many results: a work item makes the total of a piece of one of them, and
// neighbours read neighbours.
kernel void columns(global const STORED(SOURCE)* source, ulong first, const Walk kept,
                    const Walk reduced, ulong results, ulong count, ulong length,
                    global Total* totals, global RESULTS* target) {
    ulong result = get_global_id(0), piece = get_global_id(1);
    if (result >= results) {
        return;
    }
    ulong from = piece * length, to = min(from + length, count);
    long base = (long)first + place(&kept, result);
    for (int part = 0; part < PARTS; part++) {
        Total total = start(from < to ? READ(SOURCE, source[(base + place(&reduced, from)) * PARTS + part]) : 0);
        if (reduced.axes == 1) {
            long step = reduced.strides[0] * PARTS;
            long at = (base + (long)from * reduced.strides[0]) * PARTS + part;
            for (ulong number = from; number < to; number++, at += step) {
                total = add(total, READ(SOURCE, source[at]));
            }
        } else {
            for (ulong number = from; number < to; number++) {
                long at = (base + place(&reduced, number)) * PARTS + part;
                total = add(total, READ(SOURCE, source[at]));
            }
        }
        if (get_global_size(1) == 1) {
            target[result * PARTS + part] = RESULT(total, count);
        } else {
            totals[(piece * results + result) * PARTS + part] = total;
        }
    }
}

// The first stage for few results: a work-group makes the total of a piece of one of them.
kernel void rows(global const STORED(SOURCE)* source, ulong first, const Walk kept,
                 const Walk reduced, ulong results, ulong count, ulong length,
                 global Total* totals, global RESULTS* target, local Total* shared) {
    ulong result = get_group_id(0), piece = get_group_id(1);
    uint item = get_local_id(0), items = get_local_size(0);
    ulong from = piece * length, to = min(from + length, count);
    long base = (long)first + place(&kept, result);
#ifdef INTERLEAVED
    // Neighbours read neighbours.
    ulong begin = from + item, end = to, step = items;
#else
    // Each reads one element after another, which suits the caches of CPUs.
    ulong each = (to - from + items - 1) / items;
    ulong begin = min(from + item * each, to), end = min(begin + each, to), step = 1;
#endif
    for (int part = 0; part < PARTS; part++) {
        Total total = start(from < to ? READ(SOURCE, source[(base + place(&reduced, from)) * PARTS + part]) : 0);
        for (ulong number = begin; number < end; number += step) {
            long at = (base + place(&reduced, number)) * PARTS + part;
            total = add(total, READ(SOURCE, source[at]));
        }
        shared[item] = total;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint half_of = items / 2; half_of > 0; half_of /= 2) {
            if (item < half_of) {
                shared[item] = join(shared[item], shared[item + half_of]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (item == 0) {
            if (get_num_groups(1) == 1) {
                target[result * PARTS + part] = RESULT(shared[0], count);
            } else {
                totals[(piece * results + result) * PARTS + part] = shared[0];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// The second stage: joins the totals of the pieces of every result.
kernel void finish(global const Total* totals, ulong results, ulong pieces, ulong count,
                   global RESULTS* target) {
    ulong result = get_global_id(0);
    if (result >= results) {
        return;
    }
    for (int part = 0; part < PARTS; part++) {
        Total total = totals[result * PARTS + part];
        for (ulong piece = 1; piece < pieces; piece++) {
            total = join(total, totals[(piece * results + result) * PARTS + part]);
        }
        target[result * PARTS + part] = RESULT(total, count);
    }
}
