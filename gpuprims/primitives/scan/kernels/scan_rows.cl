/* scan/rows: a few neighbouring lanes scan each output, for many outputs of some hundred elements or fewer.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: a value at each element
 * scratch none
 * launch  any number of groups of BLOCK (whole warps of WARP lanes); each takes ROWS x BLOCK / lanes outputs until none
 *         are left
 * host    gp_load_values, gp_scan_vectors and gp_store_values (scanning.h), IDENTITY
 * order   operands in index order
 *
 * Rows of 12 elements, for VECTOR = 4. A row gets as many lanes as it has vectors, rounded up to a power of two, so
 * neighbouring lanes of a warp read consecutive rows:
 *
 *     row     0               1               2
 *     lane    0   1   2   3   0   1   2   3   0   1   2   3
 *     reads   0.. 4.. 8.. -   0.. 4.. 8.. -   0.. 4.. 8.. -
 */
#define ROWS 4

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void scan_rows(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);
    int shift = 0; /* log2 of the number of lanes */
    while (1 << shift < WARP && ((i64)VECTOR << shift) < n) shift++;
    const int lanes = 1 << shift, lane = tid & (lanes - 1), rows = (i64)VECTOR * lanes < n ? 1 : ROWS;
    const i64 step = BLOCK >> shift, tile = rows * step; /* outputs that a group takes at once, and per iteration */

    for (i64 base = get_group_id(0) * tile; base < outputs; base += get_num_groups(0) * tile) {
        const i64 o = base + (tid >> shift);
        value_t before = IDENTITY;

        /* Rows of one vector a lane take one iteration, ROWS of them in flight; a longer row takes several. */
        for (i64 j = (i64)lane * VECTOR; j - lane * VECTOR < n; j += (i64)VECTOR * lanes) {
            value_t values[ROWS][VECTOR];

            /* 1. Load; an output past the last has no elements. */
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                if (row < rows) gp_load_values(INPUT_NAMES, layout, o + row * step, j, o + row * step < outputs ? n : 0, values[row]);

            /* 2. Scan. */
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                if (row < rows) before = gp_scan_vectors(values[row], rows > 1 ? IDENTITY : before, tid % LANES, lanes);

            /* 3. Store. */
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                if (row < rows && o + row * step < outputs)
                    gp_store_values(INPUT_NAMES, OUTPUT_NAMES, layout, o + row * step, j, n, values[row]);
        }
    }
}
