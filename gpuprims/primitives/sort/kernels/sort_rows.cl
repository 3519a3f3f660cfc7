/* sort/rows: one launch sorts rows, each in a group, by a digit at a time, lowest first, in local memory.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES. If SEGMENTED,
 *         offsets: the first element and the length of each row, from row n on
 * out     moved: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index, as kept_t: in its row,
 *         or among all if SEGMENTED
 * local   for each warp a count of each value of the digit; keys, if HOLDS; then a word for each element
 * launch  TRIES: as for sort/onesweep. Else any number of groups of BLOCK, which take rows in turn; a tile has room
 *         for a row
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), gp_sum_to_lane (lower_sums.h), gp_rank_in_warp and
 *         gp_sum_of_warps (ranks.h), gp_numbered (numbered.h), gp_note_digits (differing.h)
 * order   stable: places within a row follow the order of warps, items and lanes, which is that of memory
 *
 * A short row of a long tile takes few items of each warp, and few warps if that leaves FEW items.
 * Words are elements, or what keys and places make (numbered.h), or places alone, while their keys lie still. Digits
 * that are alike in all of a row's keys are passed over.
 */
#if TRIES
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_rows(GLOBAL u32 *faults, const layout_t layout, const i64 rounds LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    const int tid = get_local_id(0);
    if (gp_lanes_out_of_order(counts, rounds, tid)) gp_add_count(faults, 1);
}
#else
#define TILE (BLOCK * ITEMS)
#define HOLDS (CARRIES && KEY_BYTES == 8)
#if SEGMENTED
#define FEW 4
/* Items of each warp that has some, the warps that have, 1 for items of whose lanes some do, and places of such. */
#define EACH min(max((live + BLOCK - 1) / BLOCK, FEW), ITEMS)
#define LIVE_WARPS ((live + WARP * each - 1) / (WARP * each))
#define IS_LIVE(item) ((item) < each && begin - lane + (item) * WARP < live)
#define PLACES ((live + WARP - 1) / WARP * WARP)
#else
#define EACH ITEMS
#define LIVE_WARPS WARPS
#define IS_LIVE(item) 1
#define PLACES TILE
#endif
/* Where the count of a digit is: each lane adds up neighbouring digits, which lie apart. */
#define SHARE (DIGITS / WARP)
#define SLOT_OF(digit) ((digit) % SHARE * WARP + (digit) / SHARE)

#if HOLDS
#define WORD u16
#define WORD_OF(element, place) ((u16)(place))
#define WORD_DIGIT(word, shift) ((u32)(held[word] >> (shift)) & (DIGITS - 1))
#elif CARRIES
#define WORD numbered_t
#define WORD_OF(element, place) gp_numbered(element, place)
#define WORD_DIGIT(word, shift) ((u32)((word) >> (PLACE_BITS + (shift))) & (DIGITS - 1))
#else
#define WORD element_t
#define WORD_OF(element, place) (element)
#define WORD_DIGIT(word, shift) DIGIT_OF(word, shift)
#endif

/* Turn the group's counts of digits into numbers of lower digits, by one warp. */
DEVICE void gp_sum_digits(LOCAL const u32 *counts, LOCAL u32 *starts, const int lane)
{
    u32 own[SHARE], sum = 0;
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        own[k] = counts[k * WARP + lane];
        sum += own[k];
    }
    u32 before = gp_sum_to_lane(sum, lane) - sum;
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        starts[k * WARP + lane] = before;
        before += own[k];
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_rows(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
#if SEGMENTED
               GLOBAL const i64 *offsets,
#endif
               const layout_t layout, const i64 rows, const i64 n, const i64 keys_at, const i64 values_at,
               const i64 moved_at, const i64 kept_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
#if HOLDS
    LOCAL element_t *held = (LOCAL element_t *)(counts + WARPS * DIGITS);
    LOCAL WORD *staged = (LOCAL WORD *)(held + TILE);
#else
    LOCAL WORD *staged = (LOCAL WORD *)(counts + WARPS * DIGITS);
#endif
    __local u32 totals[DIGITS], starts[DIGITS];
    __local u32 unlike;
    const int tid = get_local_id(0), lane = tid % WARP, warp = tid / WARP;
    LOCAL u32 *own = counts + warp * DIGITS;

    for (i64 row = get_group_id(0); row < rows; row += get_num_groups(0)) {
#if SEGMENTED
        const i64 base = offsets[2 * (n + row)];
        const int live = (int)offsets[2 * (n + row) + 1];
#else
        const i64 base = row * n;
        const int live = (int)n;
#endif
        const int each = EACH, begin = warp * (WARP * each) + lane;

        /* 1. Load, and note the digits that differ from those of the first key. */
        if (tid == 0) unlike = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        WORD words[ITEMS];
        const element_t first = live ? gp_sort_key(keys[keys_at + base]) : 0;
        element_t differing = 0;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            if (!IS_LIVE(item)) continue;
            const int j = begin + item * WARP;
            words[item] = j < live ? WORD_OF(keys[keys_at + base + j], j) : 0;
            const element_t key = j < live ? gp_sort_key(keys[keys_at + base + j]) : first;
            differing |= key ^ first;
#if HOLDS
            if (j < live) held[j] = key;
#endif
        }
        gp_note_digits(&unlike, differing, lane);
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 digits = unlike ? unlike : 1; /* one at least, which moves words */

        for (int byte = 0; byte < KEY_BYTES; byte++) {
            if (!(digits >> byte & 1)) continue;
            const int shift = 8 * byte, last = digits >> byte == 1;

            /* 2. Rank each word among those of its warp with its digit. Places past the end rank last. */
            if (warp < LIVE_WARPS)
                for (int digit = lane; digit < DIGITS; digit += WARP) own[digit] = 0;
            gp_warp_barrier();
            u32 slots[ITEMS], ranks[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                if (!IS_LIVE(item)) continue;
                const u32 digit = begin + item * WARP < live ? WORD_DIGIT(words[item], shift) : DIGITS - 1;
                slots[item] = SLOT_OF(digit);
                ranks[item] = gp_rank_in_warp(own, slots[item], lane);
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Add up the warps' counts, and those of lower digits. */
            for (int slot = tid; slot < DIGITS; slot += BLOCK) {
                const u32 count = gp_sum_of_warps(counts, slot, LIVE_WARPS);
                totals[slot] = count - (slot == DIGITS - 1 ? (u32)(PLACES - live) : 0);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (warp == 0) gp_sum_digits(totals, starts, lane);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Move words to their places, and read the next. */
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (IS_LIVE(item)) staged[ranks[item] + starts[slots[item]] + own[slots[item]]] = words[item];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!last) {
#pragma unroll
                for (int item = 0; item < ITEMS; item++)
                    if (IS_LIVE(item)) words[item] = staged[begin + item * WARP];
            }
        }

        /* 5. Store. */
        for (int k = tid; k < live; k += BLOCK) {
#if CARRIES
            const i64 place = HOLDS ? (int)staged[k] : PLACE_OF(staged[k]);
            if (KEEPS_KEYS) moved[moved_at + base + k] = keys[keys_at + base + place];
            ((GLOBAL kept_t *)kept)[kept_at + base + k] =
                INDICES ? (kept_t)(SEGMENTED ? base + place : place) : (kept_t)values[values_at + base + place];
#else
            moved[moved_at + base + k] = staged[k];
#endif
        }
    }
}
#endif
