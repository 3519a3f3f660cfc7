/* top_k/rows: each group takes a row, reads it twice, and sorts the few elements that may be among the first k.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  groups of BLOCK (a power of two, at least `bests`, a power of two and at least k); each takes rows until none are left
 * host    gp_rank_order, gp_pick (ordering.h), gp_pick_at, gp_fold_bests, gp_pick_of_rank, gp_sort_tile (tiles.h); MAP,
 *         MAP_VECTOR and STORE_PICK
 * order   of equal elements the first comes first
 *
 * The k-th best of the work-items' best elements is no better than the k-th best of all. For k = 2 and four work-items:
 *
 *     elements    3 9 1 4    8 2 7 1    5 6 2 2
 *     best        8 9 7 4                          so 8 and more are candidates: 9, 8
 */

/* Keep the best pick that a work-item has seen. Of equal elements it sees the first one first. */
#define GP_KEEP_BEST(own_order, place)                                                                                 \
    do {                                                                                                               \
        const order_t order = own_order;                                                                               \
        if (!filled || order > best_order) {                                                                           \
            best_order = order;                                                                                        \
            best_at = place;                                                                                           \
        }                                                                                                              \
        filled = 1;                                                                                                    \
    } while (0)

/* Append a pick unless `last`, the k-th best so far, beats it, while there is room, and count it. */
#define GP_OFFER(own_order, place)                                                                                     \
    do {                                                                                                               \
        const order_t order = own_order;                                                                               \
        if (order >= last_order) {                                                                                     \
            const pick_t other = gp_pick(order, size - 1 - (place));                                                   \
            if (!gp_beats(last, other)) {                                                                              \
                const u32 to = gp_increment(&count);                                                                   \
                if (to < TILE) tile[to] = other;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Apply DO to the order and the place of each element of a row, VECTOR elements at a time. */
#define GP_EACH_OF_ROW(DO)                                                                                             \
    do {                                                                                                               \
        for (i64 at = tid; at < whole; at += BLOCK) {                                                                  \
            value_t values[VECTOR];                                                                                    \
            MAP_VECTOR(o, row + at * VECTOR, values);                                                                  \
            for (int item = 0; item < VECTOR; item++) DO(gp_rank_order(values[item]), at * VECTOR + item);             \
        }                                                                                                              \
        for (i64 at = whole * VECTOR + tid; at < size; at += BLOCK) DO(gp_rank_order(MAP(o, row + at)), at);           \
    } while (0)

__kernel WORK_GROUP(BLOCK)
void top_k_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n, const i64 k, const i64 bests)
{
    __local pick_t tile[TILE];
    __local pick_t chosen;
    __local u32 count;
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0); o < outputs; o += get_num_groups(0)) {
        const i64 size = ROW_SIZE(o), row = ROW_FIRST(o), whole = size / VECTOR;

        /* 1. Find the best element of each work-item, and the k-th best of some of these. */
        order_t best_order = 0;
        i64 best_at = 0;
        int filled = 0;
        if (tid == 0) count = 0;
        GP_EACH_OF_ROW(GP_KEEP_BEST);
        gp_fold_bests(filled ? gp_pick(best_order, size - 1 - best_at) : NO_PICK, (int)bests, tile, tid);
        const pick_t last = gp_pick_of_rank(tile, (int)bests, (int)k, &chosen, tid);
        const order_t last_order = ORDER_OF(last);

        /* 2. Collect the elements that it does not beat. */
        GP_EACH_OF_ROW(GP_OFFER);
        barrier(CLK_LOCAL_MEM_FENCE);
        int found = (int)min(count, (u32)TILE);

        /* 3. If they do not fit, sort the elements a tile at a time, together with the best so far. */
        for (i64 begin = 0, held = 0; count > TILE && begin < size;) {
            const int taken = (int)min((i64)TILE - held, size - begin);
#pragma unroll 1
            for (int at = tid; at < taken; at += BLOCK)
                tile[held + at] = gp_pick_at(INPUT_NAMES, layout, o, row, begin + at, size);
            barrier(CLK_LOCAL_MEM_FENCE);
            gp_sort_tile(tile, (int)held + taken, 0, tid);
            begin += taken;
            held = min(held + taken, k);
            found = (int)held;
        }

        /* 4. Store each pick at its rank, the number of better ones. */
        for (int at = tid; at < found; at += BLOCK) {
            const pick_t own = tile[at];
            const int place = gp_count_better(tile, found, own);
            if (place < k) STORE_PICK(o, place, size - 1 - BEHIND_OF(own));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
