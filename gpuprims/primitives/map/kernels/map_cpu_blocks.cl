/* map/cpu_blocks: each group copies blocks of inputs to local memory, in the order of the results, and applies the
 * function there, for devices whose groups are CPU threads.
 *
 * in      INPUTS, any layout; those that are copied need one number an element
 * out     OUTPUTS, one value at each j in [0, n); if JOINED, neighbours along j lie together
 * launch  any number of groups of BLOCK work-items, which the compiler joins in vectors; each takes blocks of at most
 *         ROOM elements until none are left
 * host    ROOM, COPIES, COPIERS, COPY_BLOCK, COPY_STILL, MAP_COPIED(row, j, place), ROW_LENGTH(n), ROW(0, j), STORE_ROW(row, j, value)
 *
 * An input that lies along another axis, and one of short rows with gaps, before and after:
 *
 *     0 4 8 c        0 1 2 3          0 1 2 . 3 4 5 .        0 1 2 3 4 5
 *     1 5 9 d   to   4 5 6 7          6 7 8 . 9 a b .   to   6 7 8 9 a b
 *     2 6 a e        8 9 a b
 *     3 7 b f        c d e f
 */
#define WIDTH 64 /* rows: cpu_blocks-turned */
#if BLOCK > 1
#define MEET() barrier(CLK_LOCAL_MEM_FENCE)
#else
#define MEET()
#endif

/* Elements lie `down` apart from row to row and `along` apart in a row. COPY_ROWS is for neighbours in a row that lie together. In vectors of
 * others, Intel's compiler takes twice the time. */
#define COPY_ROWS(from, down, along, to, rows, width)                                                                  \
    for (int r = 0; r < rows; r++)                                                                                     \
        for (int c = tid; c < width; c += BLOCK) (to)[r * width + c] = (from)[r * (down) + c * (along)]
#define COPY_COLUMNS(from, down, along, to, rows, width)                                                               \
    for (int c = 0; c < width; c++)                                                                                    \
        _Pragma("clang loop vectorize(disable)") for (int r = tid; r < rows; r += BLOCK)                               \
            (to)[r * width + c] = (from)[r * (down) + c * (along)]

/* Turn squares of 8 x 8 words in registers. Rows that are half a square apart are mixed three times, as cards are shuffled. */
#define TURN(word, from, along, to, rows, width)                                                                       \
    gp_turn_##word((GLOBAL const word *)(from), along, (LOCAL word *)(to), rows, width)
#define TURN_8(from, down, along, to, rows, width) TURN(uchar, from, along, to, rows, width)
#define TURN_16(from, down, along, to, rows, width) TURN(ushort, from, along, to, rows, width)
#define TURN_32(from, down, along, to, rows, width) TURN(uint, from, along, to, rows, width)
#define TURN_64(from, down, along, to, rows, width) TURN(ulong, from, along, to, rows, width)
#define LOW(a, b) a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3
#define HIGH(a, b) a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7
#define MIX(word, a, b)                                                                                                \
    const word##8 b##0 = (word##8)(LOW(a##0, a##4)), b##1 = (word##8)(HIGH(a##0, a##4));                               \
    const word##8 b##2 = (word##8)(LOW(a##1, a##5)), b##3 = (word##8)(HIGH(a##1, a##5));                               \
    const word##8 b##4 = (word##8)(LOW(a##2, a##6)), b##5 = (word##8)(HIGH(a##2, a##6));                               \
    const word##8 b##6 = (word##8)(LOW(a##3, a##7)), b##7 = (word##8)(HIGH(a##3, a##7))
#define FETCH(word, number) const word##8 a##number = vload8(0, corner + number * along)
#define WRITE(number) vstore8(d##number, 0, turned + number * width)
#define TURNER(word)                                                                                                   \
    DEVICE void gp_turn_##word(GLOBAL const word *from, const i64 along, LOCAL word *to, const int rows, const int width) \
    {                                                                                                                  \
        const int tid = 0, down = rows - rows % 8, right = width - width % 8;                                          \
        for (int c = 0; c < right; c += 8)                                                                             \
            for (int r = 0; r < down; r += 8) {                                                                        \
                GLOBAL const word *corner = from + c * along + r;                                                      \
                LOCAL word *turned = to + r * width + c;                                                               \
                FETCH(word, 0); FETCH(word, 1); FETCH(word, 2); FETCH(word, 3);                                            \
                FETCH(word, 4); FETCH(word, 5); FETCH(word, 6); FETCH(word, 7);                                            \
                MIX(word, a, b);                                                                                       \
                MIX(word, b, c);                                                                                       \
                MIX(word, c, d);                                                                                       \
                WRITE(0); WRITE(1); WRITE(2); WRITE(3); WRITE(4); WRITE(5); WRITE(6); WRITE(7);                        \
            }                                                                                                          \
        const int below = rows - down, beside = width - right;                                                         \
        COPY_COLUMNS(from + down, 1, along, to + down * width, below, width);                                          \
        for (int r = 0; r < down; r++)                                                                                 \
            for (int c = right; c < width; c++) to[r * width + c] = from[r + c * along];                               \
    }
TURNER(uchar)
TURNER(ushort)
TURNER(uint)
TURNER(ulong)

/* Copy `rows` x `width` elements of input k, from row `top` and column `left` on; as many rows at a time as lie at one stride. */
#define COPIER(k, type, copy, height, down, along)                                                                     \
    DEVICE void gp_copy_##k(GLOBAL const type *RESTRICT x, const layout_t layout, const i64 length, const i64 top,    \
                             const i64 left, const int rows, const int width, LOCAL type *RESTRICT to)                 \
    {                                                                                                                  \
        const int tid = get_local_id(0);                                                                               \
        for (int done = 0, run; done < rows; done += run) {                                                            \
            run = (int)min((i64)(rows - done), height - (top + done) % height);                                        \
            const i64 at = gp_at_x##k(layout, 0, (top + done) * length + left);                                        \
            copy(x + at, down, along, to + done * width, run, width);                                                  \
        }                                                                                                              \
    }
#define COPY_INPUT(k) gp_copy_##k(x##k, layout, length, top, left, rows, width, s##k)
COPIERS

__kernel WORK_GROUP(BLOCK)
void map_cpu_blocks(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    COPIES;
    const int tid = get_local_id(0);
    const i64 length = ROW_LENGTH(n), height = n / length, many = JOINED ? 1 : (length + WIDTH - 1) / WIDTH;
    const int even = (int)((length + many - 1) / many), wide = JOINED ? even : (even + 7) / 8 * 8, tall = ROOM / wide;
    const i64 across = (length + wide - 1) / wide, blocks = across * ((height + tall - 1) / tall);

    /* 1. Copy inputs that are the same in each block. */
    {
        const i64 top = 0, left = 0;
        const int rows = (int)min((i64)tall, height), width = wide;
        COPY_STILL;
    }
    for (i64 block = get_group_id(0); block < blocks; block += get_num_groups(0)) {
        const i64 top = block / across * tall, left = block % across * wide;
        const int rows = (int)min((i64)tall, height - top), width = (int)min((i64)wide, length - left);

        /* 2. Copy the others. */
        COPY_BLOCK;
        MEET();

        /* 3. Load, apply, store, a row at a time; rows that lie together are one. */
        const int lines = JOINED ? 1 : rows, live = JOINED ? rows * width : width;
        for (int line = 0; line < lines; line++) {
            const i64 first = (top + line) * length + left;
            const row_t row = ROW(0, first);
            for (int k = tid; k < live; k += BLOCK) STORE_ROW(row, first + k, MAP_COPIED(row, first + k, line * width + k));
        }
        MEET();
    }
}
