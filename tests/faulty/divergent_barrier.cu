/* Wrong on purpose: half of a warp waits at a barrier of the whole warp, which the other half never comes to. */
extern "C" __global__ void faulty(int *data)
{
    if (threadIdx.x < 16) __syncwarp(0xffffffff);
    data[threadIdx.x] = threadIdx.x;
}
