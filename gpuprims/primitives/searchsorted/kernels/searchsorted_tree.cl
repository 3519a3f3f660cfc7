/* searchsorted/tree: keys go down a tree of FAN branches, whose nodes are neighbours in memory and read at once.
 *
 * in      INPUTS: x0 a sorted array of `size` elements, contiguous; x1 keys
 * out     OUTPUTS: y0 the answer for key j, for each j in [0, n): how many elements come before it, or if it is one
 * launch  two, of any number of groups of BLOCK: `step` 0 writes the tree, 1 searches; one without LEVELS
 * host    FAN, LEVELS, TOP (at least the entries of the highest level), gp_load_node; ELEMENT(i), KEY(j),
 *         gp_is_before, ANSWER (search.h)
 *
 * A level has the last element of each whole node of the level below; level 0 is the array, and a group keeps the
 * highest one in local memory. With FAN = 2:
 *
 *     level 2         3       7
 *     level 1     1   3   5   7   9
 *     level 0    0 1 2 3 4 5 6 7 8 9 10
 */
#define TILE (BLOCK * ITEMS)
#define BUILD 0

/* Count the entries of each level, and find where it begins in the tree. Return where the tree has the last node of the array, which
 * is not whole, so that kernels read all nodes alike. */
DEVICE place_t find_levels(const i64 size, place_t *counts, place_t *starts)
{
    counts[0] = size;
    starts[0] = 0;
    place_t start = 0;
#pragma unroll
    for (int level = 1; level <= LEVELS; level++) {
        counts[level] = counts[level - 1] / FAN;
        starts[level] = start;
        start += (counts[level] + FAN - 1) / FAN * FAN; /* nodes begin at whole vectors */
    }
    return start;
}

#if LEVELS
/* Write the last element of each node to every level that has it, copy the node that is not whole, and fill up others
 * that are not: all are read whole. */
DEVICE void build(INPUTS, const layout_t layout, GLOBAL element_t *tree, const place_t *counts, const place_t *starts,
                  const place_t rest, const place_t worker, const place_t workers)
{
    if (worker < FAN) {
        tree[rest + worker] = ELEMENT(min(counts[1] * FAN + worker, counts[0] - 1));
#pragma unroll
        for (int level = 1; level <= LEVELS; level++) {
            const place_t behind = counts[level] + worker;
            if (behind < (counts[level] + FAN - 1) / FAN * FAN) tree[starts[level] + behind] = ELEMENT(counts[0] - 1);
        }
    }
    for (place_t node = worker; node < counts[1]; node += workers) {
        const element_t element = ELEMENT((node + 1) * FAN - 1);
        place_t end = node + 1; /* nodes of the level so far */
        int whole = 1;
#pragma unroll
        for (int level = 1; level <= LEVELS; level++) {
            if (whole) tree[starts[level] + end - 1] = element;
            whole = whole && end % FAN == 0;
            end /= FAN;
        }
    }
}
#endif

/* Count the entries of a node that come before a key. */
DEVICE int count_before(const element_t *node, const int entries, const value_t key)
{
    int count = 0;
#pragma unroll
    for (int k = 0; k < FAN; k++) count += (k < entries) & gp_is_before(node[k], key);
    return count;
}

__kernel WORK_GROUP(BLOCK)
void searchsorted_tree(INPUTS, OUTPUTS, GLOBAL element_t *tree, const layout_t layout, const i64 n, const i64 size,
                       const i64 step)
{
    __local element_t table[PLACE_OF(TOP) + 1]; /* rows: tree-places */
    const int tid = get_local_id(0);
    place_t counts[LEVELS + 1], starts[LEVELS + 1];
    const place_t rest = find_levels(size, counts, starts);

#if LEVELS
    if (step == BUILD) {
        const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;
        build(INPUT_NAMES, layout, tree, counts, starts, rest, worker, workers);
        return;
    }
#endif

    /* 1. Copy the highest level to local memory. */
    const int entries = (int)counts[LEVELS];
    for (int i = tid; i < entries; i += BLOCK) table[PLACE_OF(i)] = LEVELS ? tree[starts[LEVELS] + i] : ELEMENT(i);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        value_t keys[ITEMS];
        place_t found[ITEMS];
        int places[ITEMS];

        /* 2. Load the keys; beyond the last one, load it again. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            keys[item] = KEY(min(base + item * BLOCK + tid, n - 1));
            places[item] = 0;
        }

        /* 3. Halve the part of the table that a key belongs to. */
        for (int left = entries; left > 1;) {
            const int half_left = left / 2;
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                places[item] += gp_is_before(table[PLACE_OF(places[item] + half_left - 1)], keys[item]) ? half_left : 0;
            left -= half_left;
        }
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            found[item] = entries > 0 ? places[item] + gp_is_before(table[PLACE_OF(places[item])], keys[item]) : 0;

        /* 4. Go down: read a node of each key, ITEMS of them in flight, and count its entries before the key. */
#pragma unroll
        for (int level = LEVELS - 1; level >= 0; level--) {
            element_t nodes[ITEMS][FAN];
            int known[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const place_t first = found[item] * FAN;
                known[item] = (int)max(min(counts[level] - first, (place_t)FAN), (place_t)0);
                GLOBAL const element_t *node = level ? tree + starts[level] + first : &ELEMENT(first);
                gp_load_node(level || first + FAN <= size ? node : tree + rest, nodes[item]);
            }
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                found[item] = found[item] * FAN + count_before(nodes[item], known[item], keys[item]);
        }

        /* 5. Store. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = base + item * BLOCK + tid;
            if (j < n) y0[gp_at_y0(layout, 0, j)] = ANSWER(found[item], keys[item]);
        }
    }
}
