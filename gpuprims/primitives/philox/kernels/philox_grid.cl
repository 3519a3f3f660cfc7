/* philox/grid: each work-item computes blocks of four random words, and numbers of them.
 *
 * in      INPUTS: x0 the key and the stream
 * out     OUTPUTS: y0 number j of the stream, for each j in [0, n)
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    gp_philox (philox.h), BLOCK and ITEMS, powers of two, NUMBERS, which divides ITEMS, and which VECTOR and TOGETHER
 *         divide, RANDOM(words, k, values), STORE(o, j, value), STORE_VECTOR(o, j, values)
 *
 * The counters of a tile's blocks differ in their low bits alone, so half of the first two rounds is the same for all.
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void philox_grid(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const int tid = get_local_id(0);
    const u64 key = x0[0], stream = x0[1];

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        const u64 first = (u64)(base / TILE) * (TILE / NUMBERS);
        const int whole = base + TILE <= n;
#pragma unroll 8
        for (int item = 0; item < ITEMS; item += NUMBERS) {
            const i64 j = base + item * BLOCK + tid * NUMBERS;
            u32 words[4];
            value_t values[NUMBERS];

            /* 1. Compute the words of a block, and its numbers. */
            gp_philox(key, stream, first | (item / NUMBERS * BLOCK) | tid, words);
#pragma unroll
            for (int k = 0; k < NUMBERS; k += TOGETHER) RANDOM(words, k, values);

            /* 2. Store a whole tile by vectors. */
            if (whole) {
#pragma unroll
                for (int k = 0; k < NUMBERS; k += VECTOR) STORE_VECTOR(0, j + k, values + k);
            } else {
                for (int k = 0; k < NUMBERS; k++)
                    if (j + k < n) STORE(0, j + k, values[k]);
            }
        }
    }
}
