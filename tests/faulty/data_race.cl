/* Wrong on purpose: every work-item of a group adds to one word of local memory, and none waits for another. */
__kernel void faulty(__global int *data)
{
    __local int total;
    if (get_local_id(0) == 0) total = 0;
    total += data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = total;
}
