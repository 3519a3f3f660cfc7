/* Least and largest numbers of the host, and their places, by registers of 32 bytes (AVX2).
 *
 * Elements lie one after the other. Python does the same where this module is not there: fold_by_numpy.py.
 *
 * Of floats, the processor's max(x, best) is `best` if x is NaN, so NaN is left out, and looked for beside: an
 * unordered comparison of two registers finds those of both. Four registers of the best so far do not wait for each other.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"
#include <immintrin.h>
#include <math.h>

#define INLINE WIDE static inline __attribute__((always_inline))
#define BLOCK_BYTES 16384 /* searched at once: a NaN ends the search */

#define BITS __m256i
#define LOAD_BITS(x) _mm256_loadu_si256((const BITS *)(x))
#define STORE_BITS(to, x) _mm256_storeu_si256((BITS *)(to), x)
#define NO_NAN(a, b) _mm256_setzero_si256()
#define UNORDERED_PS(a, b) _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q))
#define UNORDERED_PD(a, b) _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_UNORD_Q))

INLINE BITS larger_i64(BITS x, BITS best) { return _mm256_blendv_epi8(best, x, _mm256_cmpgt_epi64(x, best)); }
INLINE BITS smaller_i64(BITS x, BITS best) { return _mm256_blendv_epi8(best, x, _mm256_cmpgt_epi64(best, x)); }
INLINE BITS signed_u64(BITS x) { return _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN)); }
INLINE BITS larger_u64(BITS x, BITS best) {
    return _mm256_blendv_epi8(best, x, _mm256_cmpgt_epi64(signed_u64(x), signed_u64(best)));
}
INLINE BITS smaller_u64(BITS x, BITS best) {
    return _mm256_blendv_epi8(best, x, _mm256_cmpgt_epi64(signed_u64(best), signed_u64(x)));
}

/* What is found of an array: the least and the largest number, the first place of one, whether there is a NaN, and
 * whether one is zero and zeros have both signs. */
typedef struct {
    char least[8], most[8];
    npy_intp place;
    int nan, zeros;
} found_t;

/* 1 if registers differ. */
INLINE int differ(const void *a, const void *b) {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(LOAD_BITS(a), LOAD_BITS(b))) != -1;
}

enum { LEAST = 1, MOST = 2, PLACES = 4, CHECKS = 8 };

#define IN_BLOCK(name, how) found->nan = name##_block(x + first, own, how, &low, &high)
#define DEFINE(name, type, vector, LOAD, STORE, SMALLER, LARGER, UNORDERED, lowest, highest, is_float)                 \
    /* Fold the registers of a block of n elements; return 1 if it has a NaN that counts. */                           \
    INLINE int name##_block(const type *x, npy_intp n, const int how, vector *least, vector *most) {                   \
        enum { W = 32 / sizeof(type) };                                                                                \
        BITS nan = _mm256_setzero_si256(), other = nan;                                                                \
        vector a0 = *least, a1 = a0, a2 = a0, a3 = a0, b0 = *most, b1 = b0, b2 = b0, b3 = b0;                          \
        npy_intp k = 0;                                                                                                \
        for (; k + 4 * W <= n; k += 4 * W) {                                                                           \
            vector x0 = LOAD(x + k), x1 = LOAD(x + k + W), x2 = LOAD(x + k + 2 * W), x3 = LOAD(x + k + 3 * W);         \
            if (how & CHECKS) __asm__("" : "+x"(x0), "+x"(x1), "+x"(x2), "+x"(x3)); /* loaded once (rows: by_numpy-in-c) */\
            if (how & LEAST) a0 = SMALLER(x0, a0), a1 = SMALLER(x1, a1), a2 = SMALLER(x2, a2), a3 = SMALLER(x3, a3);   \
            if (how & MOST) b0 = LARGER(x0, b0), b1 = LARGER(x1, b1), b2 = LARGER(x2, b2), b3 = LARGER(x3, b3);        \
            if (how & CHECKS) {                                                                                        \
                nan = _mm256_or_si256(nan, UNORDERED(x0, x1));                                                         \
                other = _mm256_or_si256(other, UNORDERED(x2, x3));                                                     \
            }                                                                                                          \
        }                                                                                                              \
        for (; k < n; k += W) { /* the last elements twice, if need be */                                              \
            const vector own = LOAD(x + (k < n - W ? k : n - W));                                                      \
            if (how & LEAST) a0 = SMALLER(own, a0);                                                                    \
            if (how & MOST) b0 = LARGER(own, b0);                                                                      \
            if (how & CHECKS) nan = _mm256_or_si256(nan, UNORDERED(own, own));                                         \
        }                                                                                                              \
        if (how & LEAST) *least = SMALLER(SMALLER(a0, a1), SMALLER(a2, a3));                                           \
        if (how & MOST) *most = LARGER(LARGER(b0, b1), LARGER(b2, b3));                                                \
        nan = _mm256_or_si256(nan, other);                                                                             \
        return how & CHECKS ? !_mm256_testz_si256(nan, nan) : 0;                                                       \
    }                                                                                                                  \
                                                                                                                       \
    /* The first of n elements that equals a number; n if none does. */                                                \
    WIDE static npy_intp name##_place(const type *x, npy_intp n, const type number) {                                  \
        enum { AT_ONCE = 128 / sizeof(type) };                                                                         \
        npy_intp k = 0;                                                                                                \
        for (; k + AT_ONCE <= n; k += AT_ONCE) {                                                                       \
            int hit = 0;                                                                                               \
            for (int lane = 0; lane < AT_ONCE; lane++) hit |= x[k + lane] == number;                                   \
            if (hit) break;                                                                                            \
        }                                                                                                              \
        while (k < n && x[k] != number) k++;                                                                           \
        return k;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    /* 1 if zeros of both signs are among the elements. */                                                             \
    WIDE static int name##_zeros(const type *x, npy_intp n) {                                                          \
        int above = 0, below = 0;                                                                                      \
        for (npy_intp k = 0; k < n; k++) {                                                                             \
            const int zero = x[k] == 0, under = signbit((double)x[k]) != 0;                                            \
            above |= zero & !under;                                                                                    \
            below |= zero & under;                                                                                     \
        }                                                                                                              \
        return above & below;                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    INLINE vector name##_all(const type number) {                                                                      \
        type each[32 / sizeof(type)];                                                                                  \
        for (int k = 0; k < (int)(32 / sizeof(type)); k++) each[k] = number;                                           \
        return LOAD(each);                                                                                             \
    }                                                                                                                  \
                                                                                                                       \
    INLINE type name##_across(const vector lanes, const int largest) {                                                 \
        type each[32 / sizeof(type)];                                                                                  \
        STORE(each, lanes);                                                                                            \
        type best = each[0];                                                                                           \
        for (int k = 1; k < (int)(32 / sizeof(type)); k++)                                                             \
            if (largest ? each[k] > best : each[k] < best) best = each[k];                                             \
        return best;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    WIDE static void name(const void *array, const npy_intp n, const int how, found_t *found) {                        \
        const type *given = array;                                                                                     \
        enum { W = 32 / sizeof(type), BLOCK = BLOCK_BYTES / sizeof(type) };                                            \
        type few[W], least = highest, most = lowest;                                                                   \
        for (int k = 0; n < W && k < W; k++) few[k] = given[k < n ? k : 0];                                            \
        const type *x = n < W ? few : given;                                                                           \
        const npy_intp size = n < W ? W : n;                                                                           \
        vector low = name##_all(highest), high = name##_all(lowest);                                                   \
        npy_intp low_at = 0, high_at = 0;                                                                              \
        for (npy_intp at = 0; at < size && !found->nan; at += BLOCK) {                                                 \
            const npy_intp first = at < size - W ? at : size - W, own = size - first < BLOCK ? size - first : BLOCK;   \
            const vector low_before = low, high_before = high;                                                         \
            switch (how & (LEAST | MOST | is_float * CHECKS)) { /* a loop for each */                                  \
            case LEAST: IN_BLOCK(name, LEAST); break;                                                                  \
            case MOST: IN_BLOCK(name, MOST); break;                                                                    \
            case LEAST | CHECKS: IN_BLOCK(name, LEAST | CHECKS); break;                                                \
            case MOST | CHECKS: IN_BLOCK(name, MOST | CHECKS); break;                                                  \
            default: IN_BLOCK(name, LEAST | MOST | is_float * CHECKS);                                                 \
            }                                                                                                          \
            if (how & PLACES && how & LEAST && differ(&low, &low_before)) {                                            \
                const type best = name##_across(low, 0);                                                               \
                if (best < least) low_at = first, least = best;                                                        \
            }                                                                                                          \
            if (how & PLACES && how & MOST && differ(&high, &high_before)) {                                           \
                const type best = name##_across(high, 1);                                                              \
                if (best > most) high_at = first, most = best;                                                         \
            }                                                                                                          \
        }                                                                                                              \
        least = name##_across(low, 0), most = name##_across(high, 1);                                                  \
        if (found->nan) return;                                                                                        \
        if (how & PLACES) {                                                                                            \
            if (how & LEAST) found->place = low_at + name##_place(given + low_at, n - low_at, least);                  \
            if (how & MOST) found->place = high_at + name##_place(given + high_at, n - high_at, most);                 \
        } else if (is_float && ((how & LEAST && least == 0) || (how & MOST && most == 0))) {                           \
            found->zeros = name##_zeros(given, n);                                                                     \
        }                                                                                                              \
        memcpy(found->least, &least, sizeof(type));                                                                    \
        memcpy(found->most, &most, sizeof(type));                                                                      \
    }

#define DEFINE_INTEGERS(name, type, smaller, larger, lowest, highest)                                                  \
    DEFINE(name, type, BITS, LOAD_BITS, STORE_BITS, smaller, larger, NO_NAN, lowest, highest, 0)

DEFINE_INTEGERS(of_i8, npy_int8, _mm256_min_epi8, _mm256_max_epi8, NPY_MIN_INT8, NPY_MAX_INT8)
DEFINE_INTEGERS(of_u8, npy_uint8, _mm256_min_epu8, _mm256_max_epu8, 0, NPY_MAX_UINT8)
DEFINE_INTEGERS(of_i16, npy_int16, _mm256_min_epi16, _mm256_max_epi16, NPY_MIN_INT16, NPY_MAX_INT16)
DEFINE_INTEGERS(of_u16, npy_uint16, _mm256_min_epu16, _mm256_max_epu16, 0, NPY_MAX_UINT16)
DEFINE_INTEGERS(of_i32, npy_int32, _mm256_min_epi32, _mm256_max_epi32, NPY_MIN_INT32, NPY_MAX_INT32)
DEFINE_INTEGERS(of_u32, npy_uint32, _mm256_min_epu32, _mm256_max_epu32, 0, NPY_MAX_UINT32)
DEFINE_INTEGERS(of_i64, npy_int64, smaller_i64, larger_i64, NPY_MIN_INT64, NPY_MAX_INT64)
DEFINE_INTEGERS(of_u64, npy_uint64, smaller_u64, larger_u64, 0, NPY_MAX_UINT64)
DEFINE(of_f32, float, __m256, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_min_ps, _mm256_max_ps, UNORDERED_PS, -INFINITY,
       INFINITY, 1)
DEFINE(of_f64, double, __m256d, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_min_pd, _mm256_max_pd, UNORDERED_PD,
       -INFINITY, INFINITY, 1)

typedef void search_t(const void *, npy_intp, int, found_t *);

#define OF(name) of_##name
static search_t *const SEARCHES[] = OF_DTYPES(OF);

/* Return an array whose elements lie one after the other; NULL with an exception for others. */
static PyArrayObject *numbers_of(PyObject *given) {
    if (PyArray_Check(given)) {
        PyArrayObject *array = (PyArrayObject *)given;
        const int together = PyArray_ISCARRAY_RO(array) || PyArray_ISFARRAY_RO(array);
        if (together && PyArray_SIZE(array) && dtype_place(array) >= 0) return array;
    }
    PyErr_SetString(PyExc_TypeError, "extremes: a contiguous array of integers, bools, float32 or float64");
    return NULL;
}

/* Search an array and return how; 0 with an exception for what is no such array, and no such kind of search. */
static int search(PyObject *const *arguments, Py_ssize_t count, const int more, PyArrayObject **x, found_t *found) {
    const long how = count == 2 ? PyLong_AsLong(arguments[1]) : 0;
    if (!(how & (LEAST | MOST)) || how & ~(LEAST | MOST | CHECKS) || PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "extremes: an array and how to search it");
        return 0;
    }
    if (!(*x = numbers_of(arguments[0]))) return 0;
    search_t *const work = SEARCHES[dtype_place(*x)];
    const npy_intp n = PyArray_SIZE(*x);
    const void *data = PyArray_DATA(*x);
    if (PyArray_NBYTES(*x) > RELEASED) {
        Py_BEGIN_ALLOW_THREADS
        work(data, n, (int)how | more, found);
        Py_END_ALLOW_THREADS
    } else {
        work(data, n, (int)how | more, found);
    }
    return (int)how;
}

PyDoc_STRVAR(find_doc,
             "find(x, how): the least number of an array (1), the largest (2), or both (3); with 8 more, NotImplemented\n"
             "for NaN, else NaN is left out. NotImplemented if one is zero and zeros have both signs.");

static PyObject *find(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    PyArrayObject *x;
    found_t found = {0};
    const int how = search(arguments, count, 0, &x, &found);
    if (!how) return NULL;
    if (found.nan || found.zeros) Py_RETURN_NOTIMPLEMENTED;
    PyObject *least = how & LEAST ? PyArray_Scalar(found.least, PyArray_DESCR(x), NULL) : NULL;
    if (!(how & MOST) || PyErr_Occurred()) return least;
    PyObject *most = PyArray_Scalar(found.most, PyArray_DESCR(x), NULL);
    return how & LEAST ? Py_BuildValue("NN", least, most) : most;
}

PyDoc_STRVAR(place_doc, "place(x, how): the first place of the least number (1) or the largest (2), or NotImplemented.");

static PyObject *place(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    PyArrayObject *x;
    found_t found = {0};
    if (!search(arguments, count, PLACES | CHECKS, &x, &found)) return NULL;
    if (found.nan) Py_RETURN_NOTIMPLEMENTED;
    PyArray_Descr *type = PyArray_DescrFromType(NPY_INT64);
    const npy_int64 at = found.place;
    PyObject *result = PyArray_Scalar((void *)&at, type, NULL);
    Py_DECREF(type);
    return result;
}

DEFINE_MODULE(extremes, "Extremes of numbers.", has_vectors(), FUNCTION(find), FUNCTION(place))
