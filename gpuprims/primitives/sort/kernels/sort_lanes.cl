/* sort/lanes: one launch sorts short rows in registers, by networks of exchanges; work-items that share a row then
 * count, for each of their elements, those of the other runs that go before.
 *
 * in      keys: `rows` rows of ROW_KEYS elements, side by side; values: one for each, if CARRIES and not
 *         INDICES
 * out     moved: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, as kept_t
 * launch  any number of groups of BLOCK; each takes OWN rows at a time until none are left
 * host    gp_sort_key (sort_keys.h), gp_numbered (numbered.h); NETWORK, which puts LENGTH words in order by
 *         EXCHANGE(a, b)
 * order   stable: of equal keys, the lower place goes first
 * source  K. Batcher, Sorting networks and their applications, 1968
 *
 * For rows of six in runs of LENGTH = 3:
 *
 *     row      4 1 3    2 3 0
 *     runs     1 3 4    0 2 3
 *     before   0 1 2    0 1 2      in its own run
 *              1 2 3    0 1 2      in the other: equal ones only if that is an earlier run
 *     places   1 3 5    0 2 4
 */
#define RUNS ((ROW_KEYS + LENGTH - 1) / LENGTH)
#define OWN (BLOCK / RUNS)
/* So that lanes read different banks. */
#define PITCH (ROW_KEYS | 1)
#define RUN_PITCH (LENGTH | 1)

#if KEY_BYTES == 8
#define EXCHANGE(a, b)                                                                                                 \
    {                                                                                                                  \
        const int swaps = words[b] < words[a] || (words[b] == words[a] && places[b] < places[a]);                      \
        const element_t word = words[a];                                                                               \
        const u32 place = places[a];                                                                                   \
        words[a] = swaps ? words[b] : word;                                                                            \
        words[b] = swaps ? word : words[b];                                                                            \
        places[a] = swaps ? places[b] : place;                                                                         \
        places[b] = swaps ? place : places[b];                                                                         \
    }
#define WORD element_t
#define KEY_OF(item) words[item]
#define PLACE_AT(item) ((int)places[item])
#else
#define EXCHANGE(a, b)                                                                                                 \
    {                                                                                                                  \
        const numbered_t first = min(words[a], words[b]), second = max(words[a], words[b]);                            \
        words[a] = first;                                                                                              \
        words[b] = second;                                                                                             \
    }
#define WORD numbered_t
#define KEY_OF(item) ((element_t)(words[item] >> PLACE_BITS))
#define PLACE_AT(item) PLACE_OF(words[item])
#endif

/* Return how many keys of a run go before a key; equal ones do if the run is earlier. */
DEVICE int gp_rank_in_run(LOCAL const element_t *run, const element_t key, const int earlier)
{
    int before = 0;
#pragma unroll
    for (int left = LENGTH; left > 1; left -= left / 2) {
        const element_t other = run[before + left / 2 - 1];
        before += other < key || (earlier && other == key) ? left / 2 : 0;
    }
    return before + (run[before] < key || (earlier && run[before] == key));
}

__kernel WORK_GROUP(BLOCK)
void sort_lanes(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
                const layout_t layout, const i64 rows, const i64 keys_at, const i64 values_at, const i64 moved_at,
                const i64 kept_at)
{
    __local element_t staged[OWN * PITCH];
    __local u8 from[OWN * PITCH];
#if RUNS > 1
    __local element_t runs[BLOCK * RUN_PITCH];
#endif
    const int tid = get_local_id(0), own = tid / RUNS, begin = tid % RUNS * LENGTH;

    for (i64 first = get_group_id(0) * (i64)OWN; first < rows; first += get_num_groups(0) * (i64)OWN) {
        const i64 base = first * ROW_KEYS;
        const int live = (int)min(rows - first, (i64)OWN);

        /* 1. Load rows. */
#pragma unroll
        for (int item = 0; item < LENGTH; item++) {
            const int k = item * BLOCK + tid;
            if (k < live * ROW_KEYS) staged[k / ROW_KEYS * PITCH + k % ROW_KEYS] = keys[keys_at + base + k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Sort a run. What is beyond the row comes last. */
        WORD words[LENGTH];
#if KEY_BYTES == 8
        u32 places[LENGTH];
#endif
        if (own < live) {
#pragma unroll
            for (int item = 0; item < LENGTH; item++) {
                const int j = begin + item;
#if KEY_BYTES == 8
                words[item] = j < ROW_KEYS ? gp_sort_key(staged[own * PITCH + j]) : ~(WORD)0;
                places[item] = (u32)j;
#else
                words[item] = j < ROW_KEYS ? gp_numbered(staged[own * PITCH + j], j) : ~(WORD)0;
#endif
            }
            NETWORK
        }

        /* 3. Write the place of each element to its place in order. */
#if RUNS > 1
        if (own < live) {
#pragma unroll
            for (int item = 0; item < LENGTH; item++) runs[tid * RUN_PITCH + item] = KEY_OF(item);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < live) {
            int before[LENGTH];
#pragma unroll
            for (int item = 0; item < LENGTH; item++) before[item] = item;
#pragma unroll 1
            for (int k = 1; k < RUNS; k++) {
                const int other = own * RUNS + (tid % RUNS + k) % RUNS;
#pragma unroll
                for (int item = 0; item < LENGTH; item++)
                    before[item] += gp_rank_in_run(runs + other * RUN_PITCH, KEY_OF(item), other < tid);
            }
#pragma unroll
            for (int item = 0; item < LENGTH; item++)
                if (before[item] < ROW_KEYS) from[own * PITCH + before[item]] = (u8)PLACE_AT(item);
        }
#else
        if (own < live) {
#pragma unroll
            for (int item = 0; item < LENGTH; item++) from[own * PITCH + item] = (u8)PLACE_AT(item);
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Store. */
#pragma unroll
        for (int item = 0; item < LENGTH; item++) {
            const int k = item * BLOCK + tid, row = k / ROW_KEYS * PITCH;
            if (k < live * ROW_KEYS) {
                const int place = from[row + k % ROW_KEYS];
                if (KEEPS_KEYS) moved[moved_at + base + k] = staged[row + place];
                if (CARRIES)
                    ((GLOBAL kept_t *)kept)[kept_at + base + k] =
                        INDICES ? (kept_t)place : (kept_t)values[values_at + base + k - k % ROW_KEYS + place];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
