/* adjacent_difference/tiles: neighbouring work-items subtract neighbouring elements, so that reads and writes coalesce.
 *
 * in      INPUTS, any layout           out     OUTPUTS, one value at each j in [0, n)
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    MAP(o, j), STORE(o, j, value), gp_minus(a, b)
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void adjacent_difference_tiles(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        /* Load two neighbours, subtract, store; the first element stays. */
        for (i64 j = base + get_local_id(0); j < min(base + TILE, n); j += BLOCK) {
            const value_t value = MAP(0, j);
            STORE(0, j, j ? gp_minus(value, MAP(0, j - 1)) : value);
        }
    }
}
