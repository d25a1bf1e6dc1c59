/**
 * The runners for Python. Two processes share the work and speak JSON with each other, line by line. The one of the tests, which belongs
 * to the tester, never loads a module of the workspace: an import finds a stand-in. The other one is the program under test. It runs as the
 * agent's user, loads the modules, and answers for them.
 */

/** What both of them are made of: calls in both directions, in the order in which they were made. */
export const PEER = String.raw`
import datetime, decimal, enum, fractions, json, os, pathlib, threading, types, uuid

FROZEN = (type(None), bool, str)
MANY = {list: 'list', tuple: 'tuple', set: 'set', frozenset: 'frozenset'}
BASES = (dict, list, tuple, set, frozenset, str, bytearray, bytes, int, float, complex)
TEXTS = {decimal.Decimal: str, fractions.Fraction: str, datetime.datetime: lambda v: v.isoformat(),
         datetime.date: lambda v: v.isoformat(), datetime.time: lambda v: v.isoformat(),
         datetime.timedelta: lambda v: f'{v.days} {v.seconds} {v.microseconds}', uuid.UUID: str}
MAKE = {'Decimal': decimal.Decimal, 'Fraction': fractions.Fraction, 'datetime': datetime.datetime.fromisoformat,
        'date': datetime.date.fromisoformat, 'time': datetime.time.fromisoformat,
        'timedelta': lambda text: datetime.timedelta(*map(int, text.split())), 'UUID': uuid.UUID,
        'Path': pathlib.Path, 'PurePath': pathlib.PurePath}
MOST = 67_108_864


class Gone(BaseException):
    pass


class Peer:
    """One end. A value crosses as a copy where it is plain data, and otherwise as a handle of the end that has it."""

    def __init__(self, read, write):
        self.read, self.write = read, write
        self.lock = threading.RLock()
        self.objects, self.numbers = {}, {}

    def number(self, value):
        known = self.numbers.get(id(value))
        if known is None:
            known = len(self.objects) + 1
            self.objects[known] = value
            self.numbers[id(value)] = known
        return known

    def encode(self, value, seen=None, depth=0):
        if depth > 200:
            raise ValueError('a value is nested too deeply')
        kind, given = type(value), value
        if kind in FROZEN:
            return value
        if issubclass(kind, pathlib.PurePath):
            return {'text': ['Path' if issubclass(kind, pathlib.Path) else 'PurePath', str(value)]}
        if not issubclass(kind, enum.Enum) and kind not in TEXTS and kind.__name__ != 'Stand':
            for base in BASES:
                if issubclass(kind, base) and kind is not base:
                    value, kind = self.plain(base, value), base
                    break
        if kind is int:
            return {'int': hex(value)}
        if kind is float:
            return {'float': value.hex()}
        if kind is complex:
            return {'complex': [value.real.hex(), value.imag.hex()]}
        if kind in (bytes, bytearray):
            return self.marked({kind.__name__: value.hex()}, given, seen)
        if kind in MANY:
            return self.marked({MANY[kind]: [self.encode(one, seen, depth + 1) for one in value]}, given, seen)
        if kind is dict:
            pairs = [[self.encode(k, seen, depth + 1), self.encode(v, seen, depth + 1)] for k, v in value.items()]
            return self.marked({'dict': pairs}, given, seen)
        if kind in TEXTS:
            return {'text': [kind.__name__, TEXTS[kind](value)]}
        if kind is range:
            return {'range': [value.start, value.stop, value.step]}
        if kind is slice:
            return {'slice': [self.encode(one, seen, depth + 1) for one in (value.start, value.stop, value.step)]}
        if value is Ellipsis or value is NotImplemented:
            return {'one': str(value)}
        return self.handle(value)

    @staticmethod
    def plain(base, value):
        if base is dict:
            return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}
        if base in (list, tuple, set, frozenset):
            return base(base.__iter__(value))
        if base in (int, float, str):
            return {int: int.__int__, float: float.__float__, str: str.__str__}[base](value)
        return base(value)

    @staticmethod
    def marked(encoded, value, seen):
        if seen is not None and isinstance(value, (list, dict, set, bytearray)):
            seen.append(value)
            encoded['mark'] = len(seen) - 1
        return encoded

    def decode(self, found, marks=None):
        if not isinstance(found, dict):
            return found
        mark = found.pop('mark', None)
        [(kind, value)] = found.items()
        if kind == 'int':
            value = int(value, 16)
        elif kind == 'float':
            value = float.fromhex(value)
        elif kind == 'complex':
            value = complex(float.fromhex(value[0]), float.fromhex(value[1]))
        elif kind == 'bytes':
            value = bytes.fromhex(value)
        elif kind == 'bytearray':
            value = bytearray.fromhex(value)
        elif kind in ('list', 'tuple', 'set', 'frozenset'):
            value = {'list': list, 'tuple': tuple, 'set': set, 'frozenset': frozenset}[kind](self.decode(one, marks) for one in value)
        elif kind == 'dict':
            value = {self.decode(k, marks): self.decode(v, marks) for k, v in value}
        elif kind == 'text':
            value = MAKE[value[0]](value[1])
        elif kind == 'range':
            value = range(*value)
        elif kind == 'slice':
            value = slice(*[self.decode(one, marks) for one in value])
        elif kind == 'one':
            value = {'Ellipsis': Ellipsis}.get(value, NotImplemented)
        else:
            value = self.taken(kind, value)
        if mark is not None and marks is not None:
            marks[mark] = value
        return value

    def say(self, message):
        try:
            self.write.write((json.dumps(message) + '\n').encode())
            self.write.flush()
        except OSError:
            raise Gone('the program under test has ended') from None

    def ask(self, *request):
        with self.lock:
            seen = []
            self.say({'ask': [self.encode(one, seen) for one in request]})
            while True:
                line = self.read.readline(MOST)
                if not line.endswith(b'\n'):
                    raise Gone('the program under test has ended')
                message = json.loads(line)
                if 'ask' in message:
                    self.answer(message['ask'])
                    continue
                for mark, changed in message.get('changed', []) if request[0] == 'call' else ():
                    self.change(seen[mark], self.decode(changed))
                if 'raised' in message:
                    raise self.error(message['raised'])
                return self.decode(message['gave'])

    @staticmethod
    def change(old, new):
        if type(old) is type(new) or isinstance(old, type(new)):
            if isinstance(old, (list, bytearray)):
                old[:] = new
            else:
                old.clear()
                old.update(new)

    def answer(self, asked):
        marks = {}
        try:
            request = [self.decode(one, marks) for one in asked]
            before = {mark: json.dumps(self.encode(value)) for mark, value in marks.items()}
            reply = {'gave': self.encode(self.do(*request))}
        except BaseException as error:
            if isinstance(error, Gone):
                raise
            reply, before = {'raised': self.told(error)}, locals().get('before') or {}
        changed = []
        for mark, text in before.items():
            now = self.encode(marks[mark])
            if json.dumps(now) != text:
                changed.append([mark, now])
        self.say({**reply, 'changed': changed})
`;

/** The program under test. */
export const PROGRAM = `${PEER}
import builtins, importlib, inspect, sys


class Steps:
    """An iterator of the tests."""

    def __init__(self, number):
        self.number = number

    def __iter__(self):
        return self

    def __next__(self):
        found = peer.ask('next', self.number)
        if not found:
            raise StopIteration
        return found[0]


class Callback:
    """Something of the tests, which does what their end lets it do."""

    def __init__(self, number):
        object.__setattr__(self, 'number', number)

    def __call__(self, *args, **named):
        return peer.ask('call', self.number, args, named)

    def __getattr__(self, name):
        return peer.ask('get', self.number, name)

    def __iter__(self):
        return Steps(peer.ask('each', self.number).number)

    def __next__(self):
        return next(Steps(self.number))

    def __len__(self):
        return peer.ask('len', self.number)

    def __getitem__(self, key):
        return peer.ask('item', self.number, key)

    def __contains__(self, key):
        return peer.ask('has', self.number, key)


class Program(Peer):
    def handle(self, value):
        if type(value) is Callback:
            return {'back': value.number}
        number = self.number(value)
        if isinstance(value, type) and issubclass(value, BaseException):
            bases = [self.handle(base) for base in value.__bases__ if issubclass(base, BaseException)]
            if getattr(builtins, value.__name__, None) is value:
                return {'builtin': value.__name__}
            return {'error': [number, value.__name__, bases]}
        if getattr(value, '__module__', None) == 'builtins' and getattr(builtins, getattr(value, '__name__', ''), None) is value:
            return {'builtin': value.__name__}
        kind = 'coroutine' if inspect.iscoroutine(value) else 'class' if isinstance(value, type) else 'object'
        return {'theirs': [number, kind]}

    def taken(self, kind, value):
        if kind == 'back':
            return self.objects[value]
        if kind == 'builtin':
            return getattr(builtins, value)
        return Callback(value)

    def told(self, error):
        args = []
        for one in error.args:
            encoded = self.encode(one)
            args.append(encoded)
        return [self.handle(type(error)), args, self.number(error)]

    def error(self, raised):
        kind, args, _ = raised
        made = self.decode(kind)
        return made(*[self.decode(one) for one in args]) if isinstance(made, type) else RuntimeError(str(args))

    def do(self, what, target, *rest):
        if what == 'import':
            return importlib.import_module(target)
        if what == 'call':
            return target(*rest[0], **rest[1])
        if what == 'get':
            return getattr(target, rest[0])
        if what == 'set':
            return setattr(target, rest[0], rest[1])
        if what == 'del':
            return delattr(target, rest[0])
        if what == 'each':
            return iter(target)
        if what == 'next':
            try:
                return (next(target),)
            except StopIteration:
                return ()
        if what == 'is':
            return isinstance(rest[0], target)
        if what == 'sub':
            return issubclass(rest[0], target)
        if what == 'names':
            return list(getattr(target, '__all__', [name for name in vars(target) if not name.startswith('_')]))
        if what == 'run':
            import asyncio
            return asyncio.run(target)
        if what == 'special':
            method = getattr(type(target), rest[0], None)
            if method is None:
                raise TypeError(f'{type(target).__name__} has no {rest[0]}')
            return method(target, *rest[1])
        raise ValueError(what)


class Printed:
    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        peer.ask('print', self.stream, str(text))
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False

    encoding, errors = 'utf-8', 'strict'


peer = Program(os.fdopen(os.dup(0), 'rb'), os.fdopen(os.dup(1), 'wb'))
empty = os.open('/dev/null', os.O_RDWR)
os.dup2(empty, 0)
os.dup2(2, 1)
sys.stdout, sys.stderr = Printed('stdout'), Printed('stderr')
sys.path.insert(0, os.getcwd())
while True:
    line = peer.read.readline(MOST)
    if not line:
        break
    peer.answer(json.loads(line)['ask'])
`;
