/* What C modules with types of their own share: objects that are called with one argument, and modules of two types. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

/* Return 1 if a call has one argument; else set a TypeError and return 0. */
static inline int is_one(size_t flags, PyObject *names, const char *message) {
    int one = PyVectorcall_NARGS(flags) == 1 && !names;
    if (!one) PyErr_SetString(PyExc_TypeError, message);
    return one;
}

/* Fields of a type whose objects are called through their member `call`. */
#define CALLED(type, new, free)                                                                                        \
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, .tp_vectorcall_offset = offsetof(type, call),         \
    .tp_call = PyVectorcall_Call, .tp_new = new, .tp_dealloc = (destructor)free

/* Return a new module with two types, under their names; NULL with an exception. */
static inline PyObject *module_with(PyModuleDef *definition, PyTypeObject *first, PyTypeObject *second) {
    PyObject *module = PyModule_Create(definition);
    if (module && !PyModule_AddType(module, first) && !PyModule_AddType(module, second)) return module;
    Py_XDECREF(module);
    return NULL;
}
