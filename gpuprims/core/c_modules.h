/* What C modules on NumPy arrays share: headers, functions that use AVX2, tables by dtype, and the table of functions.
 *
 * NO_AVX2 leaves AVX2 out on every processor, for tests.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

#define RELEASED 65536 /* bytes: other threads of Python run while more are read */

#if defined(__x86_64__) && !defined(NO_AVX2)
#define BUILDS_WIDE 1
#define WIDE __attribute__((target("avx2,popcnt")))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define BUILDS_WIDE 0
#define WIDE
#define HAS_WIDE 0
#endif

/* Return 0, with ImportError, if the module uses AVX2 throughout and the processor lacks it. */
static inline int has_vectors(void) {
    if (HAS_WIDE || !BUILDS_WIDE) return 1;
    PyErr_SetString(PyExc_ImportError, "a processor with AVX2");
    return 0;
}

/* A table with an entry for each dtype, and the place of an array's dtype in such a table, or -1. Bools are bytes of 0 or 1. */
#define OF_DTYPES(OF) {OF(u8), OF(u16), OF(u32), OF(u64), OF(i8), OF(i16), OF(i32), OF(i64), OF(f32), OF(f64)}

static inline int dtype_place(PyArrayObject *x) {
    const int type = PyArray_TYPE(x), size = (int)PyArray_ITEMSIZE(x);
    if (type == NPY_FLOAT32) return 8;
    if (type == NPY_FLOAT64) return 9;
    if (!PyArray_ISINTEGER(x) && type != NPY_BOOL) return -1;
    return 4 * PyArray_ISSIGNED(x) + (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
}

/* Entries of a module: a function of any number of arguments, or of one. `name_doc` is its docstring. */
#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, name##_doc}
#define FUNCTION_OF_ONE(name) {#name, name, METH_O, name##_doc}

/* Define a module with these entries. Importing it evaluates `ready`, which is 0 if it fails, with an exception set. */
#define DEFINE_MODULE(name, doc, ready, ...)                                                                           \
    static PyMethodDef METHODS[] = {__VA_ARGS__, {NULL}};                                                              \
    static struct PyModuleDef MODULE = {                                                                               \
        PyModuleDef_HEAD_INIT, .m_name = #name, .m_doc = doc, .m_size = -1, .m_methods = METHODS};                     \
    PyMODINIT_FUNC PyInit_##name(void) {                                                                               \
        import_array();                                                                                                \
        return ready ? PyModule_Create(&MODULE) : NULL;                                                                \
    }
