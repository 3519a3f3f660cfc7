/* Wrong on purpose: the last work-item reads one element past the end. */
__kernel void faulty(__global int *data)
{
    const int next = data[get_global_id(0) + 1];
    barrier(CLK_GLOBAL_MEM_FENCE);
    data[get_global_id(0)] = next;
}
