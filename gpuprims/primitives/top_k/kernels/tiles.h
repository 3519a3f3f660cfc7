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

/* Sort `count` picks in local memory, the best first. With `merges`, a tile is a bitonic sequence, which takes fewer steps. */
DEVICE void gp_sort_tile(LOCAL pick_t *tile, const int count, const int merges, const int tid)
{
    int pairs = TILE / 2;
    while (!merges && pairs >= count && pairs > 1) pairs /= 2;
    for (int size = merges ? TILE : 2; size <= 2 * pairs; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
#pragma unroll 1
            for (int pair = tid; pair < pairs; pair += BLOCK) {
                const int within = pair & (stride - 1), first = 2 * (pair - within) + within;
                const int second = stride == size / 2 && !merges ? first ^ (2 * stride - 1) : first + stride;
                if (second < count) GP_PUT_IN_ORDER(tile, first, second);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

#define NO_PICK gp_pick(0, 0) /* no pick is worse */

/* Fold the best picks of the work-items, by halves, to `number` picks in a tile, a power of two. */
DEVICE void gp_fold_bests(const pick_t best, const int number, LOCAL pick_t *tile, const int tid)
{
    tile[tid] = best;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int stride = BLOCK / 2; stride >= number; stride /= 2) {
        if (tid < stride && gp_beats(tile[tid + stride], tile[tid])) tile[tid] = tile[tid + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Count the picks of a tile that beat `own`. */
DEVICE int gp_count_better(LOCAL const pick_t *tile, const int count, const pick_t own)
{
    int better = 0;
#pragma unroll 4
    for (int other = 0; other < count; other++) better += gp_beats(tile[other], own);
    return better;
}

/* Return the pick of rank `rank`, from 1 for the best, among the first `count` of a tile; NO_PICK if there are fewer. */
DEVICE pick_t gp_pick_of_rank(LOCAL const pick_t *tile, const int count, const int rank, LOCAL pick_t *chosen,
                              const int tid)
{
    if (tid == 0) *chosen = NO_PICK;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < count) {
        const pick_t own = tile[tid];
        if (gp_count_better(tile, count, own) == rank - 1) *chosen = own;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return *chosen;
}
