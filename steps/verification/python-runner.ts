import { ACCESS } from './python-access.js';
import { PEER, PROGRAM } from './python-program.js';

/** What the tests' end has before it runs a test. Its arguments are the paths of the tests. */
const JUDGE = String.raw`
import sys, os
sentinel = sys.stdin.readline().strip()
os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
${PEER}
import builtins, collections.abc, importlib.abc, importlib.machinery, subprocess, time, unittest

report = os.dup(1)
os.dup2(2, 1)
WORK, TESTS = os.getcwd(), '/tmp/tests'
TYPES = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, object)
${ACCESS}

class Judge(Peer):
    classes = {}

    def handle(self, value):
        if isinstance(value, Stand):
            return {'back': object.__getattribute__(value, '_number')}
        if isinstance(value, type) and getattr(builtins, value.__name__, None) is value:
            return {'builtin': value.__name__}
        if isinstance(value, type) and value in self.classes.values():
            return {'back': next(number for number, one in self.classes.items() if one is value)}
        return {'ours': self.number(value)}

    def taken(self, kind, value):
        if kind == 'back':
            return self.objects[value]
        if kind == 'builtin':
            made = getattr(builtins, value)
            if made in TYPES or (isinstance(made, type) and issubclass(made, BaseException)):
                return made
            raise TypeError(f'the program under test gave the function {value}')
        if kind == 'error':
            return self.class_of(value)
        number, what = value
        if what == 'coroutine':
            async def waited():
                return self.ask('run', stand(int(number), 'object'))
            return waited()
        return stand(int(number), what)

    def class_of(self, value):
        number, name, bases = value
        if number not in self.classes:
            made = tuple(self.decode(base) for base in bases)
            self.classes[number] = type(str(name), made or (Exception,), {'_theirs': number})
        return self.classes[number]

    def error(self, raised):
        kind, args, number = raised
        made = self.decode(kind)
        if not (isinstance(made, type) and issubclass(made, Exception)):
            return RuntimeError(f'the program under test raised {made!r}')
        try:
            error = made(*[self.decode(one) for one in args])
        except Exception:
            error = made()
        if hasattr(made, '_theirs'):
            made.__getattr__ = lambda one, name: plain_get(one, name)
            error.__dict__['_theirs_one'] = int(number)
        return error

    def told(self, error):
        kind = type(error)
        known = getattr(builtins, kind.__name__, None) is kind or kind in self.classes.values()
        return [self.handle(kind if known else RuntimeError), [self.encode(str(one)) for one in error.args], 0]

    def do(self, what, target, *rest):
        """What a program may do with an object of the tests: nothing that leads to the module, the frames or the runner behind it."""
        if what == 'print':
            (sys.stdout if target == 'stdout' else sys.stderr).write(str(rest[0]))
            return None
        target = self.objects[target]
        if what == 'call' and may_call(target):
            return target(*rest[0], **rest[1])
        if what == 'next':
            try:
                return (next(target),)
            except StopIteration:
                return ()
        if what == 'each':
            return iter(target)
        if what == 'len':
            return len(target)
        if what == 'item':
            return target[rest[0]]
        if what == 'has':
            return rest[0] in target
        name = rest[0] if rest else None
        if what == 'get' and type(name) is str and not name.startswith('_') and may_get(target, name):
            return getattr(target, name)
        raise AttributeError('a program under test has no part in the tests')


class Stand:
    """An object of the program. It is never equal to plain data: what a program says of equality is its own word."""

    __slots__ = ('_number', '_mixed')

    def __init__(self, number, mixed=False):
        object.__setattr__(self, '_number', number)
        object.__setattr__(self, '_mixed', mixed)

    def __getattr__(self, name):
        # NumPy would read the memory that these name.
        if name.startswith('__array'):
            raise AttributeError(name)
        return peer.ask('get', self, name)

    def __setattr__(self, name, value):
        return peer.ask('set', self, name, value)

    def __delattr__(self, name):
        return peer.ask('del', self, name)

    def __call__(self, *args, **named):
        return peer.ask('call', self, args, named)

    def __iter__(self):
        return peer.ask('each', self)

    def __next__(self):
        found = peer.ask('next', self)
        if not found:
            raise StopIteration
        return found[0]

    def __eq__(self, other):
        if isinstance(other, Stand):
            return object.__getattribute__(self, '_number') == object.__getattribute__(other, '_number') or truth(peer.ask('special', self, '__eq__', [other]))
        return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(peer.ask('special', self, '__hash__', []))

    def __bool__(self):
        return True

    def __instancecheck__(self, one):
        return isinstance(one, Stand) and truth(peer.ask('is', self, one))

    def __subclasscheck__(self, one):
        return isinstance(one, Stand) and truth(peer.ask('sub', self, one))


def truth(said):
    return said is True


def is_mixed(one):
    return not isinstance(one, Stand) or object.__getattribute__(one, '_mixed')


def compared(name):
    def method(self, other):
        if not isinstance(other, Stand):
            return NotImplemented
        return truth(peer.ask('special', self, name, [other]))
    return method


def calculated(name, counted):
    """A program that learns what its object is calculated with can give any result. Plain data is refused, now and of what comes of it."""
    def method(self, *args):
        said = peer.ask('special', self, name, list(args))
        mixed = any(is_mixed(one) for one in (self, *args[:counted]))
        if mixed and not isinstance(said, Stand):
            raise TypeError('an object of the program under test makes plain data of plain data')
        return Stand(object.__getattribute__(said, '_number'), mixed) if mixed else said
    return method


def answered(name):
    return lambda self, *args: peer.ask('special', self, name, list(args))


for name in ('lt', 'le', 'gt', 'ge'):
    setattr(Stand, f'__{name}__', compared(f'__{name}__'))
for name in 'add sub mul matmul truediv floordiv mod divmod pow and or xor lshift rshift'.split():
    for side in ('', 'r'):
        setattr(Stand, f'__{side}{name}__', calculated(f'__{side}{name}__', 1))
for name in 'int float index neg pos abs invert round trunc floor ceil len'.split():
    setattr(Stand, f'__{name}__', calculated(f'__{name}__', 0))
for name in 'getitem setitem delitem contains reversed repr str enter exit'.split():
    setattr(Stand, f'__{name}__', answered(f'__{name}__'))


def stand(number, kind):
    return Stand(number)


def plain_get(error, name):
    number = error.__dict__.get('_theirs_one')
    if number is None or name.startswith('__'):
        raise AttributeError(name)
    return peer.ask('get', Stand(number), name)


class Module(types.ModuleType):
    """A module of the workspace, as the tests see it."""

    def __getattr__(self, name):
        theirs = self.__dict__.get('_theirs')
        if theirs is None or name in ('__path__', '__file__', '__wrapped__', '__bases__'):
            raise AttributeError(name)
        if name != '__all__':
            return peer.ask('get', theirs, name)
        # Nothing that the tests have already, or that everyone has, becomes the program's.
        taken = {*vars(builtins), *sys._getframe(1).f_globals}
        return [one for one in peer.ask('names', theirs, []) if one not in taken]

    def __setattr__(self, name, value):
        if name.startswith('__') or name == '_theirs':
            return super().__setattr__(name, value)
        return peer.ask('set', self.__dict__['_theirs'], name, value)


class Found(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of the workspace, after all others, and for tests alone."""

    def find_spec(self, name, path=None, target=None):
        if not asked_by_test(sys._getframe(1)):
            return None
        first = name.split('.')[0]
        place = os.path.join(WORK, *name.split('.'))
        there = os.path.isdir(place) or any(one.startswith(os.path.basename(place) + '.') for one in names_in(os.path.dirname(place)))
        if not there and '.' not in name:
            return None
        if '.' in name and not isinstance(sys.modules.get(first), Module):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        theirs = peer.ask('import', module.__name__)
        module._theirs = theirs


def asked_by_test(frame):
    while frame is not None and ('importlib' in frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(TESTS + '/')


def names_in(place):
    try:
        return [one for one in os.listdir(place) if one.endswith(('.py', '.so', '.pyc'))]
    except OSError:
        return []


def separate(name):
    """These ask the program's object what it has in common with plain data, and believe it."""
    compare = getattr(unittest.TestCase, name)

    def method(self, first, second, *more, **named):
        if isinstance(first, Stand) != isinstance(second, Stand):
            self.fail('an object of the program under test is not equal to plain data')
        return compare(self, first, second, *more, **named)
    setattr(unittest.TestCase, name, method)


for name in ('assertAlmostEqual', 'assertSetEqual'):
    separate(name)
program = subprocess.Popen(['/.holdfast/try', sys.executable, '-c', ${JSON.stringify(PROGRAM)}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
peer = Judge(program.stdout, program.stdin)
sys.meta_path.append(Found())
sys.path.insert(0, TESTS)


def tell(passed, failed, skipped):
    program.kill()
    os.write(report, f'{sentinel} {passed} {failed} {skipped}\n'.encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if failed == 0 and passed > 0 else 1)
`;

const UNITTEST = `
import importlib.util


class Counted(unittest.TextTestResult):
    failed_ones, skipped_ones = None, None

    def startTestRun(self):
        super().startTestRun()
        self.bad, self.skipping, self.known = set(), set(), set()

    def startTest(self, test):
        super().startTest(test)
        self.known.add(test.id())

    def note(self, where, test):
        where.add(getattr(test, 'test_case', test).id())

    def addError(self, test, error):
        super().addError(test, error)
        self.note(self.bad, test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(self.bad, test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.note(self.bad, test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(self.bad, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(self.skipping, test)

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.note(self.skipping, test)


suite = unittest.TestSuite()
for place in sys.argv[1:]:
    full = os.path.join(TESTS, place)
    if os.path.isdir(full):
        suite.addTest(unittest.defaultTestLoader.discover(full, top_level_dir=TESTS if os.path.exists(os.path.join(full, '__init__.py')) else full))
        continue
    spec = importlib.util.spec_from_file_location(os.path.splitext(place)[0].replace('/', '.'), full)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite.addTest(unittest.defaultTestLoader.loadTestsFromModule(module))
result = unittest.TextTestRunner(resultclass=Counted, verbosity=2).run(suite)
bad, skipped = result.bad, result.skipping - result.bad
tell(len(result.known - bad - skipped), len(bad), len(skipped))
`;

const PYTEST = `
os.environ.pop('PYTEST_ADDOPTS', None)
os.environ.pop('PYTEST_PLUGINS', None)
import pytest


class Counted:
    def __init__(self):
        self.seen, self.bad, self.skipping = set(), set(), set()

    def pytest_runtest_logreport(self, report):
        self.seen.add(report.nodeid)
        if report.failed:
            self.bad.add(report.nodeid)
        elif report.skipped or hasattr(report, 'wasxfail'):
            self.skipping.add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.bad.add('collect ' + report.nodeid)


counted = Counted()
places = [os.path.join(TESTS, place) for place in sys.argv[1:]]
code = pytest.main(['-p', 'no:cacheprovider', '-c', '/dev/null', '--rootdir', TESTS, '--confcutdir', TESTS, '--import-mode=importlib', *places], plugins=[counted])
bad, skipped = counted.bad, counted.skipping - counted.bad
if code not in (0, 1, 5):
    bad = bad | {'pytest'}
tell(len(counted.seen - bad - skipped), len(bad), len(skipped))
`;

/** The files of the runners, by the names of these. */
export const PYTHON_RUNNERS = { unittest: JUDGE + UNITTEST, pytest: JUDGE + PYTEST } as const;
