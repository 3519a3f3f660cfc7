/* sort/counted: for each digit, lowest first, three launches count the digits of tiles, add up the counts of the tiles
 * before, and move elements to their places. No group waits for another, and no work-items exchange registers.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES, unless it is the `first` pass
 *         of INDICES
 * out     moved: the elements by this digit, if KEEPS_KEYS or not the `last` pass; kept: the values, in the last pass as
 *         kept_t
 * scratch table: for each row and value of the digit a count for each tile, then one for the row
 * launch  COUNTS, SCANS and moves, each any number of groups
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), gp_sum_of_lower (lower_sums.h), KEEP_VALUE (carried.h)
 * order   stable: places within a tile follow the order of memory
 * source  Satish, Harris and Garland, Designing efficient sorting algorithms for manycore GPUs, 2009
 *
 * A work-item has neighbours, and ranks them by half a digit. Six elements of three work-items, by halves of values 0 to 2:
 *
 *     halves                        2 0 | 0 2 | 1 0
 *     counts of 0, 1 and 2          1 1 1   0 0 1   1 1 0      one for each work-item, those of a value side by side
 *     sums of those before          0 1 2   3 3 3   4 5 6
 *     place in the tile             4 0 | 1 5 | 3 2            the work-item's sum, and its own before with this value
 */
#define TILE ((i64)BLOCK * ITEMS)
/* Where the counts of a value of the digit begin, one for each tile, and the count of all tiles of a row. */
#define LINE_OF(row, digit) (((row) * DIGITS + (digit)) * tiles)
#define ALL_OF(row, digit) (rows * DIGITS * tiles + (row) * DIGITS + (digit))

#if COUNTS
__kernel WORK_GROUP(BLOCK)
void sort_counted(GLOBAL const element_t *keys, GLOBAL u32 *table, const layout_t layout, const i64 rows, const i64 n,
                  const i64 tiles, const i64 byte, const i64 keys_at)
{
    __local u32 counts[DIGITS];
    const int tid = get_local_id(0);

    for (i64 at = get_group_id(0); at < rows * tiles; at += get_num_groups(0)) {
        const i64 row = at / tiles, tile = at % tiles, end = min((tile + 1) * TILE, n);
        GLOBAL const element_t *from = keys + keys_at + row * n;
        for (int digit = tid; digit < DIGITS; digit += BLOCK) counts[digit] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (i64 j = tile * TILE + tid; j < end; j += BLOCK) gp_increment(counts + DIGIT_OF(from[j], 8 * byte));
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int digit = tid; digit < DIGITS; digit += BLOCK) table[LINE_OF(row, digit) + tile] = counts[digit];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#elif SCANS
/* Counts of a work-item. */
#define OWN 8

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_counted(GLOBAL u32 *table, const layout_t layout, const i64 rows, const i64 tiles)
{
    __local u32 sums[SUMS], all;
    const int tid = get_local_id(0);

    for (i64 line = get_group_id(0); line < rows * DIGITS; line += get_num_groups(0)) {
        GLOBAL u32 *counts = table + line * tiles;
        u32 before = 0;
        for (i64 base = 0; base < tiles; base += BLOCK * OWN) {
            u32 found[OWN], sum = 0;
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const i64 tile = base + tid * OWN + k;
                found[k] = tile < tiles ? counts[tile] : 0;
                sum += found[k];
            }
            u32 lower = before + gp_sum_of_lower(sum, sums, BLOCK, tid);
            if (tid == BLOCK - 1) all = lower + sum;
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const i64 tile = base + tid * OWN + k;
                if (tile < tiles) counts[tile] = lower;
                lower += found[k];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            before = all;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (tid == 0) table[rows * DIGITS * tiles + line] = before;
    }
}
#else
/* Bits of half a digit, and its values. */
#define HALF 4
#define VALUES (1 << HALF)
/* Where the element at place `j` of a tile lies, so that work-items read theirs from banks apart. */
#define AT(j) ((j) + (j) / ITEMS)
/* Values of the digit of which a work-item finds the places. */
#define DIGITS_EACH ((DIGITS + BLOCK - 1) / BLOCK)

/* Turn the ranks of a work-item's elements into places in the tile by half a digit. */
DEVICE void gp_rank_by_half(LOCAL u16 *counts, LOCAL u32 *sums, const element_t *elements, const int shift,
                            const int live, int *places, const int tid)
{
    for (int value = 0; value < VALUES; value++) counts[value * BLOCK + tid] = 0;
    int halves[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const int j = tid * ITEMS + item; /* those past the end rank last */
        halves[item] = j < live ? (int)(gp_sort_key(elements[item]) >> shift) & (VALUES - 1) : VALUES - 1;
        places[item] = counts[halves[item] * BLOCK + tid]++;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    LOCAL u16 *own = counts + tid * VALUES;
    u32 sum = 0;
    for (int k = 0; k < VALUES; k++) sum += own[k];
    u32 lower = gp_sum_of_lower(sum, sums, BLOCK, tid);
    for (int k = 0; k < VALUES; k++) {
        const u32 here = own[k];
        own[k] = (u16)lower;
        lower += here;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) places[item] += counts[halves[item] * BLOCK + tid];
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_counted(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL const u32 *table,
                  GLOBAL element_t *moved, GLOBAL u8 *kept, const layout_t layout, const i64 rows, const i64 n,
                  const i64 tiles, const i64 byte, const i64 first, const i64 last, const i64 keys_at,
                  const i64 values_at, const i64 moved_at, const i64 kept_at)
{
    __local u16 counts[VALUES * BLOCK];
    __local u32 sums[SUMS], targets[DIGITS];
    __local int starts[DIGITS];
    __local element_t staged[AT(TILE)];
#if CARRIES
    __local carried_t beside[AT(TILE)];
    carried_t held[ITEMS];
#endif
    const int tid = get_local_id(0), shift = 8 * (int)byte;

    for (i64 at = get_group_id(0); at < rows * tiles; at += get_num_groups(0)) {
        const i64 row = at / tiles, tile = at % tiles, base = tile * TILE;
        const int live = (int)min(n - base, TILE);

        /* 1. Load the tile. */
        GLOBAL const element_t *from = keys + keys_at + row * n + base;
        for (int j = tid; j < live; j += BLOCK) staged[AT(j)] = from[j];
#if CARRIES
        GLOBAL const carried_t *with = values + values_at + row * n + base;
        for (int j = tid; j < live; j += BLOCK) beside[AT(j)] = INDICES && first ? (carried_t)(base + j) : with[j];
#endif
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Put it in order by the lower half of the digit, then by the upper one. */
        for (int upper = 0; upper < 2; upper++) {
            element_t elements[ITEMS];
            int places[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const int j = tid * ITEMS + item;
                elements[item] = j < live ? staged[AT(j)] : 0;
#if CARRIES
                held[item] = j < live ? beside[AT(j)] : 0;
#endif
            }
            gp_rank_by_half(counts, sums, elements, shift + upper * HALF, live, places, tid);
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                staged[AT(places[item])] = elements[item];
#if CARRIES
                beside[AT(places[item])] = held[item];
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 3. Find where each value of the digit begins in the tile, and where it goes in the row. */
        for (int j = tid; j < live; j += BLOCK) {
            const u32 digit = DIGIT_OF(staged[AT(j)], shift);
            if (j == 0 || DIGIT_OF(staged[AT(j - 1)], shift) != digit) starts[digit] = j;
        }
        u32 all = 0;
        for (int digit = tid * DIGITS_EACH; digit < min((tid + 1) * DIGITS_EACH, DIGITS); digit++)
            all += table[ALL_OF(row, digit)];
        u32 begin = gp_sum_of_lower(all, sums, BLOCK, tid);
        for (int digit = tid * DIGITS_EACH; digit < min((tid + 1) * DIGITS_EACH, DIGITS); digit++) {
            targets[digit] = begin + table[LINE_OF(row, digit) + tile];
            begin += table[ALL_OF(row, digit)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Store. */
        for (int j = tid; j < live; j += BLOCK) {
            const element_t element = staged[AT(j)];
            const u32 digit = DIGIT_OF(element, shift), place = targets[digit] + (u32)(j - starts[digit]);
            if (KEEPS_KEYS || !last) moved[moved_at + row * n + place] = element;
#if CARRIES
            KEEP_VALUE(kept_at + row * n + place, beside[AT(j)])
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
