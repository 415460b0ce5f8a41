"""Measure the Python libraries that are here, and print rows as JSON.

The names are those of the rows of the Rust program that runs this.
"""

import json
import sys
import time

import numpy as np

try:
    import torch
except ImportError:
    torch = None
try:
    import pyclesperanto as cle

    cle.select_device()
except (ImportError, RuntimeError):
    cle = None
try:
    import arraybridge
except ImportError:
    arraybridge = None

ROUNDS = int(sys.argv[1])
rows = []


def measure(name, library, function):
    function()
    times = []
    for _ in range(ROUNDS):
        calls, seconds = 1, 0.0
        while True:
            start = time.perf_counter()
            for _ in range(calls):
                function()
            seconds = time.perf_counter() - start
            if seconds > 2e-3:
                break
            calls *= 4
        times.append(seconds / calls)
    times.sort()
    middle = times[len(times) // 2]
    spread = (times[len(times) * 3 // 4] - times[len(times) // 4]) / middle
    rows.append({"name": name, "library": library, "seconds": middle, "spread": spread})


for dtype in ["float32", "uint8", "int16", "float64"]:
    array = np.zeros((4096, 4096), dtype)
    array[:] = 1
    name = f"transpose 4096^2 {dtype}"
    measure(name, "NumPy", lambda: np.ascontiguousarray(array.T))
    if torch is not None:
        tensor = torch.from_numpy(array)
        measure(name, "torch", lambda: tensor.t().contiguous())

volume = np.ones((64, 512, 512), np.float32)
name = "permute (2,1,0) 64x512x512 float32"
measure(name, "NumPy", lambda: np.ascontiguousarray(volume.transpose(2, 1, 0)))
if torch is not None:
    tensor = torch.from_numpy(volume)
    measure(name, "torch", lambda: tensor.permute(2, 1, 0).contiguous())

planes = [np.ones((512, 512), np.uint16) for _ in range(500)]
measure("stack 500 planes 512^2 uint16", "NumPy", lambda: np.stack(planes))

if torch is not None:
    small = np.ones((256, 256), np.float32)
    measure("ndarray to tch, typed", "torch.from_numpy", lambda: torch.from_numpy(small))
    if arraybridge is not None:
        place = arraybridge.HOST
        measure(
            "ndarray to tch, typed",
            "Python's arraybridge",
            lambda: arraybridge.convert_memory(small, "numpy", "torch", place),
        )
    for dtype in ["float32", "uint8"]:
        tensor = torch.ones((4096, 4096), dtype=getattr(torch, dtype))
        measure(
            f"transposed tensor 4096^2 {dtype} to a host array",
            "torch in Python",
            lambda: tensor.t().contiguous(),
        )

for axis in range(3):
    name = f"over axis {axis} of 64x512x512 float32"
    measure(f"sum {name}", "NumPy", lambda: volume.sum(axis))
    measure(f"max {name}", "NumPy", lambda: volume.max(axis))

if arraybridge is not None:
    library = arraybridge.ArrayLibrary.named("numpy")
    ramp = np.arange(16 << 20, dtype=np.float32).reshape(64, 512, 512) % 1000
    measure(
        "scale_dtype 64 MiB float32 to uint8",
        "Python's arraybridge",
        lambda: library.scale_dtype(ramp, np.uint8),
    )

if cle is not None:
    # On the device that it chooses, which with one driver is the Rust program's.
    ramp = (np.arange(16 << 20, dtype=np.float32) % 1000).reshape(64, 512, 512)
    image = cle.push(ramp)
    flat = cle.create((512, 512), dtype=np.float32)
    measure("ndarray to opencl, 64 MiB, shared", "pyclesperanto push", lambda: cle.push(ramp))
    measure("opencl to ndarray, 64 MiB, shared", "pyclesperanto pull", lambda: cle.pull(image))

    def projected(function):
        # Commands are queued: reading one element waits for them.
        function(image, flat)
        cle.wait_for_kernel_to_finish(True)

    cle.wait_for_kernel_to_finish(True)
    name = "over axis 0 of 64x512x512 float32 in opencl"
    measure(f"max {name}", "pyclesperanto", lambda: projected(cle.maximum_z_projection))
    measure(f"mean {name}", "pyclesperanto", lambda: projected(cle.mean_z_projection))

json.dump(rows, sys.stdout)
