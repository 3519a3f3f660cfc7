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
/* Groups that run at the same time take tiles of a band of SWEEP tiles along o, so that they read stretches of the staged
 * inputs of SWEEP x TILE_O neighbours, and longer ones of the others. */
#define SWEEP 8

/* A few bytes beside each row keep the lanes of a warp in different banks of local memory, in both directions. */
#define BANKS 32
#define BESIDE (TILE_J < BANKS ? BANKS / TILE_J : 1)
#define PITCH (TILE_O + BESIDE * (sizeof(staged_t) < 4 ? 4 / (int)sizeof(staged_t) : 1))

/* Groups that a compute unit must have room for: 40 registers suffice, where the compiler takes 48. */
#define GROUPS_AT_ONCE (BLOCK == 256 && sizeof(elements_t) <= 8 ? 6 : 1)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void map_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    __local staged_t tile[TILE_J * PITCH];
    const int tid = get_local_id(0);
    const i64 across = (n + TILE_J - 1) / TILE_J, down = (outputs + TILE_O - 1) / TILE_O, tiles = down * across;

    for (i64 task = get_group_id(0); task < tiles; task += get_num_groups(0)) {
        const i64 band = task / (across * SWEEP) * SWEEP, at = task - band * across;
        const u32 wide = (u32)min((i64)SWEEP, down - band);
        const i64 first_o = (band + at % wide) * TILE_O, first_j = at / wide * TILE_J;
        const int last_o = (int)min((i64)TILE_O, outputs - first_o) - 1, last_j = (int)min((i64)TILE_J, n - first_j) - 1;
        staged_t staged[ITEMS];
        elements_t elements[ITEMS];

        /* 1. Load the staged inputs along o and the others along j. Beyond the edge, load the last element. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            FETCH_STAGED(first_o + min(place % TILE_O, last_o), first_j + min(place / TILE_O, last_j), staged + item);
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = item * BLOCK + tid;
            FETCH_DIRECT(first_o + min(place / TILE_J, last_o), first_j + min(place % TILE_J, last_j), elements + item);
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
            const int o = place / TILE_J, j = place % TILE_J;
            gp_unstage(tile + j * PITCH + o, elements + item);
            if (o <= last_o && j <= last_j) STORE(first_o + o, first_j + j, APPLY(elements[item], first_j + j));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
