/* Ranks of elements among those of their warp whose digits are like theirs. */
#define WARPS (BLOCK / WARP)

/* Turn counts of the digit's values, one for each of the first DIGITS work-items, into sums of those before. A warp's own sum
 * comes first, other than in gp_sum_of_lower (rows: onesweep-sums). */
DEVICE u32 gp_sum_before(const u32 count, LOCAL u32 *sums, const int tid)
{
    const u32 whole = gp_sum_to_lane(count, tid % WARP);
    if (tid % WARP == WARP - 1) sums[tid / WARP] = whole;
    barrier(CLK_LOCAL_MEM_FENCE);
    u32 before = whole - count;
    for (int warp = 0; warp < DIGITS / WARP; warp++) before += warp < tid / WARP ? sums[warp] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    return before;
}

/* Return the lanes whose digits are like this one's. */
DEVICE u32 gp_lanes_alike(const u32 digit)
{
    u32 alike = 0xffffffffu >> (32 - WARP);
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        const u32 lanes = gp_ballot((int)(digit >> bit & 1));
        alike &= digit >> bit & 1 ? lanes : ~lanes;
    }
    return alike;
}

/* Count an element in its warp's counts, and return how many like it there were: in items before, and in lower lanes.
 *
 * If LANES_IN_ORDER, one atomic addition of a warp returns lower lanes lower numbers. No vendor promises that, so a
 * launch of TRIES finds out; else lanes vote on each bit. */
DEVICE u32 gp_rank_in_warp(LOCAL u32 *own, const u32 digit, const int lane)
{
#if LANES_IN_ORDER
    return gp_increment(own + digit);
#else
    const u32 alike = gp_lanes_alike(digit), before = own[digit];
    const u32 lower = (u32)gp_count_bits(alike & ((1u << lane) - 1));
    gp_warp_barrier();
    if (lower == 0) own[digit] = before + (u32)gp_count_bits(alike);
    gp_warp_barrier();
    return before + lower;
#endif
}

/* The digit of an element of a work-item's part of a tile with `live` elements, ITEMS from `begin` on, WARP apart; places
 * past the end come last. */
DEVICE u32 gp_part_digit(const element_t *elements, const int item, const int shift, const int begin, const int live)
{
    return begin + item * WARP < live ? DIGIT_OF(elements[item], shift) : DIGITS - 1;
}

/* Rank each element of the part among those of its warp with its digit. */
DEVICE void gp_rank_part(LOCAL u32 *own, const element_t *elements, const int shift, const int begin, const int live,
                         const int lane, u32 *ranks)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        ranks[item] = gp_rank_in_warp(own, gp_part_digit(elements, item, shift, begin, live), lane);
}

/* Turn the warps' counts of a digit into those of the warps before, and return the sum. */
DEVICE u32 gp_sum_of_warps(LOCAL u32 *counts, const int digit, const int warps)
{
    u32 sum = 0;
#pragma unroll 8
    for (int k = 0; k < warps; k++) {
        const u32 here = counts[k * DIGITS + digit];
        counts[k * DIGITS + digit] = sum;
        sum += here;
    }
    return sum;
}

/* Gather a tile by digits: turn the ranks of the part into places, and write its elements there. */
DEVICE void gp_gather_part(LOCAL const u32 *starts, LOCAL const u32 *own, const element_t *elements, const int shift,
                           const int begin, const int live, u32 *ranks, LOCAL element_t *staged)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const u32 digit = gp_part_digit(elements, item, shift, begin, live);
        ranks[item] += starts[digit] + own[digit];
    }
    barrier(CLK_LOCAL_MEM_FENCE); /* the counts of warps are where elements go */
#pragma unroll
    for (int item = 0; item < ITEMS; item++) staged[ranks[item]] = elements[item];
}

#if TRIES
/* Return 1 if an atomic addition of a warp did not return lower lanes lower numbers in one of many rounds. */
DEVICE int gp_lanes_out_of_order(LOCAL u32 *counts, const i64 rounds, const int tid)
{
    const int lane = tid % WARP;
    LOCAL u32 *own = counts + tid / WARP * DIGITS;
    u32 random = (u32)get_group_id(0) * 2654435761u + (u32)tid * 40503u + 1;
    int wrong = 0;
    for (int at = tid; at < WARPS * DIGITS; at += BLOCK) counts[at] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int round = 0; round < rounds; round++) {
        random = random * 1664525u + 1013904223u;
        const u32 digit = random >> 24 & (DIGITS - 1) >> round % 9; /* from all values of the digit to a single one */
        const u32 before = own[digit];
        gp_warp_barrier();
        const u32 rank = gp_increment(own + digit);
        gp_warp_barrier();
        wrong |= rank - before != (u32)gp_count_bits(gp_lanes_alike(digit) & ((1u << lane) - 1));
    }
    return wrong;
}
#endif
