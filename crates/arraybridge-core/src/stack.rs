//! Slices of stacks: many 2-D arrays as one 3-D array, and back.
