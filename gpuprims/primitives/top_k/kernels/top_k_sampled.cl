/* top_k/sampled: a sample gives a threshold, one pass over a row keeps the elements that reach it, and the last group to end
 * sorts the best of these.
 *
 * in      INPUTS: `outputs` rows of n elements
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs until none are left. `step`
 *         SAMPLE: find the threshold of long rows; FILTER: keep the elements that reach it; ALONE: the same, by a threshold
 *         that each group finds for itself. The last group of a row writes the results if at least k elements were kept
 *         and all have `room`. RETRY: otherwise keep the best of each part; the last group writes the best of all
 * host    a threshold, BESTS and `room` picks, and a flag for each row; two counters for each row; gp_rank_order, gp_pick
 *         (ordering.h), gp_fold_bests, gp_pick_of_rank, gp_sort_tile (tiles.h), gp_sampled_place (pieces.h), gp_select
 *         (selecting.h); MAP, MAP_VECTOR and STORE_PICK
 * order   of equal elements the first comes first
 *
 * PoCL compiles the code after a barrier once more for each condition around it. So steps with barriers are loops of one turn.
 *
 * Each work-item samples some pieces of a row. Of the work-items' best elements, the one of rank `rank` is the threshold.
 * Neighbouring pieces go to different work-items, so that a sorted row gives as good a threshold. For k = 1 and rank 2, with
 * four work-items that sample one element each:
 *
 *     elements    3 9 1 4 8 2 7 1 5 6 2 2
 *     sampled     3     4     7     6          the second is 6, so 6 and more are kept: 9 8 7 6
 */
#define SAMPLE 0
#define FILTER 1
#define ALONE 2
#define RETRY 3

#define BESTS (BLOCK < 256 ? BLOCK : 256)
#define AT_ONCE (ITEMS / VECTOR) /* vectors that a work-item loads before it compares their elements */

/* The best pick of some pieces of the sample of a row: piece `first`, and each `every`-th piece after it. */
DEVICE pick_t gp_best_sampled(INPUTS, const layout_t layout, const i64 o, const i64 size, const i64 first,
                              const i64 every, const i64 pieces)
{
    pick_t best = NO_PICK;
    for (i64 piece = first; piece < pieces; piece += every) {
        const i64 place = gp_sampled_place(piece * PIECE, size / pieces);
#pragma unroll
        for (int item = 0; item < PIECE; item++) {
            const pick_t pick = gp_pick_at(INPUT_NAMES, layout, o, 0, place + item, size);
            if (gp_beats(pick, best)) best = pick;
        }
    }
    return best;
}

/* Keep the pick of an element that reaches the threshold: in local memory or, once that is full, among the candidates. */
#define GP_OFFER(pick)                                                                                                 \
    do {                                                                                                               \
        const pick_t offered = pick;                                                                                   \
        if (!gp_beats(threshold, offered)) {                                                                           \
            const u32 place = gp_increment(kept);                                                                      \
            if (place < TILE) {                                                                                        \
                tile[place] = offered;                                                                                 \
            } else {                                                                                                   \
                const i64 far = (i64)gp_increment(count);                                                              \
                if (far < room) gp_write_pick(candidates, far, offered);                                               \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Return 1 if an element may reach a bound. NaN is the largest element; as a bound it excludes nothing. */
#if LARGEST
#define MAY_REACH(value, bound) !((value) < (bound))
#define GP_BOUND(order) ORDER_VALUE(gp_raw_of_order(order))
#else
#define MAY_REACH(value, bound) (((value) <= (bound)) | ((bound) != (bound)))
#define GP_BOUND(order) ORDER_VALUE(gp_raw_of_order(~(order) & ORDER_MASK))
#endif

/* Offer the elements of a part. Its tiles are at equal distances, so that neighbouring elements go to several groups. */
DEVICE void gp_offer_part(INPUTS, const layout_t layout, const i64 o, const i64 size, const i64 part, const i64 parts,
                          const pick_t threshold, LOCAL pick_t *tile, LOCAL u32 *kept, GLOBAL u32 *count,
                          GLOBAL u64 *candidates, const i64 room, const int tid)
{
    const i64 tile_size = AT_ONCE * VECTOR * BLOCK, tiles = size / tile_size;
    /* Of equal elements the first comes first, so after the threshold's place only better ones are taken. */
    const order_t least = ORDER_OF(threshold);
    const value_t here = GP_BOUND(least), behind = GP_BOUND(least < ORDER_MASK ? least + 1 : least);
    const i64 place = size - 1 - BEHIND_OF(threshold);
    for (i64 one = part; one < tiles; one += parts) {
        const i64 base = one * tile_size;
        const value_t bound = base > place ? behind : here;
        if (base > place && least == ORDER_MASK) break;
        value_t values[AT_ONCE * VECTOR];
        int reach = 0;
#pragma unroll
        for (int load = 0; load < AT_ONCE; load++)
            MAP_VECTOR(o, base + (load * BLOCK + tid) * VECTOR, values + load * VECTOR);
#pragma unroll
        for (int item = 0; item < AT_ONCE * VECTOR; item++) reach |= MAY_REACH(values[item], bound);
        if (!reach) continue;
#pragma unroll
        for (int item = 0; item < AT_ONCE * VECTOR; item++) {
            const i64 i = base + (item / VECTOR * BLOCK + tid) * VECTOR + item % VECTOR;
            if (MAY_REACH(values[item], bound)) GP_OFFER(gp_pick(gp_rank_order(values[item]), size - 1 - i));
        }
    }
    if (part == tiles % parts)
        for (i64 i = tiles * tile_size + tid; i < size; i += BLOCK)
            GP_OFFER(gp_pick_at(INPUT_NAMES, layout, o, 0, i, size));
}

__kernel WORK_GROUP(BLOCK)
void top_k_sampled(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                   const i64 n, const i64 k, const i64 parts, const i64 room, const i64 pieces, const i64 rank,
                   const i64 step)
{
    __local pick_t tile[TILE];
    __local u32 bins[BINS];
    __local u64 sums[BLOCK];
    __local search_t search;
    __local pick_t chosen;
    __local u32 kept;
    __local i64 place_of_kept, found_of_row;
    __local int is_last;
    const int tid = get_local_id(0);
    const i64 share = gp_part_size(n, parts);
    GLOBAL u64 *thresholds = partials, *flags = thresholds + outputs * PICK_WORDS, *bests = flags + outputs * PICK_WORDS;
    GLOBAL u64 *picks = bests + outputs * BESTS * PICK_WORDS;

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts, begin = min(part * share, n), end = min(begin + share, n);
        GLOBAL u32 *counter = counters + o, *count = counters + outputs + o;
        GLOBAL u64 *own_bests = bests + o * BESTS * PICK_WORDS, *candidates = picks + o * room * PICK_WORDS;

        /* 1. Find a threshold: alone, or together with other groups; then the last group writes it. */
        pick_t threshold = NO_PICK;
        for (int samples = step == SAMPLE || step == ALONE; samples; samples = 0) {
            const int together = step == SAMPLE, folded = together ? BESTS / (int)parts : BESTS;
            const i64 first = together ? tid * parts + part : tid, every = together ? parts * BLOCK : BLOCK;
            const pick_t best = gp_best_sampled(INPUT_NAMES, layout, o, n, first, every, pieces);
            gp_fold_bests(best, folded, tile, tid);
            if (together && tid < folded) gp_write_pick(own_bests, part * folded + tid, tile[tid]);
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (tid == 0) is_last = together && gp_last_done(counter, parts);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (is_last && tid < BESTS) tile[tid] = gp_read_pick(own_bests, tid);
            barrier(CLK_LOCAL_MEM_FENCE);
            threshold = gp_pick_of_rank(tile, BESTS, (int)rank, &chosen, tid);
            if (is_last && tid == 0) gp_write_pick(thresholds, o, threshold);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (step == FILTER) threshold = gp_read_pick(thresholds, o);

        /* 2. Keep the elements that reach the threshold, or the best of a part. The last group then selects among all kept. */
        const int retries = step == RETRY && flags[o];
        i64 found = 0;
        for (int goes_on = step == FILTER || step == ALONE || retries; goes_on;) {
            const int ends = found != 0;
            if (tid == 0) kept = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!ends && !retries)
                gp_offer_part(INPUT_NAMES, layout, o, n, part, parts, threshold, tile, &kept, count, candidates, room,
                              tid);
            barrier(CLK_LOCAL_MEM_FENCE);
            int number = (int)min(kept, (u32)TILE);
            for (int selects = ends || retries; selects; selects = 0) {
                const i64 among = ends ? found : end - begin;
                number = gp_select(INPUT_NAMES, layout, o, n, begin, among, candidates, ends, min(k, among), tile, bins, sums,
                                   &search, &kept, tid);
            }
            if (tid == 0 && !ends) place_of_kept = (i64)gp_add_count(count, (u32)number);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int at = tid; !ends && at < number && place_of_kept + at < room; at += BLOCK)
                gp_write_pick(candidates, place_of_kept + at, tile[at]);
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (tid == 0) {
                found_of_row = 0;
                if (!ends && gp_last_done(counter, parts)) {
                    found_of_row = (i64)gp_read_word(count);
                    if (found_of_row < k || found_of_row > room) found_of_row = 0;
                    gp_write_word(count, 0);
                    flags[o] = !found_of_row;
                }
            }

            /* 3. Sort the best of all, and store them. */
            gp_sort_tile(tile, ends ? number : 0, 0, tid);
            for (int at = tid; ends && at < k; at += BLOCK) STORE_PICK(o, at, n - 1 - BEHIND_OF(tile[at]));
            barrier(CLK_LOCAL_MEM_FENCE);
            found = found_of_row;
            goes_on = found != 0;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
