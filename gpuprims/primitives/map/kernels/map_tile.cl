/* map/tile: tiles of arrays that lie along another axis than the results are turned in local memory.
 *
 * in      INPUTS, any layout: neighbours along o lie close in the staged ones, neighbours along j in the others
 * out     OUTPUTS, one value at each o in [0, outputs) and j in [0, n); neighbours along j lie close
 * launch  any number of groups of BLOCK; each takes tiles of TILE_O x TILE_J until none are left
 * host    FETCH_STAGED(o, j, to), FETCH_DIRECT(o, j, to), gp_stage(from, to), gp_unstage(from, to), APPLY(elements, j),
 *         STORE(o, j, value); BLOCK x ITEMS = TILE_O x TILE_J
 *
 * A tile of 4 x 4, as work-items read it and as they write the results:
 *
 *     along o    0 4 8 c        along j    0 1 2 3
 *                1 5 9 d                   4 5 6 7
 *                2 6 a e                   8 9 a b
 *                3 7 b f                   c d e f
 */
/* A few bytes beside each row keep the lanes of a warp in different banks of local memory, in both directions. */
#define BANKS 32
#define BESIDE (TILE_J < BANKS ? BANKS / TILE_J : 1)
#define PITCH (TILE_O + BESIDE * (sizeof(staged_t) < 4 ? 4 / (int)sizeof(staged_t) : 1))

__kernel WORK_GROUP(BLOCK)
void map_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    __local staged_t tile[TILE_J * PITCH];
    const int tid = get_local_id(0);
    const i64 across = (n + TILE_J - 1) / TILE_J, tiles = (outputs + TILE_O - 1) / TILE_O * across;

    for (i64 task = get_group_id(0); task < tiles; task += get_num_groups(0)) {
        const i64 first_o = task / across * TILE_O, first_j = task % across * TILE_J;
        staged_t staged[ITEMS];
        elements_t elements[ITEMS];

        /* 1. Load the staged inputs along o and the others along j. Beyond the edge, load the last element. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            FETCH_STAGED(min(first_o + place % TILE_O, outputs - 1), min(first_j + place / TILE_O, n - 1), staged + item);
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            FETCH_DIRECT(min(first_o + place / TILE_J, outputs - 1), min(first_j + place % TILE_J, n - 1), elements + item);
        }

        /* 2. Turn the tile. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            gp_stage(staged + item, tile + place / TILE_O * PITCH + place % TILE_O);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Apply, and store along j. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            const i64 o = first_o + place / TILE_J, j = first_j + place % TILE_J;
            gp_unstage(tile + place % TILE_J * PITCH + place / TILE_J, elements + item);
            if (o < outputs && j < n) STORE(o, j, APPLY(elements[item], j));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
