/* Say what becomes of a bucket, of whose digit each work-item has the count of a value. */
DEVICE void gp_plan(const sort_t *sort, const bucket_t bucket, const u32 count, const element_t any, const int byte,
                    LOCAL shared_t *shared, const int tid)
{
    const u32 room = sort->room, small = room / 2;
    const u32 begin = gp_sum_of_lower(count, shared->sums, DIGITS, tid);
    const int alone = count == bucket.length;
    const u32 place = alone ? bucket.place : bucket.place == 1 ? 2 : 1;
    if (tid < DIGITS) gp_write_word(bucket.entry + ROW + tid, bucket.start + begin);
    if (tid == 0) {
        bucket.entry[MOVES] = 1;
        *(GLOBAL u64 *)(bucket.entry + PREFIX) = (u64)any >> (8 * byte) >> 8;
    }
    if (ORDER_FLOATS && byte == TOP_BYTE && tid == DIGITS / 2) sort->state[ZEROS_AT] = begin;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (alone) bucket.entry[MOVES] = 0;
    if (byte == 0) return;

    /* 1. Make a list of the parts that have keys: where they begin, and their digits. */
    const u32 rank = gp_sum_of_lower(count > 0, shared->sums, DIGITS, tid);
    if (count) {
        shared->begins[rank] = begin;
        shared->slots[rank] = (u32)tid;
        if (begin + count == bucket.length) shared->begins[rank + 1] = bucket.length;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 2. Find the parts that begin something: all but those that the task of the part before takes in. */
    const u32 lower = rank ? shared->begins[rank - 1] : 0;
    const int joins = rank && count <= small && begin - lower <= small && lower / small == begin / small;
    const int opens = count && !joins, tasks = opens && count <= room;
    const u32 ranks = gp_sum_of_lower((u32)opens << 16 | (u32)tasks, shared->sums, DIGITS, tid);
    const u32 edge = ranks >> 16;
    if (opens) shared->edges[edge] = rank;
    if (count && begin + count == bucket.length) shared->edges[edge + (u32)opens] = rank + 1;
    if (tid == DIGITS - 1)
        shared->base = (u32)(gp_add_entry(HEADS(sort->state) + TASKS, (u64)((ranks & 0xffff) + (u32)tasks) << 32) >> 32);
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 3. Write tasks. */
    if (tasks) {
        const u32 behind = shared->edges[edge + 1], last = shared->slots[behind - 1];
        GLOBAL u32 *task = sort->table + sort->tasks_at + (i64)(shared->base + (ranks & 0xffff)) * TASK_WORDS;
        int bits = 8 * byte;
        while (1u << (bits - 8 * byte) < last - (u32)tid + 1) bits++;
        task[0] = bucket.start + begin;
        task[1] = shared->begins[behind] - begin;
        task[2] = (u32)tid << 8 | (u32)(8 * byte);
        task[3] = (u32)bits | place << 8;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 4. Write buckets, and the notes of their tiles. */
    if (tid < DIGITS) shared->sizes[tid] = 0;
    if (count > room) {
        const u32 tiles = (u32)(((i64)count + TILE - 1) / TILE);
        const u64 head = gp_add_entry(HEADS(sort->state) + byte - 1, (u64)1 << 32 | (u64)tiles);
        GLOBAL u32 *entry = gp_entry(sort, byte - 1, (u32)(head >> 32));
        entry[START] = bucket.start + begin;
        entry[LENGTH] = count;
        entry[PLACE] = place;
        entry[TILES_BEFORE] = (u32)head;
        entry[DONE] = 0;
        shared->slots[tid] = (u32)(head >> 32);
        shared->begins[tid] = (u32)head;
        shared->sizes[tid] = tiles;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    GLOBAL u32 *notes = gp_tile_notes(sort, byte - 1);
    for (int part = tid / DIGITS; part < DIGITS; part += BLOCK / DIGITS) {
        const u32 tiles = shared->sizes[part];
        if (!tiles) continue;
        gp_entry(sort, byte - 1, shared->slots[part])[ROW + tid % DIGITS] = 0;
        for (u32 tile = tid % DIGITS; tile < tiles; tile += DIGITS) notes[shared->begins[part] + tile] = shared->slots[part];
    }
}
