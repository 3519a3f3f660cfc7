/* Picks of a row, and a bitonic network that sorts a tile of them in local memory. */
#define TILE (4 * BLOCK)

/* Return the pick of element `i` of a row. */
DEVICE pick_t gp_pick_at(INPUTS, const layout_t layout, const i64 o, const i64 row, const i64 i, const i64 size)
{
    return gp_pick(gp_rank_order(MAP(o, row + i)), size - 1 - i);
}

/* Put the better of two picks first. */
#define GP_PUT_IN_ORDER(picks, first, second)                                                                          \
    do {                                                                                                               \
        const pick_t before = (picks)[first], after = (picks)[second];                                                 \
        if (gp_beats(after, before)) {                                                                                 \
            (picks)[first] = after;                                                                                    \
            (picks)[second] = before;                                                                                  \
        }                                                                                                              \
    } while (0)

/* Sort `count` picks in local memory, the best first; or those of a tile that rise and then fall, which takes fewer steps. */
DEVICE void gp_sort_tile(LOCAL pick_t *tile, const int count, const int merges, const int tid)
{
    int pairs = TILE / 2;
    while (!merges && pairs >= count && pairs > 1) pairs /= 2;
    for (int size = merges ? TILE : 2; size <= 2 * pairs; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int pair = tid; pair < pairs; pair += BLOCK) {
                const int first = pair / stride * 2 * stride + pair % stride;
                const int flips = stride == size / 2 && !merges;
                const int second = flips ? pair / stride * 2 * stride + 2 * stride - 1 - pair % stride : first + stride;
                if (second < count) GP_PUT_IN_ORDER(tile, first, second);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
