#if !ORDER_FLOATS
/* Find out if keys share leading bits of the first digit, so that two more digits would leave parts too large for a task.
 * If so, all are counted again, by digits that begin after these bits. */
DEVICE int gp_shares_leading_bits(const sort_t *sort, const bucket_t bucket, const u32 count, LOCAL shared_t *shared,
                                  const int tid)
{
    if (tid < 2) shared->slots[tid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (count) {
        gp_set_bits(shared->slots, (u32)tid);
        gp_set_bits(shared->slots + 1, (u32)tid ^ (DIGITS - 1));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 differing = shared->slots[0] & shared->slots[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    int lead = 0;
    while (lead < 8 && !(differing >> (7 - lead))) lead++;
    if (lead % 8 == 0 || (bucket.length >> 16) << lead <= sort->room) return 0;
    if (tid < DIGITS) gp_write_word(bucket.entry + ROW + tid, 0);
    if (tid == 0) {
        gp_write_word(bucket.entry + DONE, 0);
        gp_write_word(sort->state + LEAD, (u32)lead);
    }
    return 1;
}
#endif

/* Say what becomes of a bucket, of whose digit each work-item has the count of a value. */
DEVICE void gp_plan(const sort_t *sort, const bucket_t bucket, const u32 count, const element_t any, const int byte,
                    const int lead, LOCAL shared_t *shared, const int tid)
{
    const u32 room = sort->room, small = room / 2;
    const u32 begin = gp_sum_of_lower(count, shared->sums, DIGITS, tid);
    const int alone = count == bucket.length;
    const u32 place = alone ? bucket.place : bucket.place == 1 ? 2 : 1;
    if (tid < DIGITS) gp_write_word(bucket.entry + ROW + tid, bucket.start + begin);
    if (tid == 0) {
        bucket.entry[MOVES] = 1;
        *(GLOBAL u64 *)(bucket.entry + PREFIX) = (u64)any >> (8 - lead);
    }
    if (ORDER_FLOATS && byte == TOP_BYTE && tid == DIGITS / 2) sort->state[ZEROS_AT] = begin;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (alone) bucket.entry[MOVES] = 0;
    if (byte == 0) return;

    /* 1. Make a list of the parts that have keys: where they begin, and their digits. Find the largest that is small. */
    if (tid == 0) shared->widest = 0;
    const u32 rank = gp_sum_of_lower(count > 0, shared->sums, DIGITS, tid);
    if (count) {
        shared->begins[rank] = begin;
        shared->slots[rank] = (u32)tid;
        if (begin + count == bucket.length) shared->begins[rank + 1] = bucket.length;
        if (count <= small) gp_raise(&shared->widest, count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 2. Find the parts that begin something: all but those that the task of the part before takes in. */
    const u32 lower = rank ? shared->begins[rank - 1] : 0, window = room - shared->widest;
    const int joins = rank && count <= small && begin - lower <= small && lower / window == begin / window;
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
        const u32 span = last - (u32)tid + 1;
        int bits = 8 * byte;
        while (1u << (bits - 8 * byte) < span) bits++;
        const int shift = max(bits - 16, 0);
        const u32 range = span << (8 * byte - shift); /* 2^16 at most */
        task[0] = bucket.start + begin;
        task[1] = shared->begins[behind] - begin;
        task[2] = PACK_BINS(range <= BINS ? EXACT : (BINS << 16) / range, shift, place);
        task[3] = (u32)tid << 8 | (u32)(8 * byte);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 4. Write buckets. The launch that moves this one prepares their rows, and notes their tiles. */
    if (count > room) {
        const u32 tiles = (u32)(((i64)count + TILE - 1) / TILE);
        const u64 head = gp_add_entry(HEADS(sort->state) + byte - 1, (u64)1 << 32 | (u64)tiles);
        GLOBAL u32 *entry = gp_entry(sort, byte - 1, (u32)(head >> 32));
        entry[START] = bucket.start + begin;
        entry[LENGTH] = count;
        entry[PLACE] = place;
        entry[TILES_BEFORE] = (u32)head;
        entry[DONE] = 0;
    }
}
