/* Wrong on purpose: one work-item of each group writes the local memory that all of them read. */
__kernel void faulty(__global int *data)
{
    __local int seen[64];
    if (get_local_id(0) == 0) seen[0] = data[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (seen[get_local_id(0)] > 3) data[get_global_id(0)] = 1;
}
