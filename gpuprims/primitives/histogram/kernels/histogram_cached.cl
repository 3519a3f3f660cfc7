/* histogram/cached: each group counts the bins of its first tile in local memory, and other bins in one histogram in
 * global memory.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: a count for each of bins + 2 places, added to the present one
 * local   `slots` (a power of two) counts, and the place of each
 * launch  any number of groups of BLOCK; each takes (output, part) pairs until none are left
 * host    gp_load_whole_tile, gp_guess_bin and gp_settle_item (binning.h), ADD and ADD_COUNT (sums.h), MAP
 * order   counts are the same in any order
 *
 * A bin with many elements is likely in the first tile, so few groups conflict in global memory.
 */

#define NO_PLACE (-1)

/* Count an element in the slot of its place, or in global memory if the slot has another place. */
DEVICE void count_in_slot(LOCAL u32 *counts, LOCAL const i32 *places, GLOBAL bin_t *whole, const i32 place,
                          const i32 slots)
{
    const i32 slot = place & (slots - 1);
    if (places[slot] == place) {
        gp_add_count(counts + slot, 1u);
    } else {
        ADD(whole, place, 0, 1, 0);
    }
}

#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_bin(KEY(value), b, &doubt);                                                         \
        if (COUNTED(place, b)) count_in_slot(counts, places, whole, place, (i32)slots);                                \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_cached(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                      const i64 parts, const i64 slots LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    LOCAL i32 *places = (LOCAL i32 *)(counts + slots);
    const i64 width = bins + 2, share = gp_share(n, parts);
    const int tid = get_local_id(0);
    const binning_t b = gp_read_table(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts, first = part * share, end = min(first + share, n);
        GLOBAL bin_t *whole = histograms + o * width;

        /* 1. Clear the sums. */
        for (i32 slot = tid; slot < slots; slot += BLOCK) {
            counts[slot] = 0;
            places[slot] = NO_PLACE;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Assign slots to the places of the first tile's elements. */
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = ITEM_INDEX(first, item, tid);
            if (j >= end) break;
            const i32 place = gp_settle_bin(KEY(MAP(o, j)), b);
            if (COUNTED(place, b)) gp_take_place(places + (place & ((i32)slots - 1)), NO_PLACE, place);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Load and count; then the elements in doubt, and those after the last whole vector. */
        for (i64 base = first; base < end; base += BLOCK * ITEMS) {
            u32 left = 0;
            COUNT_TILE(o, base, end, tid);
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                if (COUNTED(place, b)) count_in_slot(counts, places, whole, place, (i32)slots);
            }
        }
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
            const i32 place = gp_settle_bin(KEY(MAP(o, j)), b);
            if (COUNTED(place, b)) count_in_slot(counts, places, whole, place, (i32)slots);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Add the counts of the slots. */
        for (i32 slot = tid; slot < slots; slot += BLOCK)
            if (counts[slot]) ADD_COUNT(whole, places[slot], counts[slot]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
