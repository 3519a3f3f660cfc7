/* Wrong on purpose: every thread of a block adds to one word of shared memory, and none waits for another. */
extern "C" __global__ void faulty(int *data)
{
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    total += data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = total;
}
