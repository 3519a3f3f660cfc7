/* Partitions of rows of the host by one element each, whose elements before and behind it keep their order.
 *
 * A row is read twice: elements before the pivot go to the row's begin, those behind it behind as many as are equal. Eight
 * at a time are gathered by a table of their places, and stored with what lies behind them, which later ones overwrite.
 * Equal elements come last. NumPy or kernels do the same where this module is not there.
 */
#pragma GCC optimize("O3")
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

#define RELEASED 65536 /* of more bytes, other threads of Python run meanwhile */
#define LANES 8

/* Elements that were written and read, equal ones, and where the first of these may be. */
typedef struct {
    npy_intp at, next, equal, first;
} pass_t;

#if defined(__x86_64__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx2,popcnt")))
#define HAS_WIDE __builtin_cpu_supports("avx2")

static npy_uint8 places_of[1 << LANES][LANES]; /* of the bits of a mask that are set */
static npy_int32 words_of[1 << LANES / 2][LANES]; /* the same as pairs of words of 32 bits, of half a mask */

static void find_places(void) {
    for (int mask = 0; mask < 1 << LANES; mask++)
        for (int lane = 0, at = 0; lane < LANES; lane++)
            if (mask >> lane & 1) {
                if (mask < 1 << LANES / 2) words_of[mask][2 * at] = 2 * lane, words_of[mask][2 * at + 1] = 2 * lane + 1;
                places_of[mask][at++] = (npy_uint8)lane;
            }
}

WIDE static inline __m128i bytes_of(const unsigned mask) { return _mm_loadl_epi64((const __m128i *)places_of[mask]); }

/* Store the elements of a mask of eight, and others behind them. */
WIDE static inline void move_1(const void *x, const unsigned mask, void *to) {
    _mm_storel_epi64(to, _mm_shuffle_epi8(_mm_loadl_epi64(x), bytes_of(mask)));
}

WIDE static inline void move_2(const void *x, const unsigned mask, void *to) {
    const __m128i low = _mm_add_epi8(bytes_of(mask), bytes_of(mask)), high = _mm_add_epi8(low, _mm_set1_epi8(1));
    _mm_storeu_si128(to, _mm_shuffle_epi8(_mm_loadu_si128(x), _mm_unpacklo_epi8(low, high)));
}

WIDE static inline void move_4(const void *x, const unsigned mask, void *to) {
    _mm256_storeu_si256(to, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(x), _mm256_cvtepu8_epi32(bytes_of(mask))));
}

WIDE static inline void move_8(const void *x, const unsigned mask, void *to) {
    const __m256i *from = x;
    const unsigned halves[2] = {mask & 15, mask >> 4};
    npy_int64 *at = to;
    for (int half = 0; half < 2; half++) {
        const __m256i words = _mm256_loadu_si256((const __m256i *)words_of[halves[half]]);
        _mm256_storeu_si256((__m256i *)at, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from + half), words));
        at += _mm_popcnt_u32(halves[half]);
    }
}

/* Store the places, from `first` on, of the elements of a mask. */
WIDE static inline void move_places(const npy_intp first, const unsigned mask, npy_int64 *to) {
    const __m128i bytes = bytes_of(mask);
    const __m256i before = _mm256_set1_epi64x(first);
    _mm256_storeu_si256((__m256i *)to, _mm256_add_epi64(_mm256_cvtepu8_epi64(bytes), before));
    _mm256_storeu_si256((__m256i *)to + 1, _mm256_add_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4)), before));
}

/* The mask of a comparison of eight elements of so many bytes. */
#define MASK_1(x, OP, all) (unsigned)_mm_movemask_epi8(_mm_cvtsi64_si128((long long)((x)[0] OP all)))
#define MASK_2(x, OP, all) ((unsigned)_mm_movemask_epi8(_mm_packs_epi16((__m128i)((x)[0] OP all), _mm_setzero_si128())))
#define MASK_4(x, OP, all) (unsigned)_mm256_movemask_ps((__m256)((x)[0] OP all))
#define MASK_8(x, OP, all)                                                                                             \
    ((unsigned)_mm256_movemask_pd((__m256d)((x)[0] OP all)) | (unsigned)_mm256_movemask_pd((__m256d)((x)[1] OP all)) << 4)

/* Move the elements for which x OP pivot, eight at a time, while there is room for eight; look for equal ones. */
#define DEFINE_PASS(name, type, bytes, width, OP)                                                                      \
    WIDE static void name(const type *x, const type pivot, const npy_intp n, const npy_intp room, const int places,    \
                          void *to, pass_t *pass) {                                                                    \
        typedef type vector_t __attribute__((vector_size(width), aligned(1), may_alias));                              \
        const vector_t all = (vector_t){0} + pivot;                                                                    \
        npy_intp at = pass->at, next = pass->next, equal = 0, first = pass->first;                                     \
        for (; next + LANES <= n && at + LANES <= room; next += LANES) {                                               \
            const vector_t *own = (const vector_t *)(x + next);                                                        \
            const unsigned mask = MASK_##bytes(own, OP, all);                                                          \
            first = equal ? first : next;                                                                              \
            equal += _mm_popcnt_u32(MASK_##bytes(own, ==, all));                                                       \
            if (places)                                                                                                \
                move_places(next, mask, (npy_int64 *)to + at);                                                         \
            else                                                                                                       \
                move_##bytes(own, mask, (type *)to + at);                                                              \
            at += _mm_popcnt_u32(mask);                                                                                \
        }                                                                                                              \
        *pass = (pass_t){at, next, equal, equal ? first : next};                                                       \
    }
#else
#define HAS_WIDE 0
static void find_places(void) {}
#define DEFINE_PASS(name, type, bytes, width, OP)                                                                      \
    static void name(const type *x, const type pivot, const npy_intp n, const npy_intp room, const int places,         \
                     void *to, pass_t *pass) {}
#endif

static int has_wide;

#define PUT(k)                                                                                                         \
    if (places)                                                                                                        \
        ((npy_int64 *)to)[at] = (k);                                                                                   \
    else                                                                                                               \
        result[at] = x[k];

/* Define the partition of n elements or their places; 0 with NaN, which is in no class. And the places of the first `room`
 * elements in an order of classes: those before or behind the pivot, of which it returns the number, then the equal ones. */
#define DEFINE(name, type, bytes, width)                                                                               \
    DEFINE_PASS(name##_before, type, bytes, width, <)                                                                  \
    DEFINE_PASS(name##_behind, type, bytes, width, >)                                                                  \
    static int name(const void *given, const void *pivots, const npy_intp n, const int places, void *to) {             \
        const type *x = given, pivot = *(const type *)pivots;                                                          \
        type *result = to;                                                                                             \
        pass_t pass = {0, 0, 0, 0};                                                                                    \
        if (has_wide) name##_before(x, pivot, n, n, places, to, &pass);                                                \
        npy_intp at = pass.at, equal = pass.equal;                                                                     \
        for (npy_intp k = pass.next; k < n; k++) {                                                                     \
            PUT(k)                                                                                                     \
            at += x[k] < pivot;                                                                                        \
            equal += x[k] == pivot;                                                                                    \
        }                                                                                                              \
        const npy_intp before = at, first = pass.first;                                                                \
        pass = (pass_t){at + equal, 0, 0, 0};                                                                          \
        if (has_wide) name##_behind(x, pivot, n, n, places, to, &pass);                                                \
        at = pass.at;                                                                                                  \
        for (npy_intp k = pass.next; k < n && at < n; k++) {                                                           \
            PUT(k)                                                                                                     \
            at += x[k] > pivot;                                                                                        \
        }                                                                                                              \
        if (at < n) return 0;                                                                                          \
        at = before;                                                                                                   \
        if (!places && ((type)0.5 == 0 || pivot != 0)) /* zeros of floats have signs */                                \
            while (at < before + equal) result[at++] = pivot;                                                          \
        for (npy_intp k = first; at < before + equal; k++) {                                                           \
            PUT(k)                                                                                                     \
            at += x[k] == pivot;                                                                                       \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
    static npy_intp name##_firsts(const void *given, const void *pivots, const npy_intp n, const int behind,           \
                                  const npy_intp room, npy_int64 *to) {                                                \
        const type *x = given, pivot = *(const type *)pivots;                                                          \
        pass_t pass = {0, 0, 0, 0};                                                                                    \
        if (has_wide) (behind ? name##_behind : name##_before)(x, pivot, n, room, 1, to, &pass);                       \
        npy_intp at = pass.at;                                                                                         \
        for (npy_intp k = pass.next; k < n && at < room; k++) {                                                        \
            to[at] = k;                                                                                                \
            at += behind ? x[k] > pivot : x[k] < pivot;                                                                \
        }                                                                                                              \
        const npy_intp beyond = at;                                                                                    \
        for (npy_intp k = pass.first; k < n && at < room; k++) {                                                       \
            to[at] = k;                                                                                                \
            at += x[k] == pivot;                                                                                       \
        }                                                                                                              \
        return at < room ? -1 : beyond;                                                                                \
    }

DEFINE(i8, npy_int8, 1, 8)
DEFINE(i16, npy_int16, 2, 16)
DEFINE(i32, npy_int32, 4, 32)
DEFINE(i64, npy_int64, 8, 32)
DEFINE(u8, npy_uint8, 1, 8)
DEFINE(u16, npy_uint16, 2, 16)
DEFINE(u32, npy_uint32, 4, 32)
DEFINE(u64, npy_uint64, 8, 32)
DEFINE(f32, float, 4, 32)
DEFINE(f64, double, 8, 32)

typedef struct {
    int (*part)(const void *, const void *, npy_intp, int, void *);
    npy_intp (*firsts)(const void *, const void *, npy_intp, int, npy_intp, npy_int64 *);
} functions_t;
#define OF(name) {name, name##_firsts}
static const functions_t INTEGERS[2][4] = {{OF(u8), OF(u16), OF(u32), OF(u64)}, {OF(i8), OF(i16), OF(i32), OF(i64)}};
static const functions_t FLOATS[2] = {OF(f32), OF(f64)};

/* The functions of the type of an array of the host; NULL for others. */
static const functions_t *functions_of(PyObject *given) {
    PyArrayObject *x = (PyArrayObject *)given;
    if (!PyArray_Check(given) || !PyArray_ISCARRAY_RO(x) || !PyArray_NDIM(x)) return NULL;
    const int size = (int)PyArray_ITEMSIZE(x), power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    if (PyArray_ISINTEGER(x)) return &INTEGERS[PyArray_ISSIGNED(x)][power];
    return PyArray_TYPE(x) == NPY_FLOAT32 ? &FLOATS[0] : PyArray_TYPE(x) == NPY_FLOAT64 ? &FLOATS[1] : NULL;
}

/* The data of an array of a type and so many elements; NULL for others. */
static void *data_of(PyObject *given, const int type, const npy_intp size) {
    PyArrayObject *x = (PyArrayObject *)given;
    const int fits = PyArray_Check(given) && PyArray_ISCARRAY_RO(x) && PyArray_TYPE(x) == type && PyArray_SIZE(x) == size;
    return fits ? PyArray_DATA(x) : NULL;
}

PyDoc_STRVAR(part_doc, "part(rows, pivots, result, places): write each row's elements before, at and behind its pivot, an\n"
                       "element of it, to the result, or their places to one of int64; False with NaN, after some are written.");

static PyObject *part(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    const functions_t *functions = given == 4 ? functions_of(arguments[0]) : NULL;
    PyArrayObject *rows = functions ? (PyArrayObject *)arguments[0] : NULL;
    const npy_intp n = rows ? PyArray_DIM(rows, PyArray_NDIM(rows) - 1) : 0, count = n ? PyArray_SIZE(rows) / n : 0;
    const int type = rows ? PyArray_TYPE(rows) : 0, places = given == 4 && arguments[3] == Py_True;
    const char *pivots = count ? data_of(arguments[1], type, count) : NULL;
    char *to = pivots ? data_of(arguments[2], places ? NPY_INT64 : type, count * n) : NULL;
    if (!to || !PyArray_ISWRITEABLE((PyArrayObject *)arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "part: rows of numbers in C order, a pivot of each, a result, and True or False");
        return NULL;
    }
    const npy_intp size = PyArray_ITEMSIZE(rows), moved = PyArray_ITEMSIZE((PyArrayObject *)arguments[2]);
    const char *x = PyArray_DATA(rows);
    int numbers = 1;
    PyThreadState *state = count * n * size > RELEASED ? PyEval_SaveThread() : NULL;
    for (npy_intp row = 0; row < count && numbers; row++, x += n * size, pivots += size, to += n * moved)
        numbers = functions->part(x, pivots, n, places, to);
    if (state) PyEval_RestoreThread(state);
    return PyBool_FromLong(numbers);
}

PyDoc_STRVAR(firsts_doc, "firsts(x, pivot, behind, places): write the places of a row's elements behind a pivot, or before it,\n"
                         "and then of equal ones to places, an array of int64, until it is full; the number before the equal ones.");

static PyObject *firsts(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    const functions_t *functions = given == 4 ? functions_of(arguments[0]) : NULL;
    PyArrayObject *x = functions ? (PyArrayObject *)arguments[0] : NULL;
    const void *pivot = x ? data_of(arguments[1], PyArray_TYPE(x), 1) : NULL;
    const npy_intp room = pivot && PyArray_Check(arguments[3]) ? PyArray_SIZE((PyArrayObject *)arguments[3]) : 0;
    npy_int64 *to = room ? data_of(arguments[3], NPY_INT64, room) : NULL;
    npy_intp found = -1;
    if (to && PyArray_ISWRITEABLE((PyArrayObject *)arguments[3])) {
        Py_BEGIN_ALLOW_THREADS
        found = functions->firsts(PyArray_DATA(x), pivot, PyArray_SIZE(x), arguments[2] == Py_True, room, to);
        Py_END_ALLOW_THREADS
    }
    if (found >= 0) return PyLong_FromSsize_t(found);
    PyErr_SetString(PyExc_TypeError, "firsts: numbers in C order, a pivot, True or False, and room for places that there are");
    return NULL;
}

static PyMethodDef METHODS[] = {{"part", (PyCFunction)(void (*)(void))part, METH_FASTCALL, part_doc},
                                {"firsts", (PyCFunction)(void (*)(void))firsts, METH_FASTCALL, firsts_doc},
                                {NULL}};
static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "parts", .m_doc = "Partitions of rows by an element.", .m_size = -1, .m_methods = METHODS};

PyMODINIT_FUNC PyInit_parts(void) {
    import_array();
    find_places();
    has_wide = HAS_WIDE;
    return PyModule_Create(&MODULE);
}
