/* stencil/planes: each work-item goes through the planes at a few neighbours of a row, and keeps the planes in their
 * neighbourhoods in registers.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side
 * out     OUTPUTS, with the same axes
 * launch  any number of groups of BLOCK; each takes ACROSS * ITEMS columns, BLOCK / ACROSS rows and `depth` planes, one of
 *         `strips`, until none are left
 * host    gp_within, gp_element_at (stencil.h), gp_apply, gp_result
 *
 * Work-items of a group load the same elements at about the same time, so all but the first load hit the cache. The next
 * plane is loading while a plane is computed.
 */
#define REACH (-LEFT)
#define ROWS_OF_GROUP (BLOCK / ACROSS)
#define WINDOW ((DEPTH_SPAN + 1) * SPAN * PITCH * (int)sizeof(number_t) / 4)
#ifndef GROUPS_AT_ONCE
#define GROUPS_AT_ONCE (65536 / (BLOCK * (WINDOW <= 32 ? 64 : WINDOW <= 64 ? 96 : 128)))
#endif

/* A work-item's place: its first element, 1 if ITEMS elements are in the row, the rows around it, -1 beyond the borders, and the
 * elements before and after its own. */
typedef struct {
    i32 first;
    int whole;
    index_t rows[SPAN];
    i32 sides[HALO + 1];
} place_t;

/* Load a plane of the neighbourhood. */
DEVICE void load_plane(number_t *slot, GLOBAL const stored_t *plane, const layout_t layout, const place_t place, const int beyond)
{
#pragma unroll
    for (int k = 0; k < SPAN; k++) {
        GLOBAL const stored_t *row = plane + max(place.rows[k], (index_t)0) * STRIDE_2;
        const int nothing = MODE_CONSTANT && (beyond || place.rows[k] < 0);
        number_t *numbers = slot + k * PITCH;
        stored_t own[ITEMS];
        if (place.whole) {
#pragma unroll
#if VECTOR > 1
            for (int item = 0; item < ITEMS; item += VECTOR) READ_VECTOR(stored_t, VECTOR, row + place.first + item, own + item);
#else
            for (int item = 0; item < ITEMS; item++) own[item] = row[place.first + item];
#endif
        } else {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) own[item] = row[max(gp_element_at(LENGTH, place.first + item), 0)];
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int outside = MODE_CONSTANT && !place.whole && place.first + item >= LENGTH;
            numbers[REACH + item] = nothing || outside ? BEYOND : NUMBER(own[item]);
        }
#pragma unroll
        for (int side = 0; side < HALO; side++) {
            const i32 at = place.sides[side];
            numbers[side < REACH ? side : side + ITEMS] =
                nothing || (MODE_CONSTANT && at < 0) ? BEYOND : NUMBER(row[max(at, 0)]);
        }
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_planes(INPUTS, OUTPUTS, const layout_t layout, const i64 strips, const i64 depth)
{
    const int tid = get_local_id(0);
    const i64 across = (LENGTH + ACROSS * ITEMS - 1) / (ACROSS * ITEMS), down = (ROWS + ROWS_OF_GROUP - 1) / ROWS_OF_GROUP;

    for (i64 task = get_group_id(0); task < across * down * strips * BATCHES; task += get_num_groups(0)) {
        /* 1. Find the place. */
        const i64 y = task / across % down * ROWS_OF_GROUP + tid / ACROSS, front = task / across / down % strips * depth;
        const i64 batch = task / across / down / strips;
        place_t place;
        place.first = (i32)(task % across * ACROSS + tid % ACROSS) * ITEMS;
        if (place.first >= LENGTH || y >= ROWS) continue;
        place.whole = place.first + ITEMS <= LENGTH;
#pragma unroll
        for (int k = 0; k < SPAN; k++) place.rows[k] = gp_within((index_t)y + LOW_Y + k, (index_t)ROWS);
#pragma unroll
        for (int side = 0; side < HALO; side++)
            place.sides[side] = gp_element_at(LENGTH, place.first + LEFT + (side < REACH ? side : side + ITEMS));
        GLOBAL const stored_t *from = x0 + layout.offset[0] + batch * STRIDE_0;
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + y * STRIDE_OUT_ROW + place.first;
        const i64 end = min(front + depth, (i64)PLANES_Z);

        /* 2. Load all planes of the first neighbourhood. */
        number_t window[(DEPTH_SPAN + 1) * SPAN * PITCH];
#pragma unroll
        for (int k = 0; k < DEPTH_SPAN; k++) {
            const index_t at = gp_within((index_t)front + LOW_Z + k, (index_t)PLANES_Z);
            load_plane(window + k * SPAN * PITCH, from + max(at, (index_t)0) * STRIDE_1, layout, place, at < 0);
        }

        for (i64 z = front; z < end; z++) {
            /* 3. Load the next plane, apply, and store. */
            const index_t at = gp_within((index_t)min(z + 1, end - 1) + HIGH_Z, (index_t)PLANES_Z);
            load_plane(window + DEPTH_SPAN * SPAN * PITCH, from + max(at, (index_t)0) * STRIDE_1, layout, place, at < 0);
            result_t results[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) results[item] = gp_result(layout, gp_apply(window + item, 0));
            gp_store_row(to + z * STRIDE_OUT_PLANE, results, LENGTH - place.first);

            /* 4. Keep the last planes. */
#pragma unroll
            for (int k = 0; k < DEPTH_SPAN * SPAN * PITCH; k++) window[k] = window[k + SPAN * PITCH];
        }
    }
}
