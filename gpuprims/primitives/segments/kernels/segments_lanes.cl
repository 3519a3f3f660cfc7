/* segments/lanes: a few neighbouring lanes fold each segment; a whole warp folds one that is far longer than most.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: one value for each segment
 * scratch none: `parts`, partials and counters are not touched
 * launch  any number of groups of BLOCK (whole warps of WARP lanes); each takes BLOCK / lanes segments until none are
 *         left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), COMMUTATIVE, gp_fold_values
 *         (folding.h), gp_shuffle_down(value, stride), gp_any_lane(number); no segment of 2^30 elements or more
 * order   operands in index order; a commutative operator may take them with a stride
 *
 * Segments of 5, 0, 3 and 8 elements, a lane for every ITEMS = 2 of the 4 on average; below, where order matters:
 *
 *     segment     0            1            2            3
 *     lane        0     1      0     1      0     1      0        1
 *     folds       0 2 4 1 3    -     -      5 7   6      8 .. 14  9 .. 15
 *     in order    0..2  3..4   -     -      5..6  7      8..11    12..15
 */
/* Elements that a lane takes of a segment; the whole warp shares a longer segment. */
#define MOST (16 * ITEMS)

/* Fold one lane's part of the `count` elements from `begin` on, ITEMS independent ones in flight, with 1 << shift
 * lanes. Past the end, the last element is loaded again, so no load waits behind a branch. */
DEVICE value_t fold_share(INPUTS, const layout_t layout, const i64 o, const i64 begin, const int count, const int lane,
                          const int shift)
{
#if COMMUTATIVE
    const int step = 1 << shift, last = count;
    int j = lane;
#else
    const int step = 1, run = (count + (1 << shift) - 1) >> shift, last = min((lane + 1) * run, count);
    int j = lane * run;
#endif
    value_t folded = IDENTITY;
    for (; j < last; j += ITEMS * step) {
        value_t values[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = MAP(o, begin + min(j + item * step, last - 1));
#pragma unroll
        for (int item = 1; item < ITEMS; item++)
            if (j + item * step >= last) values[item] = IDENTITY;
        folded = OP(folded, gp_fold_values(values, ITEMS));
    }
    return folded;
}

/* Fold the lanes: each takes the value of the lane `stride` above, and the first lane ends with all. */
DEVICE value_t fold_segment_lanes(value_t folded, const int lanes)
{
    for (int stride = 1; stride < lanes; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
    return folded;
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void segments_lanes(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 segments,
                    const i64 n, const i64 parts)
{
    const int tid = get_local_id(0);
    int shift = 0, warp_shift = 0; /* log2 of the number of lanes, and of a warp's */
    while (1 << warp_shift < WARP) warp_shift++;
    while (shift < warp_shift && ((i64)ITEMS << shift) * segments < n) shift++;
    const int lanes = 1 << shift, lane = tid & (lanes - 1), most = shift < warp_shift ? MOST << shift : 0x7fffffff;
    const int warp_lane = tid & (WARP - 1);
    const i64 tile = BLOCK >> shift;

    for (i64 base = get_group_id(0) * tile; base < segments; base += get_num_groups(0) * tile) {
        /* 1. Fold a segment by its lanes, unless it is long, and store. */
        const i64 o = base + (tid >> shift), begin = o < segments ? BEGIN(o) : 0;
        const int count = o < segments ? (int)(BEGIN(o + 1) - begin) : 0, apart = count > most;
        const value_t share = fold_share(INPUT_NAMES, layout, o, begin, apart ? 0 : count, lane, shift);
        const value_t folded = fold_segment_lanes(share, lanes);
        if (lane == 0 && o < segments && !apart) STORE(o, count, folded);

        /* 2. Fold the warp's long segments, one after the other, by all lanes. */
        if (gp_any_lane(apart)) {
            const i64 first = base + ((tid - warp_lane) >> shift), behind = min(first + (WARP >> shift), segments);
            for (i64 each = first; each < behind; each++) {
                const i64 from = BEGIN(each);
                const int size = (int)(BEGIN(each + 1) - from);
                if (size <= most) continue;
                const value_t part = fold_share(INPUT_NAMES, layout, each, from, size, warp_lane, warp_shift);
                const value_t whole = fold_segment_lanes(part, WARP);
                if (warp_lane == 0) STORE(each, size, whole);
            }
        }
    }
}
