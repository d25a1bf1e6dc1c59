/** What the process of the program has beside that. It belongs to the agent's user, and everything in it is the program's. */

export const PROGRAM = `
/** What the tests may be given by its name. */
const NAMES = [
  ...BUILTINS,
  'Function',
  ...ERRORS,
  ...TYPED,
];
const STREAMS = ['Readable', 'Writable', 'Duplex', 'Transform', 'PassThrough'];
const names = new Map(
  [
    ...NAMES.map((name) => [name, globalThis[name]]),
    ['EventEmitter', require('node:events')],
    ...STREAMS.map((name) => [name, require('node:stream')[name]]),
  ].map(([name, one]) => [one, [name]]),
);
const protos = new Map([...names].map(([one, [name]]) => [one.prototype, name]));
const load = require('node:module').createRequire(process.cwd() + '/');
const { pathToFileURL } = require('node:url');


class Program extends Peer {
  end() {
    process.kill(process.pid, 'SIGKILL');
  }

  nameOf(value) {
    return names.get(value);
  }

  named([kind, ...path]) {
    let found =
      kind === 'global'
        ? globalThis
        : kind === 'module'
          ? require('node:' + path.shift())
          : kind === 'iterator'
            ? ITERATOR
            : protoOf(
                kind === 'generator'
                  ? function* () {}
                  : kind === 'async generator'
                    ? async function* () {}
                    : async () => {},
              );
    for (const step of path)
      found = step === null ? protoOf(found) : found?.[typeof step === 'string' ? step : Symbol[step[0]]];
    return found;
  }

  do(op, target, ...rest) {
    const [key] = rest;
    switch (op) {
      case 'require':
        return load(target);
      case 'import':
        return import(pathToFileURL(target).href);
      case 'names':
        return Object.keys(target);
      case 'call':
        return Reflect.apply(target, rest[0], rest[1]);
      case 'new':
        return Reflect.construct(target, rest[0]);
      case 'get':
        return target[key];
      case 'set':
        return (
          Reflect.set(target, key, rest[1]) ||
          safely(() => Object.defineProperty(target, key, { value: rest[1] })) !== undefined
        );
      case 'has':
        return key in target;
      case 'delete':
        return Reflect.deleteProperty(target, key);
      case 'keys':
        return Reflect.ownKeys(target);
      case 'own': {
        const found = Reflect.getOwnPropertyDescriptor(target, key);
        return found === undefined ? undefined : [target[key], found.enumerable];
      }
      case 'proto':
        return protos.get(protoOf(target)) ?? protoOf(target);
      case 'instance':
        return rest[0] instanceof target;
      case 'step':
        return this.step(target, ...rest);
    }
    throw new Error('no such question: ' + op);
  }
}
const peer = new Program(3, 4);
globalThis.holdfast = peer;
peer.port.unref();
peer.port.on('message', () => peer.port.unref());
process.on('beforeExit', () => {
  peer.port.ref();
  peer.say({ idle: peer.heard });
});
// The one that reads is in no state to end.
process.on('exit', () => process.kill(process.pid, 'SIGKILL'));
`;
