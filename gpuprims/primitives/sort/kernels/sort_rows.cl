/* sort/rows: one launch sorts rows, each in a group, by a digit at a time, lowest first, in local memory.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES
 * out     moved: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, as kept_t
 * local   for each warp a count of each value of the digit; keys, if HOLDS; then a word for each element
 * launch  TRIES: as for sort/onesweep. Else any number of groups of BLOCK, which take rows in turn; a tile has room
 *         for a row
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), gp_rank_in_warp (ranks.h), gp_numbered (numbered.h)
 * order   stable: places within a row follow the order of warps, items and lanes, which is that of memory
 *
 * Words are elements, or what keys and places make (numbered.h), or places alone, while their keys lie still. A digit
 * that is alike in all of them moves none, unless it is the last.
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

/* Turn the group's counts of digits into numbers of lower digits, by one warp; return 1 if one digit has all. */
DEVICE int gp_sum_digits(LOCAL const u32 *counts, LOCAL u32 *starts, const u32 all, const int lane)
{
    u32 own[SHARE], sum = 0;
    int alike = 0;
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        own[k] = counts[k * WARP + lane];
        sum += own[k];
        alike |= own[k] == all;
    }
    u32 whole = sum;
    for (int stride = 1; stride < WARP; stride *= 2) {
        const u32 lower = gp_shuffle_word_up(whole, stride);
        whole += lane >= stride ? lower : 0;
    }
    u32 before = whole - sum;
#pragma unroll
    for (int k = 0; k < SHARE; k++) {
        starts[k * WARP + lane] = before;
        before += own[k];
    }
    return gp_any_lane(alike);
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_rows(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
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
    __local int alike;
    const int tid = get_local_id(0), lane = tid % WARP, warp = tid / WARP;
    const int live = (int)n, begin = warp * (WARP * ITEMS) + lane;
    LOCAL u32 *own = counts + warp * DIGITS;

    for (i64 row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        const i64 base = row * n;

        /* 1. Load. */
        WORD words[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            words[item] = j < live ? WORD_OF(keys[keys_at + base + j], j) : 0;
#if HOLDS
            if (j < live) held[j] = gp_sort_key(keys[keys_at + base + j]);
#endif
        }

        for (int shift = 0; shift < 8 * KEY_BYTES; shift += 8) {
            const int last = shift == 8 * (KEY_BYTES - 1);

            /* 2. Rank each word among those of its warp with its digit. Places past the end rank last. */
            for (int digit = lane; digit < DIGITS; digit += WARP) own[digit] = 0;
            gp_warp_barrier();
            u32 slots[ITEMS], ranks[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const u32 digit = begin + item * WARP < live ? WORD_DIGIT(words[item], shift) : DIGITS - 1;
                slots[item] = SLOT_OF(digit);
                ranks[item] = gp_rank_in_warp(own, slots[item], lane);
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Add up the warps' counts, and those of lower digits. */
            for (int slot = tid; slot < DIGITS; slot += BLOCK) {
                u32 count = 0;
#pragma unroll 8
                for (int k = 0; k < WARPS; k++) {
                    const u32 here = counts[k * DIGITS + slot];
                    counts[k * DIGITS + slot] = count;
                    count += here;
                }
                totals[slot] = count - (slot == DIGITS - 1 ? (u32)(TILE - live) : 0);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (warp == 0) {
                const int all_alike = gp_sum_digits(totals, starts, (u32)live, lane);
                if (lane == 0) alike = all_alike;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (alike && !last) continue;

            /* 4. Move words to their places, and read the next. */
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                staged[ranks[item] + starts[slots[item]] + own[slots[item]]] = words[item];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!last) {
#pragma unroll
                for (int item = 0; item < ITEMS; item++) words[item] = staged[begin + item * WARP];
            }
        }

        /* 5. Store. */
        for (int k = tid; k < live; k += BLOCK) {
#if CARRIES
            const i64 place = HOLDS ? (int)staged[k] : PLACE_OF(staged[k]);
            if (KEEPS_KEYS) moved[moved_at + base + k] = keys[keys_at + base + place];
            ((GLOBAL kept_t *)kept)[kept_at + base + k] =
                INDICES ? (kept_t)place : (kept_t)values[values_at + base + place];
#else
            moved[moved_at + base + k] = staged[k];
#endif
        }
    }
}
#endif
