/* Radix selection: find the element of a given rank in each row, digit by digit of its order and then of its place, a launch
 * for each digit. The counts of all parts of a row are added up, and the last group of a row chooses the digit. */
#define DIGIT_BITS 11
#define BINS (1 << DIGIT_BITS)

/* Add to a count in local memory. */
#if BLOCK == 1
#define COUNT_DIGIT(bin) (*(bin))++
#else
#define COUNT_DIGIT(bin) gp_increment(bin)
#endif

/* The search for the last element to take of a row: its leading digits, and how many elements with these digits are taken.
 * Once `found` is true, all elements that reach these digits are taken. A launch reads the states of one `turn`, and writes
 * those of the other. */
typedef struct {
    u64 order, behind, left, found;
} row_state_t;

/* Return 1 if an element has the leading digits, and set `digit` to its next one. Digits of `behind` are at -1 - shift. */
DEVICE int gp_next_digit(const row_state_t state, const i64 at, const u64 order, const u64 behind, u32 *digit)
{
    const int of_order = at >= 0, shift = (int)(of_order ? at : -1 - at);
    const u64 number = of_order ? order : behind, known = of_order ? state.order : state.behind;
    *digit = (u32)(number >> shift) & (BINS - 1);
    return (of_order | (order == state.order)) & (number >> shift >> DIGIT_BITS == known >> shift >> DIGIT_BITS);
}

/* Return the exclusive prefix sum of the counts of a group's work-items. */
DEVICE u64 gp_count_before(const u64 own, LOCAL u64 *sums, const int tid)
{
    u64 total = own;
    sums[tid] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        const u64 lower = tid >= stride ? sums[tid - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[tid] = total += lower;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return total - own;
}

/* Return the length of each of `parts` parts of a row, a multiple of BLOCK. */
DEVICE i64 gp_part_size(const i64 size, const i64 parts)
{
    return ((size + parts - 1) / parts + BLOCK - 1) / BLOCK * BLOCK;
}

/* Begin the search for the element of rank `rank`, from 1 for the highest order. */
DEVICE void gp_begin_row(GLOBAL row_state_t *state, const u64 rank)
{
    state->order = state->behind = state->found = 0;
    state->left = rank;
}

/* Clear the counts of a group. */
DEVICE void gp_clear_bins(LOCAL u32 *bins, const int tid)
{
#pragma unroll 1
    for (int bin = tid; bin < BINS; bin += BLOCK) bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Add a group's counts of the digit at `at` to those of its row. The last group of a row chooses the digit of the element
 * to find, writes the state for the next launch, and clears the counts. */
DEVICE void gp_choose_digit(const i64 at, const i64 parts, GLOBAL count_t *counts, const row_state_t state,
                            GLOBAL row_state_t *next, GLOBAL u32 *counter, LOCAL u32 *bins, LOCAL u64 *sums,
                            LOCAL int *is_last, const int tid)
{
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int bin = tid; bin < BINS; bin += BLOCK)
        if (bins[bin]) ADD_COUNT(counts + bin, bins[bin]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (tid == 0) *is_last = gp_last_done(counter, parts);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!*is_last) return;

    u64 sum = 0;
    const int top = BINS - 1 - tid * (BINS / BLOCK);
    for (int bin = 0; bin < BINS / BLOCK; bin++) sum += READ_COUNT(counts + top - bin);
    u64 above = gp_count_before(sum, sums, tid);
#pragma unroll 1
    for (int bin = 0; bin < BINS / BLOCK; bin++) {
        const u64 here = READ_COUNT(counts + top - bin), digit = (u64)(top - bin);
        if (above < state.left && state.left <= above + here) {
            next->order = at >= 0 ? state.order | digit << at : state.order;
            next->behind = at >= 0 ? state.behind : state.behind | digit << (-1 - at);
            next->left = state.left - above;
            next->found = state.left == above + here;
        }
        above += here;
        CLEAR_COUNT(counts + top - bin);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
