// Divides every element by the scale of its plane, in the type REAL, into the dtype TARGET. SOURCE is
// the dtype of the array (of the parts, of which an element and its quotient have PARTS).

kernel void divide_planes(global const STORED(SOURCE)* source, ulong first, const Walk walk,
                          global STORED(TARGET)* target, ulong count, global const REAL* scales,
                          ulong plane) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    long from = ((long)first + PLACE(walk, number)) * PARTS;
    REAL scale = scales[number / plane];
    for (int part = 0; part < PARTS; part++) {
        REAL x = (REAL)READ(SOURCE, source[from + part]);
        target[number * PARTS + part] = CAST(TARGET, REAL, x / scale);
    }
}
