/* map/tile: tiles of arrays that lie along another axis than the results are turned in local memory.
 *
 * in      INPUTS, any layout: neighbours along o lie close in the staged ones, neighbours along j in the others
 * out     OUTPUTS, one value at each o in [0, outputs) and j in [0, n); neighbours along j lie close
 * launch  any number of groups of BLOCK; each takes tiles of TILE_O x TILE_J until none are left
 * host    FETCH_STAGED(o, j, to), which loads ACROSS neighbours along o, FETCH_DIRECT(o, j, to), which loads VECTOR along j,
 *         gp_stage(from, to), gp_unstage(from, to), APPLY(elements, j), STORE_VECTOR(o, j, values);
 *         BLOCK x ITEMS = TILE_O x TILE_J; ACROSS and VECTOR divide ITEMS, `outputs` and `n`
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

/* Groups that a compute unit must have room for: 40 registers suffice, where the compiler takes 48. */
#define GROUPS_AT_ONCE (BLOCK > 256 || sizeof(elements_t) > 8 ? 1 : ITEMS <= 4 ? 6 : 4)

/* Tiles are taken by squares of some SQUARE elements a side, so groups that run at the same time read and write long stretches.
 * Squares beside the diagonal follow those that mirror them: of an array and its transpose, both lie in the same memory.
 *
 *     0 2 5        the order of squares
 *     1 3 7
 *     4 6 8
 */
#define SQUARE 256 /* rows: tile-squares */
#define SHIFT_OF(side) (2 * (side) > SQUARE ? 0 : 4 * (side) > SQUARE ? 1 : 8 * (side) > SQUARE ? 2 : 16 * (side) > SQUARE ? 3 : 4)

/* Find the place of a tile in squares of 1 << shift_o by 1 << shift_j tiles; `tall` x `wide` squares cover the arrays. */
DEVICE void place_tile(const u32 task, const int shift_o, const int shift_j, const u32 tall, const u32 wide, u32 *o, u32 *j)
{
    const u32 square = task >> (shift_o + shift_j), side = min(tall, wide);
    u32 row, column;
    if (square < side * side) {
        u32 shell = (u32)gp_sqrt_f32((f32)square);
        if (shell * shell > square) shell--;
        if ((shell + 1) * (shell + 1) <= square) shell++;
        const u32 place = square - shell * shell;
        row = place % 2 ? place / 2 : shell;
        column = place % 2 ? shell : place / 2;
    } else {
        const u32 left = square - side * side, line = side + left / side, place = left % side;
        row = tall > wide ? line : place;
        column = tall > wide ? place : line;
    }
    *o = (row << shift_o) + (task & ((1u << shift_o) - 1));
    *j = (column << shift_j) + (task >> shift_o & ((1u << shift_j) - 1));
}

/* Load the staged inputs along o and the others along j. Beyond the edge, load the last elements. */
DEVICE void load_tiles(INPUTS, const layout_t layout, const i64 first_o, const i64 first_j, const int last_o, const int last_j,
                      const int tid, staged_t *staged, elements_t *elements)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += ACROSS) {
        const int place = (item / ACROSS * BLOCK + tid) * ACROSS, o = place % TILE_O, j = place / TILE_O;
        FETCH_STAGED(first_o + min(o, last_o + 1 - ACROSS), first_j + min(j, last_j), staged + item);
    }
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const int place = (item / VECTOR * BLOCK + tid) * VECTOR, o = place / TILE_J, j = place % TILE_J;
        FETCH_DIRECT(first_o + min(o, last_o), first_j + min(j, last_j + 1 - VECTOR), elements + item);
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void map_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    __local staged_t tile[TILE_J * PITCH];
    const int tid = get_local_id(0);
    const u32 down = (u32)((outputs + TILE_O - 1) / TILE_O), across = (u32)((n + TILE_J - 1) / TILE_J);
    int shift_o = SHIFT_OF(TILE_O), shift_j = SHIFT_OF(TILE_J);
    while (shift_o && 1u << (shift_o - 1) >= down) shift_o--;
    while (shift_j && 1u << (shift_j - 1) >= across) shift_j--;
    const u32 tall = (down + (1u << shift_o) - 1) >> shift_o, wide = (across + (1u << shift_j) - 1) >> shift_j;

    for (u32 task = get_group_id(0); task < tall * wide << (shift_o + shift_j); task += get_num_groups(0)) {
        u32 at_o, at_j;
        place_tile(task, shift_o, shift_j, tall, wide, &at_o, &at_j);
        if (at_o >= down || at_j >= across) continue;
        const i64 first_o = (i64)at_o * TILE_O, first_j = (i64)at_j * TILE_J;
        const int last_o = (int)min((i64)TILE_O, outputs - first_o) - 1, last_j = (int)min((i64)TILE_J, n - first_j) - 1;
        staged_t staged[ITEMS];
        elements_t elements[ITEMS];

        /* 1. Load the inputs. In a whole tile, the compiler knows how many elements there are. */
        if (last_o == TILE_O - 1 && last_j == TILE_J - 1) {
            load_tiles(INPUT_NAMES, layout, first_o, first_j, TILE_O - 1, TILE_J - 1, tid, staged, elements);
        } else {
            load_tiles(INPUT_NAMES, layout, first_o, first_j, last_o, last_j, tid, staged, elements);
        }

        /* 2. Turn the tile. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int place = (item / ACROSS * BLOCK + tid) * ACROSS + item % ACROSS;
            gp_stage(staged + item, tile + place / TILE_O * PITCH + place % TILE_O);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Apply, and store along j. */
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) {
            const int place = (item / VECTOR * BLOCK + tid) * VECTOR, o = place / TILE_J, j = place % TILE_J;
            value_t values[VECTOR];
#pragma unroll
            for (int one = 0; one < VECTOR; one++) {
                gp_unstage(tile + (j + one) * PITCH + o, elements + item + one);
                values[one] = APPLY(elements[item + one], first_j + j + one);
            }
            if (o <= last_o && j <= last_j) STORE_VECTOR(first_o + o, first_j + j, values);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
