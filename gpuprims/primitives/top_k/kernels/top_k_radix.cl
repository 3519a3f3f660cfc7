/* top_k/radix: launches find the last element to take of each row, digit by digit of its order and its place, then
 * collect the elements up to it and sort them.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs, or tiles of picks,
 *         until none are left. `step` CLEAR: begin; DIGIT: count the digits at `at` of elements that may be the last,
 *         the last group of a row chooses one; COLLECT: keep the elements up to the last in any order; SORT, FLIP, MERGE:
 *         a bitonic network, whose steps within TILE picks run in local memory; STORE: write elements and places
 * host    a row_state_t, BINS counts and k picks for each row; gp_rank_order, gp_pick (ordering.h); MAP and STORE_PICK
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

#define DIGIT_BITS 11
#define BINS (1 << DIGIT_BITS)
#define TILE (4 * BLOCK)

/* What is known of the last element to take of a row: its first digits, and how many elements that have these are taken.
 * All elements from the digits on are taken once `found` is true. */
typedef struct {
    u64 order, behind, left, found;
} row_state_t;

/* Return 1 if an element has the first digits, and give its next one; digits of `behind` are at -1 - shift. */
DEVICE int gp_next_digit(const row_state_t state, const i64 at, const u64 order, const u64 behind, u32 *digit)
{
    const int of_order = at >= 0, shift = (int)(of_order ? at : -1 - at);
    const u64 number = of_order ? order : behind, known = of_order ? state.order : state.behind;
    *digit = (u32)(number >> shift) & (BINS - 1);
    return (of_order | (order == state.order)) & (number >> shift >> DIGIT_BITS == known >> shift >> DIGIT_BITS);
}

/* Fold the counts of a group's work-items: the sum over lower work-items. */
DEVICE u64 gp_count_before(const u64 own, LOCAL u64 *sums, const int tid)
{
    u64 total = own;
    sums[tid] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        const u64 lower = tid >= stride ? sums[tid - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[tid] = total += lower;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return total - own;
}

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
        for (i64 o = first_item; o < outputs; o += every) {
            states[o].order = states[o].behind = states[o].found = 0;
            states[o].left = k;
        }
    }

    if (step == DIGIT || step == COLLECT) {
        for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
            const i64 o = task / parts, part = task % parts, size = ROW_SIZE(o), row = ROW_FIRST(o);
            const i64 share = ((size + parts - 1) / parts + BLOCK - 1) / BLOCK * BLOCK, end = min((part + 1) * share, size);
            const row_state_t state = states[o];
            GLOBAL count_t *own = counts + o * BINS;
            if (step == DIGIT) {
                if (state.found) continue;

                /* 2. Count the next digit of the elements that have the first ones. */
                for (int bin = tid; bin < BINS; bin += BLOCK) bins[bin] = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (i64 i = part * share + tid; i < end; i += BLOCK) {
                    u32 digit;
                    if (gp_next_digit(state, at, gp_rank_order(MAP(o, row + i)), (u64)(size - 1 - i), &digit))
                        gp_increment(bins + digit);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int bin = tid; bin < BINS; bin += BLOCK)
                    if (bins[bin]) ADD_COUNT(own + bin, bins[bin]);
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                if (tid == 0) is_last = gp_last_done(counters + o, parts);
                barrier(CLK_LOCAL_MEM_FENCE);
                if (!is_last) continue;

                /* 3. Choose the digit of the last element to take, and clear the counts for the next launch. */
                u64 mine[BINS / BLOCK], sum = 0;
                const int top = BINS - 1 - tid * (BINS / BLOCK);
                for (int bin = 0; bin < BINS / BLOCK; bin++) {
                    mine[bin] = READ_COUNT(own + top - bin);
                    own[top - bin] = 0;
                    sum += mine[bin];
                }
                u64 above = gp_count_before(sum, sums, tid);
                for (int bin = 0; bin < BINS / BLOCK; bin++) {
                    if (above < state.left && state.left <= above + mine[bin]) {
                        const u64 digit = (u64)(top - bin);
                        if (at >= 0) {
                            states[o].order = state.order | digit << at;
                        } else {
                            states[o].behind = state.behind | digit << (-1 - at);
                        }
                        states[o].left = state.left - above;
                        states[o].found = state.left == above + mine[bin];
                    }
                    above += mine[bin];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            } else {
                /* 4. Keep the elements up to the last one. */
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

    /* 6. Exchange picks `at` apart, or mirrored within twice as many. */
    if (step == FLIP) {
        const i64 stride = at < 0 ? -at : at, pairs = (k + 2 * stride - 1) / (2 * stride) * stride;
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
