"""What compiled modules use of Cython's pure Python mode, as the type checker sees it.

Whole numbers are Python's int here, whatever their size. Slices such as `cython.double[::1]` are
types of arrays; `building/mypy_cython.py` makes them NumPy's.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

compiled: bool

class _NoGil(AbstractContextManager[None]):
    def __call__(self, function: F) -> F: ...
    def __exit__(self, *error: object) -> None: ...

nogil: _NoGil

def cfunc(function: F) -> F: ...
def ccall(function: F) -> F: ...
def inline(function: F) -> F: ...
def cclass(kind: type[T]) -> type[T]: ...
def final(kind: type[T]) -> type[T]: ...
def exceptval(value: object = ..., *, check: bool = ...) -> Callable[[F], F]: ...
def boundscheck(flag: bool) -> Callable[[F], F]: ...
def wraparound(flag: bool) -> Callable[[F], F]: ...
def cdivision(flag: bool) -> Callable[[F], F]: ...
def cast(kind: Any, value: object) -> Any: ...
def address(value: object) -> Any: ...
@overload
def declare(kind: Any, value: T) -> T: ...
@overload
def declare(kind: Any, *, visibility: str = ...) -> Any: ...
def sizeof(kind: Any) -> int: ...

_Whole: TypeAlias = int
void: TypeAlias = None
bint: TypeAlias = bool
double: TypeAlias = float
const_double: TypeAlias = float
char: TypeAlias = _Whole
const_char: TypeAlias = _Whole
schar: TypeAlias = _Whole
const_schar: TypeAlias = _Whole
uchar: TypeAlias = _Whole
const_uchar: TypeAlias = _Whole
short: TypeAlias = _Whole
const_short: TypeAlias = _Whole
ushort: TypeAlias = _Whole
const_ushort: TypeAlias = _Whole
uint: TypeAlias = _Whole
const_uint: TypeAlias = _Whole
long: TypeAlias = _Whole
const_long: TypeAlias = _Whole
ulong: TypeAlias = _Whole
const_ulong: TypeAlias = _Whole
longlong: TypeAlias = _Whole
const_longlong: TypeAlias = _Whole
ulonglong: TypeAlias = _Whole
const_ulonglong: TypeAlias = _Whole
Py_ssize_t: TypeAlias = _Whole
const_Py_ssize_t: TypeAlias = _Whole
size_t: TypeAlias = _Whole
const_size_t: TypeAlias = _Whole
int: TypeAlias = _Whole
const_int: TypeAlias = _Whole

# The types of `NAME[::1]`, `const_NAME[:, ::1]` and so on.
bint_array: TypeAlias = NDArray[np.intc]
double_array: TypeAlias = NDArray[np.float64]
char_array: TypeAlias = NDArray[np.int8]
schar_array: TypeAlias = NDArray[np.int8]
uchar_array: TypeAlias = NDArray[np.uint8]
short_array: TypeAlias = NDArray[np.int16]
ushort_array: TypeAlias = NDArray[np.uint16]
uint_array: TypeAlias = NDArray[np.uint32]
long_array: TypeAlias = NDArray[np.int64]
ulong_array: TypeAlias = NDArray[np.uint64]
longlong_array: TypeAlias = NDArray[np.int64]
ulonglong_array: TypeAlias = NDArray[np.uint64]
Py_ssize_t_array: TypeAlias = NDArray[np.int64]
size_t_array: TypeAlias = NDArray[np.uint64]
int_array: TypeAlias = NDArray[np.int32]

# Pointers: places in arrays.
p_longlong: TypeAlias = NDArray[np.int64]
