/* merge/path: each group merges the parts of both arrays that make up a tile of results, in local memory.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, x1 another one
 * out     OUTPUTS: y0 their n elements, sorted; of equal ones those of x0 come first
 * launch  two: with `step` 0, work-items write to `splits` where the path crosses the diagonal of each tile; with `step` 1,
 *         groups of BLOCK merge a tile of BLOCK x ITEMS at a time
 * host    FIRST(i), SECOND(i), result_t; gp_goes_first, gp_cross (diagonals.h), GP_CROSS (crossing.h)
 *
 * Source: S. Odeh, O. Green et al., "Merge path - parallel merging made simple", 2012.
 */
#define TILE (BLOCK * ITEMS)
#define SPLIT 0

__kernel WORK_GROUP(BLOCK)
void merge_path(INPUTS, OUTPUTS, GLOBAL i64 *splits, const layout_t layout, const i64 n, const i64 size, const i64 step)
{
    __local result_t staged[TILE];
    const int tid = get_local_id(0);
    const i64 tiles = (n + TILE - 1) / TILE;

    if (step == SPLIT) {
        const i64 workers = get_num_groups(0) * (i64)BLOCK;
        for (i64 tile = get_group_id(0) * (i64)BLOCK + tid; tile <= tiles; tile += workers)
            splits[tile] = gp_cross(INPUT_NAMES, layout, n, size, min(tile * TILE, n));
        return;
    }

    for (i64 tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        /* 1. Load both parts, one after the other. */
        const i64 base = tile * TILE, from_first = splits[tile], from_second = base - from_first;
        const int firsts = (int)(splits[tile + 1] - from_first), results = (int)min(n - base, (i64)TILE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int i = item * BLOCK + tid;
            if (i < firsts)
                staged[i] = FIRST(from_first + i);
            else if (i < results)
                staged[i] = SECOND(from_second + i - firsts);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Find where the path crosses the work-item's own diagonal. */
        const int diagonal = min(tid * ITEMS, results);
        int low = max(diagonal - (results - firsts), 0), high = min(diagonal, firsts);
        GP_CROSS(int, low, high, gp_goes_first(staged[firsts + diagonal - 1 - middle], staged[middle]));

        /* 3. Merge ITEMS results. Past the end of a part, any element is read, and the other part's is taken. */
        int first = low, second = firsts + diagonal - low;
        result_t merged[ITEMS], one = staged[min(first, results - 1)], other = staged[min(second, results - 1)];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int takes_first = first < firsts && (second >= results || !gp_goes_first(other, one));
            merged[item] = takes_first ? one : other;
            first += takes_first;
            second += !takes_first;
            const result_t next = staged[min(takes_first ? first : second, results - 1)];
            if (takes_first)
                one = next;
            else
                other = next;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Exchange the results, so that neighbouring work-items store neighbours. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) staged[tid * ITEMS + item] = merged[item];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int i = item * BLOCK + tid;
            if (i < results) y0[gp_at_y0(layout, 0, base + i)] = staged[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
