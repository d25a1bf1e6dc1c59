/**
 * The two processes of a test of `node:test` that runs its program apart: that of the tests, and that of the program. Each asks the other,
 * and both have this. Plain data crosses as copies, and everything else by its number.
 */

/** How they ask each other. */
export const PEER_ASKS = String.raw`
'use strict';
const { Worker, MessageChannel, receiveMessageOnPort } = require('node:worker_threads');
const fs = require('node:fs');
const { types } = require('node:util');

const READER = [
  "const { workerData: { fd, port, count } } = require('node:worker_threads');",
  "const fs = require('node:fs');",
  'const tell = (line) => { port.postMessage(line); Atomics.add(count, 0, 1); Atomics.notify(count, 0); };',
  'const bytes = Buffer.alloc(65536);',
  'let parts = [];',
  'for (;;) {',
  '  let size = 0;',
  '  try { size = fs.readSync(fd, bytes); } catch { break; }',
  '  if (size === 0) break;',
  '  let from = 0;',
  '  for (let at = bytes.indexOf(10); at >= 0 && at < size; at = bytes.indexOf(10, from)) {',
  '    parts.push(Buffer.from(bytes.subarray(from, at)));',
  '    tell(Buffer.concat(parts).toString());',
  '    parts = [];',
  '    from = at + 1;',
  '  }',
  '  if (from < size) parts.push(Buffer.from(bytes.subarray(from, size)));',
  '}',
  'tell(null);',
].join('\n');

const ENDED = 'the program under test has ended';
/** What either side may name of what everyone has. */
const BUILTINS = [
  'Object',
  'Array',
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'Date',
  'RegExp',
  'Promise',
  'String',
  'Number',
  'Boolean',
  'Symbol',
  'BigInt',
  'ArrayBuffer',
  'Buffer',
  'URL',
  'URLSearchParams',
];
const TYPED = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
];
const ERRORS = [
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'URIError',
  'EvalError',
  'AggregateError',
];
const SYMBOLS = Object.getOwnPropertyNames(Symbol).filter((name) => typeof Symbol[name] === 'symbol');
const ITERATOR = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
const ASYNC_ITERATOR = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
const protoOf = Object.getPrototypeOf;
const isOf = (one, proto) => Object.prototype.isPrototypeOf.call(proto, one);
const safely = (make) => {
  try {
    return make();
  } catch {
    return undefined;
  }
};

/** One of two processes that ask each other. Plain data crosses as copies, and everything else by its number. */
class Peer {
  constructor(inFd, outFd) {
    this.out = outFd;
    this.last = 0;
    this.numbers = new Map();
    this.objects = new Map();
    this.stands = new Map();
    this.theirs = new WeakMap();
    this.symbols = new Map();
    this.answers = new Map();
    this.waiting = new Map();
    this.promises = new WeakMap();
    this.sent = new Map();
    this.lent = new Map();
    this.over = new Map();
    this.ended = false;
    this.heard = 0;
    this.said = 0;
    this.depth = 0;
    this.isHeld = false;
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    this.count = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(READER, {
      eval: true,
      execArgv: [],
      env: {},
      workerData: { fd: inFd, port: port2, count: this.count },
      transferList: [port2],
    });
    worker.unref();
    this.port.on('message', (line) => this.hear(line));
  }

  /** Waits for the next message. */
  next() {
    for (;;) {
      const seen = Atomics.load(this.count, 0);
      const got = receiveMessageOnPort(this.port);
      if (got !== undefined) return got.message;
      if (this.ended) return null;
      Atomics.wait(this.count, 0, seen);
    }
  }

  /** Takes a message that came while nothing waited for one. What was asked is answered until the other side lets go: for both it is one turn. */
  hear(line) {
    if (this.take(line) !== 'question') return;
    let next = this.next();
    while (this.take(next) !== 'go' && !this.ended) next = this.next();
  }

  take(line) {
    if (line === null) return this.end();
    this.heard += 1;
    const said = safely(() => JSON.parse(line));
    if (typeof said !== 'object' || said === null) return this.end();
    if ('r' in said) this.answers.set(said.r, said);
    else if ('p' in said) this.settle(said);
    else if ('idle' in said) this.rest(said.idle);
    else if ('go' in said) return 'go';
    else if (!('q' in said && Array.isArray(said.a))) return this.end();
    else {
      this.depth += 1;
      this.answer(said);
      this.depth -= 1;
      return 'question';
    }
    return undefined;
  }

  /** Lets the other side go on when what runs here now has ended. */
  hold() {
    if (this.isHeld || this.depth > 0) return;
    this.isHeld = true;
    queueMicrotask(() => {
      this.isHeld = false;
      this.say({ go: 1 });
    });
  }

  rest() {}

  end() {
    this.ended = true;
    for (const { reject } of this.waiting.values()) reject(new Error(ENDED));
    this.waiting.clear();
  }

  say(message) {
    this.said += 1;
    const bytes = Buffer.from(JSON.stringify(message) + '\n');
    try {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.out, bytes, at);
    } catch {
      this.ended = true;
    }
  }

  ask(op, ...args) {
    const id = ++this.last;
    const seen = new Map();
    const list = [];
    this.sent.set(id, list);
    const said = args.map((one) => this.encode(one, seen, list));
    this.hold();
    this.say({ q: id, op, a: said });
    try {
      while (!this.answers.has(id)) {
        const line = this.ended ? null : this.next();
        if (line === null) {
          this.end();
          throw new Error(ENDED);
        }
        this.take(line);
      }
      const { v, x, m } = this.answers.get(id);
      this.answers.delete(id);
      const made = [];
      for (const [at, now] of m ?? []) this.change(list[at], now, made);
      if (x !== undefined) throw this.decode(x, made);
      return this.decode(v, made);
    } finally {
      this.sent.delete(id);
    }
  }

  answer({ q, op, a }) {
    const made = [];
    const reply = { r: q };
    let before = [];
    const began = this.lent;
    const close = () => {
      const seen = new Map();
      const m = made.flatMap((one, at) => {
        const now = this.shallow(one, seen);
        return JSON.stringify(now) === before[at] ? [] : [[at, now]];
      });
      if (m.length > 0) reply.m = m;
    };
    try {
      const args = a.map((one) => this.decode(one, made));
      this.lent = new Map([...began, ...made.map((one, at) => [one, { l: [q, at] }])]);
      const seen = new Map();
      before = made.map((one) => JSON.stringify(this.shallow(one, seen)));
      const value = this.do(op, ...args);
      close();
      reply.v = this.encode(value);
    } catch (error) {
      safely(close);
      try {
        reply.x = this.encode(error);
      } catch {
        reply.x = this.encode(new Error('what was thrown cannot be told'));
      }
      delete reply.v;
    }
    this.lent = began;
    this.say(reply);
  }

  settle({ p, v, x }) {
    const waiting = this.waiting.get(p);
    this.waiting.delete(p);
    const found = x !== undefined ? { error: this.decode(x) } : { value: this.decode(v) };
    this.over.set(p, found);
    if ('error' in found) waiting?.reject(found.error);
    else waiting?.resolve(found.value);
  }

  /** Waits for a promise of the other side without yielding. */
  await(promise) {
    const p = this.theirs.get(promise);
    promise.catch(() => undefined);
    this.say({ go: 1 });
    while (!this.over.has(p)) {
      const line = this.ended ? null : this.next();
      if (line === null) throw new Error(ENDED);
      this.take(line);
    }
    const { error, value } = this.over.get(p);
    if (error !== undefined) throw error;
    return value;
  }

  number(one) {
    let found = this.numbers.get(one);
    if (found === undefined) {
      found = ++this.last;
      this.numbers.set(one, found);
      this.objects.set(found, one);
    }
    return found;
  }
`;
