/**
 * What a program under test may do with objects that tests hand to it. It runs as another user than the tests: a path, a module or a
 * connection of theirs would read their files and write their report.
 */
export const ACCESS = `
import array, collections, functools, io, logging, queue, random, re, string, tempfile, threading, unittest.mock
try:
    import sqlite3
except ImportError:
    sqlite3 = None

# Of classes of the library: what is shut although its name is public.
OPEN = {
    **dict.fromkeys((io.StringIO, io.BytesIO, io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO,
                     tempfile._TemporaryFileWrapper, re.Pattern, re.Match, random.Random, queue.Queue, collections.deque,
                     array.array, types.SimpleNamespace, types.MappingProxyType, string.Template, threading.Event,
                     unittest.mock.NonCallableMock, enum.Enum), ()),
    BaseException: ('with_traceback',),
    logging.Logger: ('handlers', 'manager', 'root', 'parent', 'filters', 'addHandler', 'callHandlers', 'makeRecord'),
}
if sqlite3 is not None:
    for kind in (sqlite3.Connection, sqlite3.Cursor, sqlite3.Row):
        OPEN[kind] = ('enable_load_extension', 'load_extension', 'backup', 'deserialize')

# Modules whose functions and classes do nothing beyond their arguments.
HARMLESS = frozenset('''math cmath operator _operator functools _functools itertools string _string re json random statistics
    collections _collections _collections_abc datetime decimal _decimal fractions copy textwrap unicodedata bisect _bisect heapq
    _heapq time numbers enum typing abc dataclasses unittest.mock array queue logging threading'''.split())
SHUT = frozenset((eval, exec, compile, open, input, breakpoint, __import__, getattr, setattr, delattr, vars, globals, locals, dir))


def of_tests(module):
    file = getattr(sys.modules.get(module), '__file__', None)
    return isinstance(file, str) and file.startswith(TESTS + '/')


def may_get(target, name):
    kind = type(target)
    if any(name in shut for one, shut in OPEN.items() if isinstance(target, one)):
        return False
    if not of_tests(kind.__module__):
        return any(isinstance(target, one) for one in OPEN)
    # What a class of the tests has of another one is not theirs.
    owner = next((one for one in kind.__mro__ if name in vars(one)), kind)
    return of_tests(owner.__module__) or owner.__module__ in ('builtins', 'abc', 'enum', 'typing', '_collections_abc') or owner in OPEN


def may_call(target):
    if isinstance(target, functools.partial):
        return may_call(target.func)
    if isinstance(target, (types.MethodType, types.MethodWrapperType)):
        return True
    if isinstance(target, types.BuiltinFunctionType):
        owner = target.__self__
        if not isinstance(owner, types.ModuleType):
            return True
        return owner.__name__ in HARMLESS or owner is builtins and target not in SHUT
    if isinstance(target, types.MethodDescriptorType):
        return target.__objclass__ in TYPES
    if isinstance(target, functools._lru_cache_wrapper):
        return may_call(target.__wrapped__)
    kind = target if isinstance(target, (type, types.FunctionType)) else type(target)
    module = kind.__module__
    return of_tests(module) or module in HARMLESS or kind in (io.StringIO, io.BytesIO) or (module, kind.__name__) == ('numpy', 'ufunc')
`;
