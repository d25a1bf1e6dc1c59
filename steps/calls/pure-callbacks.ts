import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import child_process from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import worker_threads from 'node:worker_threads';
import { HoldfastError } from '../../src/core/errors/errors.js';

/** A callback that must not read or write anything outside of its arguments. */
interface PureCallback {
  readonly what: string;
  /** The first that it did; null: nothing so far. */
  first: HoldfastError | null;
  /** Hears of the first, where no one waits for the callback. */
  readonly tell: (error: HoldfastError) => void;
}

const callbacks = new AsyncLocalStorage<PureCallback>();

/**
 * Runs a callback where input and output fail. Rejects with `callback_not_pure` also when the callback caught that error and went
 * on. `what` names the callback.
 */
export async function purely<T>(what: string, work: () => T): Promise<Awaited<T>> {
  const stopWatching = watch();
  try {
    return await new Promise<Awaited<T>>((resolve, reject) => {
      // The first one to be told stands: a callback may never end after it.
      const whole = async (): Promise<Awaited<T>> => await work();
      callbacks.run({ what, first: null, tell: reject }, whole).then(resolve, reject);
    });
  } finally {
    stopWatching();
  }
}

/** Runs a hook, whose end is not waited for, where input and output fail: `tell` hears of the first. */
export function hookPurely<T>(what: string, work: () => T, tell: (error: HoldfastError) => void): T {
  const stopWatching = watch();
  try {
    return callbacks.run({ what, first: null, tell }, work);
  } finally {
    stopWatching();
  }
}

/** The reads and writes of every callback come here. */
const watch = (): (() => void) =>
  watchInputAndOutput({
    isForbidden: () => callbacks.getStore() !== undefined,
    note: (operation) => {
      const callback = callbacks.getStore();
      if (callback === undefined) return null;
      const error = notPure(callback.what, operation);
      if (callback.first === null) {
        callback.first = error;
        callback.tell(error);
      }
      return error;
    },
  });

const notPure = (what: string, operation: string): HoldfastError =>
  new HoldfastError(
    'callback_not_pure',
    `${what} used ${operation}, but its agent declares callbacks: 'pure'; they may only compute from their arguments.`,
  );

/** Who forbids input and output in the asynchronous context of now. */
interface Watcher {
  /** Asked at each operation of the process: must cost next to nothing. */
  readonly isForbidden: () => boolean;
  /** Hears what was used; returns the error to throw, null: it is allowed here. */
  readonly note: (operation: string) => Error | null;
}

let watcher: Watcher | null = null;
let watching = 0;

/**
 * Wraps what Node.js reads and writes with, once in a process, so that `watcher` can forbid it. Until the returned function is called,
 * native operations are noticed too whose function was taken before that; they are not stopped.
 */
function watchInputAndOutput(by: Watcher): () => void {
  if (watcher === null) wrapAll();
  watcher = by;
  watching++;
  if (watching === 1) operations.enable();
  return () => {
    watching--;
    if (watching === 0) operations.disable();
  };
}

/** Resources that Node.js makes for input and output, by the names that `async_hooks` gives them. */
const RESOURCES: ReadonlySet<string> = new Set([
  ...['FSREQCALLBACK', 'FSREQPROMISE', 'FSEVENTWRAP', 'STATWATCHER', 'PROCESSWRAP', 'WORKER', 'HTTPCLIENTREQUEST'],
  ...['TCPCONNECTWRAP', 'PIPECONNECTWRAP', 'TCPSERVERWRAP', 'PIPESERVERWRAP', 'UDPWRAP', 'UDPSENDWRAP'],
  ...['GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'QUERYWRAP'],
]);

const operations = createHook({
  init: (_id, type) => {
    if (RESOURCES.has(type) && watcher?.isForbidden()) watcher.note(`an operation of Node.js (${type})`);
  },
});

type Members = { [name: string]: unknown };

function wrapAll(): void {
  wrapFunctions('fs', fs, 'throw', writesToConsole);
  wrapFunctions('fs.promises', fs.promises, 'reject');
  wrapFunctions('child_process', child_process);
  wrapFunctions('dns', dns);
  wrapFunctions('dns.promises', dns.promises, 'reject');
  wrap('child_process.spawn', child_process.ChildProcess.prototype, 'spawn');
  wrap('worker_threads.Worker', worker_threads, 'Worker');
  for (const name of ['bind', 'connect', 'send']) wrap(`dgram.${name}`, dgram.Socket.prototype, name);
  wrap('net.connect', net.Socket.prototype, 'connect');
  wrap('net.listen', net.Server.prototype, 'listen');
  // A connection that is open already makes no new resource.
  wrap('a socket', net.Socket.prototype, '_writeGeneric', 'note', isConsole);
  wrap('http.request', http.Agent.prototype, 'addRequest');
  wrap('fetch', globalThis, 'fetch', 'reject');
  for (const name of ['WebSocket', 'EventSource']) wrap(name, globalThis, name);
  syncBuiltinESMExports();
}

/** Classes such as `fs.Stats` do nothing by themselves. */
function wrapFunctions(of: string, members: object, how?: Refusal, isAllowed?: Allows): void {
  for (const [name, value] of Object.entries(members))
    if (typeof value === 'function' && /^[a-z]/.test(name)) wrap(`${of}.${name}`, members, name, how, isAllowed);
}

type Allows = (self: unknown, args: readonly unknown[]) => boolean;

/** A program may write to its standard output and error at any time, through a file as well. */
const writesToConsole: Allows = (_self, [fd]) => fd === 1 || fd === 2;
const isConsole: Allows = (self) => self === process.stdout || self === process.stderr;

/** `note`: in the middle of a stream an error would break what others use too, so that it is told and not thrown. */
type Refusal = 'throw' | 'reject' | 'note';

function wrap(
  operation: string,
  members: object,
  name: string,
  how: Refusal = 'throw',
  isAllowed: Allows = () => false,
): void {
  const original = (members as Members)[name];
  if (typeof original !== 'function') return;
  const refused = (self: unknown, args: readonly unknown[]): Error | null =>
    !watcher?.isForbidden() || isAllowed(self, args) ? null : watcher.note(operation);
  (members as Members)[name] = new Proxy(original, {
    apply: (target, self: unknown, args: unknown[]): unknown => {
      const error = refused(self, args);
      if (error === null || how === 'note') return Reflect.apply(target, self, args);
      if (how === 'throw') throw error;
      return rejected(error);
    },
    construct: (target, args: unknown[], made): object => {
      const error = refused(undefined, args);
      if (error !== null) throw error;
      return Reflect.construct(target, args, made) as object;
    },
  });
}

/** A promise that no one waits for must not end the process. */
function rejected(error: Error): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => undefined);
  return promise;
}
