/* merge/cpu_runs: each group merges runs of results one by one, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, x1 another one
 * out     OUTPUTS: y0 their n elements, sorted; of equal ones those of x0 come first
 * launch  any number of groups of one work-item; each takes tiles of ITEMS results until none are left
 * host    FIRST(i), SECOND(i), result_t; gp_goes_first, gp_cross (diagonals.h)
 */
__kernel WORK_GROUP(1)
void merge_cpu_runs(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 size)
{
    const i64 other_size = n - size;

    for (i64 base = get_group_id(0) * (i64)ITEMS; base < n; base += get_num_groups(0) * (i64)ITEMS) {
        const i64 last = min(base + ITEMS, n);
        i64 first = gp_cross(INPUT_NAMES, layout, n, size, base), second = base - first, j = base;

        /* 1. Merge while both arrays have elements. */
        while (j < last && first < size && second < other_size) {
            const result_t one = FIRST(first), other = SECOND(second);
            const int takes_second = gp_goes_first(other, one);
            y0[gp_at_y0(layout, 0, j)] = takes_second ? other : one;
            first += !takes_second;
            second += takes_second;
            j++;
        }

        /* 2. Copy the rest of the other array. */
        for (; j < last && first < size; j++, first++) y0[gp_at_y0(layout, 0, j)] = FIRST(first);
        for (; j < last; j++, second++) y0[gp_at_y0(layout, 0, j)] = SECOND(second);
    }
}
