/* nolana._cpu: asked before a build of the core is loaded, so it must run on every machine. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "build.h"

static PyObject* best(PyObject* self, PyObject* arguments) {
    (void)self, (void)arguments;
    return PyUnicode_FromString(best_build());
}

static PyMethodDef methods[] = {
    {"best_build", best, METH_NOARGS, "The best build of the core that this machine can run."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_cpu", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModule_Create(&module); }
