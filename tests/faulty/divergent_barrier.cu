/* Wrong on purpose: some threads of a block wait at a barrier that the others never come to. */
extern "C" __global__ void faulty(int *data)
{
    if (data[threadIdx.x] > 0 && threadIdx.x < 40) __syncthreads();
    data[threadIdx.x] = threadIdx.x;
}
