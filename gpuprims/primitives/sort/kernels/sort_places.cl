/* sort/places: one launch compares each element with all others of its row; its place is the number of those before it.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES
 * out     moved: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, as kept_t
 * launch  any number of groups of BLOCK (whole multiples of LANES); each takes runs of BLOCK / LANES elements until none
 *         are left
 * host    gp_sort_key (sort_keys.h)
 * order   stable: of equal elements, the earlier one goes first
 *
 * LANES work-items share the comparisons of an element, with a chunk of keys in local memory at a time.
 */
#define LANES 8
#define OWN (BLOCK / LANES)
#define CHUNK (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void sort_places(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
                 const layout_t layout, const i64 rows, const i64 n, const i64 keys_at, const i64 values_at,
                 const i64 moved_at, const i64 kept_at)
{
    __local element_t staged[CHUNK];
    __local u32 counts[BLOCK];
    const int tid = get_local_id(0), lane = tid % LANES;
    const i64 runs = (n + OWN - 1) / OWN;

    for (i64 task = get_group_id(0); task < rows * runs; task += get_num_groups(0)) {
        const i64 begin = task / runs * n, j = task % runs * OWN + tid / LANES;
        const element_t element = keys[keys_at + begin + min(j, n - 1)], key = gp_sort_key(element);

        /* 1. Count the elements that go before: smaller ones, and equal ones that are earlier. */
        u32 before = 0;
        for (i64 base = 0; base < n; base += CHUNK) {
            const int live = (int)min(n - base, (i64)CHUNK), earlier = (int)min(max(j - base, (i64)0), (i64)CHUNK);
            for (int k = tid; k < live; k += BLOCK) staged[k] = gp_sort_key(keys[keys_at + begin + base + k]);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = lane; k < live; k += LANES) {
                const element_t other = staged[k];
                before += (other < key) | ((other == key) & (k < earlier));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 2. Add up what the lanes counted, and move the element. */
        counts[tid] = before;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0 && j < n) {
            i64 at = begin;
            for (int other = 0; other < LANES; other++) at += counts[tid + other];
            if (KEEPS_KEYS) moved[moved_at + at] = element;
            if (CARRIES)
                ((GLOBAL kept_t *)kept)[kept_at + at] = INDICES ? (kept_t)j : (kept_t)values[values_at + begin + j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
