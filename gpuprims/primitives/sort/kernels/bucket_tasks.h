/* Bins of a task, those of a work-item, and where a bin lies, so that work-items read theirs from banks apart. */
#define BINS_EACH (BINS / BLOCK)
#define AT_BIN(bin) ((bin) + (bin) / BINS_EACH)
#define BIN_OF(key) AT_BIN((((u32)((element_t)((key) << lead) >> shift) & mask) - lowest) * scale >> 16)
/* Most keys of a bin that windows sort. */
#define CROWDED 16
/* Keys that a work-item sorts in registers, and where a key lies, so that windows are read from banks apart. */
#define WINDOW 16
#define AT_KEY(j) ((j) + (j) / WINDOW * LOAD_KEYS)

/* Sort keys in registers (K. Batcher, Sorting networks and their applications, 1968). */
DEVICE void gp_sort_window(element_t *keys)
{
#pragma unroll
    for (int run = 1; run < WINDOW; run *= 2)
#pragma unroll
        for (int stride = run; stride > 0; stride /= 2)
#pragma unroll
            for (int first = 0; first < WINDOW; first++) {
                const int begin = stride % run, second = first + stride;
                if (first < begin || (first - begin) / stride % 2 || second >= WINDOW || first / (2 * run) != second / (2 * run))
                    continue;
                const element_t lower = min(keys[first], keys[second]);
                keys[second] = max(keys[first], keys[second]);
                keys[first] = lower;
            }
}

/* Sort the keys from `begin` on that lie in one window, or from the middle of one to that of the next. */
DEVICE void gp_sort_in_place(LOCAL element_t *staged, const int begin)
{
    element_t keys[WINDOW];
#pragma unroll
    for (int k = 0; k < WINDOW; k += LOAD_KEYS) READ_LOCAL(ELEMENT, LOAD_KEYS, staged + AT_KEY(begin + k), keys + k);
    gp_sort_window(keys);
#pragma unroll
    for (int k = 0; k < WINDOW; k += LOAD_KEYS) WRITE_LOCAL(ELEMENT, LOAD_KEYS, staged + AT_KEY(begin + k), keys + k);
}

/* Sort keys that are at most a bin out of place. `filled` are whole windows. */
DEVICE void gp_sort_bins(LOCAL element_t *staged, const int filled, LOCAL int *unsorted, const int tid)
{
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) *unsorted = 0;
        for (int begin = tid * WINDOW; begin < filled; begin += BLOCK * WINDOW) gp_sort_in_place(staged, begin);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int begin = tid * WINDOW + WINDOW / 2; begin + WINDOW <= filled; begin += BLOCK * WINDOW)
            gp_sort_in_place(staged, begin);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int begin = tid * WINDOW + WINDOW / 2; begin < filled; begin += BLOCK * WINDOW)
            if (staged[AT_KEY(begin - 1)] > staged[AT_KEY(begin)]) *unsorted = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (*unsorted);
}

/* Sort keys in local memory, if they are not in order yet, by a bitonic network. */
DEVICE void gp_sort_crowded(LOCAL element_t *staged, const int length, LOCAL int *unsorted, const int tid)
{
    if (tid == 0) *unsorted = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = tid; j < length - 1; j += BLOCK)
        if (staged[AT_KEY(j)] > staged[AT_KEY(j + 1)]) *unsorted = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!*unsorted) return;
    int pairs = 1;
    while (2 * pairs < length) pairs *= 2;
    for (int size = 2; size <= 2 * pairs; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int pair = tid; pair < pairs; pair += BLOCK) {
                const int first = pair / stride * 2 * stride + pair % stride;
                const int second = stride == size / 2 ? first + 2 * (stride - pair % stride) - 1 : first + stride;
                if (second < length && staged[AT_KEY(first)] > staged[AT_KEY(second)]) {
                    const element_t higher = staged[AT_KEY(first)];
                    staged[AT_KEY(first)] = staged[AT_KEY(second)];
                    staged[AT_KEY(second)] = higher;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
