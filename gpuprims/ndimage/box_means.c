/* Means of boxes down columns of the host: blocks as long as the boxes, as in box_sums.py, without arrays between steps.
 *
 * A strip of columns at a time: the sums from each row of a block to its end are kept, those of the next block run along
 * with the boxes that begin in this one. Rows come from a list of places, in which -1 is a row of the border's number.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"
#if BUILDS_WIDE
#pragma GCC target("avx2")
#endif

#define STRIP 64 /* columns */

/* An array of `before` planes, of n rows of `behind` elements; the places of n + count - 1 rows; boxes of `count`. */
typedef struct {
    npy_intp before, n, behind, count;
    const npy_int64 *places;
} boxes_t;

#define DEFINE(name, type)                                                                                             \
    static inline const type *name##_row(const type *plane, const boxes_t *boxes, npy_intp row, npy_intp first,        \
                                         const type *border) {                                                         \
        const npy_int64 place = boxes->places[row];                                                                    \
        return place < 0 ? border : plane + place * boxes->behind + first;                                             \
    }                                                                                                                  \
                                                                                                                       \
    /* Means of a strip of columns of a plane; `ends` has room for the sums of a block. */                             \
    static inline __attribute__((always_inline)) void name##_strip(const type *plane, const boxes_t *boxes,            \
                                                                   const npy_intp first, const npy_intp width,         \
                                                                   const type *border, type *ends, type *result) {     \
        const npy_intp count = boxes->count, n = boxes->n;                                                             \
        const type divisor = (type)count;                                                                              \
        for (npy_intp begin = 0; begin < n; begin += count) {                                                          \
            type sums[STRIP] = {0};                                                                                    \
            for (npy_intp row = count; row-- > 0;) {                                                                   \
                const type *x = name##_row(plane, boxes, begin + row, first, border);                                  \
                for (npy_intp k = 0; k < width; k++) ends[row * STRIP + k] = sums[k] = sums[k] + x[k];                 \
            }                                                                                                          \
            for (npy_intp k = 0; k < width; k++) sums[k] = 0;                                                          \
            for (npy_intp row = 0; row < count && begin + row < n; row++) {                                            \
                type *to = result + (begin + row) * boxes->behind + first;                                             \
                const type *end = ends + row * STRIP;                                                                  \
                for (npy_intp k = 0; k < width; k++) to[k] = (end[k] + sums[k]) / divisor;                             \
                if (begin + row + 1 == n || row + 1 == count) break;                                                   \
                const type *x = name##_row(plane, boxes, begin + count + row, first, border);                          \
                for (npy_intp k = 0; k < width; k++) sums[k] += x[k];                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void name(const void *given, const boxes_t *boxes, const void *number, void *room, void *result) {          \
        type border[STRIP];                                                                                            \
        for (int k = 0; k < STRIP; k++) border[k] = *(const type *)number;                                             \
        const npy_intp size = boxes->n * boxes->behind;                                                                \
        for (npy_intp plane = 0; plane < boxes->before; plane++) {                                                     \
            const type *x = (const type *)given + plane * size;                                                        \
            type *to = (type *)result + plane * size;                                                                  \
            npy_intp first = 0;                                                                                        \
            for (; first + STRIP <= boxes->behind; first += STRIP) name##_strip(x, boxes, first, STRIP, border, room, to); \
            if (first < boxes->behind) name##_strip(x, boxes, first, boxes->behind - first, border, room, to);         \
        }                                                                                                              \
    }

DEFINE(f32, float)
DEFINE(f64, double)

/* 1 for an array of a type and of three axes in C order. */
static int is_whole(PyObject *given, const int type) {
    PyArrayObject *x = (PyArrayObject *)given;
    return PyArray_Check(given) && PyArray_TYPE(x) == type && PyArray_NDIM(x) == 3 && PyArray_ISCARRAY_RO(x);
}

/* 1 if places are rows of an array, or -1, for boxes of at least one row. */
static int are_places(PyObject *given, const npy_intp n) {
    PyArrayObject *x = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(x) != NPY_INT64 || PyArray_NDIM(x) != 1 || !PyArray_ISCARRAY_RO(x)) return 0;
    const npy_int64 *places = PyArray_DATA(x);
    for (npy_intp k = 0; k < PyArray_SIZE(x); k++)
        if (places[k] < -1 || places[k] >= n) return 0;
    return n > 0 && PyArray_SIZE(x) >= n;
}

PyDoc_STRVAR(means_doc, "means(x, places, border): the means of boxes along the middle axis of three. The first box has the rows at\n"
                        "the first places, each further one begins one place later; place -1 is a row of `border`.");

static PyObject *means(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyArrayObject *x = given == 3 && PyArray_Check(arguments[0]) ? (PyArrayObject *)arguments[0] : NULL;
    const int type = x ? PyArray_TYPE(x) : 0;
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || !is_whole(arguments[0], type) ||
        !are_places(arguments[1], PyArray_DIM(x, 1))) {
        PyErr_SetString(PyExc_TypeError, "means: floats along three axes, places of rows, and a number");
        return NULL;
    }
    const double number = PyFloat_AsDouble(arguments[2]);
    if (PyErr_Occurred()) return NULL;
    const float narrow = (float)number;
    PyArrayObject *places = (PyArrayObject *)arguments[1];
    const npy_intp n = PyArray_DIM(x, 1);
    const boxes_t boxes = {PyArray_DIM(x, 0), n, PyArray_DIM(x, 2), PyArray_SIZE(places) - n + 1, PyArray_DATA(places)};
    PyArrayObject *result = (PyArrayObject *)PyArray_SimpleNew(3, PyArray_DIMS(x), type);
    void *const room = result ? PyMem_RawMalloc(boxes.count * STRIP * sizeof(double)) : NULL;
    if (!room) {
        Py_XDECREF(result);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    if (type == NPY_FLOAT32)
        f32(PyArray_DATA(x), &boxes, &narrow, room, PyArray_DATA(result));
    else
        f64(PyArray_DATA(x), &boxes, &number, room, PyArray_DATA(result));
    Py_END_ALLOW_THREADS
    PyMem_RawFree(room);
    return (PyObject *)result;
}

DEFINE_MODULE(box_means, "Means of boxes.", has_vectors(), FUNCTION(means))
