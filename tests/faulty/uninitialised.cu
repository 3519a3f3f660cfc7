/* Wrong on purpose: every thread reads what nobody has written. */
extern "C" __global__ void faulty(int *data)
{
    if (data[threadIdx.x + 64] > 3) data[threadIdx.x] = 1;
}
