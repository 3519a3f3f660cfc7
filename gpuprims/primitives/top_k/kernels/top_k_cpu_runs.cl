/* top_k/cpu_runs: each work-item takes a part of a row and keeps the best elements so far, for devices whose work-items
 * are CPU threads.
 *
 * in      INPUTS: `outputs` rows of n elements, or the elements of all segments and their offsets
 * out     OUTPUTS: the k first elements of each row in descending or ascending order, and their places
 * launch  groups of one work-item. With parts > 1, `step` 0: one for each of `parts` parts of each row, keeps the best of
 *         its part; `step` 1: one for each row, joins its parts. With parts = 1 one launch takes whole rows
 * host    `room` picks of scratch memory for each work-item; gp_rank_order, gp_pick (ordering.h); MAP and STORE_PICK
 * order   of equal elements the first comes first
 */
/* Elements that are compared at once: a vector or a few of them. */
#define RUN 64
/* One of so many runs is in the sample that gives the first bound of a part. */
#define SAMPLED 32

/* Return the lowest order of picks. */
DEVICE order_t gp_lowest_order(GLOBAL const pick_t *picks, const i64 count)
{
    order_t lowest = ORDER_MASK;
    for (i64 at = 0; at < count; at++) lowest = min(lowest, ORDER_OF(picks[at]));
    return lowest;
}

/* Exchange two picks. */
DEVICE void gp_exchange_picks(GLOBAL pick_t *a, GLOBAL pick_t *b)
{
    const pick_t held = *a;
    *a = *b;
    *b = held;
}

/* Move the `k` best of `count` picks to the front, in any order: Hoare's selection, with pivots from scattered places. */
DEVICE void gp_keep_best(GLOBAL pick_t *picks, const i64 count, const i64 k)
{
    i64 low = 0, high = count - 1;
    u32 seed = (u32)count;
    while (low < high) {
        seed = seed * 1664525u + 1013904223u;
        const pick_t pivot = picks[low + (i64)((u64)seed * (u64)(high - low + 1) >> 32)];
        i64 left = low, right = high;
        while (left <= right) {
            while (gp_beats(picks[left], pivot)) left++;
            while (gp_beats(pivot, picks[right])) right--;
            if (left <= right) gp_exchange_picks(picks + left++, picks + right--);
        }
        if (k <= right + 1) {
            high = right;
        } else if (k > left) {
            low = left;
        } else {
            return; /* all before `left` are better than all from there on */
        }
    }
}

/* Move a pick down a heap whose root is the worst. */
DEVICE void gp_sift_down(GLOBAL pick_t *picks, const i64 root, const i64 count)
{
    i64 at = root;
    const pick_t moved = picks[at];
    while (2 * at + 1 < count) {
        i64 child = 2 * at + 1;
        if (child + 1 < count && gp_beats(picks[child], picks[child + 1])) child++;
        if (!gp_beats(moved, picks[child])) break;
        picks[at] = picks[child];
        at = child;
    }
    picks[at] = moved;
}

/* Sort picks, the best first: Williams' heap. */
DEVICE void gp_sort_picks(GLOBAL pick_t *picks, const i64 count)
{
    for (i64 root = count / 2 - 1; root >= 0; root--) gp_sift_down(picks, root, count);
    for (i64 last = count - 1; last > 0; last--) {
        gp_exchange_picks(picks, picks + last);
        gp_sift_down(picks, 0, last);
    }
}

__kernel WORK_GROUP(1)
void top_k_cpu_runs(INPUTS, OUTPUTS, GLOBAL u64 *partials, const layout_t layout, const i64 outputs, const i64 n,
                    const i64 k, const i64 parts, const i64 room, const i64 step)
{
    GLOBAL pick_t *scratch = (GLOBAL pick_t *)partials;

    for (i64 task = get_group_id(0); task < (step ? outputs : outputs * parts); task += get_num_groups(0)) {
        const i64 o = step ? task : task / parts, part = step ? 0 : task % parts;
        const i64 size = ROW_SIZE(o), row = ROW_FIRST(o), share = (size + parts - 1) / parts;
        GLOBAL pick_t *picks = scratch + (step ? o * parts * room : get_group_id(0) * room);
        i64 count = 0;

        if (!step) {
            /* 1. Find a bound in a sample, so that ascending elements are not all kept at first. 2. Keep the elements
             * that reach the bound. Whenever the room is full, keep the best of them, and raise the bound to these. */
            const i64 begin = part * share, end = min(begin + share, size);
            const i64 strides = max(end - begin, (i64)0) / (SAMPLED * RUN);
            order_t least = 0;
            for (int all = strides * RUN < 2 * k; all < 2; all++) {
                const i64 past = all ? end : begin + strides * SAMPLED * RUN;
                for (i64 i = begin; i < past; i += all ? RUN : SAMPLED * RUN) {
                    order_t orders[RUN];
                    const int run = (int)min((i64)RUN, end - i);
                    u32 found = 0;
                    if (run == RUN) {
                        for (int item = 0; item < RUN; item++) {
                            orders[item] = gp_rank_order(MAP(o, row + i + item));
                            found |= orders[item] >= least;
                        }
                    } else {
                        for (int item = 0; item < run; item++) {
                            orders[item] = gp_rank_order(MAP(o, row + i + item));
                            found |= orders[item] >= least;
                        }
                    }
                    for (int item = 0; found && item < run; item++) {
                        if (orders[item] < least) continue;
                        picks[count++] = gp_pick(orders[item], size - 1 - (i + item));
                        if (count < room) continue;
                        gp_keep_best(picks, count, k);
                        count = k;
                        const order_t floor = gp_lowest_order(picks, k);
                        least = floor + 1;
                        if (floor < ORDER_MASK) continue;
                        i = past; /* none is better */
                        break;
                    }
                }
                if (count > k) gp_keep_best(picks, count, k);
                count = min(count, k);
                if (all) continue;
                least = gp_lowest_order(picks, count);
                count = 0;
            }
        } else {
            /* 3. Join the picks of all parts. */
            for (i64 one = 0; one < parts; one++) {
                const i64 kept = max(min(min((one + 1) * share, size) - one * share, k), (i64)0);
                for (i64 at = 0; at < kept; at++) picks[count++] = picks[one * room + at];
            }
            if (count > k) gp_keep_best(picks, count, k);
        }

        /* 4. Sort and store. */
        if (step || parts == 1) {
            gp_sort_picks(picks, k);
            for (i64 at = 0; at < k; at++) STORE_PICK(o, at, size - 1 - BEHIND_OF(picks[at]));
        }
    }
}
