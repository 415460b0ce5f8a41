"""The Python package: an image through Rust's libraries, with what was copied.

Run by `cargo xtask test --only python`, which builds the package.
"""

import numpy as np

import arraybridge_rs as ab

image = np.linspace(0, 1, 12, dtype="float32").reshape(3, 4)

for name, told in ab.libraries().items():
    print(f"{name:8} {', '.join(told['devices']) or told['why']}")

with ab.Counters() as counters:
    array = ab.convert(image, "ndarray")      # Python holds the image: one copy
    projection = np.max(array, axis=0)        # computed by Rust's ndarray
    shifted = np.exp(array) - 1               # computed by NumPy on a view, back without a copy
    view = np.asarray(shifted)                # over the same memory

print(projection, np.asarray(projection))
print(counters)
assert np.allclose(view, np.exp(image) - 1)
assert np.shares_memory(view, np.from_dlpack(shifted))
