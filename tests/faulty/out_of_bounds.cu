/* Wrong on purpose: the last thread reads past the end. */
extern "C" __global__ void faulty(int *data)
{
    const int next = data[threadIdx.x + 64 * 128];
    __syncthreads();
    data[threadIdx.x] = next;
}
