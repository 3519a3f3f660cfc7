/* reduce/staged: a group loads whole rows into local memory, then a few work-items fold each, for rows that lie together.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, one after the other in memory
 * out     OUTPUTS: one value for each
 * scratch none: `parts` is 1, and partials and counters are not touched
 * launch  any number of groups of BLOCK; each takes TILE elements, or as many whole rows, until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), where o is 0 and j counts through all rows; OP(a, b), IDENTITY,
 *         gp_shuffle_down(value, stride), STORE(o, j, value)
 * order   operands in index order
 *
 * Rows of 5 elements, for VECTOR = 4. Loads know nothing of rows, so they are whole vectors whatever n is:
 *
 *     rows    0 0 0 0 0 1 1 1 1 1 2 2 2 2 2 3 3 3 3 3
 *     loads   0       1       2       3       4
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void reduce_staged(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                   const i64 n, const i64 parts)
{
    __local value_t tile[TILE];
    const int tid = get_local_id(0), rows = TILE / (int)n / VECTOR * VECTOR;
    int lanes = 1; /* that share a row: at most a warp, and with four elements or more each */
    while (lanes < WARP && 2 * lanes * rows <= BLOCK && 8 * lanes <= n) lanes *= 2;
    const int run = ((int)n + lanes - 1) / lanes | 1, lane = tid % lanes; /* odd: lanes read different banks */

    for (i64 base = (i64)get_group_id(0) * rows; base < outputs; base += (i64)get_num_groups(0) * rows) {
        const int here = (int)min((i64)rows, outputs - base), elements = here * (int)n;
        const i64 first = base * n;

        /* 1. Load the elements of all rows. */
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) {
            const int at = item * BLOCK + tid * VECTOR;
            value_t values[VECTOR];
            if (at + VECTOR <= elements) {
                MAP_VECTOR(0, first + at, values);
#pragma unroll
                for (int one = 0; one < VECTOR; one++) tile[at + one] = values[one];
            } else {
#pragma unroll 1
                for (int one = at; one < elements; one++) tile[one] = MAP(0, first + one);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Fold each row: lanes fold a run each, then the lanes. Every lane of a warp takes part in the shuffles. */
        for (int above = 0; above < here; above += BLOCK / lanes) {
            const int row = above + tid / lanes, from = min(lane * run, (int)n), end = min(from + run, (int)n);
            value_t folded = IDENTITY;
            if (row < here)
                for (int j = from; j < end; j++) folded = OP(folded, tile[row * (int)n + j]);
            for (int stride = 1; stride < lanes; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
            if (row < here && lane == 0) STORE(base + row, 0, folded);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
