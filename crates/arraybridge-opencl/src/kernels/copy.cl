// Copies elements between two layouts, whatever their dtype: UNITS units of type UNIT are one.

kernel void copy(global const UNIT* source, ulong source_first, const Walk source_walk,
                 global UNIT* target, ulong target_first, const Walk target_walk, ulong count) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    long from = ((long)source_first + place(&source_walk, number)) * UNITS;
    long to = ((long)target_first + place(&target_walk, number)) * UNITS;
    for (int unit = 0; unit < UNITS; unit++) {
        target[to + unit] = source[from + unit];
    }
}
