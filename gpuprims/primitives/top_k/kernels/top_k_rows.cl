/* top_k/rows: each group takes a row, and reads it twice: the best elements of the work-items tell which elements may be
 * among the first k.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  groups of BLOCK (a power of two, at least k); each takes rows until none are left
 * host    gp_rank_order, gp_pick (ordering.h), gp_pick_at, gp_sort_tile (tiles.h); MAP, MAP_VECTOR and STORE_PICK
 * order   of equal elements the first comes first
 *
 * The k-th best of the work-items' best elements is no better than the k-th best of all. For k = 2 and four work-items:
 *
 *     elements    3 9 1 4    8 2 7 1    5 6 2 2
 *     best        8 9 7 4                          so all from 8 on are candidates: 9, 8
 */
/* Keep the best pick of a row's elements, at most one for each work-item. */
#define GP_KEEP_BEST(pick)                                                                                             \
    do {                                                                                                               \
        const pick_t other = pick;                                                                                     \
        if (!filled || gp_beats(other, best)) best = other;                                                            \
        filled = 1;                                                                                                    \
    } while (0)

/* Append a pick that the last of the best does not beat, as long as there is room, and count it. */
#define GP_OFFER(pick)                                                                                                 \
    do {                                                                                                               \
        const pick_t other = pick;                                                                                     \
        if (!gp_beats(last, other)) {                                                                                  \
            const u32 place = gp_increment(&count);                                                                    \
            if (place < TILE) tile[place] = other;                                                                     \
        }                                                                                                              \
    } while (0)

/* Do something with the pick of each element of a row, VECTOR at a time. */
#define GP_EACH_PICK(DO)                                                                                               \
    do {                                                                                                               \
        const i64 whole = size / VECTOR;                                                                               \
        for (i64 at = tid; at < whole; at += BLOCK) {                                                                  \
            value_t values[VECTOR];                                                                                    \
            MAP_VECTOR(o, row + at * VECTOR, values);                                                                  \
            for (int item = 0; item < VECTOR; item++)                                                                  \
                DO(gp_pick(gp_rank_order(values[item]), size - 1 - (at * VECTOR + item)));                             \
        }                                                                                                              \
        for (i64 at = whole * VECTOR + tid; at < size; at += BLOCK)                                                    \
            DO(gp_pick_at(INPUT_NAMES, layout, o, row, at, size));                                                     \
    } while (0)

__kernel WORK_GROUP(BLOCK)
void top_k_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n, const i64 k)
{
    __local pick_t tile[TILE];
    __local u32 count, filled_items;
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0); o < outputs; o += get_num_groups(0)) {
        const i64 size = ROW_SIZE(o), row = ROW_FIRST(o);

        /* 1. Find the best element of each work-item, and sort these. */
        pick_t best;
        int filled = 0;
        if (tid == 0) count = filled_items = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        GP_EACH_PICK(GP_KEEP_BEST);
        if (filled) tile[gp_increment(&filled_items)] = best;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int bests = (int)filled_items;
        gp_sort_tile(tile, bests, 0, tid);

        /* 2. Collect the elements that the k-th of them does not beat; all if there are fewer. */
        const pick_t last = tile[min((int)k, bests) - 1];
        const int all = bests < k;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!all) GP_EACH_PICK(GP_OFFER);
        barrier(CLK_LOCAL_MEM_FENCE);
        const int found = (int)count;

        if (!all && found <= TILE) {
            gp_sort_tile(tile, found, 0, tid);
        } else {
            /* 3. Or sort the elements in turn, with the best so far. */
            for (i64 begin = 0, held = 0; begin < size;) {
                const int taken = (int)min((i64)TILE - held, size - begin);
                for (int at = tid; at < taken; at += BLOCK)
                    tile[held + at] = gp_pick_at(INPUT_NAMES, layout, o, row, begin + at, size);
                barrier(CLK_LOCAL_MEM_FENCE);
                gp_sort_tile(tile, (int)held + taken, 0, tid);
                begin += taken;
                held = min(held + taken, k);
            }
        }

        /* 4. Store. */
        for (int at = tid; at < k; at += BLOCK) STORE_PICK(o, at, size - 1 - BEHIND_OF(tile[at]));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
