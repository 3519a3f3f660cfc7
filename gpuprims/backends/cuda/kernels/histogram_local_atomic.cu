/* histogram/local_atomic: each group counts in a histogram of its own, in local memory, and leaves it as one of `parts`.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, for each part of each output
 * local   PLANES * (bins + 2) sums
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    find_tile and ADD (binning.h), MAP and MAP_VECTOR
 * order   elements meet in the order in which work-items come to them: integers add up to the same, floats may not
 */
#define gp_add_float gp_add_float_locally

extern "C" __global__ __launch_bounds__(BLOCK)
void histogram_local_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                            const i64 parts LOCAL_PARAMETER)
{
    LOCAL_HISTOGRAM(own);
    const i32 width = (i32)bins + 2;
    const int tid = threadIdx.x;
    const binning_t b = binning_of(table, bins);

    for (i64 task = blockIdx.x; task < outputs * parts; task += gridDim.x) {
        const i64 o = task % outputs, part = task / outputs;

        /* 1. Begin with nothing. */
        for (i32 place = tid; place < PLANES * width; place += BLOCK) own[place] = 0;
        BARRIER();

        /* 2. Load, and count. */
        for (i64 base = part * (BLOCK * ITEMS); base < n; base += parts * (BLOCK * ITEMS)) {
            value_t values[ITEMS];
            i32 found[ITEMS];
            find_tile(INPUT_NAMES, layout, o, base, n, tid, b, values, found);
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (COUNTED(found[item], b)) ADD(own, found[item], width, values[item], PEAK(o, found[item]));
        }
        BARRIER();

        /* 3. Store. */
        GLOBAL bin_t *whole = histograms + task * PLANES * width;
        for (i32 place = tid; place < PLANES * width; place += BLOCK) whole[place] = own[place];
        BARRIER();
    }
}
