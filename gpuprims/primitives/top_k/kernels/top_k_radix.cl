/* top_k/radix: launches find the last element to take of each row, digit by digit of its order and its place, then
 * collect the elements up to it and sort them.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs, or tiles of picks,
 *         until none are left. `step` CLEAR: begin; DIGIT: find the digit at `at` of the last element; COLLECT: keep the
 *         elements up to the last in any order; SORT, FLIP, MERGE: a bitonic network, whose steps within TILE picks run
 *         in local memory; STORE_ALL: write elements and places. Before them, for few of many elements, SAMPLE: find the
 *         digit of element `sampled_rank` of `sampled` ones; FILTER: keep the elements up to that one. If they are at
 *         least k and have `room`, the other launches read them in place of the row
 * host    a row_state_t, BINS counts, k picks and `room` candidates for each row; gp_rank_order, gp_pick (ordering.h),
 *         gp_choose_digit (radix.h), gp_sort_tile (tiles.h); MAP, MAP_VECTOR and STORE_PICK
 * order   of equal elements the first comes first
 *
 * Digits of the order, and then of the number of elements behind, are found from the left. For k = 3:
 *
 *     order   7 2 5 5 1 5     the third is a 5, the second of three
 *     behind  5 4 3 2 1 0
 */
#define CLEAR 0
#define SAMPLE 1
#define FILTER 2
#define DIGIT 3
#define COLLECT 4
#define SORT 5
#define FLIP 6
#define MERGE 7
#define STORE_ALL 8

/* Vectors that a work-item loads before it compares their elements. */
#define AT_ONCE 4

/* The place of element `i` of a row, or of its sample, which has PIECE neighbours at equal distances. */
#define PIECE 4
#define SAMPLED(i, step) ((step) == SAMPLE ? (i) / PIECE * (size / (sampled / PIECE)) + (i) % PIECE : (i))

/* Return 1 if an element is the last one to take, or comes before it. */
DEVICE int gp_is_taken(const row_state_t state, const pick_t pick)
{
    const u64 order = ORDER_OF(pick), behind = (u64)BEHIND_OF(pick);
    return (order > state.order) | ((order == state.order) & (behind >= state.behind));
}

/* Append the elements from `begin` to `end` that reach the sampled one, while there is room, and count all of them. */
DEVICE void gp_filter(INPUTS, const layout_t layout, const i64 o, const i64 row, const i64 size, const i64 begin,
                      const i64 end, const row_state_t state, GLOBAL count_t *count, GLOBAL pick_t *candidates,
                      const i64 room, const int tid)
{
    const i64 whole = begin + max(end - begin, (i64)0) / (AT_ONCE * VECTOR * BLOCK) * (AT_ONCE * VECTOR * BLOCK);
    for (i64 base = begin; base < whole; base += AT_ONCE * VECTOR * BLOCK) {
        value_t values[AT_ONCE * VECTOR];
        order_t most = 0;
#pragma unroll
        for (int load = 0; load < AT_ONCE; load++)
            MAP_VECTOR(o, row + base + (load * BLOCK + tid) * VECTOR, values + load * VECTOR);
#pragma unroll
        for (int item = 0; item < AT_ONCE * VECTOR; item++) most = max(most, gp_rank_order(values[item]));
        if (most < (order_t)state.order) continue;
#pragma unroll
        for (int item = 0; item < AT_ONCE * VECTOR; item++) {
            const i64 i = base + (item / VECTOR * BLOCK + tid) * VECTOR + item % VECTOR;
            const pick_t pick = gp_pick(gp_rank_order(values[item]), size - 1 - i);
            if (!gp_is_taken(state, pick)) continue;
            const i64 place = (i64)TAKE_PLACE(count);
            if (place < room) candidates[place] = pick;
        }
    }
    for (i64 i = whole + tid; i < end; i += BLOCK) {
        const pick_t pick = gp_pick_at(INPUT_NAMES, layout, o, row, i, size);
        if (!gp_is_taken(state, pick)) continue;
        const i64 place = (i64)TAKE_PLACE(count);
        if (place < room) candidates[place] = pick;
    }
}

__kernel WORK_GROUP(BLOCK)
void top_k_radix(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 k, const i64 parts, const i64 room, const i64 sampled, const i64 sampled_rank,
                 const i64 step, const i64 at, const i64 turn)
{
    __local u32 bins[BINS];
    __local pick_t tile[TILE];
    __local u64 sums[BLOCK];
    __local int is_last;
    const int tid = get_local_id(0);
    const i64 first_item = get_group_id(0) * (i64)BLOCK + tid, every = get_num_groups(0) * (i64)BLOCK;
    GLOBAL row_state_t *states = (GLOBAL row_state_t *)partials + turn * outputs;
    GLOBAL row_state_t *next = (GLOBAL row_state_t *)partials + (1 - turn) * outputs;
    GLOBAL count_t *counts = (GLOBAL count_t *)((GLOBAL row_state_t *)partials + 2 * outputs);
    GLOBAL u64 *kept = (GLOBAL u64 *)(counts + outputs * BINS);
    GLOBAL pick_t *picks = (GLOBAL pick_t *)(kept + 2 * outputs), *candidates = picks + outputs * k;

    /* 1. Clear counts and states. */
    if (step == CLEAR) {
#pragma unroll 1
        for (i64 place = first_item; place < outputs * BINS; place += every) counts[place] = 0;
#pragma unroll 1
        for (i64 o = first_item; o < outputs; o += every) {
            gp_begin_row(next + o, (u64)(sampled ? sampled_rank : k));
            kept[o] = 0;
        }
    }

    if (step >= SAMPLE && step <= COLLECT) {
        for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
            const i64 o = task / parts, part = task % parts, size = ROW_SIZE(o), row = ROW_FIRST(o);
            const row_state_t state = states[o];
            const i64 held = step == FILTER ? 0 : (i64)kept[o]; /* candidates, if they suffice */
            const i64 count = step == SAMPLE ? sampled : held ? held : size;
            const i64 share = gp_part_size(count, parts), end = min((part + 1) * share, count);
            GLOBAL count_t *own = counts + o * BINS;
            GLOBAL pick_t *among = candidates + o * room;

            /* 2. Count the next digit of the elements that have the leading ones, in a sample, among candidates or in a row. */
            if ((step == SAMPLE || step == DIGIT) && state.found && part == 0 && tid == 0) next[o] = state;
            if ((step == SAMPLE || step == DIGIT) && !state.found) {
                gp_clear_bins(bins, tid);
                for (i64 i = part * share + tid; i < end; i += BLOCK) {
                    const pick_t pick = held ? among[i] : gp_pick_at(INPUT_NAMES, layout, o, row, SAMPLED(i, step), size);
                    u32 digit;
                    if (gp_next_digit(state, at, ORDER_OF(pick), (u64)BEHIND_OF(pick), &digit)) COUNT_DIGIT(bins + digit);
                }
                gp_choose_digit(at, parts, own, state, next + o, counters + o, bins, sums, &is_last, tid);
            }

            /* 3. Keep candidates: the elements up to the sampled one, which are rarely too few or too many. */
            if (step == FILTER) {
                gp_filter(INPUT_NAMES, layout, o, row, size, part * share, end, state, own, among, room, tid);
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                if (tid == 0 && gp_last_done(counters + o, parts)) {
                    const u64 found = READ_COUNT(own);
                    kept[o] = found >= (u64)k && found <= (u64)room ? found : 0;
                    CLEAR_COUNT(own);
                    gp_begin_row(next + o, (u64)k);
                }
                barrier(CLK_LOCAL_MEM_FENCE); /* without it, PoCL 3.1 skips the block above */
            }

            /* 4. Keep the elements up to the last one. */
            if (step == COLLECT) {
                for (i64 i = part * share + tid; i < end; i += BLOCK) {
                    const pick_t pick = held ? among[i] : gp_pick_at(INPUT_NAMES, layout, o, row, i, size);
                    if (gp_is_taken(state, pick)) picks[o * k + (i64)TAKE_PLACE(own)] = pick;
                }
            }
        }
    }

    /* 5. Sort tiles, or merge within them. */
    if (step == SORT || step == MERGE) {
        const i64 tiles = (k + TILE - 1) / TILE;
        for (i64 task = get_group_id(0); task < outputs * tiles; task += get_num_groups(0)) {
            const i64 from = task % tiles * TILE;
            GLOBAL pick_t *own = picks + task / tiles * k + from;
            const int count = (int)min((i64)TILE, k - from);
            for (int place = tid; place < count; place += BLOCK) tile[place] = own[place];
            barrier(CLK_LOCAL_MEM_FENCE);
            gp_sort_tile(tile, count, step == MERGE, tid);
            for (int place = tid; place < count; place += BLOCK) own[place] = tile[place];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    /* 6. Compare picks at distance `at`, or mirrored within twice that distance. */
    if (step == FLIP) {
        const i64 stride = at < 0 ? -at : at, pairs = (k + 2 * stride - 1) / (2 * stride) * stride;
#pragma unroll 1
        for (i64 task = first_item; task < outputs * pairs; task += every) {
            const i64 pair = task % pairs, block = pair / stride * 2 * stride, within = pair % stride;
            const i64 second = block + (at < 0 ? 2 * stride - 1 - within : stride + within);
            GLOBAL pick_t *own = picks + task / pairs * k;
            if (second < k) GP_PUT_IN_ORDER(own, block + within, second);
        }
    }

    /* 7. Store. */
    if (step == STORE_ALL) {
        for (i64 task = first_item; task < outputs * k; task += every) {
            const i64 o = task / k;
            STORE_PICK(o, task % k, ROW_SIZE(o) - 1 - BEHIND_OF(picks[task]));
        }
    }
}
