// Evenly spaced numbers, of dtype TARGET, computed in the type REAL.

kernel void linspace(global STORED(TARGET)* target, ulong count, REAL start, REAL stop, REAL step,
                     uint ends) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    // The end is met exactly, whatever the rounding of the step.
    REAL x = ends && number + 1 == count && count > 1 ? stop : start + (REAL)number * step;
    target[number] = CAST(TARGET, REAL, x);
}
