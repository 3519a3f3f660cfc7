/* histogram/packed: each group counts in local memory, in 16 bits a bin, and passes on to global memory what would not fit.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: a count for each of bins + 2 places, for each part of each output
 * local   two counts in a word, and the guide if it is NEAR
 * launch  any number of groups of BLOCK, a tile of at most HALF_FULL; each takes (part, output) pairs until none are left
 * host    load_tile, guess_bin and settle_item (binning.h), MAP and MAP_VECTOR
 * order   counts add up to the same in any order
 *
 * Between two looks at the counts there are no more elements than HALF_FULL. A look takes that many away from counts that have
 * reached it, and so leaves all of them room for as many more.
 */
#ifndef HALF_FULL
#define HALF_FULL 0x8000
#endif
#define LOOK_AFTER (HALF_FULL / (BLOCK * ITEMS))

/* Count elements in one half of a word. */
DEVICE void count_in_half(LOCAL u32 *own, const i32 place, const u32 elements)
{
    gp_add_count(own + place / 2, elements << place % 2 * 16);
}

/* Take away from one half of a word what fills half of it, and return that. */
DEVICE u32 take_from_half(LOCAL u32 *word, const int which)
{
    const int shift = which * 16;
    if ((*word >> shift & 0xFFFF) < HALF_FULL) return 0;
    *word -= (u32)HALF_FULL << shift;
    return HALF_FULL;
}

extern "C" __global__ __launch_bounds__(BLOCK, WORDS == 1 ? 2 : 1)
void histogram_packed(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                      const i64 parts LOCAL_PARAMETER)
{
    LOCAL_HISTOGRAM(own);
    const i32 width = (i32)bins + 2, words = (width + 1) / 2;
    const int tid = threadIdx.x;
    binning_t b = binning_of(table, bins);
    SHARE_GUIDE(b, own, words, tid);

    for (i64 task = blockIdx.x; task < outputs * parts; task += gridDim.x) {
        const i64 o = task % outputs, part = task / outputs;
        GLOBAL bin_t *whole = histograms + task * width;

        /* 1. Begin with nothing: each work-item has words of its own, and what was passed on of them. */
        for (i32 word = tid; word < words; word += BLOCK) {
            own[word] = 0;
            whole[2 * word] = 0;
            if (2 * word + 1 < width) whole[2 * word + 1] = 0;
        }
        BARRIER();

        int tiles = 0;
        for (i64 base = part * (BLOCK * ITEMS); base < n; base += parts * (BLOCK * ITEMS)) {
            /* 2. Look at the counts, and pass on what fills half of one. */
            if (tiles++ == LOOK_AFTER) {
                tiles = 1;
                BARRIER();
                for (i32 word = tid; word < words; word += BLOCK) {
                    if (((own[word] | own[word] << 16) >> 16) < HALF_FULL) continue;
                    whole[2 * word] += take_from_half(own + word, 0);
                    if (2 * word + 1 < width) whole[2 * word + 1] += take_from_half(own + word, 1);
                }
                BARRIER();
            }

            /* 3. Load, and count; lanes at the same place together where they are many. */
            u32 left = left_of_tile(base, n, tid);
            if (base + BLOCK * ITEMS <= n) {
                value_t values[ITEMS];
                load_tile(INPUT_NAMES, layout, o, base, tid, values);
                i32 places[ITEMS];
#pragma unroll
                for (int item = 0; item < ITEMS; item++) {
                    int doubt;
                    places[item] = guess_bin(KEY(values[item]), b, &doubt);
                    left |= (u32)doubt << item;
                }
                if (gp_crowded(places[0])) {
#pragma unroll
                    for (int item = 0; item < ITEMS; item++) {
                        const u32 elements = gp_elements_for(places[item]);
                        if (elements) count_in_half(own, places[item], elements);
                    }
                } else {
#pragma unroll
                    for (int item = 0; item < ITEMS; item++) count_in_half(own, places[item], 1);
                }
            }
            while (left) {
                value_t value;
                const i32 place = settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                count_in_half(own, place, 1);
            }
        }
        BARRIER();

        /* 4. Store what is left beside what was passed on. */
        for (i32 word = tid; word < words; word += BLOCK) {
            whole[2 * word] += own[word] & 0xFFFF;
            if (2 * word + 1 < width) whole[2 * word + 1] += own[word] >> 16;
        }
        BARRIER();
    }
}
