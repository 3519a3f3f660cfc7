/* What the launches of sort_buckets.cl share. */
#define BYTES (16 / LOAD_KEYS)
#define TOP_BYTE (BYTES - 1)
#define TILE (BLOCK * ITEMS)
#if COUNTS
#define GROUPS_AT_ONCE 3
#elif TILES
#define GROUPS_AT_ONCE 4
#else
#define GROUPS_AT_ONCE 1
#endif
#define MOST_CHUNKS 4096 /* about so many */
/* The place of a copy of the count of `tid`, which is in turn, so that work-items read theirs from banks apart. */
#define COPY_IN_TURN(tid, copy) ((tid) * COPIES + ((copy) + (tid) * COPIES / 32) % COPIES)
#define INFINITE_KEY ((ORDER_SIGN - 1) >> ORDER_FLOATS << ORDER_FLOATS)

/* Words of `state`, after a head of each level and one of tasks: entries in the upper half, their tiles in the lower. */
#define HEADS(state) ((GLOBAL u64 *)(state))
#define TILES_OF(state, head) ((state) + 2 * (head))
#define ENTRIES_OF(state, head) ((state) + 2 * (head) + 1)
#define TASKS 7
#define ZEROS_AT 16 /* where zeros begin, or if DESCENDING end */
#define PLUS 17     /* how many zeros there are, negative zeros, and NaN */
#define MINUS 18
#define NANS 19
#define FINISHED 20
#define LEAD 21        /* leading bits that all keys share: digits are those of keys shifted by so many */
#define WHOLE 24 /* the entry of the first level's only bucket */
#define STATE_WORDS (WHOLE + ENTRY_WORDS)
#if ORDER_FLOATS
#define LEAD_OF(state) 0
#else
#define LEAD_OF(state) gp_read_word((state) + LEAD)
#endif

/* Words of a bucket's entry, which a row follows: counts of the digit's values, then where the next of each goes. */
#define START 0
#define LENGTH 1
#define PLACE 2 /* 0: as elements in keys; 1, 2: as keys in sorted, in between */
#define TILES_BEFORE 3
#define DONE 4
#define MOVES 5
#define PREFIX 6
#define ROW 8
#define ENTRY_WORDS (ROW + DIGITS)

/* Words of a task: where it begins; how many keys; how these find bins; the lowest digit and where digits begin. */
#define TASK_WORDS 4

/* How keys of a task find bins: they are shifted by `shift`, and the distance to the lowest is multiplied by `scale`, in
 * units of 2^-16. With EXACT as the scale, a bin has keys of one value. */
#define BINS 2048
#define EXACT (1u << 16)
#define PACK_BINS(scale, shift, place) ((scale) | (u32)(shift) << 17 | (place) << 23)
#define SCALE_OF(packed) ((packed) & (2 * EXACT - 1))
#define SHIFT_OF(packed) ((int)((packed) >> 17 & 63))
#define PLACE_OF(packed) ((packed) >> 23)

/* What all launches take. */
typedef struct {
    GLOBAL const element_t *keys;
    GLOBAL element_t *sorted, *between;
    GLOBAL u32 *table, *state;
    i64 n, most, tasks_at, ties_at;
    u32 room;
} sort_t;

#define TAKEN                                                                                                          \
    {keys + keys_at, sorted + sorted_at, between, table, state, n, most, tasks_at, ties_at, (u32)room}

typedef struct {
    GLOBAL u32 *entry;
    u32 start, length, place, before, tiles;
} bucket_t;

/* Numbers that a group shares. */
typedef struct {
    u32 sums[SUMS], begins[DIGITS + 1], slots[DIGITS], edges[DIGITS + 1], tallies[3], base, widest;
    int flag;
} shared_t;

/* Return where the buckets of a level's tiles are noted. */
DEVICE GLOBAL u32 *gp_tile_notes(const sort_t *sort, const int byte)
{
    return sort->table + 2 * sort->most * ENTRY_WORDS + (byte & 1) * (sort->n / TILE + 1 + sort->most);
}

/* Return the entry of a bucket of a level below the first. */
DEVICE GLOBAL u32 *gp_entry(const sort_t *sort, const int byte, const u32 index)
{
    return sort->table + ((byte & 1) * sort->most + index) * ENTRY_WORDS;
}

/* Return the bucket that a tile lies in: of the first level all keys, whose entry is part of `state`. */
DEVICE bucket_t gp_bucket_of(const sort_t *sort, const int byte, const i64 tile)
{
    const int whole = byte == TOP_BYTE;
    bucket_t found;
    found.entry = whole ? sort->state + WHOLE : gp_entry(sort, byte, gp_tile_notes(sort, byte)[tile]);
    found.start = whole ? 0 : found.entry[START];
    found.length = whole ? (u32)sort->n : found.entry[LENGTH];
    found.place = whole ? 0 : found.entry[PLACE];
    found.before = whole ? 0 : found.entry[TILES_BEFORE];
    found.tiles = (u32)(((i64)found.length + TILE - 1) / TILE);
    return found;
}

/* Return the tiles of a level. */
DEVICE i64 gp_level_tiles(const sort_t *sort, const int byte)
{
    return byte == TOP_BYTE ? (sort->n + TILE - 1) / TILE : gp_read_word(TILES_OF(sort->state, byte));
}

/* Return the keys in a place. */
DEVICE GLOBAL const element_t *gp_keys_in(const sort_t *sort, const u32 place)
{
    return place == 0 ? sort->keys : place == 1 ? sort->sorted : sort->between;
}

/* Return the tiles of which zeros and NaN are counted together. */
DEVICE i64 gp_chunk(const i64 tiles)
{
    return max(tiles / MOST_CHUNKS, (i64)1);
}

/* Return how many tiles a group takes in a row: of the first level's bucket its share, in chunks; of others few. */
DEVICE i64 gp_tiles_at_once(const i64 tiles, const i64 groups, const int byte)
{
    const i64 even = (tiles + groups - 1) / groups, chunk = gp_chunk(tiles);
    return byte == TOP_BYTE ? (even + chunk - 1) / chunk * chunk : min(even, (i64)8);
}

/* Return 1 if all zeros are negative, as none of other dtypes are. */
DEVICE int gp_only_negative(GLOBAL u32 *state)
{
    return ORDER_FLOATS && gp_read_word(state + MINUS) && !gp_read_word(state + PLUS);
}

/* Leave zeros for the next sort: the last group to come here does. */
DEVICE void gp_leave_zeros(GLOBAL u32 *state, LOCAL int *last, const int tid)
{
    if (tid == 0) *last = gp_last_done(state + FINISHED, get_num_groups(0));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (*last)
        for (int word = tid; word < STATE_WORDS; word += BLOCK) gp_write_word(state + word, 0);
}
