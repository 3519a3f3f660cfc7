/* top_k/radix: launches find the last element to take of each row, digit by digit of its order and its place, then
 * collect the elements up to it and sort them.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs, or tiles of picks,
 *         until none are left. `step` CLEAR: begin; DIGIT: find the digit at `at` of the last element; COLLECT: keep the elements up to the last in any order; SORT, FLIP, MERGE:
 *         a bitonic network, whose steps within TILE picks run in local memory; STORE: write elements and places
 * host    a row_state_t, BINS counts and k picks for each row; gp_rank_order, gp_pick (ordering.h), gp_find_digit (radix.h);
 *         MAP and STORE_PICK
 * order   of equal elements the first comes first
 *
 * Digits of order, and then of the number of elements behind, are chosen from the left, for k = 3:
 *
 *     order   7 2 5 5 1 5     the third is 5; of its three places the second
 *     behind  5 4 3 2 1 0
 */
#define CLEAR 0
#define DIGIT 1
#define COLLECT 2
#define SORT 3
#define FLIP 4
#define MERGE 5
#define STORE_ALL 6

#define TILE (4 * BLOCK)

/* Put the better of two picks first. */
#define GP_PUT_IN_ORDER(picks, first, second)                                                                          \
    do {                                                                                                               \
        const pick_t before = (picks)[first], after = (picks)[second];                                                 \
        if (gp_beats(after, before)) {                                                                                 \
            (picks)[first] = after;                                                                                    \
            (picks)[second] = before;                                                                                  \
        }                                                                                                              \
    } while (0)

/* Sort `count` picks in local memory, the best first, from runs of `sorted`, or merge them if these are as long. */
DEVICE void gp_sort_tile(LOCAL pick_t *tile, const int count, const int merges, const int tid)
{
    for (int size = merges ? TILE : 2; size <= TILE && (merges || size < 2 * count); size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int pair = tid; pair < TILE / 2; pair += BLOCK) {
                const int first = pair / stride * 2 * stride + pair % stride;
                const int flips = stride == size / 2 && !merges;
                const int second = flips ? pair / stride * 2 * stride + 2 * stride - 1 - pair % stride : first + stride;
                if (second < count) GP_PUT_IN_ORDER(tile, first, second);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

__kernel WORK_GROUP(BLOCK)
void top_k_radix(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 k, const i64 parts, const i64 step, const i64 at)
{
    __local u32 bins[BINS];
    __local pick_t tile[TILE];
    __local u64 sums[BLOCK];
    __local int is_last;
    const int tid = get_local_id(0);
    const i64 first_item = get_group_id(0) * (i64)BLOCK + tid, every = get_num_groups(0) * (i64)BLOCK;
    GLOBAL row_state_t *states = (GLOBAL row_state_t *)partials;
    GLOBAL count_t *counts = (GLOBAL count_t *)(states + outputs);
    GLOBAL pick_t *picks = (GLOBAL pick_t *)(counts + outputs * BINS);

    /* 1. Clear counts and states. */
    if (step == CLEAR) {
        for (i64 place = first_item; place < outputs * BINS; place += every) counts[place] = 0;
        for (i64 o = first_item; o < outputs; o += every) gp_begin_row(states + o, (u64)k);
    }

    if (step == DIGIT || step == COLLECT) {
        for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
            const i64 o = task / parts, part = task % parts, size = ROW_SIZE(o), row = ROW_FIRST(o);
            const i64 share = gp_part_size(size, parts), end = min((part + 1) * share, size);
            const row_state_t state = states[o];
            GLOBAL count_t *own = counts + o * BINS;
            if (step == DIGIT) {
                /* 2. Count the next digit of the elements that have the first ones; the last group chooses. */
                if (!state.found)
                    gp_find_digit(INPUT_NAMES, layout, o, row, size, part * share, end, at, parts, own, states + o,
                                  counters + o, bins, sums, &is_last, tid);
            } else {
                /* 3. Keep the elements up to the last one. */
                for (i64 base = part * share; base < end; base += BLOCK) {
                    const i64 i = base + tid;
                    const order_t order = i < end ? gp_rank_order(MAP(o, row + i)) : 0;
                    const u64 behind = (u64)(size - 1 - i);
                    const int taken = i < end && (order > state.order || (order == state.order && behind >= state.behind));
                    if (taken) picks[o * k + (i64)TAKE_PLACE(own)] = gp_pick(order, behind);
                }
            }
        }
    }

    /* 4. Sort tiles, or merge within them. */
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

    /* 5. Exchange picks `at` apart, or mirrored within twice as many. */
    if (step == FLIP) {
        const i64 stride = at < 0 ? -at : at, pairs = (k + 2 * stride - 1) / (2 * stride) * stride;
        for (i64 task = first_item; task < outputs * pairs; task += every) {
            const i64 pair = task % pairs, block = pair / stride * 2 * stride, within = pair % stride;
            const i64 second = block + (at < 0 ? 2 * stride - 1 - within : stride + within);
            GLOBAL pick_t *own = picks + task / pairs * k;
            if (second < k) GP_PUT_IN_ORDER(own, block + within, second);
        }
    }

    /* 6. Store. */
    if (step == STORE_ALL) {
        for (i64 task = first_item; task < outputs * k; task += every) {
            const i64 o = task / k;
            STORE_PICK(o, task % k, ROW_SIZE(o) - 1 - BEHIND_OF(picks[task]));
        }
    }
}
