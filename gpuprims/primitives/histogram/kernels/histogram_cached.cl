/* histogram/cached: each group counts the bins of its first tile in local memory, and other bins in one histogram in
 * global memory.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, added to the present ones
 * local   `slots` (a power of two) times DIGITS sums, and the place of each slot
 * launch  any number of groups of BLOCK; each takes (output, part) pairs until none are left
 * host    gp_load_whole_tile (binning.h), gp_guess_place and gp_settle_item (places.h); ADD, ADD_GLOBALLY and gp_plane
 *         (sums.h); MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 *
 * A bin with many elements is likely in the first tile, so few groups conflict in global memory.
 */

#define NO_PLACE (-1)

/* Add an element to the slot of its place, or in global memory if the slot has another place. */
#define ADD_IN_SLOT(place, value)                                                                                      \
    do {                                                                                                               \
        const i32 slot = (place) & ((i32)slots - 1);                                                                   \
        if (!COUNTED(place, b)) break;                                                                                 \
        if (places[slot] == (place)) {                                                                                 \
            ADD(own, slot, (i32)slots, value, PEAK(o, place));                                                         \
        } else {                                                                                                       \
            ADD_GLOBALLY(whole, place, width, value, PEAK(o, place));                                                  \
        }                                                                                                              \
    } while (0)
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_place(value, b, &doubt);                                                            \
        ADD_IN_SLOT(place, value);                                                                                     \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_cached(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                      const i64 parts, const i64 slots LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    LOCAL i32 *places = (LOCAL i32 *)(own + DIGITS * slots);
    const i64 width = bins + 2, share = gp_share(n, parts);
    const int tid = get_local_id(0);
    const bins_t b = gp_read_bins(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts, first = part * share, end = min(first + share, n);
        GLOBAL total_t *whole = histograms + o * PLANES * width;

        /* 1. Clear the sums. */
        for (i32 at = tid; at < DIGITS * slots; at += BLOCK) own[at] = BEGIN_SUM(at, slots);
        for (i32 slot = tid; slot < slots; slot += BLOCK) places[slot] = NO_PLACE;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Assign slots to the places of the first tile's elements. */
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = ITEM_INDEX(first, item, tid);
            if (j >= end) break;
            const i32 place = gp_settle_place(MAP(o, j), b);
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
                ADD_IN_SLOT(place, value);
            }
        }
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
            const value_t value = MAP(o, j);
            const i32 place = gp_settle_place(value, b);
            ADD_IN_SLOT(place, value);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Add the sums of the slots. */
        for (i32 slot = tid; slot < slots; slot += BLOCK)
            for (int plane = 0; plane < PLANES; plane++) {
                const group_t sum = gp_plane(own, slot, (i32)slots, plane);
                if (sum != 0) ADD_SUM(whole + plane * width + places[slot], sum);
            }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
