/* Sums and products of few floats of the host in segments, with the bits of segments/cpu_runs in one part.
 *
 * There is no such function by NumPy, which adds floats in another order: without this module, the kernel runs.
 */
#pragma GCC optimize("O3") /* vectors, as Clang makes at -O2 */
#include "../../core/c_modules.h"

/* As in runs.h: lanes, those of short segments, and elements that are folded before others are joined to them. */
#define LANES(type) (64 / (int)sizeof(type))
#define FEW 8
#define SPAN(type) (128 * LANES(type))
#define LEVELS 48

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define EACH(lane, lanes) for (int lane = 0; lane < (lanes); lane++)

/* Define a fold of up to SPAN floats, of any number, and of each segment, by an operator with an identity. */
#define DEFINE_SEGMENTS(name, type, OP, identity)                                                                      \
    static type name##_lanes(type *lanes, int count) {                                                                 \
        for (int half = count / 2; half; half /= 2) EACH(lane, half) lanes[lane] = OP(lanes[lane], lanes[lane + half]); \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static type name##_span(const type *x, npy_intp n) {                                                               \
        enum { L = LANES(type) };                                                                                      \
        type four[4][L];                                                                                               \
        if (n <= FEW) {                                                                                                \
            EACH(lane, FEW) four[0][lane] = identity;                                                                  \
            EACH(lane, (int)n) four[0][lane] = OP(four[0][lane], x[lane]);                                             \
            return name##_lanes(four[0], FEW);                                                                         \
        }                                                                                                              \
        EACH(lane, L) four[0][lane] = four[1][lane] = four[2][lane] = four[3][lane] = identity;                        \
        if (n >= 4 * L) {                                                                                              \
            for (; n >= 4 * L; n -= 4 * L, x += 4 * L)                                                                 \
                for (int k = 0; k < 4; k++) EACH(lane, L) four[k][lane] = OP(four[k][lane], x[k * L + lane]);          \
            EACH(lane, L) four[0][lane] = OP(OP(four[0][lane], four[1][lane]), OP(four[2][lane], four[3][lane]));      \
        }                                                                                                              \
        for (; n > 0; n -= L, x += L) EACH(lane, n < L ? (int)n : L) four[0][lane] = OP(four[0][lane], x[lane]);       \
        return name##_lanes(four[0], L);                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    static type name##_row(const type *x, npy_intp n) {                                                                \
        type levels[LEVELS], folded = identity;                                                                        \
        npy_intp spans = 0;                                                                                            \
        if (n <= SPAN(type)) return name##_span(x, n);                                                                 \
        for (; n > 0; n -= SPAN(type), x += SPAN(type), spans++) {                                                     \
            type joined = name##_span(x, n < SPAN(type) ? n : SPAN(type));                                             \
            int level = 0; /* level k holds the fold of 2^k spans */                                                   \
            for (; spans >> level & 1; level++) joined = OP(levels[level], joined);                                    \
            levels[level] = joined;                                                                                    \
        }                                                                                                              \
        for (int level = 0; spans >> level; level++)                                                                   \
            if (spans >> level & 1) folded = OP(levels[level], folded);                                                \
        return folded;                                                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    static void name(const type *x, const npy_int64 *offsets, npy_intp count, type *results) {                         \
        for (npy_intp o = 0; o < count; o++) results[o] = name##_row(x + offsets[o], offsets[o + 1] - offsets[o]);     \
    }

DEFINE_SEGMENTS(sums_of_floats, float, ADD, 0.0f)
DEFINE_SEGMENTS(sums_of_doubles, double, ADD, 0.0)
DEFINE_SEGMENTS(products_of_floats, float, MULTIPLY, 1.0f)
DEFINE_SEGMENTS(products_of_doubles, double, MULTIPLY, 1.0)

/* Return 1 if offsets rise from 0 on, up to the number of elements. */
static int are_offsets(const npy_int64 *offsets, const npy_intp count, const npy_intp n) {
    int rise = offsets[0] >= 0 && offsets[count] <= n;
    for (npy_intp o = 0; o < count; o++) rise &= offsets[o] <= offsets[o + 1];
    return rise;
}

PyDoc_STRVAR(fold_doc, "fold(x, offsets, multiplies): the sum of the floats of each segment, or their product.");

static PyObject *fold(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyArrayObject *x = NULL, *offsets = NULL;
    if (given == 3 && PyArray_Check(arguments[0]) && PyArray_Check(arguments[1])) {
        x = (PyArrayObject *)arguments[0];
        offsets = (PyArrayObject *)arguments[1];
    }
    const int type = x ? PyArray_TYPE(x) : NPY_VOID;
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || !PyArray_ISCARRAY_RO(x) || PyArray_TYPE(offsets) != NPY_INT64 ||
        !PyArray_ISCARRAY_RO(offsets) || PyArray_NDIM(offsets) != 1 || !PyArray_SIZE(offsets)) {
        PyErr_SetString(PyExc_TypeError, "fold: contiguous arrays of float32 or float64 and of int64, and True or False");
        return NULL;
    }
    npy_intp count = PyArray_SIZE(offsets) - 1;
    const npy_int64 *places = PyArray_DATA(offsets);
    if (!are_offsets(places, count, PyArray_SIZE(x))) {
        PyErr_SetString(PyExc_ValueError, "fold: offsets that do not fall, from 0 to the number of elements");
        return NULL;
    }
    const int multiplies = PyObject_IsTrue(arguments[2]);
    if (multiplies < 0) return NULL;
    PyArrayObject *results = (PyArrayObject *)PyArray_SimpleNew(1, &count, type);
    if (!results) return NULL;
    if (type == NPY_FLOAT32)
        (multiplies ? products_of_floats : sums_of_floats)(PyArray_DATA(x), places, count, PyArray_DATA(results));
    else
        (multiplies ? products_of_doubles : sums_of_doubles)(PyArray_DATA(x), places, count, PyArray_DATA(results));
    return (PyObject *)results;
}

DEFINE_MODULE(segment_floats, "Folds of few floats in segments.", 1, FUNCTION(fold))
