/* reduce/exact: each group adds floats exactly, in windows of bits of a block, and trees in local memory add the windows.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: 2 * LIMBS + 2 words for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of BLOCK (a power of two); each takes (output, part) pairs until none are left
 * host    MAP(o, j), STORE(o, j, value), ADDEND(value), WINDOWS, and those of exact.h
 * order   none: sums are exact until the last one is rounded
 */
#define MAGNITUDE(number) (i64)(gp_bits_f64(number) & ~((u64)1 << 63))
#define INFINITY_BITS (i64)((u64)0x7ff << 52)

/* The largest of a group's numbers, in all work-items. */
DEVICE i64 gp_largest(const i64 number, LOCAL i64 *tops, const int tid)
{
    tops[tid] = number;
    for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid < stride) tops[tid] = max(tops[tid], tops[tid + stride]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const i64 top = tops[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return top;
}

__kernel WORK_GROUP(BLOCK)
void reduce_exact(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                  const i64 n, const i64 parts)
{
    __local f64 sums[WINDOWS][BLOCK];
    __local i64 tops[BLOCK], shared[LIMBS];
    __local f64 shared_special;
    const int tid = get_local_id(0);
    const i64 chunk = (n + parts - 1) / parts;
    i64 limbs[LIMBS];
    f64 rests[ITEMS];

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = min((task % parts) * chunk, n), end = min(first + chunk, n);
        f64 special = 0;
        for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = 0;

        for (i64 base = first; base < end; base += BLOCK * ITEMS) {
            /* 1. Load a block, and find its largest magnitude. Each work-item keeps its infinities and NaN apart. */
            i64 top = 0;
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const i64 j = base + item * BLOCK + tid;
                rests[item] = 0;
                if (j < end) rests[item] = ADDEND(MAP(o, j));
                if (MAGNITUDE(rests[item]) >= INFINITY_BITS) {
                    special += rests[item];
                    rests[item] = 0;
                }
                top = max(top, MAGNITUDE(rests[item]));
            }
            top = gp_largest(top, tops, tid);

            /* 2. Add the highest bits of all elements, in windows from the largest magnitude down; again while bits are left. A sum
             * has fewer than 53 bits, so it is exact. */
            while (top) {
                const int exponent = max((int)(top >> 52) - 1023, -HIGHEST_WINDOW);
                if (exponent > HIGHEST_WINDOW) { /* each work-item has limbs of its own */
                    for (int item = 0; item < ITEMS; item++) gp_deposit(limbs, rests[item]);
                    break;
                }
                top = 0;
#pragma unroll
                for (int window = 0; window < WINDOWS; window++) {
                    const f64 rounder = gp_rounder(exponent + 13 - window * WINDOW_BITS);
                    f64 sum = 0;
#pragma unroll
                    for (int item = 0; item < ITEMS; item++) {
                        const f64 high = (rests[item] + rounder) - rounder;
                        sum += high;
                        rests[item] -= high;
                    }
                    sums[window][tid] = sum;
                }
#pragma unroll
                for (int item = 0; item < ITEMS; item++) top = max(top, MAGNITUDE(rests[item]));
                for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
                    barrier(CLK_LOCAL_MEM_FENCE);
                    for (int window = 0; window < WINDOWS; window++)
                        if (tid < stride) sums[window][tid] += sums[window][tid + stride];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (tid < WINDOWS) gp_deposit(limbs, sums[tid][0]);
                top = gp_largest(top, tops, tid);
            }
        }

        /* 3. Add the limbs of all work-items, one after the other: most have none. Then round and store; or leave the limbs, and the
         * last group adds those of all parts. */
        if (tid == 0) {
            shared_special = 0;
            for (int limb = 0; limb < LIMBS; limb++) shared[limb] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        gp_carry_limbs(limbs);
        for (int turn = 0; turn < BLOCK; turn++) {
            if (turn == tid) {
                shared_special += special;
                for (int limb = 0; limb < LIMBS; limb++) shared[limb] += limbs[limb];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (tid == 0) {
            special = shared_special;
            for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = shared[limb];
            int stores = parts == 1;
            if (!stores) {
                gp_leave_limbs(partials, task, limbs, special);
                stores = gp_last_done(counters + o, parts);
                special = 0;
                for (int limb = 0; limb < LIMBS; limb++) limbs[limb] = 0;
                for (i64 part = 0; stores && part < parts; part++)
                    special = gp_add_limbs(partials, o * parts + part, limbs, special);
            }
            if (stores) STORE(o, 0, gp_exact_sum(limbs, special));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
