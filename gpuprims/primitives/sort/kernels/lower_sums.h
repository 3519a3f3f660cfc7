/* Sums of what the lower work-items of a group have. */
#define SUMS (WARP ? BLOCK / WARP : BLOCK) /* words of local memory */

#if WARP
/* Return the sum of the counts of a warp's lanes up to this one. */
DEVICE u32 gp_sum_to_lane(const u32 count, const int lane)
{
    u32 whole = count;
    for (int stride = 1; stride < WARP; stride *= 2) {
        const u32 lower = gp_shuffle_word_up(whole, stride);
        whole += lane >= stride ? lower : 0;
    }
    return whole;
}
#endif

/* Return the sum of the counts of the work-items before; all from `of` on count nothing. */
DEVICE u32 gp_sum_of_lower(const u32 count, LOCAL u32 *sums, const int of, const int tid)
{
#if WARP
    const u32 whole = gp_sum_to_lane(count, tid % WARP);
    u32 before = 0;
    if (tid % WARP == WARP - 1) sums[tid / WARP] = whole;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int warp = 0; warp < of / WARP; warp++) before += warp < tid / WARP ? sums[warp] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    return before + whole - count;
#else
    sums[tid] = count;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int stride = 1; stride < of; stride *= 2) {
        const u32 lower = tid >= stride ? sums[tid - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[tid] += lower;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const u32 before = sums[tid] - count;
    barrier(CLK_LOCAL_MEM_FENCE);
    return before;
#endif
}
