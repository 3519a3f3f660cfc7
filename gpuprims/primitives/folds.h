/* Folds of floats, and of the products of two arrays, in the order of reduce_cpu_chunks.cl; floats.c has their calls. */
#ifndef FOLDS_H
#define FOLDS_H
/* Lanes, elements of a run in each, and most elements that are folded in order. */
#define LANES(type) (128 / (int)sizeof(type))
#define RUN 64
#define LEVELS 48
#define FEW 128

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define EACH(lane, lanes) for (int lane = 0; lane < (lanes); lane++)
/* Rows that are folded at once, TAKEN of the kernel: of one array, and of two. */
#define FOUR(OP, x, L) OP(OP((x)[0], (x)[L]), OP((x)[2 * L], (x)[3 * L]))
#define TWO(OP, x, L) OP((x)[0], (x)[L])

/* Return elements as they are, or the products of those of two arrays; stored ones are not contracted with a sum. */
#define DEFINE_SOURCE(type)                                                                                            \
    static inline const type *type##_alone(const type *x, const type *y, const int size, type *room) { return x; }     \
    static inline const type *type##_products(const type *x, const type *y, const int size, type *restrict room) {     \
        EACH(k, size) room[k] = x[k] * y[k];                                                                           \
        return room;                                                                                                   \
    }

DEFINE_SOURCE(float)
DEFINE_SOURCE(double)

/* Define a fold of floats by an operator, whose lanes begin with its identity. */
#define DEFINE_FOLD(name, type, OP, identity, TAKEN, AT_ONCE, source)                                                  \
    /* Fold rows of an element of each lane into the lanes: TAKEN rows at once, then the others, maybe a part. */ \
    static void name##_rows(const type *x, npy_intp n, type *lanes) {                                                  \
        enum { L = LANES(type) };                                                                                      \
        int begun = 0;                                                                                                 \
        for (; n >= TAKEN * L; n -= TAKEN * L, x += TAKEN * L) {                                                       \
            type taken[L];                                                                                             \
            EACH(lane, L) taken[lane] = AT_ONCE(OP, x + lane, L);                                                      \
            if (begun) EACH(lane, L) lanes[lane] = OP(lanes[lane], taken[lane]);                                       \
            else EACH(lane, L) lanes[lane] = taken[lane];                                                              \
            begun = 1;                                                                                                 \
        }                                                                                                              \
        if (!begun) EACH(lane, L) lanes[lane] = identity;                                                              \
        for (; n > 0; n -= L, x += L) EACH(lane, n < L ? (int)n : L) lanes[lane] = OP(lanes[lane], x[lane]);           \
    }                                                                                                                  \
                                                                                                                       \
    static type name(const type *x, const type *y, npy_intp n) {                                                       \
        enum { L = LANES(type), SIZE = RUN * L };                                                                      \
        type levels[LEVELS][L], lanes[L], room[SIZE];                                                                  \
        if (n <= FEW) {                                                                                                \
            type folded = identity;                                                                                    \
            const type *few = source(x, y, (int)n, room);                                                              \
            EACH(k, (int)n) folded = OP(folded, few[k]);                                                               \
            return folded;                                                                                             \
        }                                                                                                              \
        npy_intp runs = 0, at = 0;                                                                                     \
        for (; n - at >= SIZE; at += SIZE, runs++) {                                                                   \
            name##_rows(source(x + at, y + at, SIZE, room), SIZE, lanes);                                              \
            int level = 0; /* level k holds the fold of 2^k runs */                                                    \
            for (; runs >> level & 1; level++) EACH(lane, L) lanes[lane] = OP(levels[level][lane], lanes[lane]);       \
            memcpy(levels[level], lanes, sizeof lanes);                                                                \
        }                                                                                                              \
        int filled = n > at;                                                                                           \
        if (filled) name##_rows(source(x + at, y + at, (int)(n - at), room), n - at, lanes);                           \
        for (int level = 0; runs >> level; level++) {                                                                  \
            if (!(runs >> level & 1)) continue;                                                                        \
            if (filled) EACH(lane, L) lanes[lane] = OP(levels[level][lane], lanes[lane]);                              \
            else memcpy(lanes, levels[level], sizeof lanes);                                                           \
            filled = 1;                                                                                                \
        }                                                                                                              \
        for (int half = L / 2; half; half /= 2) EACH(lane, half) lanes[lane] = OP(lanes[lane], lanes[half + lane]);    \
        return OP(lanes[0], identity);                                                                                 \
    }

DEFINE_FOLD(sum_of_floats, float, ADD, 0.0f, 4, FOUR, float_alone)
DEFINE_FOLD(sum_of_doubles, double, ADD, 0.0, 4, FOUR, double_alone)
DEFINE_FOLD(product_of_floats, float, MULTIPLY, 1.0f, 4, FOUR, float_alone)
DEFINE_FOLD(product_of_doubles, double, MULTIPLY, 1.0, 4, FOUR, double_alone)
DEFINE_FOLD(dot_of_floats, float, ADD, 0.0f, 2, TWO, float_products)
DEFINE_FOLD(dot_of_doubles, double, ADD, 0.0, 2, TWO, double_products)
#endif
