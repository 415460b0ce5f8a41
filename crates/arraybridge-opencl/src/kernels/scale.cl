// Rescales floats into integers: the lowest finite element becomes the lower end of the range, the
// highest the upper one. `range` holds those two, in the type REAL that everything is computed in;
// where they do not differ, this is a cast. SOURCE and TARGET are the dtypes.

kernel void scale(global const STORED(SOURCE)* source, ulong first, const Walk walk,
                  global STORED(TARGET)* target, ulong count, global const REAL* range,
                  REAL factor, REAL offset) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    NUMBER(SOURCE) element = READ(SOURCE, source[(long)first + PLACE(walk, number)]);
    REAL low = range[0], high = range[1], x = (REAL)element;
    if (!(low < high)) {
        target[number] = CAST(TARGET, NUMBER(SOURCE), element);
        return;
    }
    // Halving is exact and keeps the span of the widest numbers finite.
    REAL shrink = isinf(high - low) ? (REAL)0.5f : (REAL)1.0f;
    REAL part = (x * shrink - low * shrink) / (high * shrink - low * shrink);
    // The ends are met exactly, however the device divides; infinities lie beyond them.
    REAL scaled = x >= high ? factor + offset : x <= low ? offset : part * factor + offset;
    target[number] = CAST(TARGET, REAL, scaled);
}
