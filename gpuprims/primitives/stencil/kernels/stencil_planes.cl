/* stencil/planes: each work-item goes through the planes at a few neighbours of a row, and keeps the planes in their
 * neighbourhoods in registers.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes LANES_X * ITEMS columns, BLOCK / LANES_X rows and `depth` planes, one of
 *         `strips`, until none are left
 * host    gp_within, gp_element_at (stencil.h), gp_apply, gp_result
 *
 * Work-items of a group load the same elements at about the same time, so all but the first load hit the cache. The next
 * plane is loading while a plane is computed. The last work-item of a row begins so early that all its elements are in the
 * row, and leaves the results that its neighbour stores too. For ITEMS = 4 and rows of 10 elements:
 *
 *     element     0 1 2 3 4 5 6 7 8 9
 *     work-item   0 0 0 0 1 1 1 1
 *                             2 2 2 2     stores the last two
 */
#define REACH (-LEFT)
#define ROWS_OF_GROUP (BLOCK / LANES_X)
/* Larger groups are for neighbourhoods that 64 registers hold. */
#define GROUPS_AT_ONCE 2
/* Each work-item asks for the plane that it needs after so many others, few in large groups, whose loads are many. */
#define PLANES_AHEAD (BLOCK > 256 ? 2 : 5)

/* Row `k` of the plane at an offset. LATEST(k) is the greatest offset of a plane whose row `k` is a neighbour. */
#define SLOT(window, dz, k) ((window) + (((dz) - LOW_Z) * SPAN + (k)) * PITCH)

/* A work-item's place: its first element, and how many of its results it leaves; the first element in a plane of each row
 * around it, -1 beyond the borders, and the elements of a row before and after its own. */
typedef struct {
    i32 first, left;
    offset_t rows[SPAN];
    i32 sides[HALO + 1];
} place_t;

/* Load row `k` of a plane of the neighbourhood. */
DEVICE void load_plane_row(number_t *numbers, GLOBAL const stored_t *from, const layout_t layout, const place_t place, const int k, const i32 z)
{
    const i32 at = gp_within(z, (i32)PLANES_Z);
    const int nothing = MODE_CONSTANT && (at < 0 || place.rows[k] < 0);
    GLOBAL const stored_t *plane = from + max(at, 0) * STRIDE_1;
    const offset_t row = MODE_CONSTANT ? max(place.rows[k], (offset_t)0) : place.rows[k];
    stored_t own[ITEMS];
#if VECTOR > 1
    READ_VECTOR(stored_t, ITEMS, plane + (row + place.first), own);
#else
#pragma unroll
    for (int item = 0; item < ITEMS; item++) own[item] = plane[row + place.first + item];
#endif
#pragma unroll
    for (int item = 0; item < ITEMS; item++) numbers[REACH + item] = nothing ? BEYOND : NUMBER(own[item]);
#pragma unroll
    for (int side = 0; side < HALO; side++) {
        const int outside = MODE_CONSTANT && place.sides[side] < 0;
        const i32 x = MODE_CONSTANT ? max(place.sides[side], 0) : place.sides[side];
        numbers[side < REACH ? side : side + ITEMS] = (nothing | outside) ? BEYOND : NUMBER(plane[row + x]);
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_planes(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    const int tid = get_local_id(0);
    const i64 across = (LENGTH + LANES_X * ITEMS - 1) / (LANES_X * ITEMS), down = (ROWS + ROWS_OF_GROUP - 1) / ROWS_OF_GROUP;

    for (i64 task = get_group_id(0); task < across * down * strips * BATCHES; task += get_num_groups(0)) {
        /* 1. Find the place. */
        const i32 y = (i32)(task / across % down) * ROWS_OF_GROUP + tid / LANES_X, front = (i32)(task / across / down % strips * depth);
        const i64 batch = task / across / down / strips;
        place_t place;
        const i32 first = ((i32)(task % across) * LANES_X + tid % LANES_X) * ITEMS;
        if (first >= LENGTH || y >= ROWS) continue;
        place.first = VECTOR > 1 ? first : min(first, LENGTH - ITEMS);
        place.left = first - place.first;
#pragma unroll
        for (int k = 0; k < SPAN; k++) {
            const i32 row = gp_within(y + LOW_Y + k, (i32)ROWS);
            place.rows[k] = row < 0 ? (offset_t)-1 : row * (offset_t)STRIDE_2;
        }
#pragma unroll
        for (int side = 0; side < HALO; side++)
            place.sides[side] = gp_element_at(LENGTH, place.first + LEFT + (side < REACH ? side : side + ITEMS));
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + front * STRIDE_OUT_PLANE + y * STRIDE_OUT_ROW + place.first;
        const i32 end = min(front + (i32)depth, (i32)PLANES_Z);

        /* 2. Load the planes of the first neighbourhood, each row as far as it is needed. */
        number_t window[(DEPTH_SPAN + 1) * SPAN * PITCH];
#pragma unroll
        for (int k = 0; k < SPAN; k++)
#pragma unroll
            for (int dz = LOW_Z; dz <= LATEST(k); dz++) load_plane_row(SLOT(window, dz, k), from, layout, place, k, front + dz);

#pragma unroll 1
        for (i32 z = front; z < end; z++, to += STRIDE_OUT_PLANE) {
            /* 3. Load the next plane, apply, and store. */
            gp_prefetch(from + min(z + PLANES_AHEAD, (i32)PLANES_Z - 1) * STRIDE_1 + (y * (offset_t)STRIDE_2 + place.first));
#pragma unroll
            for (int k = 0; k < SPAN; k++) load_plane_row(SLOT(window, LATEST(k) + 1, k), from, layout, place, k, min(z + 1, end - 1) + LATEST(k));
            result_t results[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) results[item] = gp_result(layout, gp_apply(window + item, 0));
#if VECTOR > 1
            gp_store_results(to, results, ITEMS);
#else
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (item >= place.left) to[item] = results[item];
#endif

            /* 4. Keep the last planes. */
#pragma unroll
            for (int k = 0; k < DEPTH_SPAN * SPAN * PITCH; k++) window[k] = window[k + SPAN * PITCH];
        }
    }
}
