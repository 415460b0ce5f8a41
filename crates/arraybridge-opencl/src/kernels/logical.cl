// Is true where both arrays of truth values are.

kernel void logical_and(global const uchar* left, ulong left_first, const Walk left_walk,
                        global const uchar* right, ulong right_first, const Walk right_walk,
                        global uchar* target, ulong count) {
    ulong number = get_global_id(0);
    if (number >= count) {
        return;
    }
    uchar one = left[(long)left_first + place(&left_walk, number)];
    uchar other = right[(long)right_first + place(&right_walk, number)];
    target[number] = one & other;
}
