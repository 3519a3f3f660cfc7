/* Steps of kernels that gather the chosen elements of a tile in local memory, and write them once the counts before are
 * known. A bit for each element tells if it is chosen.
 *
 * host    LOOKUPS, raw_t, gp_fetch_vector and gp_fetch_part; gp_item_offset and tile statuses (scanning.h)
 *
 * Groups take tiles in turn as in scan/round_robin. At each turn a group works on three of its tiles:
 *
 *     the first     read the statuses of the tiles between it and the group's tile before     gp_read_between
 *     the third     load it                                                                   gp_fetch_vectors
 *     the second    rank its chosen elements, and write their number to its status, a turn    gp_rank_chosen
 *                   before others need it
 *     the first     add the counts of the tiles between, and write what is gathered
 *     the second    gather it
 */
#define VECTORS (ITEMS / VECTOR)

/* Load a work-item's vectors of a tile, as they are. Of a tile that is not whole, every work-item loads the elements of the last
 * vector: a test of each element of the tile takes NVRTC longer than the rest of the kernel. Others are zero. */
DEVICE void gp_fetch_vectors(INPUTS, const layout_t layout, const i64 base, const i64 n, const int tid, raw_t *raw)
{
    if (base + TILE + DOUBLED <= n) {
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++)
            gp_fetch_vector(INPUT_NAMES, layout, 0, base + gp_item_offset(tid, vector * VECTOR), raw + vector);
        return;
    }
    const i64 last = (n - 1) / VECTOR * VECTOR;
    const raw_t nothing = {0};
    raw_t end = nothing;
    gp_fetch_part(INPUT_NAMES, layout, 0, last, n, &end);
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++) {
        const i64 j = base + gp_item_offset(tid, vector * VECTOR);
        raw[vector] = j == last ? end : nothing;
        if (j + VECTOR + DOUBLED <= n) gp_fetch_vector(INPUT_NAMES, layout, 0, j, raw + vector);
    }
}

/* Clear the bits of elements past the end, in a vector that begins with element j. */
DEVICE void gp_drop_end(u32 *chosen, const i64 base, const i64 j, const i64 n)
{
    if (base + TILE > n) *chosen &= (1u << (int)max(min(n - j, (i64)VECTOR), (i64)0)) - 1;
}

/* Rank each vector's chosen elements within the warp, and return their number. The counts of several vectors share a word,
 * so lanes exchange them at once. */
#define COUNT_BITS (VECTOR * LANES < 256 ? 8 : 16)
#define COUNTS (32 / COUNT_BITS)
#define COUNT_OF(word, k) (int)((word) >> (k) * COUNT_BITS & (1u << COUNT_BITS) - 1)

DEVICE int gp_rank_chosen(const u32 *chosen, const int lane, int *places)
{
    int before = 0;
#pragma unroll
    for (int first = 0; first < VECTORS; first += COUNTS) {
        u32 own = 0;
#pragma unroll
        for (int k = 0; k < COUNTS && first + k < VECTORS; k++) own |= (u32)gp_count_bits(chosen[first + k]) << k * COUNT_BITS;
        u32 whole = own, all = own;
#if LANES > 1
#pragma unroll
        for (int stride = 1; stride < LANES; stride *= 2) {
            const u32 earlier = gp_shuffle_word_up(whole, stride);
            if (lane >= stride) whole += earlier;
        }
        all = gp_shuffle_word_from(whole, LANES - 1);
#endif
#pragma unroll
        for (int k = 0; k < COUNTS && first + k < VECTORS; k++) {
            places[first + k] = before + COUNT_OF(whole - own, k);
            before += COUNT_OF(all, k);
        }
    }
    return before;
}

/* If `wanted`, read the statuses of `count` tiles before tile `task`, LOOKUPS by a work-item. */
DEVICE void gp_read_between(GLOBAL u64 *statuses, const i64 task, const int count, const int wanted, const int tid,
                            u64 *entries)
{
#pragma unroll
    for (int look = 0; look < LOOKUPS; look++)
        if (wanted && tid + look * BLOCK < count)
            gp_read_entries(statuses, task - count + tid + look * BLOCK, entries + look * WORDS);
}
