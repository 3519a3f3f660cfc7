"""Why a histogram needs atomic operations: the obvious kernel, without them, loses counts.

Each work-item adds 1 to the bin of its value: it reads the count, adds, and writes. If two work-items of one bin both
read before either writes, both write the same number, and one count is lost.

gpuprims profile examples/racy_histogram.py    shows the device time of each launch.
"""

import warnings

import numpy as np

import gpuprims

VALUES, BINS, GROUP = 2**20, 16, 256

OPENCL = """
__kernel void racy(__global const uchar *values, __global int *histogram)
{
    const uchar bin = values[get_global_id(0)];
    histogram[bin] = histogram[bin] + 1;
}
"""
CUDA = """
extern "C" __global__ void racy(const unsigned char *values, int *histogram)
{
    const unsigned char bin = values[blockIdx.x * blockDim.x + threadIdx.x];
    histogram[bin] = histogram[bin] + 1;
}
"""


def count_by_opencl(values):
    """Run the racy kernel on a pyopencl array."""
    import pyopencl as cl
    import pyopencl.array as cl_array

    histogram = cl_array.zeros(values.queue, BINS, np.int32)
    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always print a remark
        program = cl.Program(values.context, OPENCL).build()
    program.racy(values.queue, (VALUES,), (GROUP,), values.data, histogram.data)
    return histogram.get()


def count_by_cuda(values):
    """Run the racy kernel on a CuPy array."""
    import cupy

    with values.device:
        histogram = cupy.zeros(BINS, np.int32)
        cupy.RawKernel(CUDA, "racy")((VALUES // GROUP,), (GROUP,), (values, histogram))
        return histogram.get()


RACY = {"opencl": count_by_opencl, "cuda": count_by_cuda}


def compare(device, values):
    """Count without and with atomic operations, and print the number of lost counts."""
    racy = RACY[device.backend](device.asarray(values))
    atomic, _ = gpuprims.histogram(values, bins=BINS, range=(0, BINS), device=device, variant="global_atomic")
    np.testing.assert_array_equal(atomic, np.bincount(values, minlength=BINS))
    lost = VALUES - racy.sum()
    print(f"{VALUES:,} values in {BINS} bins, on {device.capabilities.name}")
    print(f"  histogram[bin] = histogram[bin] + 1    lost {lost:,} counts, {lost / VALUES:.1%}")
    print(f"  gpuprims, variant='global_atomic'      lost {VALUES - atomic.sum():,} counts, and agrees with NumPy")
    if lost:
        print("Work-items of one bin read the same count, and each wrote the same next count: many adds became one.")
        print("An atomic add reads, adds and writes without interruption by other work-items.")
    else:
        print("No two work-items of one bin collided this time. They may collide in the next run or on another device.")
        print("Only an atomic add, which reads, adds and writes without interruption, prevents this.")


device = gpuprims.Device()
if device.backend in RACY:
    compare(device, np.random.default_rng(0).integers(0, BINS, VALUES, dtype=np.uint8))
else:
    print(f"The kernel is written for CUDA and OpenCL, not for {device.backend}.")
    print("Choose another device, for example with GPUPRIMS_DEVICE=opencl:cpu.")
