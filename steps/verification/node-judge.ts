/** What the process of the tests has beside that: stand-ins for the modules of the workspace, and what a program may do with objects of the tests. */

export const JUDGE = String.raw`
/** Builtin objects, by where they are. */
const named = new Map();
const SKIPPED = new Set([
  'sys',
  'punycode',
  'wasi',
  'trace_events',
  'inspector',
  'inspector/promises',
  'repl',
  'sqlite',
]);
{
  const queue = [];
  const add = (one, path) => {
    if ((typeof one !== 'object' && typeof one !== 'function') || one === null || named.has(one)) return;
    named.set(one, path);
    if (path.length < 7) queue.push([one, path]);
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const held = Object.getOwnPropertyDescriptor(globalThis, name);
    if (name !== 'holdfast' && 'value' in held) add(held.value, ['global', name]);
  }
  const { builtinModules } = require('node:module');
  for (const name of [...builtinModules, 'test'])
    if (!SKIPPED.has(name) && !name.startsWith('_'))
      add(
        safely(() => require('node:' + name)),
        ['module', name],
      );
  add(ITERATOR, ['iterator']);
  add(
    protoOf(function* () {}),
    ['generator'],
  );
  add(
    protoOf(async function* () {}),
    ['async generator'],
  );
  add(
    protoOf(async () => {}),
    ['async function'],
  );
  for (let at = 0; at < queue.length; at++) {
    const [one, path] = queue[at];
    add(protoOf(one), [...path, null]);
    for (const key of Reflect.ownKeys(one)) {
      const held = Reflect.getOwnPropertyDescriptor(one, key);
      if (typeof key === 'string') add(held.value, [...path, key]);
      else if (held.value !== undefined)
        add(held.value, [...path, [SYMBOLS.find((name) => Symbol[name] === key) ?? '']]);
    }
  }
}
const { EventEmitter } = require('node:events');
const stream = require('node:stream');
/** Builtin classes of objects that tests make for a program. */
const LENT = new Set(
  [
    EventEmitter,
    stream.Readable,
    stream.Writable,
    stream.Duplex,
    stream.Transform,
    stream.PassThrough,
    stream.Stream,
    AbortController,
    AbortSignal,
    EventTarget,
    Event,
  ].map((one) => one.prototype),
);
const OWN_NAMES = new Set([
  'TestContext',
  'SuiteContext',
  'Test',
  'Suite',
  'TestHook',
  'MockTracker',
  'MockTimers',
  'MockFunctionContext',
  'Module',
  ...['Timeout', 'Immediate', 'TimersList'],
]);
/** What a program may name of what everyone has. */
const NAMED_BACK = new Map(
  [
    ...BUILTINS,
    ...ERRORS,
    ...TYPED,
  ]
    .map((name) => [name, globalThis[name]])
    .concat([
      ['EventEmitter', EventEmitter],
      ['Readable', stream.Readable],
      ['Writable', stream.Writable],
      ['Duplex', stream.Duplex],
      ['Transform', stream.Transform],
      ['PassThrough', stream.PassThrough],
    ]),
);

function refuse() {
  throw new Error('a program under test has no part in the tests');
}

/** Whether an object was made by the tests. */
function isTests(one) {
  if (typeof one === 'function') return !named.has(one) && !(one.name === 'require' && 'cache' in one);
  if (typeof one !== 'object' || one === null || named.has(one) || types.isProxy(one)) return false;
  for (let proto = protoOf(one); proto !== null; proto = protoOf(proto)) {
    if (named.has(proto)) {
      if (
        proto !== Object.prototype &&
        proto !== Array.prototype &&
        proto !== Map.prototype &&
        proto !== Set.prototype &&
        !LENT.has(proto) &&
        !isOf(proto, Error.prototype) &&
        proto !== Error.prototype
      )
        return false;
    } else {
      const { constructor } = Object.getOwnPropertyDescriptors(proto);
      if (constructor !== undefined && OWN_NAMES.has(constructor.value?.name)) return false;
    }
  }
  return true;
}

/** Whether a field of an object is what it keeps, and no method or getter that the tests gave it. */
function isState(one, key) {
  if (
    typeof one !== 'object' ||
    typeof key !== 'string' ||
    ['__proto__', 'constructor', 'toJSON', 'then'].includes(key)
  )
    return false;
  const own = Reflect.getOwnPropertyDescriptor(one, key);
  if (own !== undefined) return 'value' in own && typeof own.value !== 'function';
  return !(key in one);
}

class Judge extends Peer {
  say(message) {
    super.say(message);
    this.port.ref();
  }

  /** The program has nothing to do, once it had heard so many messages. */
  rest(heard) {
    if (heard >= 0) this.rested = heard;
    if (this.isLoaded && this.rested === this.said) this.port.unref();
  }

  end() {
    super.end();
    this.port.unref();
  }

  nameOf(value) {
    return named.get(value);
  }

  named([name]) {
    return NAMED_BACK.get(name);
  }

  protoBy(name) {
    return name === 'Function' ? Function.prototype : (NAMED_BACK.get(name)?.prototype ?? null);
  }

  do(op, target, ...rest) {
    if (op === 'step')
      return ['next', 'return', 'throw'].includes(rest[0]) && (isOf(target, ITERATOR) || isOf(target, ASYNC_ITERATOR))
        ? this.step(target, ...rest)
        : refuse();
    if (!isTests(target)) refuse();
    const [key] = rest;
    if (key === 'caller' || key === 'callee' || key === 'arguments') refuse();
    switch (op) {
      case 'call':
        return Reflect.apply(target, rest[0], rest[1]);
      case 'new':
        return Reflect.construct(target, rest[0]);
      case 'get':
        return this.held(target, key);
      case 'has':
        return key in target;
      case 'keys':
        return Reflect.ownKeys(target);
      case 'own': {
        const found = Reflect.getOwnPropertyDescriptor(target, key);
        return found === undefined ? undefined : [this.held(target, key), found.enumerable];
      }
      case 'proto':
        return protoOf(target);
      case 'set':
        return isState(target, key) ? Reflect.set(target, key, rest[1]) : refuse();
      case 'delete':
        return isState(target, key) ? Reflect.deleteProperty(target, key) : refuse();
      case 'instance':
        return rest[0] instanceof target;
    }
    return refuse();
  }

  /** A method that an object has of a builtin class is called here. */
  held(target, key) {
    const found = target[key];
    if (typeof found !== 'function' || !named.has(found) || typeof target !== 'object' || key === 'constructor')
      return found;
    for (let proto = protoOf(target); proto !== null; proto = protoOf(proto))
      if (proto !== Object.prototype && Object.hasOwn(proto, key)) {
        if (!named.has(proto)) return found;
        this.bound ??= new WeakMap();
        const known = this.bound.get(target) ?? new Map();
        this.bound.set(target, known);
        if (!known.has(key)) known.set(key, (...args) => Reflect.apply(found, target, args));
        return known.get(key);
      }
    return found;
  }
}

const { env } = require('node:process');
const place = env.HOLDFAST_PEER;
delete env.HOLDFAST_PEER;
const to = fs.openSync(place + '/to', 'w');
const peer = new Judge(fs.openSync(place + '/from', 'r'), to);
const WORK = fs.realpathSync(process.cwd()) + '/';
const Module = require('node:module');
const { fileURLToPath } = require('node:url');
const loaded = new Map();
const load = Module._load;
Module._load = function (request, parent, ...rest) {
  if (Module.isBuiltin(request)) return load.call(this, request, parent, ...rest);
  const path = Module._resolveFilename(request, parent, false);
  if (!fs.realpathSync(path).startsWith(WORK)) return load.call(this, request, parent, ...rest);
  if (!loaded.has(path)) loaded.set(path, peer.ask('require', path));
  return loaded.get(path);
};

const spaces = new Map();
Object.defineProperty(globalThis, Symbol.for('holdfast.modules'), { value: spaces });
/** The names of what a module of the program exports; null: it cannot be loaded. */
function namesOf(path, found) {
  try {
    const space = found();
    spaces.set(path, { space });
    return peer.ask('names', space).filter((name) => typeof name === 'string');
  } catch (error) {
    spaces.set(path, { error });
    return null;
  }
}

/** How an import of a test finds a module of the program, in whichever thread. */
const FINDS = [
  'const isTheirs = (found) => found.url.startsWith("file:") && fs.realpathSync(fileURLToPath(found.url)).startsWith(work);',
  'const standing = (found) => isTheirs(found) ? { url: "holdfast:" + encodeURIComponent(fs.realpathSync(fileURLToPath(found.url))), format: "module", shortCircuit: true } : found;',
  'const textOf = (path, names) => {',
  '  const from = "const held = globalThis[Symbol.for(\'holdfast.modules\')].get(" + JSON.stringify(path) + ");";',
  '  return names === null ? from + "throw held.error;" : from + names.map((name, at) => "const v" + at + " = held.space[" + JSON.stringify(name) + "]; export { v" + at + " as " + JSON.stringify(name) + " };").join("");',
  '};',
  'const pathOf = (url) => decodeURIComponent(url.slice(9));',
].join('\n');
/** Of a Node.js whose hooks are in a thread of their own. They wait without yielding: those of Node.js 20 that wait beside each other are not answered. */
const HOOKS = [
  'import fs from "node:fs";',
  'import { fileURLToPath } from "node:url";',
  'import { receiveMessageOnPort } from "node:worker_threads";',
  'let port, work, told;',
  'export function initialize(data) {',
  '  ({ port, work, told } = data);',
  '}',
  FINDS,
  'export const resolve = async (name, context, next) => standing(await next(name, context));',
  'export async function load(url, context, next) {',
  '  if (!url.startsWith("holdfast:")) return next(url, context);',
  '  const seen = Atomics.load(told, 0);',
  '  port.postMessage(pathOf(url));',
  '  Atomics.wait(told, 0, seen);',
  '  return { format: "module", source: textOf(pathOf(url), receiveMessageOnPort(port).message), shortCircuit: true };',
  '}',
].join('\n');

const { port1, port2 } = new MessageChannel();
if (typeof Module.registerHooks === 'function') {
  const { standing, textOf, pathOf } = new Function('fs', 'fileURLToPath', 'work', FINDS + 'return { standing, textOf, pathOf };')(fs, fileURLToPath, WORK);
  Module.registerHooks({
    resolve: (name, context, next) => standing(next(name, context)),
    load: (url, context, next) => {
      if (!url.startsWith('holdfast:')) return next(url, context);
      const names = namesOf(pathOf(url), () => peer.await(peer.ask('import', pathOf(url))));
      return { format: 'module', source: textOf(pathOf(url), names), shortCircuit: true };
    },
  });
} else {
  const told = new Int32Array(new SharedArrayBuffer(4));
  port1.on('message', (path) => {
    port1.postMessage(namesOf(path, () => peer.await(peer.ask('import', path))));
    Atomics.add(told, 0, 1);
    Atomics.notify(told, 0);
  });
  Module.register('data:text/javascript,' + encodeURIComponent(HOOKS), { parentURL: 'file:///', data: { port: port2, work: WORK, told }, transferList: [port2] });
}

process.on('exit', () => fs.closeSync(to));
/** Tests are loaded: nothing keeps this process from its end but them, and the program where that works. */
module.exports = {
  loaded: () => {
    port1.unref();
    peer.isLoaded = true;
    peer.rest(-1);
  },
};
`;
