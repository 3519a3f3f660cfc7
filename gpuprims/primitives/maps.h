/* Maps and casts of floats and complex numbers, and the search for NaN; floats.c has their calls.
 *
 * A program has three bytes for each step, the operation and the numbers of two values. Values are the arrays, then
 * constants, then what the steps give; the last step gives the result. Constants, and arrays whose bit of `alone` is set,
 * have one number. Steps take turns on blocks of numbers that stay in the cache, so nothing is contracted.
 */
#ifndef MAPS_H
#define MAPS_H
#include <math.h>
#if BUILDS_WIDE
#include <immintrin.h>
#define WIDE_PRODUCTS __attribute__((target("avx2,fma")))
#define HAS_PRODUCTS (HAS_WIDE && __builtin_cpu_supports("fma"))
#else
#define HAS_PRODUCTS 0
#endif

#define BLOCK 512 /* parts of numbers */
#define MOST_VALUES 24
enum { ADDED, SUBTRACTED, MULTIPLIED, DIVIDED, ROOT, NEGATED, SIZE, COPY, LARGER, SMALLER, CONJUGATED, DOWN, UP, CUT, NEAR,
       SIGN, OPERATIONS };
/* The operations of complex numbers, a bit for each. */
#define OF_COMPLEX (1 << ADDED | 1 << SUBTRACTED | 1 << MULTIPLIED | 1 << NEGATED | 1 << COPY | 1 << CONJUGATED)

/* Define the search for NaN among floats; `mask` is an integer of their width. */
#define DEFINE_SEARCH(name, type, mask, ATTRIBUTE)                                                                     \
    ATTRIBUTE static int name(const type *x, npy_intp n) {                                                             \
        enum { L = 128 / sizeof(type) };                                                                               \
        mask nan = 0, nans[L] = {0}; /* lanes, so that compilers compare several at once */                            \
        for (; n >= L; n -= L, x += L)                                                                                 \
            for (int lane = 0; lane < L; lane++) nans[lane] |= x[lane] != x[lane];                                     \
        for (int lane = 0; lane < (int)n; lane++) nan |= x[lane] != x[lane];                                           \
        for (int lane = 0; lane < L; lane++) nan |= nans[lane];                                                        \
        return nan != 0;                                                                                               \
    }

/* Define products of complex numbers as in complex.h: the second product is rounded, the first together with the sum. */
#define DEFINE_PRODUCTS(name, type, FMA, IN_VECTORS, ATTRIBUTE)                                                        \
    ATTRIBUTE static void name(const type *a, const type *b, type *restrict to, const int size) {                      \
        int k = 0;                                                                                                     \
        IN_VECTORS                                                                                                     \
        for (; k < 2 * size; k += 2) {                                                                                 \
            const type re = a[k], im = a[k + 1];                                                                       \
            to[k] = FMA(re, b[k], -(im * b[k + 1]));                                                                   \
            to[k + 1] = FMA(re, b[k + 1], im * b[k]);                                                                  \
        }                                                                                                              \
    }

/* Define a map of numbers that have PARTS parts of a type, for which names of C's functions end in F. It returns 1 if it
 * found NaN among the results. */
#define DEFINE_MAP(name, type, PARTS, F, PRODUCTS, SEARCH, ATTRIBUTE)                                                  \
    ATTRIBUTE static void name##_step(const int operation, const type *a, const type *b, type *restrict to,            \
                                      const int numbers) {                                                             \
        const int size = PARTS * numbers;                                                                              \
        switch (operation) {                                                                                           \
        case ADDED: EACH_OF_BLOCK to[k] = a[k] + b[k]; break;                                                          \
        case SUBTRACTED: EACH_OF_BLOCK to[k] = a[k] - b[k]; break;                                                     \
        case MULTIPLIED: PRODUCTS; break;                                                                              \
        case DIVIDED: EACH_OF_BLOCK to[k] = a[k] / b[k]; break;                                                        \
        case ROOT: EACH_OF_BLOCK to[k] = sqrt##F(a[k]); break;                                                         \
        case NEGATED: EACH_OF_BLOCK to[k] = -a[k]; break;                                                              \
        case SIZE: EACH_OF_BLOCK to[k] = fabs##F(a[k]); break;                                                         \
        case LARGER: EACH_OF_BLOCK to[k] = a[k] != a[k] || a[k] > b[k] ? a[k] : b[k]; break;                           \
        case SMALLER: EACH_OF_BLOCK to[k] = a[k] != a[k] || a[k] < b[k] ? a[k] : b[k]; break;                          \
        case CONJUGATED: EACH_OF_BLOCK to[k] = k % PARTS ? -a[k] : a[k]; break;                                        \
        case DOWN: EACH_OF_BLOCK to[k] = floor##F(a[k]); break;                                                        \
        case UP: EACH_OF_BLOCK to[k] = ceil##F(a[k]); break;                                                           \
        case CUT: EACH_OF_BLOCK to[k] = trunc##F(a[k]); break;                                                         \
        case NEAR: EACH_OF_BLOCK to[k] = rint##F(a[k]); break;                                                         \
        case SIGN: EACH_OF_BLOCK to[k] = a[k] != a[k] ? a[k] : (type)((a[k] > 0) - (a[k] < 0)); break;                 \
        default: EACH_OF_BLOCK to[k] = a[k];                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    ATTRIBUTE static int name(const program_t *program, char *const *arrays, const unsigned alone, const npy_intp n,   \
                              void *result) {                                                                          \
        enum { MOST = BLOCK / PARTS };                                                                                 \
        const int first = n < MOST ? (int)n : MOST, given = program->given, others = given + program->fixed;           \
        type room[MOST_VALUES][BLOCK], *to = NULL;                                                                     \
        const type *values[MOST_VALUES];                                                                               \
        for (int k = 0; k < others; k++) {                                                                             \
            if (k < given && !(alone >> k & 1)) continue;                                                              \
            for (int j = 0; j < PARTS * first; j++)                                                                    \
                room[k][j] = k < given ? ((const type *)arrays[k])[j % PARTS]                                          \
                                       : (type)program->constants[PARTS * (k - given) + j % PARTS];                    \
            values[k] = room[k];                                                                                       \
        }                                                                                                              \
        for (npy_intp begin = 0; begin < n; begin += MOST) {                                                           \
            const int size = n - begin < MOST ? (int)(n - begin) : MOST;                                               \
            for (int k = 0; k < given; k++)                                                                            \
                if (!(alone >> k & 1)) values[k] = (const type *)arrays[k] + PARTS * begin;                            \
            for (int step = 0; step < program->steps; step++) {                                                        \
                const unsigned char *own = program->code + 3 * step;                                                   \
                to = step == program->steps - 1 ? (type *)result + PARTS * begin : room[others + step];                \
                name##_step(own[0], values[own[1]], values[own[2]], to, size);                                         \
                values[others + step] = to;                                                                            \
            }                                                                                                          \
            if (SEARCH(to, PARTS * size)) return 1;                                                                    \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

#define EACH_OF_BLOCK for (int k = 0; k < size; k++)
#define REAL_PRODUCTS EACH_OF_BLOCK to[k] = a[k] * b[k]

typedef struct {
    const unsigned char *code;
    const double *constants;
    int steps, fixed, given; /* the numbers of steps, of constants and of arrays */
} program_t;
typedef int map_t(const program_t *, char *const *, unsigned, npy_intp, void *);

DEFINE_SEARCH(nan_in_floats, float, npy_int32, )
DEFINE_SEARCH(nan_in_doubles, double, npy_int64, )
DEFINE_PRODUCTS(products_of_floats, float, fmaf, , )
DEFINE_PRODUCTS(products_of_doubles, double, fma, , )
DEFINE_MAP(map_floats, float, 1, f, REAL_PRODUCTS, nan_in_floats, )
DEFINE_MAP(map_doubles, double, 1, , REAL_PRODUCTS, nan_in_doubles, )
DEFINE_MAP(map_pairs, float, 2, f, products_of_floats(a, b, to, numbers), nan_in_floats, )
DEFINE_MAP(map_wide_pairs, double, 2, , products_of_doubles(a, b, to, numbers), nan_in_doubles, )

#if BUILDS_WIDE
#define VECTORS_OF_FLOATS                                                                                              \
    for (; k + 8 <= 2 * size; k += 8) {                                                                                \
        const __m256 x = _mm256_loadu_ps(a + k), y = _mm256_loadu_ps(b + k);                                           \
        const __m256 second = _mm256_mul_ps(_mm256_movehdup_ps(x), _mm256_permute_ps(y, 0xB1));                        \
        _mm256_storeu_ps(to + k, _mm256_fmaddsub_ps(_mm256_moveldup_ps(x), y, second));                                \
    }
#define VECTORS_OF_DOUBLES                                                                                             \
    for (; k + 4 <= 2 * size; k += 4) {                                                                                \
        const __m256d x = _mm256_loadu_pd(a + k), y = _mm256_loadu_pd(b + k);                                          \
        const __m256d second = _mm256_mul_pd(_mm256_permute_pd(x, 0xF), _mm256_permute_pd(y, 0x5));                    \
        _mm256_storeu_pd(to + k, _mm256_fmaddsub_pd(_mm256_movedup_pd(x), y, second));                                 \
    }

DEFINE_SEARCH(nan_in_floats_wide, float, npy_int32, WIDE)
DEFINE_SEARCH(nan_in_doubles_wide, double, npy_int64, WIDE)
DEFINE_PRODUCTS(products_of_floats_wide, float, fmaf, VECTORS_OF_FLOATS, WIDE_PRODUCTS)
DEFINE_PRODUCTS(products_of_doubles_wide, double, fma, VECTORS_OF_DOUBLES, WIDE_PRODUCTS)
DEFINE_MAP(map_floats_wide, float, 1, f, REAL_PRODUCTS, nan_in_floats_wide, WIDE)
DEFINE_MAP(map_doubles_wide, double, 1, , REAL_PRODUCTS, nan_in_doubles_wide, WIDE)
DEFINE_MAP(map_pairs_wide, float, 2, f, products_of_floats_wide(a, b, to, numbers), nan_in_floats_wide, WIDE)
DEFINE_MAP(map_wide_pairs_wide, double, 2, , products_of_doubles_wide(a, b, to, numbers), nan_in_doubles_wide, WIDE)
#define WIDE_OR(name) (HAS_PRODUCTS ? name##_wide : name)
#else
#define WIDE_OR(name) name
#endif

/* The map of numbers of a dtype; NULL for others. */
static map_t *map_of(const int type) {
    if (type == NPY_FLOAT32) return WIDE_OR(map_floats);
    if (type == NPY_FLOAT64) return WIDE_OR(map_doubles);
    if (type == NPY_COMPLEX64) return WIDE_OR(map_pairs);
    return type == NPY_COMPLEX128 ? WIDE_OR(map_wide_pairs) : NULL;
}

/* Return 1 if one of some floats is NaN. */
static int some_nan(const void *x, const npy_intp n, const int is_double) {
    return is_double ? WIDE_OR(nan_in_doubles)(x, n) : WIDE_OR(nan_in_floats)(x, n);
}

/* Define casts of floats to numbers with PARTS parts of a type, which return 1 if they found NaN. */
#define DEFINE_CAST(name, from, type, PARTS)                                                                           \
    static int name(const void *given, const npy_intp n, void *result) {                                               \
        for (npy_intp begin = 0; begin < n; begin += BLOCK) {                                                          \
            const int size = n - begin < BLOCK ? (int)(n - begin) : BLOCK;                                             \
            const from *x = (const from *)given + begin;                                                               \
            type *restrict to = (type *)result + PARTS * begin;                                                        \
            for (int k = 0; k < size; k++) {                                                                           \
                to[PARTS * k] = (type)x[k];                                                                            \
                if (PARTS > 1) to[PARTS * k + PARTS - 1] = 0;                                                          \
            }                                                                                                          \
            if (some_nan(to, PARTS * size, sizeof(type) == sizeof(double))) return 1;                                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

DEFINE_CAST(double_of_float, float, double, 1)
DEFINE_CAST(float_of_double, double, float, 1)
DEFINE_CAST(pair_of_float, float, float, 2)
DEFINE_CAST(pair_of_double, double, float, 2)
DEFINE_CAST(wide_pair_of_float, float, double, 2)
DEFINE_CAST(wide_pair_of_double, double, double, 2)

typedef int cast_t(const void *, npy_intp, void *);

/* The cast from a dtype of floats to another dtype; NULL for others. */
static cast_t *cast_of(const int from, const int to) {
    const int wide = from == NPY_FLOAT64;
    if (!wide && from != NPY_FLOAT32) return NULL;
    if (to == NPY_COMPLEX64) return wide ? pair_of_double : pair_of_float;
    if (to == NPY_COMPLEX128) return wide ? wide_pair_of_double : wide_pair_of_float;
    if (to == (wide ? NPY_FLOAT32 : NPY_FLOAT64)) return wide ? float_of_double : double_of_float;
    return NULL;
}

/* Return 1 if each step of a program takes values that are there, by an operation of its numbers. */
static int is_program(const program_t *program, const int of_complex) {
    int fits = program->steps > 0 && program->given + program->fixed + program->steps <= MOST_VALUES;
    for (int k = 0; fits && k < program->steps; k++) {
        const unsigned char *own = program->code + 3 * k;
        const int there = program->given + program->fixed + k;
        fits = own[0] < OPERATIONS && own[1] < there && own[2] < there && (!of_complex || OF_COMPLEX >> own[0] & 1);
    }
    return fits;
}
#endif
