/* histogram/packed: each group counts in local memory, in 16 bits a bin, and passes what no longer fits on to global memory.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: a count for each of bins + 2 places, for each part of each output
 * local   two counts in a word
 * launch  any number of groups of BLOCK, a tile of at most HALF_FULL; each takes (part, output) pairs until none are left
 * host    find_tile (binning.h), MAP and MAP_VECTOR
 * order   counts add up to the same in any order
 *
 * Who makes a count half full takes that half away. Until then, which is the end of the tile at the latest, the count has room for a
 * whole tile more:
 *
 *     count     .. 0x7ffe  0x7fff  0x8000  0x8001  ..  0x8001 - 0x8000
 *                                  ^ sees 0x7fff before     ^ has added 0x8000 to global memory
 */
#ifndef HALF_FULL
#define HALF_FULL 0x8000
#endif

/* Count an element in one half of a word. */
DEVICE void count_in_half(LOCAL u32 *own, GLOBAL u32 *whole, const i32 place)
{
    const int shift = place % 2 * 16;
    const u32 before = gp_add_count(own + place / 2, 1u << shift) >> shift & 0xFFFF;
    if (before != HALF_FULL - 1) return;
    gp_take_count(own + place / 2, (u32)HALF_FULL << shift);
    gp_add_count(whole + place, HALF_FULL);
}

extern "C" __global__ __launch_bounds__(BLOCK)
void histogram_packed(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                      const i64 parts LOCAL_PARAMETER)
{
    LOCAL_HISTOGRAM(own);
    const i32 width = (i32)bins + 2;
    const int tid = threadIdx.x;
    const binning_t b = binning_of(table, bins);

    for (i64 task = blockIdx.x; task < outputs * parts; task += gridDim.x) {
        const i64 o = task % outputs, part = task / outputs;
        GLOBAL bin_t *whole = histograms + task * width;

        /* 1. Begin with nothing. */
        for (i32 place = tid; place < width; place += BLOCK) {
            whole[place] = 0;
            if (place % 2 == 0) own[place / 2] = 0;
        }
        GLOBAL_BARRIER();

        /* 2. Load, and count. */
        for (i64 base = part * (BLOCK * ITEMS); base < n; base += parts * (BLOCK * ITEMS)) {
            value_t values[ITEMS];
            i32 found[ITEMS];
            find_tile(INPUT_NAMES, layout, o, base, n, tid, b, values, found);
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (COUNTED(found[item], b)) count_in_half(own, whole, found[item]);
            BARRIER();
        }

        /* 3. Store what is left beside what was passed on. */
        GLOBAL_BARRIER();
        for (i32 place = tid; place < width; place += BLOCK)
            gp_add_count(whole + place, own[place / 2] >> place % 2 * 16 & 0xFFFF);
        BARRIER();
    }
}
